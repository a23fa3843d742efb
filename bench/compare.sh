#!/usr/bin/env bash
# Compares xylem, by itself and under MPI programs, with the MPI libraries that
# are installed or that bench/peers.sh has made: same machine, same run, rounds
# interleaved so that drift hits all alike, rotated buffers or those of OSU's
# benchmarks, median over rounds of the mean over ranks of the time per call.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

all_colls=(barrier bcast reduce allreduce gather gatherv scatter scatterv
    allgather allgatherv alltoall alltoallv alltoallw neighbor_allgather reduce_scatter
    reduce_scatter_block scan exscan)

usage()
{
    cat <<'TXT'
usage: bench/compare.sh [options]

  -c, --colls LIST  collectives, or all (default bcast,reduce)
  -n, --np N        ranks (default: the number of cores)
  --cluster N,P     N nodes of P ranks instead: a cluster of namespaces, made
                    by tests/cluster/run.sh, with TCP between its nodes; then
                    the default is xylem,openmpi-tuned,openmpi-han,openmpi-adapt
  --impls LIST      default xylem,openmpi-tuned,openmpi-adapt,mpich; also
                    waitall, blocking, openmpi-sm; openmpi5-tuned,
                    openmpi5-adapt, mpich5 and intel where bench/peers.sh has
                    made them; and the binding for MPI under each: xylem-openmpi,
                    xylem-openmpi5, xylem-mpich, ...
  --peers DIR       made by bench/peers.sh (default build/peers; also found
                    when DIR/bin is in PATH)
  --begin B --end E sizes, doubling (default 8 and 4M): of the message of
                    bcast, reduce, allreduce, scan and exscan, of what one rank
                    sends to one rank in the others
  --sizes LIST      these instead
  --mode M          blocking (default), nonblocking or persistent calls
  --osu             as OSU's benchmarks: the same buffers in every call, which
                    nobody writes, and means; instead of rotated buffers and
                    medians over calls
  --consume         read the result after each call, as a part of its time
  --rounds R        default 5
  --limit S         seconds after which one implementation's part of a round is
                    given up (default 300)
  --seconds S       of calls, for each size, implementation and round (default
                    0.1); at least 10 calls, and as many to warm up
  --bin DIR         where the programs are (default build/release/bench, in a
                    bundle its bin)
  --csv FILE        every measurement, as it is made; a file that has some from
                    before is refused
Each rank has a core where there are enough, rank i the i-th. Open MPI 4 runs over
UCX (pml ucx), Open MPI 5 as it chooses; the adapt module has bcast and reduce only,
as waitall and blocking have, which are xylem's own designs of what others do.
Ratios are those of xylem, or of the binding where xylem itself is not in the list,
to the best of the MPI libraries; below 1 xylem is faster.
Where ranks outnumber cores, Open MPI's yield.
TXT
}

fail() # message, exit code
{
    echo "compare.sh: $1" >&2
    exit "${2-1}"
}

common=$here/common
[ -d "$common" ] || common=$here/../common # in a bundle
# shellcheck source=bench/common/results.sh
. "$common/results.sh"

