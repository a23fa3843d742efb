#!/bin/bash
# Reads everything that is kept in corpus/, and goes on from there by libFuzzer
# where the programs are built with it. Prints TAP.
#
#   fuzz.sh READER [FUZZER [SECONDS]]
#
#   READER   the program fuzz.c by itself
#   FUZZER   the same with libFuzzer; without it only what is kept is read
#   SECONDS  of each target; FUZZ_SECONDS in the environment comes before. What
#            is found lies in FUZZ_FOUND, or is shown
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
export LC_ALL=C XYLEM_CONF=none

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
reader=$(realpath "$1")
fuzzer=${2:+$(realpath "$2")}
seconds=${FUZZ_SECONDS:-${3:-1}}
found=${FUZZ_FOUND:-$work/found}
mkdir -p "$found"
bound=$((seconds * 20 + 120))

# What there is of the same kind elsewhere.
more_of()
{
    case $1 in
    table) ls "$here"/../../collectives/choose/table.json ;;
    machine) ls "$here"/../../simulator/machines/*.json ;;
    esac
}

for folder in "$here"/corpus/*/; do
    target=$(basename "$folder")
    mapfile -t more < <(more_of "$target")
    attempt "$reader" "$target" "$folder"* "${more[@]}"
    check "$target: what is kept is read" [ "$code" -eq 0 ]
    [[ -n $fuzzer ]] || continue
    mkdir -p "$work/$target"
    [[ ${#more[@]} -eq 0 ]] || cp "${more[@]}" "$work/$target"
    export FUZZ_TARGET=$target
    attempt "$fuzzer" -max_total_time="$seconds" -max_len=8192 -timeout=60 \
        -rss_limit_mb=3000 -seed=1 -print_final_stats=1 \
        -artifact_prefix="$found/$target-" "$work/$target" "$folder"
    check "$target: $seconds s of libFuzzer find nothing" [ "$code" -eq 0 ]
    sed -n 's/^stat::number_of_executed_units: */# executed: /p' "$err"
done
finish
