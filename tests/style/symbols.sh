#!/bin/bash
# The shared library exports the public functions and nothing else, each with a
# version, and every global name inside carries the project's prefix, so that a
# static link collides with nobody. Arguments: libxylem.so, the static library of all
# objects.
shared=$(realpath "$1")
static=$(realpath "$2")
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

# Prints the names that a library defines for others, without their versions.
defined()
{
    nm --defined-only --format=posix "$@" 2>/dev/null |
        awk 'NF >= 2 { sub(/@.*/, "", $1); print $1 }' | sort -u
}

exported=$(defined -D "$shared")
inside=$(defined -g "$static")
grep -q '^xylem_version$' <<<"$exported" ||
    finding "$shared: does not export xylem_version"
grep -q '^xyl_' <<<"$inside" || finding "$static: has no internal functions"

while read -r name; do
    finding "$shared: exports $name"
done < <(grep -Ev '^(xylem_[a-z0-9_]+|XYLEM_[0-9]+\.[0-9]+)$' <<<"$exported")
while read -r name; do
    finding "$static: $name is global and has no prefix"
done < <(grep -Ev '^(xylem|xyl)_[a-zA-Z0-9_]+$' <<<"$inside")

while read -r name; do
    finding "$shared: $name has no version"
done < <(nm -D --defined-only --with-symbol-versions --format=posix "$shared" |
    awk '$1 ~ /^xylem_/ && $1 !~ /@@XYLEM_/ { print $1 }')

# What the header declares is there to be linked with, and nothing else.
declared=$("${CC:-cc}" -E -P include/xylem.h | tr '\n' ' ' |
    grep -oE '\bxylem_[a-z0-9_]+\(' | tr -d '(' | sort -u)
while read -r name; do
    grep -qx "$name" <<<"$exported" ||
        finding "$shared: include/xylem.h declares $name, which is not exported"
done <<<"$declared"
while read -r name; do
    grep -qx "$name" <<<"$declared" ||
        finding "$shared: exports $name, which include/xylem.h does not declare"
done < <(grep '^xylem_' <<<"$exported")
finish
