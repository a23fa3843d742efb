#!/bin/bash
# The first C program of README.md compiles against the library as it stands
# there and runs on two ranks; and what tests/distro/readme.sh leaves out of its
# commands is there to be left out. Arguments: libxylem.so, xylem-run.
library=$(realpath "$1")
launcher=$(realpath "$2")
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

[[ -f README.md ]] || skip "there is no README.md"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

awk '/^```/ { if (inside) exit; inside = /^```c[[:space:]]*$/; next }
     inside' README.md >"$folder/example.c"
[[ -s $folder/example.c ]] || { finding "README.md has no C program"; finish; }

if ! "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -Iinclude \
    "$folder/example.c" -o "$folder/example" -L"${library%/*}" -lxylem \
    -Wl,-rpath,"${library%/*}" 2>&1; then
    finding "README.md: the program does not compile"
elif ! timeout 60 "$launcher" -n 2 "$folder/example" 2>&1; then
    finding "README.md: the program fails on two ranks"
fi
missing=$(bash tests/distro/readme.sh --list) || finding "${missing##*$'\n'}"
finish
