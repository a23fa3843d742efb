"""The picture of a record of noise."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

from . import data as d
from . import pictures as p

DOTS_MAX = 4000  # of one core, the longest first
NAMED_MAX = 8  # more cores are drawn alike


def colors_of(series):
    if len(series) > NAMED_MAX:
        return [p.SHADES[0]] * len(series)
    return [p.LINES[i % len(p.LINES)] for i in range(len(series))]


def time_axis(axis):
    axis.set_major_locator(matplotlib.ticker.LogLocator(numticks=7))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(
        lambda us, _: d.text_of_time(us) if us >= 1
        else d.text_of_nanoseconds(us)))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def draw_dots(ax, series, colors):
    """When what was lost."""
    for one, color in zip(series, colors):
        longest = np.argsort(one.length_us)[::-1][:DOTS_MAX]
        ax.plot(one.begin_us[longest] / 1e6, one.length_us[longest], ".",
                markersize=1.6, color=color, alpha=0.7, rasterized=True)
    ax.set_yscale("log")
    time_axis(ax.yaxis)
    ax.set_xlim(0, max(one.whole_us for one in series) / 1e6)
    ax.set_xlabel("time, s", labelpad=1)
    most = max(len(one.length_us) for one in series)
    ax.set_ylabel("length" + (f"\n(the {DOTS_MAX} longest\nof {most})"
                              if most > DOTS_MAX else ""))
    ax.grid(True, axis="y", color="#dddddd", linewidth=0.5)


def draw_tails(ax, series, colors):
    """How many per second are longer than that."""
    for one, color in zip(series, colors):
        if not len(one.length_us):
            continue
        lengths = np.sort(one.length_us)[::-1]
        rate = np.arange(1, len(lengths) + 1) / one.whole_us * 1e6
        ax.step(lengths, rate, where="post", color=color, linewidth=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    time_axis(ax.xaxis)
    ax.yaxis.set_major_locator(matplotlib.ticker.LogLocator(numticks=5))
    ax.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    ax.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    ax.set_xlabel("length", labelpad=1)
    ax.set_ylabel("longer ones\nper second")
    ax.grid(True, color="#dddddd", linewidth=0.5)


QUANTA = {"fwq": "FWQ: equal work", "ftq": "FTQ: equal times"}


def lost(values, method):
    """Per cent of each quantum."""
    best = values.min() if method == "fwq" else values.max()
    return 100 * (1 - best / values if method == "fwq" else 1 - values / best)


def draw_quanta(ax, quanta, method, labels, colors):
    """How many quanta have lost more than that."""
    for label, color in zip(labels, colors):
        own = quanta[(quanta["method"] == method)
                     & (quanta["core"] == int(label.split()[-1]))]["value"]
        own = own[own > 0].to_numpy()
        if not len(own):
            continue
        values = np.sort(lost(own, method))[::-1]
        ax.step(values, 100 * np.arange(1, len(values) + 1) / len(values),
                where="post", color=color, linewidth=1)
    ax.set_yscale("log")
    ax.set_xlim(0, 100)
    ax.set_ylim(top=150)
    ax.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g %%"))
    ax.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g %%"))
    ax.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    ax.set_title(QUANTA[method], loc="right", pad=2, fontsize=6.5)
    ax.set_xlabel("lost more than", labelpad=1)
    ax.grid(True, color="#dddddd", linewidth=0.5)


def picture(record, width):
    """Detours over time, their lengths, and what quanta have lost."""
    series, colors = record.series, colors_of(record.series)
    has_quanta = len(record.quanta) > 0
    rows = [["dots", "dots"], ["tails", "tails"]]
    rows += [["fwq", "ftq"]] if has_quanta else []
    fig, axes = plt.subplot_mosaic(rows, figsize=(width, 1.35 * len(rows)))
    draw_dots(axes["dots"], series, colors)
    draw_tails(axes["tails"], series, colors)
    for method in ("fwq", "ftq") if has_quanta else ():
        draw_quanta(axes[method], record.quanta, method,
                    [one.label for one in series], colors)
    if has_quanta:
        axes["fwq"].set_ylabel("of the quanta")
    named = len(series) <= NAMED_MAX
    share = [one.share for one in series]
    p.title_of(fig, f"{record.name}: noise"
               + ("" if named else f" of {len(series)} cores, "
                  f"{min(share):.2g} to {max(share):.2g} %"))
    if named:
        p.legend_below(fig, [
            Line2D([], [], color=color, linewidth=1.4,
                                    label=f"{one.label}: {one.share:.3g} %")
            for one, color in zip(series, colors)])
    return fig
