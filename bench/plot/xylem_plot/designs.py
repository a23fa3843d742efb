"""Pictures of what bench/gpu.sh has measured: the questions of Faraji's figures,
a panel for processes that have GPUs in turns and one for those that have them
through MPS.
"""

import re

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd

from . import data as d
from . import pictures as p

SHARING = {"turns": "in turns, without MPS", "mps": "through MPS"}
NAMES = {"openmpi": "Open MPI, host copies", "staged": "xylem, host copies",
         "mirrors": "mirrors", "ipc": "direct (the default)",
         "gsb": "cuda_gsb", "btb": "cuda_btb", "both": "cuda_gsb_btb",
         "static": "static, all by IPC", "dynamic": "dynamic"}
BEST = "static, its best"
ALL_STAGED = "static, all staged"
LEAST_SIZES = 3  # that make a curve
STAGED = re.compile(r"^(static|staged):(\d+)$")


def staged_of(design):
    """How many go through the host; None: it is no such design."""
    found = STAGED.match(design)
    return int(found[2]) if found else 0 if design == "static" else None


def best_static(rows):
    """The fastest of static's mixtures for each size: a tuning table."""
    own = rows[[staged_of(design) is not None for design in rows["design"]]]
    least = own.sort_values("us", kind="stable").drop_duplicates("bytes")
    return least.assign(impl=BEST)


def named(rows, designs):
    """Those of `designs`, in their order, with what a legend says."""
    parts = [rows[rows["design"] == design].assign(
        impl=NAMES.get(design, design)) for design in designs]
    return pd.concat(parts) if parts else rows.iloc[:0]


# ---- what is drawn: rows with `impl` and `value` ----


def of_designs(rows):
    """Figures 3.3, 3.4, 3.6 and 4.6."""
    return named(rows, ["ipc", "openmpi", "staged", "mirrors", "btb", "gsb",
                        "both"]).assign(value=lambda table: table["us"] / 1e3)


def of_copies(rows):
    """Figures 5.5, 5.6, 5.8 and 5.9."""
    last = [f"static:{int(rows['ranks'].iloc[0]) - 1}"]
    staged = named(rows, last).assign(impl=ALL_STAGED)
    return pd.concat([
        named(rows, ["ipc", "openmpi", "static"]), staged, best_static(rows),
        named(rows, ["dynamic"])]).assign(
            value=lambda table: table["us"] / 1e3)


def of_gains(rows):
    """Figure 5.10: times of the best static."""
    best = best_static(rows).set_index("bytes")["us"]
    others = named(rows, ["ipc", "openmpi", "mirrors", "gsb", "btb", "static",
                          "dynamic"])
    return others.assign(value=others["us"] / others["bytes"].map(best)).dropna(
        subset=["value"])


def of_pairs(rows):
    """Figures 5.1 and 5.2."""
    pairs = int(rows["ranks"].iloc[0]) // 2
    parts = [rows[rows["design"] == f"staged:{staged}"].assign(
        impl=f"{staged} of {pairs} through the host")
        for staged in range(pairs + 1)]
    return pd.concat(parts).assign(value=lambda table: table["us"] / 1e3)


def of_firsts(rows):
    """Figure 3.5: the number of calls after which a design has taken no longer
    than mirrors, its first one included; infinite where later ones do not."""
    calls = rows.pivot_table(index=["design", "bytes"], columns="which",
                             values="us", sort=False).reset_index()
    theirs = calls[calls["design"] == "mirrors"].set_index("bytes")
    others = named(calls, ["ipc", "btb", "gsb", "static", "static:2",
                           "dynamic"])
    saved = others["bytes"].map(theirs["again"]) - others["again"]
    more = others["first"] - others["bytes"].map(theirs["first"])
    value = (1 + (more / saved).clip(lower=0)).apply(
        lambda n: n if n == int(n) else int(n) + 1)
    return others.assign(value=value.where(saved > 0, float("inf")))


# ---- pictures ----


