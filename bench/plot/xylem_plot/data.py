"""What the programs have written, as tables of one form.

A table has a row per measured number:

    file, place       where it comes from; place: "measured", or "simulated cori"
    impl, coll, bytes, ranks, nodes, noise
    time_us           per call, mean over the ranks
    low_us, high_us   the interval in which its median lies, or its mean over
                      seeds; or NaN
    injected, floor_us, amplified

and another one a row per rank of runs in which one rank is held up:

    ..., delayed      the rank that is held up
    held_us           for how long
    rank, plain_us, delay_us

and one of designs on memory of GPUs, which processes have in turns or through
MPS, with a row per measured number of gpu.sh:

    machine                     the file's first line
    sharing                     turns, or mps
    coll, ranks, design, bytes  pairs: copies between pairs of processes
    which                       later: the median of calls; first, again: a
                                job's first call, and later ones beside it
    us, wrong
"""

import json
import os
import re
from dataclasses import dataclass, field

import pandas as pd

from . import parameters, records

QUIET = "none"
CASE = ["place", "coll", "bytes", "ranks", "nodes"]
KEY = CASE + ["impl", "noise"]
GPU_COLUMNS = {"sharing", "coll", "ranks", "design", "which", "bytes", "us",
               "wrong"}
# The library's name, and that which it had before.
OURS, OURS_BEFORE = "xylem", "event"
# Of xylem's benchmarks: what others do, on the same trees and network.
OWN_DESIGNS = ("waitall", "blocking")
UNITS_US = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}


class DataError(Exception):
    """A file that is none of the programs', or that cannot be read."""


@dataclass
class Data:
    times: pd.DataFrame
    delays: pd.DataFrame
    traces: list = field(default_factory=list)
    manifests: dict = field(default_factory=dict)
    # Folders named "mechanisms": tables whose files are steps of a ladder.
    ladders: list = field(default_factory=list)
    # Of noise; see records.py.
    records: list = field(default_factory=list)
    designs: pd.DataFrame = field(default_factory=pd.DataFrame)


def held_of(noise):
    """(rank, microseconds) of a spec such as once:1ms@2ms,rank=6; or None."""
    found = re.match(r"once:([\d.]+)(s|ms|us|ns)\b.*,rank=(\d+)$", noise)
    if found is None:
        return None
    return int(found[3]), float(found[1]) * UNITS_US[found[2]]


def of_noise_program(table, name):
    """Rows of xylem-noise."""
    numbers = ["bytes", "ranks", "time_us", "delayed_us", "injected_percent",
               "low_us", "high_us", "floor_us"]
    for column in numbers:
        if column not in table:
            table[column] = float("nan")
        table[column] = pd.to_numeric(table[column], errors="coerce")
    table = table.assign(file=name, place="measured",
                         nodes=table["nodes"] if "nodes" in table else 1)
    # A campaign that was ended early has no medians.
    table = parameters.normal(table)
    key = ["experiment", "impl", "coll", "bytes", "ranks", "noise", "rank",
           *parameters.present(table)]
    is_median = table["round"] == "median"
    rounds = table[~is_median].groupby(key, sort=False, dropna=False)
    medians = rounds[["time_us", "delayed_us", "injected_percent"]].median()
    first = rounds[["file", "place", "nodes"]].first()
    computed = first.join(medians).reset_index()
    # Of several medians the last is of the most rounds.
    ready = table[is_median].drop_duplicates(key, keep="last").set_index(key)
    for column in ("low_us", "high_us", "floor_us"):
        computed[column] = ready[column].reindex(
            pd.MultiIndex.from_frame(computed[key])).to_numpy()
    computed["amplified"] = float("nan")
    times = computed[computed["experiment"] == "noise"].rename(
        columns={"injected_percent": "injected"})
    return times, noise_delays(computed[computed["experiment"] == "one-rank"])


def noise_delays(rows):
    rows = rows.assign(plain_us=rows["time_us"], rank=pd.to_numeric(
        rows["rank"], errors="coerce"))
    rows["delay_us"] = rows["delayed_us"] - rows["plain_us"]
    return with_held(rows)