np=$(nproc) colls=bcast,reduce begin=8 end=4M rounds=5 seconds=0.1 csv=
limit=300 mode=blocking impls='' cluster='' peers=$here/../build/peers
bin=$here/../build/release/bench
[ -d "$bin" ] || bin=$here # in a bundle
how=() sizes=''
while [ $# -gt 0 ]; do
    case $1 in
    --osu | --consume) how+=("$1"); shift; continue ;;
    -c | --colls) colls=${2-} ;;
    -n | --np) np=${2-} ;;
    --impls) impls=${2-} ;;
    --cluster) cluster=${2-} ;;
    --peers) peers=${2-} ;;
    --begin) begin=${2-} ;;
    --sizes) sizes=${2-} ;;
    --end) end=${2-} ;;
    --mode) mode=${2-} ;;
    --rounds) rounds=${2-} ;;
    --seconds) seconds=${2-} ;;
    --limit) limit=${2-} ;;
    --bin) bin=${2-} ;;
    --csv) csv=${2-} ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    [ $# -ge 2 ] || { usage >&2; exit 2; }
    shift 2
done

if [ -n "$cluster" ]; then
    [[ $cluster =~ ^[1-9][0-9]*,[1-9][0-9]*$ ]] || { usage >&2; exit 2; }
    np=$((${cluster%,*} * ${cluster#*,}))
    : "${impls:=xylem,openmpi-tuned,openmpi-han,openmpi-adapt}"
fi
: "${impls:=xylem,openmpi-tuned,openmpi-adapt,mpich}"
impls=,$impls,
impls=${impls//,event,/,xylem,} # the library's older name
impls=${impls#,} impls=${impls%,}
if [ "$colls" = all ]; then
    wanted=("${all_colls[@]}")
else
    IFS=, read -ra wanted <<<"$colls"
fi
for coll in "${wanted[@]}"; do
    [[ " ${all_colls[*]} " == *" $coll "* ]] ||
        fail "there is no collective '$coll'; see --help" 2
done
run=$bin/../launcher/xylem-run
[ -x "$run" ] || run=$bin/xylem-run
[ -x "$run" ] || fail "no programs in $bin"
front=$(realpath -m "$bin/../bindings/mpi/libxylem-mpi.so")
[ -e "$front" ] || front=$(realpath -m "$bin/../lib/libxylem-mpi.so")
[ -z "$csv" ] || results_begin "$csv" impl,coll,bytes,round,avg_us
results=$(mktemp)
nodes()
{
    bash "$here/../tests/cluster/run.sh" "$@"
}

finish()
{
    rm -f "$results" "$results.err" "$results.out"
    [ -z "$cluster" ] || nodes down >/dev/null
}
trap finish EXIT
if [ -n "$cluster" ]; then
    nodes up "${cluster%,*}" --owner $$ >/dev/null || exit
    # Nodes do not see that all of them share the machine's cores.
    export XYLEM_PROGRESS=caller XYLEM_SPIN_US=1000
    [ "$np" -le "$(nproc)" ] || XYLEM_PROGRESS=blocking
fi

PATH=$PATH:$peers/bin
bind=none
yield=(--mca mpi_yield_when_idle 1)
[ "$np" -gt "$(nproc)" ] || { bind=core yield=(); }

# Sets `command` to what measures implementation $1, which is
# [xylem-]MPI[-MODULE] or one of xylem-bench; fails when it is not there.
command_of()
{
    local mpi=${1#xylem-} module='' driver=mpich options=()
    case $1 in
    xylem | waitall | blocking)
        command=(timeout "$limit" "$run" -n "$np" "$bin/xylem-bench" --impl "$1")
        [ -z "$cluster" ] ||
            command=(nodes run -p "${cluster#*,}" -t "$limit" "${command[@]:5}")
        return ;;
    esac
    [[ $mpi != *-* ]] || { module=${mpi#*-} mpi=${mpi%%-*}; }
    case $mpi in
    openmpi)
        options=(--mca pml ucx --mca opal_common_ucx_tls any
            --mca opal_common_ucx_devices any "${yield[@]}")
        [ -n "$cluster" ] ||
            options+=(--allow-run-as-root --oversubscribe --bind-to "$bind") ;;
    openmpi5)
        options=(--map-by core:OVERSUBSCRIBE --bind-to "$bind" "${yield[@]}") ;;
    mpich | mpich5) options=(-bind-to "$bind") ;;
    intel)
        options=(-genv I_MPI_PIN_DOMAIN core)
        [ "$bind" = core ] || options=(-genv I_MPI_PIN 0) ;;
    *) return 1 ;;
    esac
    [[ $mpi != openmpi* ]] || driver=openmpi
    [[ -z $module || $module = tuned ]] ||
        options+=(--mca "coll_${module}_priority" 100)
    case $1 in
    xylem-openmpi*) options+=(-x "LD_PRELOAD=$front") ;;
    xylem-*) options+=(-genv LD_PRELOAD "$front") ;;
    esac
    driver=$bin/xylem-mpi-driver-$driver
    command=(timeout "$limit" "mpirun.$mpi" "${options[@]}" -n "$np" "$driver")
    [ -z "$cluster" ] || command=(nodes run -p "${cluster#*,}" -t "$limit"
        -o "${options[*]}" "$driver")
    [[ $1 != xylem-* || -e $front ]] && [ -x "$driver" ] &&
        [[ -z $cluster || $mpi = openmpi ]] && command -v "mpirun.$mpi" >/dev/null
}

# Sets `its` to those of the wanted collectives of which implementation $1 has
# something of its own.
colls_of()
{
    local coll
    its=''
    for coll in "${wanted[@]}"; do
        case $1:$coll in
        *:bcast | *:reduce) ;;
        openmpi*-adapt:* | waitall:* | blocking:*) continue ;;
        esac
        its+=${its:+,}$coll
    done
}

measure() # implementation, round
{
    command_of "$1" && colls_of "$1" && [ -n "$its" ] || return 0
    "${command[@]}" -c "$its" "${range[@]}" --seconds "$seconds" --mode "$mode" \
        "${how[@]}" --lines >"$results.out" 2>"$results.err" || {
        echo "compare.sh: $1 failed:" >&2
        tail -n 3 "$results.err" >&2
    }
    if grep -q 'MPI is used alone' "$results.err"; then
        echo "compare.sh: $1 is not by xylem and left out:" \
            "$(grep -m 1 'used alone' "$results.err")" >&2
        return
    fi
    sed -n "s/^xylem-result latency .*coll=\([a-z_]*\) bytes=\([0-9]*\) .*avg_us=\([0-9.]*\) .*/$1 \1 \2 $2 \3/p" \
        "$results.out" | tee -a "$results" | tr ' ' ',' >>"${csv:-/dev/null}"
}