def panels(rows, make, width, ylabel):
    """(figure, axes, rows of each, what legends say) of what `make` makes."""
    ways = [way for way in SHARING if (rows["sharing"] == way).any()]
    made = [make(rows[rows["sharing"] == way]).assign(noise=d.QUIET)
            for way in ways]
    impls = p.ordered(impl for table in made for impl in table["impl"])
    fig, axes = plt.subplots(len(ways), 1, sharex=True, sharey=True,
                             squeeze=False,
                             figsize=(width, 0.45 + 1.75 * len(ways)))
    for ax, way, table in zip(axes[:, 0], ways, made):
        handles = p.curves(ax, table, "bytes", "value", impls=impls)
        ax.set_title(SHARING[way], loc="left", pad=2)
        ax.set_ylabel(ylabel)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
    p.plain_ticks(axes[-1, 0].xaxis, pd.concat(made)["bytes"], p.short_bytes)
    axes[-1, 0].set_xlabel("bytes", labelpad=1)
    return fig, axes[:, 0], made, handles


def times(rows, make, title, width):
    fig, axes, _, handles = panels(rows, make, width, "time per call")
    for ax in axes:
        ax.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(
            lambda v, _: d.text_of_time(v * 1e3)))
        ax.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    p.title_of(fig, title)
    p.legend_below(fig, handles)
    return fig


def ratios(rows, make, title, width, ylabel, mark):
    """Numbers without a unit; those that are infinite stand at the top, hollow,
    one over the other."""
    fig, axes, made, handles = panels(rows, make, width, ylabel)
    all_values = pd.concat(made)["value"]
    end = all_values[all_values < float("inf")].max()
    for ax, table in zip(axes, made):
        ax.axhline(1, color="#888888", linewidth=0.6, zorder=0)
        never = table[table["value"] == float("inf")]
        over = never.groupby("bytes").cumcount()
        for bytes_, k, impl in zip(never["bytes"], over, never["impl"]):
            line = next(h for h in handles if h.get_label() == impl)
            ax.plot(bytes_, 3 * end * 2 ** k, line.get_marker(), markersize=3.5,
                    color=line.get_color(), fillstyle="none")
        ax.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(mark))
        ax.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    if (all_values == float("inf")).any():
        handles.append(matplotlib.lines.Line2D(
            [], [], linestyle="", marker="o", color="black", markersize=3.5,
            fillstyle="none", label="hollow: never"))
    p.title_of(fig, title)
    p.legend_below(fig, handles)
    return fig


def title_of(machine, text):
    return text + (f"\n{machine}" if machine else "")


def has_curve(rows, designs=None):
    own = rows if designs is None else rows[rows["design"].isin(designs)]
    return own["bytes"].nunique() >= LEAST_SIZES


def of_collective(machine, coll, ranks, rows, width):
    what = f"{coll}, {d.text_of_count(ranks, 'rank')}"
    if has_curve(rows, ["gsb", "btb"]):
        yield "designs", times(rows, of_designs, title_of(
            machine, f"{what}: designs"), width)
    if has_curve(rows, ["dynamic"]):
        yield "copies", times(rows, of_copies, title_of(
            machine, f"{what}: copies by two mechanisms"), width)
        yield "gains", ratios(
            rows, of_gains, title_of(machine, f"{what}: against the best "
                                     "static"), width,
            "time, in those of static", lambda v, _: f"× {v:g}")


def pictures(table, width):
    """(name, figure) of each; to be closed."""
    later = table[table["which"] == "later"]
    for key, rows in later.groupby(["machine", "coll", "ranks"], sort=False):
        if key[1] == "pairs":
            yield f"pairs-{int(key[2])}", times(
                rows, of_pairs, title_of(key[0], d.text_of_count(key[2] // 2, "pair") +
                               " of processes copy at once"), width)
            continue
        for kind, fig in of_collective(*key, rows, width):
            yield f"{kind}-{key[1]}-{int(key[2])}", fig
    firsts = table[table["which"] != "later"]
    for key, rows in firsts.groupby(["machine", "coll", "ranks"], sort=False):
        yield f"first-{key[1]}-{int(key[2])}", ratios(
            rows, of_firsts, title_of(
                key[0], f"{key[1]}, {d.text_of_count(key[2], 'rank')}: "
                "calls until a design has paid"), width,
            "calls", lambda v, _: f"{v:g}")
