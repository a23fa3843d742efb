"""The pictures, at the width of a paper's column."""

import math
import re
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.legend_handler import HandlerLine2D  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

from . import data as d  # noqa: E402

OURS = "#1b7f5c"
SHADES = ["#8fa3b3", "#f2b134", "#d1495b", "#7b2d8b", "#2e4057", "#66a182",
          "#00798c", "#444444"]
LINES = ["#1b7f5c", "#d1495b", "#2e4057", "#f2b134", "#7b2d8b", "#00798c",
         "#8a5a44", "#777777"]
MARKERS = "osD^vP*X"
STYLES = ["-", "--", ":", "-."]
CUT = 3  # an axis ends at so many times what three quarters of it need
INCH_MM = 25.4

plt.rcParams.update({
    "font.size": 7, "axes.titlesize": 7.5, "axes.labelsize": 7,
    "legend.fontsize": 6.5, "xtick.labelsize": 6.5, "ytick.labelsize": 7,
    "axes.spines.top": False, "axes.spines.right": False,
    "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "figure.constrained_layout.use": True, "svg.fonttype": "none",
    "pdf.fonttype": 42, "legend.frameon": False, "axes.axisbelow": True,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
})


def is_ours(impl):
    return impl.startswith(d.OURS)


def axis_end(values):
    """Where an axis ends, so that a few long bars do not flatten the rest."""
    values = sorted(v for v in values if v == v)
    if not values:
        return 1.0
    end = min(values[-1], CUT * values[(len(values) - 1) * 3 // 4])
    return end if end > 0 else 1.0


def time_unit(end_us):
    for unit, name in ((1e6, "s"), (1e3, "ms"), (1, "µs")):
        if end_us >= 2 * unit:
            return unit, name
    return 1, "µs"


def ordered(values):
    """In the order in which they come."""
    return list(dict.fromkeys(values))


def title_of(fig, text):
    """In as many lines as the width takes."""
    letters = int(19 * fig.get_figwidth())
    text = "\n".join(textwrap.fill(line, letters) for line in text.split("\n"))
    fig.suptitle(text, fontsize=7.5, x=0.01, ha="left")


# What a legend says of what does not fit on an axis.
CUT_BAR = "cut off: the number tells"
CUT_INTERVAL = "the interval goes on"
CUT_FLOOR = "the floor lies beyond"
INTERVAL = "95 % interval"


def mark_of(marker, label, color="black"):
    return Line2D([], [], linestyle="", marker=marker, color=color,
                  markersize=3.5, label=label)


def interval_of(label=INTERVAL):
    """In a legend an interval."""
    return Line2D([], [], linewidth=0.7, marker="|", color="#222222",
                  markersize=5, label=label)


def wrapped(name, most=18):
    """A long name in lines, cut behind its commas and before parentheses."""
    first, *parts = re.split(r"(?<=,) | (?=\()", name)
    lines = [first]
    for part in parts:
        if len(lines[-1]) + len(part) >= most:
            lines.append(part)
        else:
            lines[-1] += " " + part
    return "\n".join(lines)


def break_mark(ax, x, y, height):
    """Two white strokes across a bar that is cut off."""
    for shift in (-0.012, -0.024):
        width = ax.get_xlim()[1]
        ax.plot([x + shift * width, x + (shift + 0.008) * width],
                [y - height / 2, y + height / 2], color="white",
                linewidth=1.2, solid_capstyle="butt", zorder=4)


# ---- bars: times under noise ----


def fit_labels(fig, ax, labels):
    """Widens the axis until every text ends within it. labels: (text's artist,
    the value that it stands behind)."""
    for _ in range(3):  # the layout moves with the axis
        fig.draw_without_rendering()
        width = ax.get_window_extent().width
        needed = max(value / max(0.2, 1 - (text.get_window_extent().width + 5)
                                 / width) for text, value in labels)
        ax.set_xlim(0, needed)


def interval_draw(ax, row, y, end, unit):
    """The interval of a bar, and where it ends on the axis. One that goes on
    beyond it ends in an arrow."""
    value, high = row["time_us"], row["high_us"]
    is_cut = high > end
    shown = min(high, end)
    ax.errorbar(value / unit, y, xerr=[[max(0, value - row["low_us"]) / unit],
                                       [max(0, shown - value) / unit]],
                color="#222222", linewidth=0.7, capsize=0)
    caps = [row["low_us"]] + ([] if is_cut else [high])
    ax.plot([cap / unit for cap in caps], [y] * len(caps), "|",
            color="#222222", markersize=3, markeredgewidth=0.7)
    if is_cut:
        ax.plot(shown / unit, y, ">", color="#222222", markersize=2.6)
    return shown, is_cut


def times_bar(ax, row, y, height, end, unit):
    """One bar; the text behind it, the value where that stands, and the set of
    what is cut off."""
    value = row["time_us"]
    cut = {CUT_BAR} if value > end else set()
    shown = min(value, end)
    ax.barh(y, shown / unit, height=height * 0.92, color=row["color"],
            linewidth=0)
    reach = shown
    if row["low_us"] == row["low_us"] and value <= end:
        high, is_cut = interval_draw(ax, row, y, end, unit)
        reach = max(shown, high)
        cut |= {CUT_INTERVAL} if is_cut else set()
    if row["noise"] != d.QUIET and row["floor_us"] > 0:
        reach = max(reach, min(row["floor_us"], end))
        at = min(row["floor_us"], end) / unit
        ax.plot([at] * 2, [y - height / 2, y + height / 2], color="black",
                linewidth=1.1, zorder=5)
        if row["floor_us"] > end:
            ax.plot(at, y, ">", color="black", markersize=4, zorder=5)
            cut.add(CUT_FLOOR)
    words = d.text_of_time(value)
    if row["noise"] != d.QUIET and row["slowdown"] == row["slowdown"]:
        words += "  " + d.text_of_slowdown(row["slowdown"])
    if value > end and row["low_us"] == row["low_us"]:
        words += f" ({d.text_of_time(row['low_us'])} to " \
            f"{d.text_of_time(row['high_us'])})"
    text = ax.annotate(words, (reach / unit, y),
                       (6 if CUT_FLOOR in cut else 3, 0), zorder=6,
                       textcoords="offset points", va="center", fontsize=6,
                       fontweight="bold" if is_ours(row["impl"]) else "normal",
                       bbox={"facecolor": "white", "linewidth": 0, "pad": 0.4})
    return text, reach / unit, cut


def end_of_times(rows):
    """Where the axis ends: intervals and floors of what is not cut off have room,
    unless they would make it twice as long."""
    end = axis_end(rows["time_us"])
    whole = rows[rows["time_us"] <= end]
    noisy = whole[whole["noise"] != d.QUIET]
    return max(value for value in [end, *whole["high_us"], *noisy["floor_us"]]
               if value <= 2 * end)


def times_handles(rows, noises, cut):
    handles = [Patch(color=SHADES[k % len(SHADES)], label=d.text_of_noise(n))
               for k, n in enumerate(noises)]
    if (rows["low_us"] == rows["low_us"]).any():
        handles.append(interval_of())
    if ((rows["floor_us"] > 0) & (rows["noise"] != d.QUIET)).any():
        handles.append(Line2D([], [], color="black", linewidth=1.1,
                              label="floor"))
    if CUT_INTERVAL in cut:
        handles.append(mark_of(">", CUT_INTERVAL, "#222222"))
    if CUT_FLOOR in cut:
        handles.append(mark_of(">", CUT_FLOOR))
    if CUT_BAR in cut:
        handles.append(mark_of("$//$", CUT_BAR, "#666666"))
    return handles


def times(case, rows, width):
    """Bars of each implementation, one for each noise, the slowdown and the
    interval of the median on them, the floor as a stroke."""
    impls, noises = ordered(rows["impl"]), ordered(rows["noise"])
    end = end_of_times(rows)
    unit, name = time_unit(end)
    height = 1 / (len(noises) + 0.6)
    names = [wrapped(d.text_of_impl(impl)) for impl in impls]
    room = max(len(noises) * 0.125 + 0.09,
               0.12 * max(name.count("\n") + 1 for name in names))
    fig, ax = plt.subplots(figsize=(width, 0.62 + len(impls) * room))
    labels, broken, cut = [], [], set()
    for i, impl in enumerate(impls):
        for k, noise in enumerate(noises):
            found = rows[(rows["impl"] == impl) & (rows["noise"] == noise)]
            if not len(found):
                continue
            row = dict(found.iloc[0], color=SHADES[k % len(SHADES)])
            y = i + height * (k - (len(noises) - 1) / 2)
            text, value, own = times_bar(ax, row, y, height, end, unit)
            labels.append((text, value))
            cut |= own
            if CUT_BAR in own:
                broken.append((end / unit, y))
    ax.set_yticks(range(len(impls)), names)
    for tick, impl in zip(ax.get_yticklabels(), impls):
        tick.set_fontweight("bold" if is_ours(impl) else "normal")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(impls) - 0.45, -0.55)
    ax.set_xlabel(f"time per call, {name}", labelpad=1)
    ax.xaxis.grid(True, color="#dddddd", linewidth=0.5)
    title_of(fig, d.text_of_case(case))
    legend_below(fig, times_handles(rows, noises, cut))
    fit_labels(fig, ax, labels)
    for x, y in broken:
        break_mark(ax, x, y, height)
    return fig


def legend_below(fig, handles):
    """In as few lines as its texts allow; the picture grows by these."""
    words = max(len(h.get_label()) for h in handles)
    columns = max(1, min(len(handles),
                         int(fig.get_figwidth() * 19 / (words + 5))))
    lines = math.ceil(len(handles) / columns)
    room = 0.05 + 0.135 * lines
    fig.set_figheight(fig.get_figheight() + room)
    part = room / fig.get_figheight()
    fig.get_layout_engine().set(rect=(0, part, 1, 1 - part))
    ends = {h: HandlerLine2D(numpoints=2) for h in handles
            if isinstance(h, Line2D) and h.get_marker() == "|"}
    fig.legend(handles=handles, loc="lower center", ncol=columns,
               handler_map=ends,
               handlelength=1.6, columnspacing=1.2, borderaxespad=0.2,
               labelspacing=0.3)


# ---- rows of ranks: who is delayed ----


def delays_row(ax, impl, own, delayed, unit, end):
    """The bars of one implementation; whether some are cut off, and whether
    some ranks were earlier than without the burst."""
    values = own["delay_us"].to_numpy() / unit
    colors = np.where(own["rank"] == delayed, SHADES[2],
                      OURS if is_ours(impl) else SHADES[0])
    ax.bar(own["rank"], np.clip(values, 0, end), width=0.8, color=colors)
    over, under = values > end, values < -0.02 * end
    ax.plot(own["rank"][over], np.full(over.sum(), 0.94 * end), "^",
            color="white", markersize=2.2, markeredgewidth=0)
    ax.plot(own["rank"][under], np.full(under.sum(), 0.05 * end), "v",
            color="#555555", markersize=2.2, markeredgewidth=0)
    most = values.max() if len(values) else 0
    words = "up to " + d.text_of_time(most * unit) if most > 0 else "no delay"
    if under.any():
        words += f", {d.text_of_time(-values.min() * unit)} earlier"
    ax.set_title(wrapped(d.text_of_impl(impl), 60), loc="left", pad=2,
                 fontweight="bold" if is_ours(impl) else "normal")
    ax.set_title(words, loc="right", pad=2, fontsize=6, color="#555555")
    return over.any(), under.any()


def delays(case, rows, width):
    """A row of bars per implementation. The axis is that of the delay: who
    loses all of it reaches the top, and whoever loses more is cut off."""
    impls = ordered(rows["impl"])
    held = rows["held_us"].iloc[0]
    delayed = rows["delayed"].iloc[0]
    ranks = int(case["ranks"])
    unit, name = time_unit(2.1 * held)
    end = 1.2 * held / unit
    fig, axes = plt.subplots(len(impls), 1, sharex=True, squeeze=False,
                             figsize=(width, 0.6 + 0.52 * len(impls)))
    cut = []
    for ax, impl in zip(axes[:, 0], impls):
        own = rows[rows["impl"] == impl].sort_values("rank")
        ax.set_ylim(0, end)
        ax.set_yticks([0, held / unit])
        ax.axhline(held / unit, color="#bbbbbb", linewidth=0.5, zorder=0)
        cut.append(delays_row(ax, impl, own, delayed, unit, end))
    axes[-1, 0].set_xlim(-0.7, ranks - 0.3)
    axes[-1, 0].set_xlabel("rank", labelpad=1)
    axes[-1, 0].xaxis.set_major_locator(
        matplotlib.ticker.MaxNLocator(16, integer=True))
    fig.supylabel(f"delay, {name}", fontsize=7)
    title_of(fig, f"{d.text_of_case(case)}\nrank {delayed} is held up "
             f"for {d.text_of_time(held)}")
    handles = [Patch(color=SHADES[2], label=f"rank {delayed}")]
    if any(over for over, _ in cut):
        handles.append(Line2D([], [], linestyle="", marker="^", markersize=4,
                              color="white", markeredgewidth=0.5,
                              markeredgecolor="#555555",
                              label="cut off: up to the number above"))
    if any(under for _, under in cut):
        handles.append(mark_of("v", "earlier than without it", "#555555"))
    legend_below(fig, handles)
    return fig


# ---- rank x rank ----


def heat(case, rows, width):
    """Noise on the rank of the line, delay of the rank of the column."""
    impls = ordered(rows["impl"])
    ranks = int(case["ranks"])
    held = rows["held_us"].iloc[0]
    unit, name = time_unit(2.1 * held)
    across = min(len(impls), 3 if ranks <= 64 else 2)
    down = math.ceil(len(impls) / across)
    side = (width - 0.5) / across
    fig, axes = plt.subplots(down, across, squeeze=False, sharex=True,
                             sharey=True,
                             figsize=(width, 0.75 + down * (side + 0.12)))
    image, missing = None, False
    for ax in axes.flat[len(impls):]:
        ax.axis("off")
    for ax, impl in zip(axes.flat, impls):
        own = rows[rows["impl"] == impl]
        grid = np.full((ranks, ranks), np.nan)
        grid[own["delayed"].astype(int), own["rank"].astype(int)] = \
            own["delay_us"] / unit
        missing |= bool(np.isnan(grid).any())
        ax.set_facecolor("#bbbbbb")
        image = ax.imshow(grid, vmin=0, vmax=1.2 * held / unit, cmap="magma_r",
                          aspect="equal", interpolation="nearest")
        ax.set_title(wrapped(d.text_of_impl(impl)), pad=2,
                     fontweight="bold" if is_ours(impl) else "normal")
        ax.spines[["top", "right"]].set_visible(True)
        ax.locator_params(integer=True, nbins=5)
    for ax in axes.flat[max(0, len(impls) - across):len(impls)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("delayed rank", labelpad=1)
    for ax in axes[:, 0]:
        ax.set_ylabel("rank held up", labelpad=1)
    bar = fig.colorbar(image, ax=list(axes.flat), location="bottom",
                       shrink=0.7, aspect=35, pad=0.02,
                       extend="both" if (rows["delay_us"] < 0).any()
                       else "max")
    note = "" if not missing else "; gray: not measured"
    bar.set_label(f"delay, {name} (ends: and beyond); each rank in turn held "
                  f"up for {d.text_of_time(held)}{note}", labelpad=1)
    bar.outline.set_linewidth(0.4)
    title_of(fig, d.text_of_case(case))
    return fig


# ---- curves ----


def plain_ticks(axis, values, text, apart=9):
    """Labels of values on a logarithmic axis, the last and as many before it as
    stand at least 1 / `apart` of the axis from each other."""
    values = sorted(set(values), reverse=True)
    least = (values[0] / values[-1]) ** (1 / apart) * 0.999
    shown = []
    for value in values:
        if not shown or shown[-1] / value >= least:
            shown.append(value)
    axis.set_major_locator(matplotlib.ticker.FixedLocator(shown))
    axis.set_major_formatter(matplotlib.ticker.FixedFormatter(
        [text(v) for v in shown]))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def short_bytes(count):
    return d.text_of_bytes(count).replace("iB", "").replace(" ", "")


def intervals(ax, own, x, y, color):
    own = own[own["low"] == own["low"]]
    if len(own):
        ax.errorbar(own[x], own[y], yerr=[(own[y] - own["low"]).clip(lower=0),
                                          (own["high"] - own[y]).clip(lower=0)],
                    fmt="none", ecolor=color, elinewidth=0.7, capsize=1.6,
                    capthick=0.7)


def curves(ax, rows, x, y, keep=lambda row: True, impls=None):
    """A line for each implementation and noise; color and marker tell the one,
    the dashes the other. impls: where others have been drawn beside it."""
    impls, noises = impls or ordered(rows["impl"]), ordered(rows["noise"])
    noises = [n for n in noises if keep(n)]
    for i, impl in enumerate(impls):
        for k, noise in enumerate(noises):
            own = rows[(rows["impl"] == impl) & (rows["noise"] == noise)]
            own = own.sort_values(x)
            ax.plot(own[x], own[y], color=LINES[i % len(LINES)],
                    marker=MARKERS[i % len(MARKERS)], markersize=3,
                    linewidth=1, linestyle=STYLES[k % len(STYLES)])
            if "low" in own:
                intervals(ax, own, x, y, LINES[i % len(LINES)])
    handles = [Line2D([], [], color=LINES[i % len(LINES)], markersize=3,
                      marker=MARKERS[i % len(MARKERS)], linewidth=1,
                      label=d.text_of_impl(impl))
               for i, impl in enumerate(impls)]
    if len(noises) > 1:
        handles += [Line2D([], [], color="#333333", linewidth=1,
                           linestyle=STYLES[k % len(STYLES)],
                           label=d.text_of_noise(noise))
                    for k, noise in enumerate(noises)]
    if "low" in rows and (rows["low"] == rows["low"]).any():
        handles.append(interval_of())
    ax.grid(True, color="#dddddd", linewidth=0.5)
    return handles


def slowdown_of(us, rows):
    return 100 * (us / rows["quiet_us"] - 1)


def scale(place, coll, size, rows, width, points=None):
    """Slowdown over ranks, with what others have printed as hollow marks."""
    fig, ax = plt.subplots(figsize=(width, 2.3))
    rows = rows.assign(low=slowdown_of(rows["low_us"], rows),
                       high=slowdown_of(rows["high_us"], rows))
    handles = curves(ax, rows, "ranks", "slowdown", lambda n: n != d.QUIET)
    ax.set_xscale("log", base=2)
    ax.set_yscale("symlog", linthresh=10)
    ranks = set(rows["ranks"])
    if points is not None and len(points):
        for i, (name, own) in enumerate(points.groupby("series", sort=False)):
            mark = "<>hdpH"[i % 6]
            ax.plot(own["ranks"], own["value"], mark, color="black",
                    fillstyle="none", markersize=5, markeredgewidth=0.8)
            handles.append(Line2D([], [], color="black", linestyle="",
                                  marker=mark, fillstyle="none", markersize=5,
                                  markeredgewidth=0.8, label=name))
            ranks |= set(own["ranks"])
    plain_ticks(ax.xaxis, ranks, lambda v: f"{int(v)}")
    bottom, top = ax.get_ylim()
    ax.set_ylim(min(0, bottom), 1.5 * max(top, 11))
    ax.yaxis.set_major_locator(matplotlib.ticker.FixedLocator(
        [0] + [10 ** k for k in range(1, 9) if 10 ** k <= top]))
    ax.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(
        lambda v, _: f"{v:.0f} %"))
    ax.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    ax.set_xlabel("ranks", labelpad=1)
    ax.set_ylabel("slowdown by noise")
    where = "" if place == "measured" else f", {place}"
    title_of(fig, f"{coll} of {d.text_of_bytes(size)}{where}")
    legend_below(fig, handles)
    return fig


def sizes(place, coll, ranks, rows, width):
    """Time over the size of the message."""
    fig, ax = plt.subplots(figsize=(width, 2.3))
    rows = rows.assign(ms=rows["time_us"] / 1e3, low=rows["low_us"] / 1e3,
                       high=rows["high_us"] / 1e3)
    handles = curves(ax, rows, "bytes", "ms")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(
        lambda v, _: d.text_of_time(v * 1e3)))
    ax.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    plain_ticks(ax.xaxis, rows["bytes"], short_bytes)
    ax.set_xlabel("bytes", labelpad=1)
    ax.set_ylabel("time per call")
    where = "" if place == "measured" else f", {place}"
    title_of(fig, f"{coll}, {d.text_of_count(ranks, 'rank')}{where}")
    legend_below(fig, handles)
    return fig


