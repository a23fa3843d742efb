#!/usr/bin/env python3
"""Prints what has to be built for the tests of a suite, one file per line.

    targets.py BUILD_FOLDER SUITE

The folder is configured, not built. tests/run.sh gives the files to ninja.
"""

import json
import os
import sys


def main(folder, suite):
    def read(name):
        path = os.path.join(folder, "meson-info", name)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    files = {target["id"]: target["filename"]
             for target in read("intro-targets.json")}
    needed = {os.path.relpath(path, os.path.realpath(folder))
              for test in read("intro-tests.json")
              if suite in [name.rpartition(":")[2] for name in test["suite"]]
              for target in test["depends"] for path in files[target]}
    print(*sorted(needed), sep="\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
