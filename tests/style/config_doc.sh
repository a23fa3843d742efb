#!/bin/bash
# docs/config.md is what xylem-info prints of the table of settings, whatever
# is set in the environment. Argument: xylem-info.
info=$(realpath "$1")
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

printed=$(mktemp)
trap 'rm -f "$printed"' EXIT

if ! XYLEM_SEND_WINDOW=3 "$info" --markdown >"$printed"; then
    finding "xylem-info --markdown fails"
elif ! diff -u docs/config.md "$printed"; then
    finding "docs/config.md is out of date:" \
        "xylem-info --markdown >docs/config.md"
fi
finish