# ---- what each step of a ladder buys ----


def ladder(case, rows, width):
    """Quiet time and slowdown of each step, side by side."""
    rows = rows.assign(impl=rows["step"])
    return times(case, rows, width)


# ---- timeline ----

# What is drawn over what; names that are not here are work.
SPANS = {"noise": ("noise", "#d1495b", 3), "wait": ("waits", "#c9d1d8", 0),
         "copy": ("copies, sums", "#2e4057", 2),
         "combine": ("copies, sums", "#2e4057", 2),
         "sum": ("copies, sums", "#2e4057", 2)}
WORK = ("other work", "#66a182", 1)
OPERATIONS = ["#1b7f5c", "#2e4057", "#f2b134", "#7b2d8b", "#00798c", "#8a5a44"]
RANKS_MAX = 64


def draw_spans(ax, row, trace, unit, lower):
    """What the ranks' threads did; what there is of it. lower: in the lower
    part of the rows, as operations have the upper one."""
    kinds = {}
    for rank, what, begin, length in trace.spans:
        if rank in row and length > 0:
            kinds.setdefault(SPANS.get(what, WORK), {}).setdefault(
                row[rank], []).append((begin / unit, length / unit))
    place, whole = (0.14, 0.56) if lower else (0, 0.8)
    for kind in sorted(kinds, key=lambda k: k[2]):
        label, color, over = kind
        height = whole * (1 if label != "copies, sums" else 0.62)
        for y, spans in kinds[kind].items():
            ax.broken_barh(merged(spans, trace.end_us / unit / 4000),
                           (y + place - height / 2, height), facecolor=color,
                           linewidth=0, zorder=1 + over)
    return [Patch(color=kind[1], label=kind[0])
            for kind in sorted(kinds, key=lambda k: k[2])]


