#!/bin/bash
# The mini-applications find the right results, and their script makes a table
# of them, with noise and without. Arguments: the build folder.
build=$1
# shellcheck source=tests/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
run=$build/launcher/xylem-run

for ranks in 1 3; do
    for options in '-s 60' '-s 61 -i 7' '-s 64 --rows 2'; do
        # shellcheck disable=SC2086 # several words
        attempt "$run" -n $ranks "$build/bench/xylem-asp" $options
        check "asp $options on $ranks" grep -q '^asp .* check=ok$' "$out"
    done
    attempt "$run" -n $ranks "$build/bench/xylem-train" -i 2 --divide 4096 \
        --work 1
    check "train on $ranks" grep -q '^train .* iterations=2 .* check=ok$' "$out"
    attempt "$run" -n $ranks "$build/bench/xylem-cg" -s 3000 -i 120
    check "cg on $ranks" grep -q '^cg .* iterations=120 .* check=ok$' "$out"
done
attempt "$run" -n 2 "$build/bench/xylem-fft" -s 64 -i 2
check "fft" grep -q '^fft .* iterations=2 .* check=ok$' "$out"
attempt "$run" -n 3 "$build/bench/xylem-fft" -s 64 -i 2
check "fft of rows that do not come out even" grep -q 'cannot be spread' "$err"
attempt "$build/bench/xylem-train" --divide none
check "refuses what is no number" test "$code" -eq 2

if nm -D "$build/bench/libxylem-noise.so" | grep -q ' __[at]san_'; then
    skip "a table with noise" "sanitizers want to come first"
else
    attempt "$here/../../bench/apps/run.sh" --build "$build" --np 2 --runs 1 \
        --impl xylem --noise periodic:200Hz,100us --asp '-s 64' \
        --train '-i 2 --divide 4096' --csv "$work/csv"
    check "a table with noise" test "$code" -eq 0 -a "$(
        grep -cE '^(asp|train) +xylem +[0-9.]+ ' "$out")" -eq 2
    check "every number is kept" test "$(
        grep -c '^noise,xylem,[a-z]*,0,2,1,"' "$work/csv")" -eq 4
fi
finish