def with_held(rows):
    """Adds who is held up, and drops rows that do not say it."""
    held = [held_of(noise) for noise in rows["noise"]]
    rows = rows.assign(delayed=[h[0] if h else None for h in held],
                       held_us=[h[1] if h else None for h in held])
    return rows.dropna(subset=["delayed"]).astype({"delayed": int})


# Of Student's distribution, two-sided, by degrees of freedom.
T_95 = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]


def over_seeds(table):
    """Rows of equal parameters as one: the mean over their seeds, with the
    interval in which it lies with 95 %. A row that is a mean already stands
    where the single ones are not there."""
    if "seed" not in table:
        return table
    key = [c for c in ("machine", "nodes", "ppn", "coll", "bytes", "impl",
                       "noise", "rank", *parameters.present(table))
           if c != "seed"]
    if not table.duplicated(key).any():
        return table.drop(columns="seed")
    out = []
    for _, rows in table.groupby(key, sort=False, dropna=False):
        single = rows[rows["seeds"] == 1].drop_duplicates("seed")
        means = rows[rows["seeds"] > 1]
        if len(means) and means["seeds"].max() > len(single):
            out.append(means.nlargest(1, "seeds"))
            continue
        row = single.iloc[[0]].copy()
        n = len(single)
        if n > 1:
            for column in ("min_us", "avg_us", "max_us", "noise_us",
                           "slowdown_percent", "amplification"):
                row[column] = single[column].mean()
            half = (T_95[n - 2] if n - 2 < len(T_95) else 2.0) * \
                single["avg_us"].std() / n ** 0.5
            row["low_us"] = max(0.0, row["avg_us"].iloc[0] - half)
            row["high_us"] = row["avg_us"].iloc[0] + half
        row["seeds"] = n
        out.append(row)
    # Which seed a mean begins with tells nothing apart.
    return pd.concat(out).drop(columns="seed") if out else table


def of_simulator(table, name):
    """Rows of xylem-sim: those of all ranks, and those of each."""
    table = over_seeds(parameters.normal(table))
    table = table.assign(
        file=name, place="simulated " + table["machine"].astype(str),
        ranks=table["nodes"] * table["ppn"], time_us=table["avg_us"],
        amplified=table["amplification"])
    table["rank"] = table["rank"].astype(str)
    for column in ("low_us", "high_us", "floor_us"):
        if column not in table:
            table[column] = float("nan")
    # What noise takes of the time, as the measuring program has it.
    table["injected"] = 100 * table["noise_us"] / table["time_us"]
    times = table[table["rank"] == "all"]
    ranks = table[table["rank"] != "all"].astype({"rank": int})
    where = ["impl", "coll", "bytes", "ranks", "nodes", "rank",
             *parameters.present(table)]
    quiet = ranks[ranks["noise"] == QUIET].set_index(where)["avg_us"]
    noisy = ranks[ranks["noise"] != QUIET].set_index(where)
    noisy["plain_us"] = quiet[~quiet.index.duplicated()]
    noisy = noisy.reset_index()
    noisy["delay_us"] = noisy["avg_us"] - noisy["plain_us"]
    return times, with_held(noisy)


def read_columns(path):
    try:
        return pd.read_csv(path, comment="#")
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from error


def of_gpu_script(path):
    """Rows of gpu.sh."""
    table = read_columns(path)
    with open(path, encoding="utf-8") as file:
        head = file.readline()
    machine = head.lstrip("# ").strip() if head.startswith("#") else ""
    for column in "ranks", "bytes", "us":
        table[column] = pd.to_numeric(table[column], errors="coerce")
    return table.assign(machine=machine).dropna(subset=["bytes", "us"])


