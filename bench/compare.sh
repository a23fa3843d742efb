#!/usr/bin/env bash
# Compares xylem with the MPI libraries that are installed: same machine, same
# run, rounds interleaved so that drift hits all alike, rotated buffers, median
# over rounds of the mean over ranks of the time per call.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage()
{
    cat <<'TXT'
usage: bench/compare.sh [options]

  --np N            ranks (default: the number of cores)
  --colls LIST      default bcast,reduce
  --impls LIST      default event,openmpi-tuned,openmpi-adapt,mpich; also
                    waitall, blocking and openmpi-sm
  --begin B --end E sizes, doubling (default 8 and 4M)
  --rounds R        default 5
  --seconds S       per size, implementation and round (default 0.1)
  --bin DIR         where the programs are (default build/release/bench)
  --csv FILE        every measurement
Open MPI runs over UCX (pml ucx); ratios are to the best of its rows.
TXT
}

np=$(nproc) colls=bcast,reduce begin=8 end=4M rounds=5 seconds=0.1 csv=
impls=event,openmpi-tuned,openmpi-adapt,mpich
bin=$here/../build/release/bench
while [ $# -gt 0 ]; do
    case $1 in
    --np) np=$2 ;;
    --colls) colls=$2 ;;
    --impls) impls=$2 ;;
    --begin) begin=$2 ;;
    --end) end=$2 ;;
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --bin) bin=$2 ;;
    --csv) csv=$2 ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    [ $# -ge 2 ] || { usage >&2; exit 2; }
    shift 2
done

run=$bin/../launcher/xylem-run
[ -x "$run" ] || run=$bin/xylem-run
[ -x "$run" ] || { echo "compare.sh: no programs in $bin" >&2; exit 1; }
results=$(mktemp)
trap 'rm -f "$results"' EXIT

bind=none
[ "$np" -le "$(nproc)" ] && bind=core
ucx="--mca pml ucx --mca opal_common_ucx_tls any
     --mca opal_common_ucx_devices any"

# The command that measures implementation $1; fails when it is not there.
command_of()
{
    local openmpi="mpirun.openmpi --allow-run-as-root --oversubscribe
        --bind-to $bind $ucx"
    case $1 in
    event | waitall | blocking)
        echo "$run -n $np $bin/xylem-bench --impl $1" ;;
    openmpi-*)
        command -v mpirun.openmpi >/dev/null || return 1
        [ -x "$bin/xylem-mpi-driver-openmpi" ] || return 1
        case $1 in
        openmpi-adapt) openmpi="$openmpi --mca coll_adapt_priority 100" ;;
        openmpi-sm) openmpi="$openmpi --mca coll_sm_priority 100" ;;
        esac
        echo "$openmpi -n $np $bin/xylem-mpi-driver-openmpi" ;;
    mpich)
        command -v mpirun.mpich >/dev/null || return 1
        [ -x "$bin/xylem-mpi-driver-mpich" ] || return 1
        echo "mpirun.mpich -n $np $bin/xylem-mpi-driver-mpich" ;;
    *) return 1 ;;
    esac
}

measure() # implementation, collective, round
{
    local command
    command=$(command_of "$1") || return 0
    # shellcheck disable=SC2086
    timeout 300 $command -c "$2" -b "$begin" -e "$end" --seconds "$seconds" \
        --lines 2>"$results.err" |
        sed -n "s/^xylem-result latency .*bytes=\([0-9]*\) .*avg_us=\([0-9.]*\) .*/$1 $2 \1 $3 \2/p" \
            >>"$results"
    [ "${PIPESTATUS[0]}" -eq 0 ] || {
        echo "compare.sh: $1 $2 failed:" >&2
        tail -n 3 "$results.err" >&2
    }
    rm -f "$results.err"
}

for impl in ${impls//,/ }; do
    command_of "$impl" >/dev/null || echo "compare.sh: no $impl here" >&2
done
for ((round = 1; round <= rounds; round++)); do
    for coll in ${colls//,/ }; do
        for impl in ${impls//,/ }; do
            echo "round $round of $rounds: $coll $impl" >&2
            measure "$impl" "$coll" "$round"
        done
    done
done
[ -z "$csv" ] || { echo "impl,coll,bytes,round,avg_us"
    tr ' ' ',' <"$results"; } >"$csv"

echo "$np ranks, microseconds per call (median of $rounds rounds);" \
    "ratio: event / best Open MPI, best / all"
awk -v impls="$impls" '
function median(list, n, values, i, j, v) {
    n = split(list, values, " ")
    for (i = 2; i <= n; i++) {
        v = values[i] + 0
        for (j = i - 1; j >= 1 && values[j] + 0 > v; j--)
            values[j + 1] = values[j]
        values[j + 1] = v
    }
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}
function show(key, parts, i, best, all, us, line) {
    split(key, parts, " ")
    best = all = 0
    line = sprintf("%-7s %10d", parts[1], parts[2])
    for (i = 1; i <= count; i++) {
        us = (name[i], key) in times ? median(times[name[i], key]) : 0
        line = line (us ? sprintf(" %13.2f", us) : sprintf(" %13s", "-"))
        if (name[i] == "event") { own = us; continue }
        if (us == 0 || name[i] == "waitall" || name[i] == "blocking") continue
        if (name[i] ~ /^openmpi-(tuned|adapt)/ && (!best || us < best)) best = us
        if (!all || us < all) all = us
    }
    if (own && best) {
        line = line sprintf(" %7.2f", own / best)
        group = parts[1] (parts[2] < 65536 ? " below 64K" : " from 64K on")
        sum[group] += log(own / best); number[group]++
        if (own / best > worst[group]) worst[group] = own / best
    }
    if (own && all) line = line sprintf(" %7.2f", own / all)
    print line
}
BEGIN { count = split(impls, name, ",") }
{
    key = $2 " " $3
    if (!(key in seen)) { seen[key] = 1; order[++keys] = key }
    times[$1, key] = times[$1, key] " " $5
}
END {
    line = sprintf("%-7s %10s", "coll", "bytes")
    for (i = 1; i <= count; i++) line = line sprintf(" %13s", name[i])
    print line sprintf(" %7s %7s", "ratio", "all")
    for (i = 1; i <= keys; i++) show(order[i])
    for (group in sum)
        printf "%s: geometric mean %.2f, worst %.2f\n", group,
            exp(sum[group] / number[group]), worst[group]
}' "$results"
