#!/bin/bash
# Runs soak.c in several settings, one after the other, SECONDS in all. Prints
# TAP, and in the end `N passed, N failed, N skipped`.
#
#   soak.sh BUILD_FOLDER SECONDS
#
# For a minute: bash tests/soak/soak.sh build/debug 60
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

run=$(realpath "$1/launcher/xylem-run")
soak=$(realpath "$1/tests/soak")
seconds=$2
bound=$((seconds + 600))

settings_forget
export UCX_LOG_LEVEL=error


settings=('-n 4' '-n 4 --nodes 2' '-n 3 --env XYLEM_SHM=off'
    '-n 4 --env XYLEM_PROGRESS=thread')
for setting in "${settings[@]}"; do
    # shellcheck disable=SC2086 # words
    attempt "$run" $setting "$soak" $((seconds / ${#settings[@]})) $RANDOM
    sed 's/^/# /' "$out"
    check "soak, $setting" [ "$code" -eq 0 ]
done
finish
code=$?
total
exit $code