def read_table(path):
    table = read_columns(path)
    name = os.path.splitext(os.path.basename(path))[0]
    if "impl" in table:
        table = table.assign(impl=table["impl"].replace(OURS_BEFORE, OURS))
    if {"experiment", "impl", "time_us", "round"} <= set(table.columns):
        return of_noise_program(table, name)
    if {"machine", "impl", "avg_us", "noise"} <= set(table.columns):
        return of_simulator(table, name)
    return None


def read_json(path, data):
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from error
    if isinstance(content, list) or "traceEvents" in content:
        data.traces.append(path)
    else:
        data.manifests[os.path.basename(path)] = content


def is_ladder(path):
    return (os.path.isdir(path)
            and os.path.basename(os.path.abspath(path)) == "mechanisms")


def is_whole(path):
    """A folder that is one thing."""
    return is_ladder(path) or records.is_folder(path)


def files_of(paths):
    """Files named, and those in folders; ladders and records whole."""
    for path in paths:
        if not os.path.exists(path):
            raise DataError(f"{path} does not exist")
        if is_whole(path) or not os.path.isdir(path):
            yield path
            continue
        for name in sorted(os.listdir(path)):
            inner = os.path.join(path, name)
            if is_whole(inner) or name.endswith((".csv", ".json")):
                yield inner


def joined(tables):
    tables = [table.dropna(axis=1, how="all") for table in tables if len(table)]
    if not tables:
        return pd.DataFrame()
    columns = ["low_us", "high_us", "floor_us", "injected", "amplified"]
    table = pd.concat(tables, ignore_index=True)
    return table.reindex(columns=list(table.columns) + [
        name for name in columns if name not in table])


def read_ladder(folder):
    """Steps, in the order of their files' names: NN-WHAT.csv."""
    steps = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".csv"):
            found = read_table(os.path.join(folder, name))
            if found is not None:
                label = re.sub(r"^\d+-", "", name[:-len(".csv")])
                steps.append(found[0].assign(step=label.replace("_", " ")))
    return joined(steps)


def read_logs(paths):
    try:
        return records.read_files(paths)
    except ValueError as error:
        raise DataError(f"no record: {error}") from error


def read(paths):
    data = Data(pd.DataFrame(), pd.DataFrame())
    times, delays, logs, gpus = [], [], [], []
    for path in files_of(paths):
        if is_ladder(path):
            data.ladders.append(read_ladder(path))
        elif os.path.isdir(path):
            data.records.append(records.read_folder(path))
        elif records.is_record(path):
            logs.append(path)
        elif path.endswith(".json"):
            read_json(path, data)
        elif GPU_COLUMNS <= set(read_columns(path).columns):
            gpus.append(of_gpu_script(path))
        else:
            found = read_table(path)
            if found is not None:
                times.append(found[0])
                delays.append(found[1])
                continue
            if path in paths:
                raise DataError(f"{path} is neither of xylem-noise nor of "
                                "xylem-sim nor of gpu.sh")
    if gpus:
        data.designs = pd.concat(gpus, ignore_index=True)
    if logs:
        data.records.append(read_logs(logs))
    data.times = joined(times)
    data.delays = joined(delays)
    data.ladders = [ladder for ladder in data.ladders if len(ladder)]
    if len(data.times):
        data.times = derived(apart(data.times, KEY))
    if len(data.delays):
        data.delays = apart(data.delays, KEY + ["rank"])
    data.ladders = [derived(apart(ladder, KEY + ["step"]), KEY + ["step"])
                    for ladder in data.ladders]
    if not (len(data.times) or len(data.delays) or data.traces
            or data.ladders or data.records or len(data.designs)):
        raise DataError("nothing to draw: no file of xylem-noise or xylem-sim "
                        "or gpu.sh")
    return data


def apart(table, key):
    table, twice = parameters.tell_apart(table, key)
    if twice is not None:
        raise DataError(f"{table['file'].iloc[0]}: several rows of one cell "
                        f"with other numbers: {twice}")
    return table