range=(-b "$begin" -e "$end")
[ -z "$sizes" ] || range=(--sizes "$sizes")
IFS=, read -ra list <<<"$impls"
for impl in "${list[@]}"; do
    command_of "$impl" || echo "compare.sh: no $impl here" >&2
done
for ((round = 1; round <= rounds; round++)); do
    # Each round begins with another one.
    for ((i = 0; i < ${#list[@]}; i++)); do
        impl=${list[(i + round - 1) % ${#list[@]}]}
        echo "round $round of $rounds: $impl" >&2
        measure "$impl" "$round"
    done
done

# count NUMBER NOUN: "1 rank", "2 ranks".
count()
{
    [ "$1" -eq 1 ] && echo "1 $2" || echo "$1 $2s"
}

echo "$(count "$np" rank), $mode calls${how:+ (${how[*]})}: microseconds per call (median of $(count "$rounds" round));"
echo "ratio: xylem / the best MPI library, which is named"
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
# xylem itself, not what it is compared with.
function is_own(name) { return name ~ /^(xylem$|xylem-)/ }
function is_peer(name) { return !is_own(name) && name !~ /^(waitall|blocking)$/ }
# Counts a ratio in one of the columns of the last table.
function add(row, group, ratio, bytes, key) {
    key = row " " group
    sum[key] += log(ratio); number[key]++
    if (ratio > worst[key]) { worst[key] = ratio; where[key] = bytes }
}
function show(coll, bytes, key, i, us, best, peer, line) {
    key = coll " " bytes
    best = 0
    line = sprintf("%10d", bytes)
    for (i = 1; i <= count; i++) {
        us[i] = (name[i], key) in times ? median(times[name[i], key]) : 0
        line = line (us[i] ? sprintf(" %13.2f", us[i]) : sprintf(" %13s", "-"))
        if (us[i] && is_peer(name[i]) && (!best || us[i] < best)) {
            best = us[i]
            peer = name[i]
        }
    }
    for (i = 1; i <= count; i++) {
        if (!is_own(name[i]) || !us[i]) continue
        if (name[i] != "xylem" && us[first] && name[first] == "xylem" && bytes < 65536)
            more[name[i]] = more[name[i]] " " us[i] - us[first]
        if (!best) continue
        if (i == first) line = line sprintf(" %7.2f  %s", us[i] / best, peer)
        add(coll " " name[i], bytes < 65536 ? "small" : "large", us[i] / best, bytes)
        add(coll " " name[i], "all", us[i] / best, bytes)
    }
    print line
}
function table(coll, line, i, n, sizes) {
    line = sprintf("\n%s\n%10s", coll, coll == "barrier" ? "-" : "bytes")
    for (i = 1; i <= count; i++) line = line sprintf(" %13s", name[i])
    print line sprintf(" %7s  %s", "ratio", "to")
    n = split(order[coll], sizes, " ")
    for (i = 1; i <= n; i++) show(coll, sizes[i])
}
function cells(key) {
    return key in sum ? sprintf(" %8.2f %7.2f", exp(sum[key] / number[key]),
        worst[key]) : sprintf(" %8s %7s", "-", "-")
}
# Of all collectives, one row for each of xylem in the list.
function total(own, i, key, sum_, rows, highest) {
    for (i = 1; i <= colls; i++) {
        key = coll[i] " " own " all"
        if (!(key in sum)) continue
        sum_ += sum[key] / number[key]; rows++
        if (worst[key] > highest) highest = worst[key]
    }
    if (rows) printf "%-34s%34s %8.2f %7.2f\n", "all collectives, " own, "",
        exp(sum_ / rows), highest
}
BEGIN {
    count = split(impls, name, ",")
    for (i = count; i >= 1; i--) if (is_own(name[i])) first = i
    for (i = 1; i <= count; i++) if (name[i] == "xylem") first = i
}
{
    key = $2 " " $3
    if (!($2 in order)) coll[++colls] = $2
    if (!(key in seen)) { seen[key] = 1; order[$2] = order[$2] " " $3 }
    times[$1, key] = times[$1, key] " " $5
}
END {
    for (i = 1; i <= colls; i++) table(coll[i])
    printf "\nratios: geometric mean and worst\n"
    printf "%-34s %16s %16s %16s %10s\n", "", "below 64K", "from 64K on", "all",
        "worst at"
    for (i = 1; i <= colls; i++)
        for (n = 1; n <= count; n++) {
            if (!is_own(name[n])) continue
            row = coll[i] " " name[n]
            key = row " all"
            printf "%-34s%s%s%s %10s\n", row, cells(row " small"),
                cells(row " large"), cells(key),
                key in where ? where[key] : "-"
        }
    for (n = 1; n <= count; n++) if (is_own(name[n])) total(name[n])
    for (n = 1; n <= count; n++)
        if (name[n] in more)
            printf "%s - xylem, below 64K: median %.2f us\n", name[n],
                median(more[name[n]])
}' "$results"
