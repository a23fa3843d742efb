#!/usr/bin/env bash
# How well the simulator predicts this machine: measures broadcast and reduce
# with the library's own choice of trees and segments, simulates the same calls
# on the machine's file, and compares. The file comes from calibration, which
# measures messages, copies and sums, and no such collective.
#
# What goes over the net is predicted: shared memory is off.
#
# Compared is the time of one call after a barrier on the rank that takes
# longest: of its medians, the lower quartile over the rounds, because other
# work on the machine only ever adds to it.
set -u
export XYLEM_SHM=off
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage()
{
    cat <<'TXT'
usage: bench/studies/predict.sh [options]

  --machine FILE    predict with this file (default: calibrate first)
  --keep FILE       where calibration puts the machine's file
  --np LIST         ranks (default: 2, 4, 8, 16 up to four per core)
  --colls LIST      default bcast,reduce
  --begin B --end E sizes, doubling (default 4K and 4M)
  --rounds R        default 7
  --seconds S       per size and round (default 0.1)
  --bin DIR         where the programs are (default build/release/bench)
  --csv FILE        the table, too; one that has rows from before is refused
TXT
}

fail()
{
    echo "predict.sh: $1" >&2
    exit 1
}

# shellcheck source=bench/common/results.sh
. "$here/../common/results.sh"

cores=$(nproc) machine='' keep='' np='' colls=bcast,reduce begin=4K end=4M
rounds=7 seconds=0.1 csv=''
bin=$here/../../build/release/bench
[ ! -x "$here/xylem-sim" ] || bin=$here
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h) usage; exit 0 ;;
    --machine | --keep | --np | --colls | --begin | --end | --rounds | \
        --seconds | --bin | --csv) ;;
    *) usage >&2; exit 2 ;;
    esac
    [ $# -ge 2 ] || { usage >&2; exit 2; }
    name=${1#--}
    printf -v "$name" %s "$2"
    shift 2
done
if [ -z "$np" ]; then
    for ranks in 2 4 8 16; do
        [ "$ranks" -gt $((4 * cores)) ] || np=$np${np:+,}$ranks
    done
fi

run=$bin/xylem-run
[ -x "$run" ] || run=$bin/../launcher/xylem-run
sim=$bin/xylem-sim
[ -x "$sim" ] || sim=$bin/../simulator/xylem-sim
for program in "$run" "$bin/xylem-bench" "$sim"; do
    [ -x "$program" ] || fail "no programs in $bin"
done
[ -z "$csv" ] ||
    results_begin "$csv" ranks,coll,bytes,measured_us,predicted_us,error_percent
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$machine" ]; then
    machine=${keep:-$work/machine.json}
    "$sim" --calibrate -o "$machine" || fail "calibration failed"
fi

measure() # ranks, collective
{
    timeout 600 "$run" -n "$1" "$bin/xylem-bench" -c "$2" -b "$begin" \
        -e "$end" --seconds "$seconds" --lines 2>"$work/errors" |
        sed -n "s/^xylem-result latency .*bytes=\([0-9]*\) .*max_us=\([0-9.]*\) .*/measured $1 $2 \1 \2/p" \
            >>"$work/times"
    [ "${PIPESTATUS[0]}" -eq 0 ] || {
        echo "predict.sh: $2 with $1 ranks failed:" >&2
        tail -n 3 "$work/errors" >&2
    }
}

predict() # ranks, collective, bytes
{
    rm -f "$work/simulated"
    "$sim" --machine "$machine" --nodes 1 --ppn "$1" -c "$2" \
        -s "$3" --impl xylem --iterations 1 --warmup 0 --quiet --no-wall \
        --messages --csv "$work/simulated" >/dev/null || return
    awk -F, -v key="predicted $1 $2 $3" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "max_us") column = i }
        NR == 2 { print key, $column }' "$work/simulated" >>"$work/times"
}

for ((round = 1; round <= rounds; round++)); do
    for ranks in ${np//,/ }; do
        for coll in ${colls//,/ }; do
            echo "round $round of $rounds: $coll with $ranks ranks" >&2
            measure "$ranks" "$coll"
        done
    done
done
[ -s "$work/times" ] || fail "nothing was measured"
awk '{ print $2, $3, $4 }' "$work/times" | sort -u >"$work/cases"
while read -r ranks coll bytes; do
    predict "$ranks" "$coll" "$bytes"
done <"$work/cases"

awk -v csv="$csv" '
function sort(values, n, i, j, v) {
    for (i = 2; i <= n; i++) {
        v = values[i]
        for (j = i - 1; j >= 1 && values[j] > v; j--)
            values[j + 1] = values[j]
        values[j + 1] = v
    }
}
function quantile(list, part, values, n, i) {
    n = split(list, values, " ")
    for (i = 1; i <= n; i++)
        values[i] += 0
    sort(values, n)
    return values[int((n - 1) * part) + 1]
}
function middle(list, values, n, i) {
    n = split(list, values, " ")
    for (i = 1; i <= n; i++)
        values[i] += 0
    sort(values, n)
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}
$1 == "predicted" { predicted[$2 " " $3 " " $4] = $5; next }
{
    key = $2 " " $3 " " $4
    if (!(key in measured))
        order[++keys] = key
    measured[key] = measured[key] " " $5
}
END {
    printf "%5s %-7s %9s %12s %12s %8s\n", "ranks", "coll", "bytes",
        "measured us", "predicted us", "error %"
    for (i = 1; i <= keys; i++) {
        if (!(order[i] in predicted))
            continue
        split(order[i], part, " ")
        us = quantile(measured[order[i]], 0.25)
        error = 100 * (predicted[order[i]] - us) / us
        printf "%5d %-7s %9d %12.2f %12.2f %+8.1f\n", part[1], part[2],
            part[3], us, predicted[order[i]], error
        if (csv != "")
            printf "%d,%s,%d,%.3f,%.3f,%.1f\n", part[1], part[2], part[3], us,
                predicted[order[i]], error >>csv
        if (error < 0)
            error = -error
        all = all " " error
        if (!(part[1] in errors))
            counts[++ranks] = part[1]
        errors[part[1]] = errors[part[1]] " " error
    }
    print ""
    for (i = 1; i <= ranks; i++)
        printf "median error with %d ranks: %.1f %%\n", counts[i],
            middle(errors[counts[i]])
    printf "median error of all: %.1f %%\n", middle(all)
}' "$work/times"