def draw_operations(ax, row, trace, unit):
    """A bar for each on top of the rank's row, with a gap to the next one."""
    names = ordered(name for _, name, _, _ in trace.operations)
    gap = trace.end_us / unit / 500
    for rank, name, begin, length in trace.operations:
        if rank in row:
            color = OPERATIONS[names.index(name) % len(OPERATIONS)]
            length /= unit
            ax.broken_barh([(begin / unit, max(length - gap, length / 2))],
                           (row[rank] - 0.42, 0.22), facecolor=color,
                           linewidth=0, zorder=5)
    return [Patch(color=OPERATIONS[i % len(OPERATIONS)], label=name)
            for i, name in enumerate(names)]


def timeline(trace, title, width):
    """A row per rank. trace: of timeline.read()."""
    ranks = trace.ranks[:RANKS_MAX]
    row = {rank: i for i, rank in enumerate(ranks)}
    high = 0.17 if trace.operations else 0.11
    fig, ax = plt.subplots(figsize=(width, 0.75 + high * max(6, len(ranks))))
    unit, name = time_unit(trace.end_us)
    handles = draw_operations(ax, row, trace, unit)
    handles += draw_spans(ax, row, trace, unit, bool(trace.operations))
    ax.set_ylim(len(ranks) - 0.4, -0.6)
    ax.set_xlim(0, trace.end_us / unit)
    step = math.ceil(len(ranks) / 16)
    ax.set_yticks(range(0, len(ranks), step), ranks[::step])
    ax.set_xlabel(f"time, {name}", labelpad=1)
    ax.set_ylabel("rank")
    title_of(fig, title + (f" (the first {RANKS_MAX} of {len(trace.ranks)} "
                           "ranks)" if len(trace.ranks) > RANKS_MAX else ""))
    if handles:
        legend_below(fig, handles)
    return fig


def merged(spans, least):
    """Spans in order, those closer than `least` as one: a page has so many
    dots."""
    out = []
    for begin, length in sorted(spans):
        if out and begin - (out[-1][0] + out[-1][1]) < least:
            out[-1] = (out[-1][0], max(out[-1][1], begin + length - out[-1][0]))
        else:
            out.append((begin, length))
    return out
