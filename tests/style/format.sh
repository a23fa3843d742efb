#!/bin/bash
# The code is laid out as .clang-format says.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

# Versions differ in details, such as braces in macros.
tool=
for name in clang-format-14 clang-format; do
    if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
        tool=$name
        break
    fi
done
[[ -n $tool ]] || skip "clang-format 14, by which the code is laid out, is not here"

mapfile -t files < <(project_files '*.c' '*.h' '*.cu')
((${#files[@]} > 0)) || finding "no source files found"
"$tool" --dry-run -Werror "${files[@]}" 2>&1 || finding \
    "to repair a file: clang-format -i FILE"
finish
