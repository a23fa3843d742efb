"""One page of HTML with tables and pictures in it, and nothing outside."""

import base64
import io
import json
import re
import shlex
from html import escape

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from . import data as d
from . import gallery
from . import parameters
from . import pictures as p

PAGE_MM = 120
STYLE = """
body { font: 15px/1.45 "DejaVu Sans", Verdana, sans-serif; color: #222;
       max-width: 62em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2.2em;
     border-bottom: 1px solid #ccc; } h3 { font-size: 1em; }
table { border-collapse: collapse; margin: 1em 0; font-size: 0.87em; }
th, td { padding: 0.2em 0.7em; text-align: right; border-bottom: 1px solid #eee;
         white-space: nowrap; }
th { border-bottom: 1px solid #888; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
tr.ours td { font-weight: bold; }
figure { margin: 1em 0; }
svg { width: min(100%, 44em); height: auto; }
.wide { overflow-x: auto; } small, .note { color: #555; }
nav a { margin-right: 1em; } pre { overflow-x: auto; font-size: 0.85em; }
code { font-size: 0.95em; white-space: normal; } td.text { text-align: left;
       white-space: normal; overflow-wrap: anywhere; }
"""
SECTIONS = [("times", "Times under noise"), ("delays", "Who is delayed"),
            ("curves", "Over sizes and scale"),
            ("mechanisms", "What each mechanism buys"),
            ("timeline", "Timelines"), ("records", "Noise recorded"),
            ("designs", "Memory of GPUs"),
            ("runs", "The runs")]


def number(value, form="{:.3g}"):
    return "–" if value != value else form.format(value)


def time_text(us):
    return "–" if us != us else d.text_of_time(us)


def table(titles, rows):
    """rows: (whether it is of ours, cells). Columns of which nothing is known
    are left out."""
    rows = list(rows)
    kept = [i for i in range(len(titles)) if i == 0 or not rows
            or any(cells[i] != "–" for _, cells in rows)]
    titles = [titles[i] for i in kept]
    rows = [(is_ours, [cells[i] for i in kept]) for is_ours, cells in rows]
    out = ['<div class="wide"><table><tr>']
    out += [f"<th>{escape(title)}</th>" for title in titles]
    out.append("</tr>")
    for is_ours, cells in rows:
        out.append('<tr class="ours">' if is_ours else "<tr>")
        out += [f"<td>{escape(str(cell))}</td>" for cell in cells]
        out.append("</tr>")
    out.append("</table></div>")
    return "".join(out)


def svg_of(fig, name):
    """The picture as text to stand in a page. Names in it are made its own, as
    a page may have many."""
    file = io.StringIO()
    with plt.rc_context({"svg.hashsalt": name}):
        fig.savefig(file, format="svg", metadata=gallery.NAMELESS["svg"])
    gallery.close(fig)
    text = file.getvalue()
    text = text[text.index("<svg"):]
    prefix = re.sub(r"[^A-Za-z0-9]", "_", name) + "_"
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", text)
    return f"<figure>{text}</figure>"


# ---- sections ----


def times_cells(row):
    """Of one noise: time, interval, slowdown, amplified, floor, injected."""
    between = "–"
    if row["low_us"] == row["low_us"]:
        between = (f"{d.text_of_time(row['low_us'])} … "
                   f"{d.text_of_time(row['high_us'])}")
    return [time_text(row["time_us"]), between,
            d.text_of_slowdown(row["slowdown"]) or "–",
            number(row["amplified"], "{:.2f}"), time_text(row["floor_us"]),
            number(row["injected"], "{:.1f} %")]


def times_section(data):
    for name, fig, case in gallery.of_times(data, PAGE_MM / p.INCH_MM):
        rows = data.times
        for key in d.CASE:
            rows = rows[rows[key] == case[key]]
        yield svg_of(fig, name)
        for noise in p.ordered(rows["noise"]):
            if noise == d.QUIET or d.held_of(noise):
                continue
            own = rows[rows["noise"] == noise]
            yield f"<p>{escape(d.text_of_noise(noise))}</p>" + table(
                ["implementation", "without noise", "time per call",
                 "lies in (95 %)", "slowdown", "amplified", "floor",
                 "noise took"],
                [(p.is_ours(row["impl"]), [d.text_of_impl(row["impl"]),
                                           time_text(row["quiet_us"]),
                                           *times_cells(row)])
                 for _, row in own.iterrows()])


