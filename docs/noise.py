#!/usr/bin/env python3
"""Draws docs/noise.svg from the table of docs/lab/headlines.md that names this
script: what noise does to a broadcast and to a reduction.

    python3 docs/noise.py >docs/noise.svg

A test compares the file with what this prints. Nothing but Python is needed.
"""

import os
from xml.sax.saxutils import escape

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "docs/noise.py draws"

WIDTH = 760
LEFT = 150  # where bars begin
RIGHT = 140  # room for the words behind the longest bar
TOP = 62  # of the first panel
PANEL = 140
BAR = 20
STEP = 26

OURS, OURS_NOISE = "#1b7f5c", "#8fd0b8"
OTHERS, OTHERS_NOISE = "#5b6470", "#c3c9d1"


def rows():
    """(name, quiet and noisy broadcast, quiet and noisy reduction)"""
    with open(os.path.join(HERE, "lab", "headlines.md"), encoding="utf-8") as file:
        lines = iter(file.read().split(MARK, 1)[1].splitlines())
    found = []
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 7 and cells[1].isdigit():
            numbers = [int(cells[i]) for i in (1, 2, 4, 5)]
            found.append((cells[0], *numbers))
        elif found:
            break
    return found


def text(x, y, words, size=13, anchor="start", weight="normal", fill="#222"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" '
            f'text-anchor="{anchor}" font-weight="{weight}" fill="{fill}">'
            f"{escape(words)}</text>")


def bar(x, y, width, fill):
    return (f'<rect x="{x:.1f}" y="{y:.0f}" width="{max(width, 1):.1f}" '
            f'height="{BAR}" fill="{fill}"/>')


def panel(top, title, bars):
    """One collective: a bar for each implementation, from zero."""
    scale = (WIDTH - LEFT - RIGHT) / max(noisy for _, _, noisy in bars)
    out = [text(16, top + 8, title, 14, weight="bold")]
    for i, (name, quiet, noisy) in enumerate(bars):
        y = top + 20 + i * STEP
        is_ours = name == "xylem"
        end = LEFT + noisy * scale
        out.append(text(LEFT - 8, y + 15, name, anchor="end",
                        weight="bold" if is_ours else "normal"))
        out.append(bar(LEFT, y, quiet * scale, OURS if is_ours else OTHERS))
        out.append(bar(LEFT + quiet * scale, y, (noisy - quiet) * scale,
                       OURS_NOISE if is_ours else OTHERS_NOISE))
        out.append(text(end + 6, y + 15, f"{noisy / 1000:.1f} ms", 13,
                        weight="bold" if is_ours else "normal"))
        out.append(text(end + 70, y + 15,
                        f"+{100 * (noisy - quiet) / quiet:.0f} %", 13))
    return out


def main():
    table = rows()
    height = TOP + 2 * PANEL + 12
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="DejaVu Sans, Verdana, sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(16, 24, "16 ranks, each held up for 10 % of the time, 4 MiB: "
             "time per call", 15, weight="bold"),
        bar(16, 34, 14, OTHERS),
        text(36, 49, "without noise", 12),
        bar(136, 34, 14, OTHERS_NOISE),
        text(156, 49, "added by noise", 12),
        text(272, 49, "local loop: work as long, which waits for no rank", 12,
             fill="#555"),
    ]
    out += panel(TOP + 8, "Broadcast", [(r[0], r[1], r[2]) for r in table])
    out += panel(TOP + 8 + PANEL, "Reduction, as contributions arrive",
                 [(r[0], r[3], r[4]) for r in table])
    out.append("</svg>")
    print("\n".join(out))


if __name__ == "__main__":
    main()
