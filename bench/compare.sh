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
  --imb WAY         as Intel's benchmarks, by IMB-MPI1 of bench/peers.sh itself
                    (--mode nonblocking: IMB-NBC), for the libraries with
                    MPICH's ABI; Open MPI and xylem are measured the same way by
                    this project's programs. WAY: barriers (IMB's default, a
                    barrier before each call, root 0) or rotating (calls follow
                    each other, each has the next rank as its root)
  --consume         read the result after each call, as a part of its time;
                    not with --imb
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
# shellcheck source=bench/common/quiet.sh
. "$common/quiet.sh"

np=$(nproc) colls=bcast,reduce begin=8 end=4M rounds=5 seconds=0.1 csv=
limit=300 mode=blocking imb='' impls='' cluster='' peers=$here/../build/peers
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
    --imb) imb=${2-} ;;
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

case $imb in
'') ;;
barriers) how+=(--osu) ;;
rotating) how+=(--osu --back-to-back --rotate-roots) ;;
*) fail "--imb takes barriers or rotating, not '$imb'" 2 ;;
esac
[[ -z $imb || ($mode != persistent && " ${how[*]} " != *' --consume '*) ]] ||
    fail "IMB has neither persistent calls nor --consume" 2
imb_name=IMB-MPI1
[ "$mode" = blocking ] || imb_name=IMB-NBC
# Sizes as numbers: 64K, 64k and 64KiB are the same.
sizes_list=()
IFS=, read -ra words <<<"${sizes:-$begin,$end}"
for word in "${words[@]}"; do
    size=${word^^} size=${size%B}
    size=$(numfmt --from=iec -- "${size%I}" 2>/dev/null) || fail "'$word' is no size; see --help" 2
    sizes_list+=("$size")
done
if [ -z "$sizes" ]; then
    mapfile -t sizes_list < <(awk -v b="${sizes_list[0]}" -v end="${sizes_list[1]}" \
        'BEGIN { for (; b <= end; b = b ? 2 * b : 1) print b }')
