#!/bin/bash
# What each mechanism against noise buys, and what it costs without noise: they
# are switched on one after the other, and each step is measured by xylem-noise.
#
#   1 wait for each child     the trees of the network, blocking
#   2 wait for all children   the same, nonblocking, a wait per segment
#   3 no waits                event-driven: segments and children independent
#   4 shared memory           the ranks of a node, with room for 1 MiB
#   5 room to drift           for 32 MiB
#   6 more room               the default of XYLEM_NOISE_BUDGET
#   7 in order of arrival     reduce only: XYLEM_REDUCE_ORDER=arrival
#   8 progress thread         XYLEM_PROGRESS=thread
#
#   bash bench/studies/mechanisms.sh [-o DIR] [OPTION...]
#
#   -o DIR    where files go: DIR/COLL/mechanisms/NN-STEP.csv; build/mechanisms
#   --colls LIST   default bcast reduce
#   OPTION    of xylem-noise (default: -s 4M --max-ms 0,20 --rounds 5)
#
# `xylem-plot DIR/COLL` draws the steps; with --report it makes a page.
set -uo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
noise=${XYLEM_NOISE-$root/build/release/bench/xylem-noise}
out=$root/build/mechanisms
colls='bcast reduce'

while (($# > 0)); do
    case $1 in
    -o) out=${2:?"-o needs a folder"}; shift ;;
    --colls) colls=${2:?"--colls needs names"}; shift ;;
    --help | -h) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) break ;;
    esac
    shift
done
(($# > 0)) || set -- -s 4M --max-ms 0,20 --rounds 5
[[ -x $noise ]] || { echo "mechanisms.sh: no program $noise" >&2; exit 1; }
# What was set before would be a mechanism, too.
# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*}
failures=0

# step NN-NAME IMPL [SETTING...]
step()
{
    local file=$folder/$1.csv impl=$2
    shift 2
    echo "$coll: $(basename "$file" .csv)"
    env "$@" "$noise" -c "$coll" --impl "$impl" "${options[@]}" \
        --resume --csv "$file" >"${file%.csv}.txt" 2>"${file%.csv}.err" || {
        tail -n 3 "${file%.csv}.err" >&2
        failures=$((failures + 1))
    }
}

options=("$@")
for coll in $colls; do
    folder=$out/$coll/mechanisms
    mkdir -p "$folder" || exit 1
    step 1-wait_for_each_child blocking
    step 2-wait_for_all_children waitall
    step 3-no_waits xylem XYLEM_SHM=off
    step 4-shared_memory xylem XYLEM_NOISE_BUDGET=1M
    step 5-room_to_drift xylem XYLEM_NOISE_BUDGET=32M
    step 6-more_room xylem
    thread=(7-progress_thread xylem)
    if [[ $coll == reduce ]]; then
        step 7-in_order_of_arrival xylem XYLEM_REDUCE_ORDER=arrival
        thread=(8-progress_thread xylem XYLEM_REDUCE_ORDER=arrival)
    fi
    step "${thread[@]}" XYLEM_PROGRESS=thread
done
((failures == 0))