def derived(times, key=None):
    """Adds quiet_us, the time without noise, and slowdown, in per cent."""
    base = [column for column in key or KEY if column != "noise"]
    quiet = times[times["noise"] == QUIET].drop_duplicates(base).set_index(
        base)["time_us"]
    times = times.reset_index(drop=True)
    times["quiet_us"] = quiet.reindex(
        pd.MultiIndex.from_frame(times[base])).to_numpy()
    times["slowdown"] = 100 * (times["time_us"] / times["quiet_us"] - 1)
    lost = times["time_us"] - times["quiet_us"]
    injected_us = times["injected"] / 100 * times["time_us"]
    own = lost / injected_us.where(injected_us > 0)
    times["amplified"] = times["amplified"].fillna(
        own.where(times["noise"] != QUIET))
    return times


def text_of_count(count, noun):
    """"1 rank", "2 ranks"."""
    return f"{int(count)} {noun}" + ("" if int(count) == 1 else "s")


def text_of_impl(impl):
    """A name as pictures and tables have it."""
    name = re.match(r"[^, ]*", impl)[0]
    mark = " (own design)" if name in OWN_DESIGNS else ""
    return name + mark + impl[len(name):]


def text_of_bytes(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{int(count) // unit} {name}"
    return f"{int(count)} B"


def text_of_case(case):
    coll, size = case["coll"], case["bytes"]
    what = coll if not size else f"{coll} of {text_of_bytes(size)}"
    place = "" if case["place"] == "measured" else f", {case['place']}"
    nodes = f" on {int(case['nodes'])} nodes" if case["nodes"] > 1 else ""
    return f"{what}, {text_of_count(case['ranks'], 'rank')}{nodes}{place}"


def text_of_time(us):
    if us <= 0:
        return "0" if us == 0 else "-" + text_of_time(-us)
    for unit, name in ((1e6, "s"), (1e3, "ms"), (1, "µs")):
        if us >= unit:
            return f"{us / unit:.3g} {name}"
    return f"{us:.2f} µs"


def text_of_nanoseconds(us):
    return f"{us * 1e3:.3g} ns"


def text_of_slowdown(percent):
    if percent != percent:
        return ""
    if percent >= 200:
        times = 1 + percent / 100
        return f"× {times:.3g}" if times < 1000 else f"× {times:.0f}"
    return f"{percent:+.0f} %" if abs(percent) >= 9.5 else f"{percent:+.1f} %"


def text_of_length(text):
    """"20ms" as "20 ms"."""
    found = re.match(r"([\d.]+)(s|ms|us|ns)$", text)
    if found is None:
        return text
    return f"{found[1]} {found[2].replace('us', 'µs')}"


def text_of_rate(text):
    """"10Hz" as "10 per second"."""
    found = re.match(r"([\d.]+)(k?)Hz$", text)
    if found is None:
        return text
    return f"{float(found[1]) * (1000 if found[2] else 1):g} per second"


def text_of_noise(noise):
    """What a legend says: how long bursts are, and how often they come."""
    if noise == QUIET:
        return "no noise"
    spec, *wheres = noise.split(",")
    kind, _, rate = spec.partition(":")
    where = ""
    if wheres and "=" in wheres[-1]:
        what, _, which = wheres.pop().partition("=")
        where = f", {what} {which}"
    length = text_of_length(wheres[0]) if wheres else ""
    if kind == "uniform" and "-" in length:
        least, most = wheres[0].split("-", 1)
        length = f"{least} to {text_of_length(most)}"
    forms = {"uniform": "{length}, {rate}", "periodic": "{length}, {rate}",
             "sync": "{length} at once, {rate}",
             "poisson": "{length}, {rate} by chance"}
    if kind == "once":
        return f"once {text_of_length(rate.partition('@')[0])}{where}"
    if kind == "trace":
        return f"record {os.path.basename(noise.partition(':')[2])}"
    if kind not in forms or not length:
        return noise
    return forms[kind].format(length=length, rate=text_of_rate(rate)) + where


def cases(table):
    """(case, its rows), in the order of the files."""
    for values, rows in table.groupby(CASE, sort=False, dropna=False):
        yield dict(zip(CASE, values)), rows
