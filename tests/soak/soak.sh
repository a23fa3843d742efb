#!/bin/bash
# Runs soak.c, in turns in several settings, for an hour or as long as is said,
# and prints TAP. By hand, for a minute:
#
#   CHECK_SOAK_S=60 meson test -C build/debug --suite soak
#
#   soak.sh XYLEM-RUN SOAK
set -u
export LC_ALL=C
ulimit -c 0

run=$(realpath "$1")
soak=$(realpath "$2")
seconds=${CHECK_SOAK_S:-3600}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2034 # tap.sh reads it
bound=$((seconds + 600))

# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*} ${!UCX_*}
export XYLEM_CONF=none UCX_LOG_LEVEL=error

# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

settings=('-n 4' '-n 4 --nodes 2' '-n 3 --env XYLEM_SHM=off'
    '-n 4 --env XYLEM_PROGRESS=thread')
for setting in "${settings[@]}"; do
    # shellcheck disable=SC2086 # words
    attempt "$run" $setting "$soak" $((seconds / ${#settings[@]})) $RANDOM
    sed 's/^/# /' "$out"
    check "soak, $setting" [ "$code" -eq 0 ]
done
finish
