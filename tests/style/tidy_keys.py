#!/usr/bin/env python3
"""Prints a name for what clang-tidy sees of each file, so that a result is kept.

    tidy_keys.py BUILD_FOLDER OPTIONS FILE...

A line is "NAME FILE". The name is a hash of OPTIONS, clang-tidy's version,
.clang-tidy, the commands that compile the file, the file, and the headers that
ninja knows it includes, those without their comments. The hash differs in every
call for a file that ninja has not compiled. tests/style/tidy.sh uses the names.
"""

import hashlib
import json
import os
import re
import subprocess
import sys

# A comment, or a text in which nothing is a comment.
PIECE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def bare(text):
    """Text without comments and empty lines; comments for clang-tidy stay."""
    def replace(match):
        piece = match.group()
        return " " if piece.startswith("/") and "NOLINT" not in piece else piece

    lines = PIECE.sub(replace, text).splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip())


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def contents(path):
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        return file.read()


def headers(build):
    """What ninja found that each object was made of, by the object."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True,
                            capture_output=True, text=True).stdout
    found = {}
    for line in listed.splitlines():
        if line.startswith(" "):
            paths.append(os.path.normpath(os.path.join(build, line.strip())))
        elif ": #deps" in line:
            paths = found.setdefault(line.partition(": #deps")[0], [])
            # Of a header that is gone nothing is known.
            if not line.rstrip().endswith("(VALID)"):
                paths = []
    return found


def main(build, options, *files):
    version = subprocess.run(["clang-tidy", "--version"], check=True,
                             capture_output=True, text=True).stdout
    common = digest(options, version, contents(".clang-tidy"))
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    compiled = {}
    for command in commands:
        path = os.path.normpath(os.path.join(command["directory"], command["file"]))
        compiled.setdefault(path, []).append(command)
    made_of = headers(build)
    kept = {}
    for name in files:
        source = os.path.abspath(name)
        parts = [common, contents(source)]
        for command in compiled.get(source, []):
            parts.append(command["command"])
            if not made_of.get(command["output"]):
                parts.append(os.urandom(16).hex())
            for path in made_of.get(command["output"], []):
                if os.path.abspath(path) == source:
                    continue
                if path not in kept:
                    kept[path] = digest(path, bare(contents(path)))
                parts.append(kept[path])
        print(digest(*parts), name)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
