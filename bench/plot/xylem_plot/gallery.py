"""Which pictures there are of what was read."""

import os

import matplotlib.pyplot as plt
import pandas as pd

from . import data as d
from . import designs
from . import pictures as p
from . import record_picture
from . import timeline

PNG_DPI = 300
# Two files of the same numbers are the same, byte by byte. The creator's name
# in it tells a picture that may be drawn again from a file that is not its own.
MARK = "xylem-plot"
NAMELESS = {"svg": {"Date": None, "Creator": MARK},
            "pdf": {"CreationDate": None, "Creator": MARK},
            "png": {"Software": MARK}}


def own(path):
    """Raises DataError where a file is there that is not of this program."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return
    with open(path, "rb") as file:
        if MARK.encode() not in file.read():
            raise d.DataError(
                f"{path} is there already, is not of xylem-plot's making, and "
                "is left as it is: name another place (-o), or take it away")


def replace(path, write):
    """Has a file written beside its place, and puts it there when it is whole.
    """
    own(path)
    part = path + ".part"
    try:
        write(part)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def save(fig, path):
    kind = path.rsplit(".", 1)[-1]
    with plt.rc_context({"svg.hashsalt": os.path.basename(path)}):
        replace(path, lambda part: fig.savefig(
            part, format=kind, dpi=PNG_DPI, metadata=NAMELESS[kind]))


def close(fig):
    plt.close(fig)


def read_points(path):
    if path is None:
        return None
    try:
        points = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise d.DataError(f"cannot read {path}: {error}") from error
    lacking = {"coll", "ranks", "series", "value"} - set(points.columns)
    if lacking:
        raise d.DataError(f"{path} has no column " + ", ".join(sorted(lacking)))
    if "quantity" in points:
        points = points[points["quantity"].str.startswith("slowdown")]
    # One number of several machines, as in "1024 and 1536".
    points = points.assign(ranks=points["ranks"].astype(str).str.split(
        " and ")).explode("ranks")
    points["ranks"] = pd.to_numeric(points["ranks"], errors="coerce")
    points["value"] = pd.to_numeric(points["value"], errors="coerce")
    return points.dropna(subset=["ranks", "value"])


def case_name(case):
    where = [] if case["place"] == "measured" else [case["place"].split()[-1]]
    nodes = [f"{int(case['nodes'])}n"] if case["nodes"] > 1 else []
    return where + [case["coll"], int(case["bytes"]), int(case["ranks"])] + \
        nodes


def name_of(*parts):
    return "-".join(str(part) for part in parts)


def noise_on_all(times):
    """Without runs in which one rank was held up: these are for delays."""
    return times[[d.held_of(noise) is None for noise in times["noise"]]]


def of_times(data, width):
    for case, rows in d.cases(noise_on_all(data.times)):
        if len(set(rows["noise"])) > 1:
            yield (name_of("times", *case_name(case)),
                   p.times(case, rows, width), case)


def of_delays(data, width):
    for case, rows in d.cases(data.delays) if len(data.delays) else ():
        delayed = p.ordered(rows["delayed"])
        if len(delayed) > 1:
            yield (name_of("heat", *case_name(case)),
                   p.heat(case, rows, width), case)
        first = rows[rows["delayed"] == delayed[0]]
        yield (name_of("delays", *case_name(case)),
               p.delays(case, first, width), case)


def with_nodes(rows, key):
    """Names say how many ranks a node has, where one point would have several
    numbers of nodes."""
    if not rows.duplicated(key).any():
        return rows
    return rows.assign(impl=rows["impl"] + [
        f", {int(ranks // nodes)} per node"
        for ranks, nodes in zip(rows["ranks"], rows["nodes"])])


def of_curves(data, width, points):
    times = noise_on_all(data.times)
    noisy = times[times["noise"] != d.QUIET]
    for key, rows in noisy.groupby(["place", "coll", "bytes"], sort=False):
        rows = with_nodes(rows, ["impl", "noise", "ranks"])
        if rows["ranks"].nunique() > 1:
            own = None if points is None else points[
                points["coll"] == key[1]]
            yield (name_of("scale", *key), p.scale(*key, rows, width, own),
                   None)
    for key, rows in times.groupby(["place", "coll", "ranks"], sort=False):
        rows = with_nodes(rows, ["impl", "noise", "bytes"])
        if rows["bytes"].nunique() > 2:
            yield name_of("sizes", *key), p.sizes(*key, rows, width), None


def of_ladders(data, width):
    for steps in data.ladders:
        for case, rows in d.cases(steps):
            yield (name_of("mechanisms", *case_name(case)),
                   p.ladder(case, rows, width), case)


def of_traces(data, width, between_us=None):
    for path in data.traces:
        name = os.path.splitext(os.path.basename(path))[0]
        trace = timeline.read(path, between_us)
        words, _, noise = trace.what.partition(", noise ")
        words += f", {d.text_of_noise(noise)}" if noise else ""
        if between_us is not None:
            words += f", from {d.text_of_time(between_us[0])} on"
        yield (name_of("timeline", name), p.timeline(trace, words, width),
               None)


def of_records(data, width):
    for record in data.records:
        yield (name_of("record", record.name),
               record_picture.picture(record, width), None)


def of_designs(data, width):
    if len(data.designs):
        for name, fig in designs.pictures(data.designs, width):
            yield name, fig, None


def pictures(data, width_mm, points=None, between_us=None):
    """(name, figure) of each; to be closed."""
    width = width_mm / p.INCH_MM
    if len(data.times):
        for name, fig, _ in of_times(data, width):
            yield name, fig
        for name, fig, _ in of_curves(data, width, points):
            yield name, fig
    for name, fig, _ in of_traces(data, width, between_us):
        yield name, fig
    for makers in (of_delays, of_ladders, of_records, of_designs):
        for name, fig, _ in makers(data, width):
            yield name, fig
