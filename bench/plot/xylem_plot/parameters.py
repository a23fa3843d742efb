"""What rows were measured with, beside what KEY says: rows that differ in one of
these are not one. Their pictures name it."""

import pandas as pd

# In the order in which names have them.
COLUMNS = ["algorithm", "shared_memory", "segment", "send_window",
           "recv_window", "root", "mode", "under_way", "buffers", "consume",
           "check", "by", "arrival", "payload", "jitter", "kill", "seed",
           "iterations", "seconds", "warmup", "launcher", "settings"]
FLAGS = {"shared_memory": ("shared memory", "messages"),
         "consume": ("results read", "results not read"),
         "check": ("results verified", "results not verified")}
FORMS = {"root": "root {}", "under_way": "{} under way", "by": "noise by {}",
         "arrival": "arrival {}", "payload": "payload {}",
         "jitter": "jitter {}", "kill": "death {}", "seed": "seed {}",
         "iterations": "{} calls", "seconds": "{} s a run",
         "warmup": "{} calls for warm-up", "buffers": "{} buffers",
         "send_window": "{} sends", "recv_window": "{} receives"}
NONE = {"arrival": "all at once", "jitter": "no jitter", "kill": "no death",
        "launcher": "own launcher"}
CHOSEN = {"segment": "own segments", "send_window": "own sends",
          "recv_window": "own receives"}


def text_of(value):
    if isinstance(value, float):
        return "" if value != value else f"{value:g}"
    return str(value)


def present(table):
    return [column for column in COLUMNS if column in table]


def bytes_text(count):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B"


def words_of(column, value, others):
    """One value; others: all that there are, of which settings that all have
    say nothing."""
    if column == "settings":
        common = set.intersection(*(set(other.split()) for other in others))
        own = [word for word in value.split() if word not in common]
        return " ".join(own) or "no settings"
    if column in FLAGS and value != "":
        return FLAGS[column][value != "yes"]
    if value == "":
        return NONE.get(column, "")
    if value == "0" and column in CHOSEN:
        return CHOSEN[column]
    if column == "segment":
        return f"segments of {bytes_text(int(value))}"
    return FORMS.get(column, "{}").format(value)


def normal(table):
    """Parameters as text: files may lack some, and have numbers as such."""
    texts = {column: table[column].map(text_of) for column in present(table)}
    return table.assign(**texts)


def conflicts(table, base):
    """Of each place and implementation the parameters in which rows of one cell differ.
    What differs from cell to cell only, such as the calls of longer and shorter
    messages, needs no name."""
    varying = [c for c in present(table) if table[c].nunique() > 1]
    found = {}
    for column in varying:
        counts = table.groupby(base, sort=False, dropna=False)[column].nunique()
        several = counts[counts > 1].index
        for where in zip(several.get_level_values("place"),
                         several.get_level_values("impl")):
            found.setdefault(where, {})[column] = None
    return found


def tell_apart(table, key):
    """Names of implementations say where parameters differ that rows of one
    key without noise have, so that no two rows are taken for one. Rows that are
    equal in all are one; returns the table, and a text that says of which cells
    there is more than one row, or None."""
    table = normal(table).reset_index(drop=True)
    base = [column for column in key if column != "noise"]
    names = table["impl"].copy()
    for (place, name), columns in conflicts(table, base).items():
        rows = table[(table["place"] == place) & (table["impl"] == name)]
        for column in [c for c in COLUMNS if c in columns]:
            values = list(dict.fromkeys(rows[column]))
            words = {value: words_of(column, value, values)
                     for value in values}
            for i, value in rows[column].items():
                names[i] += f", {words[value]}" if words[value] else ""
    table["impl"] = names
    numbers = [c for c in ("time_us", "delay_us") if c in table]
    table = table.drop_duplicates(key + numbers, keep="last")
    twice = table.duplicated(key, keep=False)
    if twice.any() and "file" in table:
        # Of several files each may have measured it.
        table = of_files(table, key, base)
        twice = table.duplicated(key, keep=False)
    if not twice.any():
        return table.reset_index(drop=True), None
    row = table[twice].iloc[0]
    return table, ", ".join(f"{column} {row[column]}" for column in key)


def of_files(table, key, base):
    """Names of files behind implementations that more than one file has under
    one key."""
    twice = table[table.duplicated(key, keep=False)]
    cells = pd.MultiIndex.from_frame(table[base])
    several = cells.isin(pd.MultiIndex.from_frame(twice[base]))
    names = table["impl"].where(~several,
                                table["impl"] + " (" + table["file"] + ")")
    return table.assign(impl=names)


def summary(row):
    """All of a row's parameters, in words; those that the library chooses, or
    that are as ever, say nothing."""
    usual = {"root": "0", "under_way": "1", "payload": "none",
             "algorithm": "auto", "iterations": "auto"}
    out = []
    for column in COLUMNS:
        value = text_of(row.get(column, ""))
        if value == "" or usual.get(column) == value or \
                (value == "0" and column in CHOSEN) or \
                (column in ("consume", "check") and value == "no"):
            continue
        out.append(words_of(column, value, [""] if column == "settings" else
                            [value]))
    return ", ".join(out)
