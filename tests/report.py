#!/usr/bin/env python3
"""Reads what meson test recorded and counts it.

    report.py BUILD_FOLDER LOG [SUITE...]

A test that is in several suites counts for the first of those given. A program
that speaks the Test Anything Protocol counts once per case, any other once.
Prints one line per suite to the standard output: its name, then how many
passed, failed and were skipped, between tabs. What the failed ones wrote goes
to the standard error, shortened. tests/run.sh builds its table and its last
line from that.
"""

import json
import os
import re
import sys

LINES_SHOWN_MAX = 60
REMARKS_SHOWN_MAX = 8  # of a failed case in the middle

CASE = re.compile(r"^(not )?ok\b[^#]*(#\s*(skip|todo)\b)?", re.IGNORECASE)


def protocols(build_folder):
    """The protocol of each test, by the name that the log gives it."""
    path = os.path.join(build_folder, "meson-info", "intro-tests.json")
    with open(path, encoding="utf-8") as file:
        return {test["name"]: test["protocol"] for test in json.load(file)}


def count_cases(output):
    """Passed, failed and skipped cases of a TAP program."""
    passed = failed = skipped = 0
    for line in output.splitlines():
        match = CASE.match(line)
        if not match:
            continue
        if match.group(2):
            skipped += 1
        elif match.group(1):
            failed += 1
        else:
            passed += 1
    return passed, failed, skipped


def count(record, protocol):
    """Passed, failed and skipped of one program."""
    result = record["result"]
    good = result in ("OK", "EXPECTEDFAIL")
    if result == "SKIP":
        return 0, 0, 1
    if protocol == "tap":
        passed, failed, skipped = count_cases(record.get("stdout") or "")
        if result == "SKIP" and passed + failed + skipped == 0:
            return 0, 0, 1
        # A program that was killed, leaked or ran no case has failed, even
        # though none of its cases says so.
        if not good and failed == 0:
            failed = 1
        if passed + failed + skipped == 0:
            failed = 1
        return passed, failed, skipped
    return (1, 0, 0) if good else (0, 1, 0)


def is_about_failure(lines):
    """Of each line whether it names a failed case, or is a remark on one."""
    about = []
    left = 0
    for line in lines:
        if line.startswith("not ok"):
            left = 1 + REMARKS_SHOWN_MAX
        elif not line.startswith("#"):
            left = 0
        about.append(left > 0)
        left = max(left - 1, 0)
    return about


def shorten(text):
    """The first and the last lines of a long text, and its failed cases."""
    lines = text.rstrip().splitlines()
    half = LINES_SHOWN_MAX // 2
    about = is_about_failure(lines)
    shown = []
    left_out = 0
    for i, line in enumerate(lines):
        if half <= i < len(lines) - half and not about[i]:
            left_out += 1
            continue
        if left_out > 0:
            shown.append(f"... {left_out} lines left out ...")
            left_out = 0
        shown.append(line)
    return "\n".join("    " + line for line in shown)


def show(record, suite, name):
    """Prints what a failed program wrote."""
    status = record.get("returncode")
    print(f"--- {suite} / {name}: {record['result']}, exit status {status}",
          file=sys.stderr)
    for stream in ("stdout", "stderr"):
        text = record.get(stream)
        if text and text.strip():
            print(shorten(text), file=sys.stderr)


def split_name(full_name, wanted):
    """Suite and test of a name such as "xylem:unit+threads / test_queue"."""
    labels, _, name = full_name.rpartition(" / ")
    suites = labels.partition(":")[2].split("+")
    chosen = [suite for suite in suites if suite in wanted] or suites
    return chosen[0] or "other", name


def main(build_folder, log, wanted):
    known = protocols(build_folder)
    with open(log, encoding="utf-8", errors="replace") as file:
        records = [json.loads(line) for line in file if line.strip()]
    suites = {}
    for record in records:
        suite, name = split_name(record["name"], wanted)
        counts = count(record, known.get(name))
        totals = suites.setdefault(suite, [0, 0, 0])
        for i, number in enumerate(counts):
            totals[i] += number
        if counts[1] > 0:
            show(record, suite, name)
    for suite, totals in sorted(suites.items()):
        print(suite, *totals, sep="\t")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
