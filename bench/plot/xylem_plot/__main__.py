"""xylem-plot: draws what xylem-noise, xylem-sim and gpu.sh have written."""

import argparse
import os
import re
import sys

from . import __version__
from . import data as d

FORMATS = ("svg", "pdf", "png")


def times_of(text):
    """Two times of the command line, as microseconds."""
    first, last = (1e3 * float(word) for word in text.split(","))
    if not 0 <= first < last:
        raise ValueError
    return first, last


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="xylem-plot",
        description="Draws what xylem-noise, xylem-sim and gpu.sh have written "
        "(CSV), and records of runs (JSON): times under noise, delays of ranks, "
        "curves over sizes and ranks, timelines, designs on GPUs. Or makes one "
        "page of it all.")
    parser.add_argument("paths", nargs="+", metavar="PATH",
                        help="a file, or a folder with files")
    parser.add_argument("-o", "--out", metavar="DIR|FILE", help="where "
                        "pictures go (default: beside the first PATH), or the "
                        "page of --report (report.html there)")
    parser.add_argument("-f", "--format", default="svg", metavar="FORMAT,...",
                        help="svg, pdf, png (default svg)")
    parser.add_argument("-w", "--width", type=float, default=86, metavar="MM",
                        help="of a picture (default 86, a paper's column)")
    parser.add_argument("--points", metavar="FILE", help="what others have "
                        "printed, to set beside curves over ranks: CSV with "
                        "coll, ranks, series, value (slowdown in per cent)")
    parser.add_argument("--between", metavar="MS,MS", type=times_of, help="of "
                        "timelines, counted from the first operation")
    parser.add_argument("--report", action="store_true",
                        help="one self-contained page of HTML, with tables")
    parser.add_argument("--title", help="of the page")
    parser.add_argument("--version", action="version",
                        version=f"xylem-plot {__version__}")
    options = parser.parse_args(arguments)
    options.formats = options.format.split(",")
    for name in options.formats:
        if name not in FORMATS:
            parser.error(f"--format {name}: expected svg, pdf or png")
    if not 40 <= options.width <= 400:
        parser.error("--width: expected 40 ... 400 mm")
    return options


def folder_of(path):
    return path if os.path.isdir(path) else os.path.dirname(path) or "."


def file_name(*parts):
    return re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(str(p) for p in parts))


def main(arguments=None):
    options = parse(arguments)
    # Whoever only asks for --help needs no matplotlib.
    from . import gallery, report
    try:
        data = d.read(options.paths)
        points = gallery.read_points(options.points)
        if options.report:
            path = options.out or os.path.join(folder_of(options.paths[0]),
                                               "report.html")
            gallery.own(path)
            report.write(data, path, options.title, points)
            print(path)
            return 0
        folder = options.out or folder_of(options.paths[0])
        os.makedirs(folder, exist_ok=True)
        count = 0
        for name, fig in gallery.pictures(data, options.width, points,
                                          options.between):
            for kind in options.formats:
                path = os.path.join(folder, f"{file_name(name)}.{kind}")
                gallery.save(fig, path)
                print(path)
            gallery.close(fig)
            count += 1
        if count == 0:
            raise d.DataError("nothing to draw: pictures take at least two "
                              "noises, three sizes or one rank held up")
    except (d.DataError, OSError) as error:
        print(f"xylem-plot: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
