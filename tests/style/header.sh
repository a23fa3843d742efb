#!/bin/bash
# The public header compiles alone, as C and as C++, with every installed
# compiler, and pulls in only the standard library.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

header=include/xylem.h
warnings=(-pedantic -Wall -Wextra -Wshadow -Wconversion -Werror)
compiled=0

compile()
{
    local compiler=$1 language=$2 standard=$3

    command -v "$compiler" >/dev/null || return
    compiled=$((compiled + 1))
    # From standard input, so that the header is not the main file.
    "$compiler" -x "$language" "-std=$standard" "${warnings[@]}" \
        -fsyntax-only - <<<"#include \"$header\"" 2>&1 ||
        finding "$header is not clean $standard for $compiler"
}

for compiler in gcc clang; do
    compile "$compiler" c c11
    compile "$compiler" c gnu17
done
for compiler in g++ clang++; do
    compile "$compiler" c++ c++11
    compile "$compiler" c++ c++17
done

while IFS= read -r line; do
    [[ $line =~ \<(stddef|stdint|stdbool)\.h\> ]] ||
        finding "$header: $line: only the standard library's headers"
done < <(grep -E '^[[:space:]]*#[[:space:]]*include' "$header")
((compiled > 0 || found)) || skip "no compiler is installed"
finish
