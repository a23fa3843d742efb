#!/usr/bin/env python3
"""Prints which lines and branches of the library have been executed.

    coverage.py BUILD_FOLDER [--missing [PATH]]

The folder was built with -Db_coverage=true, and tests have run in it. gcov reads
what they have left; a line or branch counts as executed if any object that has it
executed it. What is counted is the library's code (FOLDERS), with headers and with
what macros make of it; a branch is each way out of a condition, as gcov sees it
without optimisation, also within macros. Assertions are compiled out: the way of one
that does not hold is no part of the program.

Per folder, then the files that lack most, then what is not executed but has a reason
in coverage.txt beside this script, and how much has none. With --missing also each
line that is not executed, or not in both ways, of the files below PATH.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

FOLDERS = ["runtime", "collectives", "trees", "progress", "bindings"]
WORST_SHOWN = 20
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def notes_of(build):
    """The objects of the library and of the bindings."""
    for folder, _, names in os.walk(build):
        part = os.path.relpath(folder, build)
        if part.startswith(("tests", "bench", "simulator", "launcher",
                            "examples")):
            continue
        yield from (os.path.join(folder, name) for name in names
                    if name.endswith(".gcno"))


def gcov(notes):
    """What gcov says of one object: a list of files."""
    with tempfile.TemporaryDirectory() as folder:
        data = notes[:-len("gcno")] + "gcda"
        result = subprocess.run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities",
             data if os.path.exists(data) else notes],
            cwd=folder, capture_output=True, check=True)
    return json.loads(result.stdout)


class File:
    """Counts of a source: per line, and per line the ways of its branches."""

    def __init__(self):
        self.lines = collections.Counter()
        self.ways = {}
        self.functions = {}

    def add(self, line):
        number = line["line_number"]
        name = line.get("function_name", "")
        self.lines[number] += line["count"]
        self.functions.setdefault(number, name)
        counts = [branch["count"] for branch in line["branches"]]
        # Of a line that several functions are made of, as macros do.
        key = (number, len(counts))
        before = self.ways.setdefault(key, [0] * len(counts))
        self.ways[key] = [a + b for a, b in zip(before, counts)]

    def missing(self):
        """Lines with something missing: (number, is executed, ways missing)."""
        ways = collections.Counter()
        for (number, _), counts in self.ways.items():
            ways[number] += counts.count(0)
        return [(number, count > 0, ways[number])
                for number, count in sorted(self.lines.items())
                if count == 0 or ways[number] > 0]

    def totals(self):
        counts = [count for ways in self.ways.values() for count in ways]
        return (len(self.lines), sum(c > 0 for c in self.lines.values()),
                len(counts), sum(c > 0 for c in counts))


def source_of(name, build):
    path = os.path.realpath(os.path.join(build, name))
    path = os.path.relpath(path, ROOT)
    return path if path.split(os.sep)[0] in FOLDERS else None


def read(build):
    files = collections.defaultdict(File)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(gcov, sorted(notes_of(build))):
            for entry in said["files"]:
                path = source_of(entry["file"], build)
                if path is None:
                    continue
                for line in entry["lines"]:
                    files[path].add(line)
    return files


def reasons_read():
    """path and function (or *): the reason."""
    reasons = {}
    path = os.path.join(ROOT, "tests", "coverage.txt")
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#") and line.strip():
                source, function, reason = line.split(maxsplit=2)
                reasons[source, function] = reason.strip()
    return reasons


def row(name, totals):
    lines, hit, ways, taken = totals

    def share(part, whole):
        return f"{100 * part / whole:6.1f} %" if whole else "     -  "
    return (f"{name:<46} {hit:6} of {lines:6} {share(hit, lines)}"
            f" {taken:6} of {ways:6} {share(taken, ways)}")


def add(totals):
    return tuple(map(sum, zip((0, 0, 0, 0), *totals)))


def print_reasons(files):
    reasons = reasons_read()
    known = collections.Counter()
    unknown = lines = 0
    for path, file in files.items():
        for number, executed, _ in file.missing():
            if executed:
                continue
            lines += 1
            for key in ((path, file.functions[number]), (path, "*")):
                if key in reasons:
                    known[key] += 1
                    break
            else:
                unknown += 1
    print("\nlines that no test executes, and why")
    for (path, function), count in sorted(known.items()):
        print(f"{count:5}  {path} {function}: {reasons[path, function]}")
    print(f"{unknown:5}  without a line in tests/coverage.txt")
    for path, function in sorted(set(reasons) - set(known)):
        print(f"       {path} {function}: is executed; tests/coverage.txt is"
              " old")


def print_missing(files, below):
    for path in sorted(files):
        if not path.startswith(below):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read().splitlines()
        for number, executed, ways in files[path].missing():
            mark = f"{ways} ways" if executed else "never"
            print(f"{path}:{number}: {mark:>8}  {text[number - 1]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--missing", nargs="?", const="")
    options = parser.parse_args()
    files = read(os.path.realpath(options.build))
    totals = {path: file.totals() for path, file in files.items()}

    if options.missing is not None:
        print_missing(files, options.missing)
        return 0
    print(f"{'':<46} {'lines':>26} {'branches':>26}")
    for folder in FOLDERS:
        print(row(folder, add(t for path, t in totals.items()
                              if path.split(os.sep)[0] == folder)))
    whole = add(totals.values())
    print(row("all", whole))
    print("\nfiles that lack most")
    worst = sorted(totals, key=lambda p: totals[p][1] - totals[p][0] +
                   (totals[p][3] - totals[p][2]) / 4)
    for path in worst[:WORST_SHOWN]:
        print(row(path, totals[path]))
    print_reasons(files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