def delays_row(impl, rows):
    """Whom the bursts reach: means over the ranks that were held up in turn."""
    held = rows["held_us"].iloc[0]
    own = rows[rows["rank"] == rows["delayed"]]["delay_us"]
    others = rows[rows["rank"] != rows["delayed"]]
    late = others["delay_us"].clip(lower=0)
    bursts = rows["delayed"].nunique()
    return (p.is_ours(impl), [
        d.text_of_impl(impl), time_text(own.mean()), time_text(late.mean()),
        time_text(late.max()),
        f"{(late > held / 10).sum() / bursts:.3g} of "
        f"{len(late) // bursts}",
        time_text(late.sum() / bursts)])


def delays_section(data):
    for name, fig, case in gallery.of_delays(data, PAGE_MM / p.INCH_MM):
        yield svg_of(fig, name)
        if not name.startswith("delays"):
            continue
        rows = data.delays
        for key in d.CASE:
            rows = rows[rows[key] == case[key]]
        yield table(
            ["implementation", "held-up rank loses", "others, mean",
             "others, most", "others late by a tenth", "others idle, sum"],
            [delays_row(impl, rows[rows["impl"] == impl])
             for impl in p.ordered(rows["impl"])])


def curves_section(data, points):
    for name, fig, _ in gallery.of_curves(data, PAGE_MM / p.INCH_MM, points):
        yield svg_of(fig, name)


def ladder_section(data):
    """Each step against the one before it, quiet and under the worst noise."""
    for name, fig, case in gallery.of_ladders(data, PAGE_MM / p.INCH_MM):
        yield svg_of(fig, name)
        for steps in data.ladders:
            rows = steps
            for key in d.CASE:
                rows = rows[rows[key] == case[key]]
            if not len(rows):
                continue
            for noise in p.ordered(rows["noise"]):
                if noise != d.QUIET:
                    yield ladder_table(rows[rows["noise"] == noise], noise)


def ladder_table(rows, noise):
    out, last = [], None
    for _, row in rows.iterrows():
        buys = cost = "–"
        if last is not None:
            buys = f"{100 * (1 - row['time_us'] / last['time_us']):+.0f} %"
            cost = f"{100 * (row['quiet_us'] / last['quiet_us'] - 1):+.0f} %"
        out.append((False, [
            row["step"], time_text(row["quiet_us"]), cost,
            time_text(row["time_us"]), buys,
            d.text_of_slowdown(row["slowdown"]),
            number(row["amplified"], "{:.2f}")]))
        last = row
    return f"<p>{escape(d.text_of_noise(noise))}</p>" + table(
        ["step", "quiet", "quiet cost of the step", "under noise",
         "the step saves", "slowdown", "amplified"], out)


def timeline_section(data):
    for name, fig, _ in gallery.of_traces(data, PAGE_MM / p.INCH_MM):
        yield svg_of(fig, name)


def designs_section(data):
    for name, fig, _ in gallery.of_designs(data, PAGE_MM / p.INCH_MM):
        yield svg_of(fig, name)


def records_section(data):
    pictures = gallery.of_records(data, PAGE_MM / p.INCH_MM)
    for record, (name, fig, _) in zip(data.records, pictures):
        yield svg_of(fig, name) + table(
            ["", "share", "per second", "median", "99th percentile", "longest"],
            [(False, records_cells(one)) for one in record.series])


def records_cells(one):
    lengths = one.length_us
    if not len(lengths):
        return [one.label, "0 %", "0", "–", "–", "–"]
    return [one.label, f"{one.share:.3g} %",
            f"{len(lengths) / one.whole_us * 1e6:.3g}",
            *(d.text_of_time(float(np.percentile(lengths, q)))
              for q in (50, 99, 100))]


def session_rows(session):
    """What a reader asks of a session first."""
    machine = session.get("machine", {})
    yield "command", shlex.join(session.get("command", []))
    yield "when", " to ".join(str(session[key]) for key in ("begin", "end")
                              if session.get(key))
    yield "version, seed", ", ".join(str(session.get(key, "?"))
                                     for key in ("version", "seed"))
    yield "machine", ", ".join(f"{key} {value}"
                               for key, value in machine.items())
    ranks = session.get("ranks", [])
    yield "ranks on", ", ".join(
        f"{host} ({sum(rank['host'] == host for rank in ranks)})"
        for host in p.ordered(rank["host"] for rank in ranks))
    yield "clocks", "within " + d.text_of_time(
        max(rank["clock_error_us"] for rank in ranks)) if ranks else ""
    yield "runs", ", ".join(
        f"{session[key]} {key.removeprefix('runs_')}" for key in
        ("runs_planned", "runs_done", "runs_failed") if key in session)