fi
((${#sizes_list[@]} > 0)) || fail "there is no size from $begin to $end; see --help" 2
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
    rm -rf "$results" "$results".*
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
imb_folder=$(command -v mpirun.intel) &&
    imb_folder=$(realpath "$(dirname "$imb_folder")/../intel/bin")
bind=none
yield=(--mca mpi_yield_when_idle 1)
[ "$np" -gt "$(nproc)" ] || { bind=core yield=(); }

# Sets `command` to what measures implementation $1, which is
# [xylem-]MPI[-MODULE] or one of xylem-bench, and `program` to IMB or driver;
# fails when it is not there.
command_of()
{
    local mpi=${1#xylem-} module='' driver=mpich options=()
    program=driver
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
    if [[ -n $imb && -x $imb_folder/$imb_name && $mpi =~ ^(mpich5|intel)$ ]]; then
        program=IMB driver=$imb_folder/$imb_name
    fi
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

# Sets `arguments` to IMB's: names of its benchmarks, and a file of sizes. Fails
# where IMB has none of the collectives: without a name IMB runs all that it has.
imb_arguments()
{
    local coll names=() i=''
    [ "$mode" = blocking ] || i=I
    for coll in ${its//,/ }; do
        case $coll in
        alltoallw | neighbor_allgather | scan | exscan) continue ;;
        reduce_scatter_block) [ -z "$i" ] || continue ;;
        esac
        [ -n "$i" ] || coll=${coll^}
        names+=("$i$coll")
    done
    printf '%s\n' "${sizes_list[@]}" >"$results.sizes"
    arguments=(-npmin "$np" -msglen "$results.sizes" -time "$seconds" -mem 4)
    [ "$imb" = barriers ] || arguments+=(-sync off -root_shift on)
    ((${#names[@]} > 0)) && arguments+=("${names[@]}")
}

# Lines "collective bytes microseconds overlap" of IMB's tables.
imb_lines()
{
    awk '
    /^# Benchmarking/ {
        coll = tolower($3)
        is_nonblocking = sub(/^i/, "", coll)
        has_bytes = coll != "barrier"
    }
    /^ +[0-9]/ && NF >= 4 {
        at = has_bytes ? 2 : 1 # behind it come the times
        us = $(at + (is_nonblocking ? 2 : 3))
        if (us ~ /^[0-9.]+$/ && us > 0) # a size that took too long has 0 or nan
            print coll, has_bytes ? $1 : 0, us, is_nonblocking ? $(at + 4) : "-"
    }'
}

# Such lines of the output of this project's programs.
driver_lines()
{
    sed -n "s/^xylem-result latency .*coll=\([a-z_]*\) bytes=\([0-9]*\) .*avg_us=\([0-9.]*\) .*/\1 \2 \3 -/p"
}

measure() # implementation, round
{
    local arguments lines=driver_lines before lost
    command_of "$1" && colls_of "$1" && [ -n "$its" ] || return 0
    arguments=(-c "$its" --sizes "$(IFS=,; echo "${sizes_list[*]}")"
        --seconds "$seconds" --mode "$mode" "${how[@]}" --lines)
    if [ "$program" = IMB ]; then
        imb_arguments || return 0
        lines=imb_lines
    fi
    before=$(ticks)
    "${command[@]}" "${arguments[@]}" >"$results.out" 2>"$results.err" || {
        echo "compare.sh: $1 failed:" >&2
        tail -n 3 "$results.err" >&2
    }
    lost=$(stolen "$before")
    echo "$lost round $2, $1" >>"$results.stolen"
    if grep -q 'MPI is used alone' "$results.err"; then
        echo "compare.sh: $1 is not by xylem and left out:" \
            "$(grep -m 1 'used alone' "$results.err")" >&2
        return
    fi
    "$lines" <"$results.out" | awk -v impl="$1" -v round="$2" \
        '{ print impl, $1, $2, round, $3, $4 }' | tee -a "$results" |
        cut -d ' ' -f 1-5 | tr ' ' ',' >>"${csv:-/dev/null}"
}

# loop_lost WHEN: the share that a loop loses now goes to $results.loop.
loop_lost()
{
    [ ! -x "$bin/xylem-noise" ] ||
        echo "$(loop_loses "$bin/xylem-noise" "$results.idle") $1" >>"$results.loop"
}

IFS=, read -ra list <<<"$impls"
for impl in "${list[@]}"; do
    command_of "$impl" || echo "compare.sh: no $impl here" >&2
done
loop_lost "before the first round"
for ((round = 1; round <= rounds; round++)); do
    # Each round begins with another one.
    for ((i = 0; i < ${#list[@]}; i++)); do
        impl=${list[(i + round - 1) % ${#list[@]}]}
        echo "round $round of $rounds: $impl" >&2
        measure "$impl" "$round"
    done
    loop_lost "behind round $round"
done

# Says the most that others took of the processors, and in which part that was.
disturbances()
{
    local what lost where worthless=no

    for what in stolen loop; do
        [ -s "$results.$what" ] || continue
        read -r lost where < <(sort -g "$results.$what" | tail -n 1)
        case $what in
        stolen) echo "other machines took $lost % of the processors' time at most ($where)" ;;
        loop) echo "a loop that does nothing else lost $lost % of its time at most ($where)" ;;
        esac
        ! more_than "$lost" "$busy_percent" || worthless=yes
    done
    [ $worthless = no ] ||
        echo "compare.sh: WARNING: others had more than $busy_percent % of these processors;" \
            "these figures are noise" >&2
}

# count NUMBER NOUN: "1 rank", "2 ranks".
count()
{
    [ "$1" -eq 1 ] && echo "1 $2" || echo "$1 $2s"
}

echo "$(count "$np" rank), $mode calls${how:+ (${how[*]})}: microseconds per call (median of $(count "$rounds" round));"
echo "ratio: xylem / the best MPI library, which is named"
awk -v impls="$impls" -f "$common/compare.awk" "$results"
echo
disturbances
