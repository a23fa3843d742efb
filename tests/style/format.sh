#!/bin/bash
# The code is laid out as .clang-format says.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

command -v clang-format >/dev/null || skip "clang-format is not installed"
# Debian 12's and 13's lay it out alike; others may differ in details.
clang-format --version | grep -qE 'version (14|19)\.' ||
    skip "only clang-format 14 and 19 lay out the code as it is"

mapfile -t files < <(project_files '*.c' '*.h' '*.cu')
((${#files[@]} > 0)) || finding "no source files found"
clang-format --dry-run -Werror "${files[@]}" 2>&1 || finding \
    "to repair a file: clang-format -i FILE"
finish