def simulated_rows(data):
    """Of each file and what it simulates."""
    parts = [table for table in (data.times, data.delays) if len(table)]
    if not parts:
        return
    table = pd.concat(parts, ignore_index=True)
    table = table[table["place"] != "measured"]
    columns = ["file", "place", "nodes", "ppn", "coll", "bytes",
               *parameters.present(table)]
    columns = [column for column in columns if column in table]
    for values, rows in table.groupby(columns, sort=False, dropna=False):
        row = dict(zip(columns, values))
        seeds = int(rows["seeds"].max()) if "seeds" in rows else 1
        size = f" of {d.text_of_bytes(row['bytes'])}" if row["bytes"] else ""
        yield False, [
            row["file"], row["place"].removeprefix("simulated "),
            f"{int(row['nodes'])} × {int(row['ppn'])}",
            row["coll"] + size,
            ", ".join(map(d.text_of_impl, p.ordered(rows["impl"]))),
            ", ".join(d.text_of_noise(noise)
                      for noise in p.ordered(rows["noise"])),
            str(seeds), parameters.summary(row) or "–"]


def simulated_section(data):
    rows = list(simulated_rows(data))
    if rows:
        yield "<h3>Simulated</h3>" + table(
            ["file", "machine", "nodes × ranks", "call", "implementations",
             "noise", "seeds", "with"], rows)


def runs_section(data, paths):
    yield from simulated_section(data)
    for name, content in data.manifests.items():
        yield f"<h3>{escape(name)}</h3>"
        for session in content.get("sessions", []):
            yield '<div class="wide"><table>' + "".join(
                f'<tr><td>{escape(key)}</td><td class="text">{escape(text)}'
                "</td></tr>" for key, text in session_rows(session) if text
            ) + "</table></div>"
        yield ("<details><summary>All that was written down</summary><pre>"
               + escape(json.dumps(content, indent=2)) + "</pre></details>")
    if len(data.times):
        columns = [c for c in ("file", *d.KEY, "time_us", "low_us", "high_us",
                               "injected", "floor_us") if c in data.times]
        text = data.times[columns].to_csv(index=False, float_format="%.3f")
        link = base64.b64encode(text.encode()).decode()
        yield ('<p><a download="times.csv" href="data:text/csv;base64,'
               f'{link}">All times, as CSV</a></p>')


WORDS = {
    "times": "Time per call, mean over the ranks: the median of rounds, or the "
    "mean over seeds of simulated runs, and the interval in which that lies. "
    "The floor is what noise "
    "costs at least where each call waits once for those whose data it needs. "
    "Amplified: time lost per call over the noise that the rank itself had in "
    "it; 1 means that each rank loses its own noise and nothing else.",
    "delays": "One rank is held up once. Each other rank's delay is time in "
    "which it is idle and waits, though nothing held it up. Late by a tenth: "
    "by more than a tenth of the burst; the sum is over all other ranks.",
    "curves": "Slowdown over the number of ranks; hollow marks are what others "
    "have printed.",
    "records": "What each core lost while nothing else ran there: when, for how "
    "long, how often, and which share of equal pieces of work (FWQ) and of equal "
    "times (FTQ) has lost how much.",
    "mechanisms": "The steps are switched on one after the other; each is "
    "compared with the one above it.",
}


def text_write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write(data, path, title=None, points=None):
    title = title or "Noise in collectives"
    parts = {"times": times_section(data) if len(data.times) else (),
             "delays": delays_section(data),
             "curves": curves_section(data, points) if len(data.times) else (),
             "mechanisms": ladder_section(data),
             "timeline": timeline_section(data),
             "records": records_section(data),
             "designs": designs_section(data),
             "runs": runs_section(data, path)}
    bodies = {key: "\n".join(part) for key, part in parts.items()}
    shown = [(key, words) for key, words in SECTIONS if bodies[key]]
    page = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
            f'<meta name="generator" content="{gallery.MARK}">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head>",
            f"<body><h1>{escape(title)}</h1><nav>"]
    page += [f'<a href="#{key}">{words}</a>' for key, words in shown]
    page.append("</nav>")
    for key, words in shown:
        page.append(f'<h2 id="{key}">{words}</h2>')
        if key in WORDS:
            page.append(f'<p class="note">{escape(WORDS[key])}</p>')
        page.append(bodies[key])
    page.append("</body></html>\n")
    gallery.replace(path, lambda part: text_write(part, "\n".join(page)))
