#!/bin/bash
# Verifies and measures what xylem does with memory of GPUs, on a machine that
# has any; from a bundle (bench/bundle.sh) or a build.
#
#   gpu.sh [--quick] [--part NAME]... [--ranks N,...] [--out FOLDER]
#
#   --quick      fewer cases and sizes
#   --part NAME  verify, designs (those of verify that name a design of the
#                thesis, without MPS and through it), one (several ranks on each GPU), wide (a rank on each),
#                mps (several ranks through MPS), copies (by two mechanisms,
#                without MPS and through it), figures (those of Faraji's thesis,
#                without MPS and through it), first (what first calls take, and
#                when later ones have paid for it), kill (teams fail, ranks are
#                killed) or
#                sanitize (compute-sanitizer looks on); all but designs, figures
#   --ranks N,...  of jobs that share GPUs; default: 4,8, or 4
#   --out        a folder where tables go, too, as gpu.txt, and as gpu.csv, which
#                xylem-plot draws; one that has a gpu.csv from before is refused;
#                default: nowhere
#   GPU_CASES, GPU_DEATHS   how many random cases, and deaths of each design
#   GPU_DESIGNS=NAME,...    only these
#   GPU_SHARING=turns|mps   of part figures only this
#   GPU_SECONDS  what would begin later than that is left out
#   GPU_TIMEOUT  seconds after which a measurement is given up; 120
#
# Ranks take GPUs in turn: on a machine with one, all share it. Exit code 1 when
# a result was wrong.
set -u
export LC_ALL=C XYLEM_LOG=${XYLEM_LOG:-info}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
common=$here/common
[[ -d $common ]] || common=$here/../common # in a bundle
# shellcheck source=bench/common/results.sh
. "$common/results.sh"

fail()
{
    echo "gpu.sh: $1" >&2
    exit 1
}

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

parts=() asked=() out='' quick=''
while (($# > 0)); do
    case $1 in
    --quick) quick=yes ;;
    --part) parts+=("$2") && shift ;;
    --ranks) IFS=, read -ra asked <<<"$2" && shift ;;
    --out) out=$2 && shift ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
done
((${#parts[@]} > 0)) || parts=(verify one wide mps copies first kill sanitize)
failed=0

does()
{
    local part
    for part in "${parts[@]}"; do
        [[ $part == "$1" ]] && return
    done
    return 1
}

sharing=turns # or mps: how processes have a GPU together

# verified SECONDS NAME COMMAND...
verified()
{
    local seconds=$1 name=$2 output begin=$SECONDS
    shift 2

    if ((SECONDS >= ${GPU_SECONDS:-1000000})); then
        printf 'left out %s\n' "$name"
        return
    fi
    if output=$(timeout "$seconds" "$@" 2>&1 </dev/null); then
        printf 'ok      %s (%d s)\n' "$name" $((SECONDS - begin))
    else
        printf 'FAILED  %s (code %d, %d s)\n%s\n' "$name" $? \
            $((SECONDS - begin)) "$(grep -v pmix <<<"$output" | tail -c 2000)"
        failed=1
    fi
}

designs=(cuda_ipc cuda_gsb cuda_btb cuda_gsb_btb cuda_static:2 cuda_dynamic)
[[ ! ${GPU_DESIGNS:-} ]] || IFS=, read -ra designs <<<"$GPU_DESIGNS"
cases=${GPU_CASES:-$([[ $quick ]] && echo 150 || echo 1000)}
verify_designs()
{
    local ranks how
    for ranks in 2 4 8; do
        for how in "${designs[@]}"; do
            verified 60 "$sharing, $cases random cases, $how, $ranks ranks" \
                xylem-run -n "$ranks" --env CALLS_MEMORY=cuda \
                --env "CALLS_ALGORITHM=$how" calls sweep "$cases"
        done
    done
}

# Reductions on nodes that this machine presents.
verify_levels()
{
    local nodes

    for nodes in 2 4; do
        verified 60 "$sharing, $cases random reductions, $nodes nodes, 8 ranks" \
            xylem-run -n 8 --nodes "$nodes" device_levels values "$cases"
    done
    verified 60 "$sharing, a late rank, 2 nodes, 6 ranks" \
        xylem-run -n 6 --nodes 2 device_levels held 50
}

verify()
{
    local ranks memory
    for ranks in 1 2 4 8; do
        verified 60 "$cases random cases, $ranks ranks" \
            xylem-run -n "$ranks" --env CALLS_MEMORY=cuda calls sweep "$cases"
    done
    verify_designs
    for memory in some late; do
        verified 60 "$cases random cases, $memory buffers, 4 ranks" \
            xylem-run -n 4 --env "CALLS_MEMORY=$memory" calls sweep "$cases"
    done
    verified 60 "$cases random cases, mirrors, 4 ranks" xylem-run -n 4 --env \
        CALLS_MEMORY=cuda --env XYLEM_CUDA_DIRECT=off calls sweep "$cases"
    verified 60 "cuda_ipc, several at once, 4 ranks" xylem-run -n 4 --env \
        CALLS_MEMORY=some --env CALLS_ALGORITHM=cuda_ipc calls flight 10
    verified 60 "several at once, 4 ranks" \
        xylem-run -n 4 --env CALLS_MEMORY=cuda calls flight 10
    verified 60 "threads, 2 ranks" \
        xylem-run -n 2 --env CALLS_MEMORY=cuda calls threads 10
    verified 60 "two nodes, 4 ranks" \
        xylem-run -n 4 --nodes 2 --env CALLS_MEMORY=cuda calls sweep "$cases"
    verify_levels
    verified 60 "progress thread, 4 ranks" xylem-run -n 4 --env \
        CALLS_MEMORY=cuda --env XYLEM_PROGRESS=thread calls sweep "$cases"
}

openmpi=(mpirun.openmpi --oversubscribe --bind-to none --mca pml ucx
    --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any)
((EUID != 0)) || openmpi+=(--allow-run-as-root)

# times COMMAND...: "coll bytes us wrong" per line, for columns.
times()
{
    rm -f "$work/csv"
    timeout "${GPU_TIMEOUT:-120}" "$@" --csv "$work/csv" >"$work/log" 2>&1 || {
        printf 'FAILED  %s\n%s\n' "$*" "$(tail -5 "$work/log")" >&2
        : >"$work/csv"
    }
    awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "wrong") wrong = i }
        NR > 1 { print $1, $2, $6, $wrong }' "$work/csv"
}

# recorded DESIGN RANKS later|first|again: what times has printed, for gpu.csv.
recorded()
{
    awk -v way="$sharing" -v design="$1" -v ranks="$2" -v which="$3" \
        '{ printf "%s,%s,%s,%s,%s,%s,%s,%s\n", way, $1, ranks, design, which, $2, $3, $4 }' \
        >>"$csv"
}

# table COLL,... RANKS SIZES COLUMN...: each column is a name and a function, or
# an algorithm, cuda_COLUMN.
table()
{
    local colls=$1 ranks=$2 sizes=$3 column coll i=0
    shift 3

    for column; do
        if ((SECONDS >= ${GPU_SECONDS:-1000000})); then
            printf '\n%s, %s ranks: left out from %s on\n' \
                "$colls" "$ranks" "$column"
            break
        fi
        if declare -F "column_$column" >/dev/null; then
            "column_$column" "$colls" "$ranks" "$sizes"
        else
            column_named "$colls" "$ranks" "$sizes" "cuda_$column"
        fi >"$work/column.$i"
        recorded "$column" "$ranks" later <"$work/column.$i"
        i=$((i + 1))
    done
    ((i > 0)) || return
    for coll in ${colls//,/ }; do
        printed "$coll" "$ranks" "${@:1:i}"
    done
    ! grep -qE '[1-9][0-9]*$' <(cut -d' ' -f4 "$work"/column.* | grep -v '^0$') ||
        failed=1
    rm -f "$work"/column.*
}

# printed COLL RANKS COLUMN...: the columns that have been measured.
printed()
{
    printf '\n%s, %s ranks, us (the slowest rank'"'"'s median)\n' "$1" "$2"
    printf '%12s' bytes
    printf ' %16s' "${@:3}"
    echo
    awk -v columns="$(($# - 2))" -v work="$work" -v coll="$1" 'BEGIN {
        for (c = 0; c < columns; c++)
            while ((getline line < (work "/column." c)) > 0) {
                split(line, f, " ")
                if (f[1] != coll) continue
                if (!(f[2] in seen)) { seen[f[2]]; order[++n] = f[2] }
                us[f[2], c] = f[3] (f[4] + 0 > 0 ? "!WRONG" : "")
            }
        for (k = 1; k <= n; k++) {
            printf "%12s", order[k]
            for (c = 0; c < columns; c++) printf " %16s", us[order[k], c]
            print ""
        }
    }'
}

seconds=$([[ $quick ]] && echo 0.02 || echo 0.05)
measure=(--check --seconds "$seconds" --warmup 3)
column_xylem()
{
    times xylem-run -n "$2" xylem-bench -c "$1" --sizes "$3" --mem cuda \
        "${measure[@]}"
}
column_auto()
{
    column_xylem "$@"
}
column_on()
{
    XYLEM_CUDA_DIRECT=on column_xylem "$@"
}
column_mirrors()
{
    XYLEM_CUDA_DIRECT=off column_xylem "$@"
}
column_named()
{
    times xylem-run -n "$2" xylem-bench -c "$1" --sizes "$3" --mem cuda \
        --algorithm "$4" "${measure[@]}"
}
column_ipc()
{
    column_named "$@" cuda_ipc
}
column_gsb()
{
    column_named "$@" cuda_gsb
}
column_btb()
{
    column_named "$@" cuda_btb
}
column_both()
{
    column_named "$@" cuda_gsb_btb
}
column_nccl()
{
    times xylem-run -n "$2" xylem-bench -c "$1" --sizes "$3" --mem cuda \
        --impl nccl "${measure[@]}"
}
column_windows()
{
    times xylem-run -n "$2" xylem-bench -c "$1" --sizes "$3" --mem cuda \
        --impl nccl-windows "${measure[@]}"
}
column_staged()
{
    times xylem-run -n "$2" xylem-bench -c "$1" --sizes "$3" --mem staged \
        "${measure[@]}"
}
column_openmpi()
{
    times "${openmpi[@]}" -n "$2" xylem-mpi-driver-openmpi -c "$1" --sizes "$3" \
        --mem staged "${measure[@]}"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
csv=${out:-$work}/gpu.csv
[[ ! -s $csv ]] || results_refuse "$csv" --out
[[ ! $out ]] || mkdir -p "$out" || fail "cannot make $out"
[[ ! $out ]] || exec > >(tee "$out/gpu.txt") 2>&1
nvidia-smi -L
{
    nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c |
        sed "s/^ */# /; s/\$/, $(nproc) cores, $(date +%F)/"
    echo sharing,coll,ranks,design,which,bytes,us,wrong
} >"$csv"
gpus=$(nvidia-smi -L | wc -l)
! does verify || verify
# one COLUMN...: beside the designs of our own.
one()
{
    local coll ranks
    for coll in allreduce reduce bcast; do
        for ranks in "${jobs[@]}"; do
            table "$coll" "$ranks" "$sizes" ipc gsb btb mirrors "$@"
        done
    done
    for coll in allgather alltoall reduce_scatter_block scan gather; do
        table "$coll" "${jobs[0]}" "$few" auto mirrors
    done
}

# Copies by two mechanisms, beside one alone: so many ranks through the host.
columns=()
mechanisms()
{
    local staged
    columns=(static)
    for ((staged = 1; staged < $1 - 1; staged *= 2)); do
        columns+=("static:$staged")
    done
    columns+=("static:$(($1 - 1))" dynamic)
}

copies()
{
    local ranks
    for ranks in "${jobs[@]}"; do
        mechanisms "$ranks"
        table allreduce "$ranks" "$long" ipc gsb "${columns[@]}" mirrors
        table allgather "$ranks" "$blocks" ipc "${columns[@]}" mirrors
        [[ $quick ]] ||
            table bcast "$ranks" "$long" ipc gsb "${columns[@]}" mirrors
    done
}

# What figures 3.3, 3.4, 4.6, 4.7 and 5.1 to 5.10 of the thesis ask; by ranks on
# one node, all of which share its GPUs.
pairs()
{
    timeout "${GPU_TIMEOUT:-120}" bench_pairs 4 "$sharing" | tee -a "$csv"
}

figures()
{
    local ranks=$1 blocks=4,1K,16K,64K,256K,1M,4M

    mechanisms "$ranks"
    table allreduce,reduce,bcast "$ranks" "$sizes" \
        ipc gsb btb "${columns[@]}" mirrors openmpi
    table allgather "$ranks" "$blocks" ipc "${columns[@]}" mirrors openmpi
}

with_mps()
{
    printf '\nwith MPS\n'
    mkdir -p "$work/mps"
    export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps
    nvidia-cuda-mps-control -d
    sharing=mps
    "$@"
    sharing=turns
    echo quit | nvidia-cuda-mps-control
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

# In turns, and through MPS.
both_ways()
{
    [[ ${GPU_SHARING:-turns} != turns ]] || "$@"
    [[ ! $has_mps || ${GPU_SHARING:-mps} != mps ]] || with_mps "$@"
}

# called COLL RANKS BYTES DESIGN OPTION...: as times.
called()
{
    local coll=$1 ranks=$2 bytes=$3 direct=auto options=(--algorithm "cuda_$4")
    [[ $4 != mirrors ]] || direct=off options=()
    shift 4
    XYLEM_CUDA_DIRECT=$direct times xylem-run -n "$ranks" xylem-bench \
        -c "$coll" --sizes "$bytes" --mem cuda "${options[@]}" "$@"
}

# Figure 3.5 of the thesis: after how many calls a design has taken no longer
# than copies through the host, its first call and what that prepares included.
first_calls()
{
    local bytes design first later ours theirs
    local all=(4K 64K 1M 16M) ways=(mirrors ipc gsb btb static static:2 dynamic)
    [[ ! $quick ]] || all=(64K 16M) ways=(mirrors ipc gsb static:2 dynamic)
    printf '\nfirst calls of an allreduce, 4 ranks, us; calls until a design has paid\n'
    printf '%10s %12s %12s %12s %8s\n' bytes design first later calls
    for bytes in "${all[@]}"; do
        theirs=''
        for design in "${ways[@]}"; do
            ((SECONDS < ${GPU_SECONDS:-1000000})) || return
            first=$(called allreduce 4 "$bytes" "$design" -i 1 --warmup 0)
            later=$(called allreduce 4 "$bytes" "$design" -i 30 --warmup 5)
            recorded "$design" 4 first <<<"$first"
            recorded "$design" 4 again <<<"$later"
            ours="$(cut -d' ' -f3 <<<"$first") $(cut -d' ' -f3 <<<"$later")"
            [[ $theirs ]] || theirs=$ours
            awk -v b="$bytes" -v d="$design" -v o="$ours" -v t="$theirs" 'BEGIN {
                split(o, a); split(t, h)
                n = h[2] > a[2] ? 1 + (a[1] - h[1]) / (h[2] - a[2]) : 0
                calls = n == 0 ? "-" : n <= 1 ? 1 : int(n) + (n > int(n))
                printf "%10s %12s %12s %12s %8s\n", b, d, a[1], a[2], calls
            }'
        done
    done
}

# A rank ends, and then teams, in the midst of calls.
kills()
{
    local how seed output began failures=0 slowest=0 memory
    cd "$work" || exit
    verified 60 "100 teams that fail, each design in turn, 4 ranks" \
        xylem-run -n 4 --env XYLEM_LOG=none \
        device_aborts "$(IFS=, && echo "${designs[*]}")" 100
    for how in "${designs[@]}"; do
        for seed in $(seq 1 "$deaths"); do
            output=$(timeout 60 xylem-run -n 4 --no-kill --env XYLEM_LOG=none \
                --env CALLS_MEMORY=cuda --env "CALLS_ALGORITHM=$how" \
                calls killed "$seed" 2>&1 </dev/null)
            (($(grep -c ' survived:' <<<"$output") == 3)) ||
                failures=$((failures + 1))
            began=$(grep -o 'after [0-9]*' <<<"$output" | sort -k2n | tail -1)
            ((${began#after } <= slowest)) || slowest=${began#after }
        done
    done
    memory=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader | tr '\n' ' ')
    printf '\n%s of %s deaths left a rank without a status; the slowest had it after %s ms; memory in use afterwards: %s\n' \
        "$failures" $((${#designs[@]} * deaths)) "$slowest" "$memory"
    ((failures == 0)) || failed=1
}

sanitize()
{
    local how ranks tool
    for tool in memcheck racecheck; do
        for how in "${designs[@]}"; do
            for ranks in 2 4 8; do
                [[ $tool == memcheck || $ranks == 4 ]] || continue
                verified 100 "$sharing, compute-sanitizer, $tool, $how, $ranks ranks" \
                    xylem-run -n "$ranks" --env CALLS_MEMORY=cuda --env \
                    "CALLS_ALGORITHM=$how" compute-sanitizer --tool "$tool" \
                    --error-exitcode 3 "$(command -v calls)" sweep 60
            done
        done
    done
}

jobs=(4 8) sizes=4,1K,16K,64K,256K,1M,4M,16M,64M few=1K,64K,1M,8M deaths=${GPU_DEATHS:-10}
long=64K,1M,4M,16M,64M blocks=64K,256K,1M,4M,8M # these times ranks are gathered
[[ ! $quick ]] || jobs=(4) sizes=4,16K,1M,16M few=1K,1M
((${#asked[@]} == 0)) || jobs=("${asked[@]}")
! does one || one staged openmpi
if does wide && ((gpus > 1)); then
    for coll in allreduce bcast reduce allgather reduce_scatter_block alltoall; do
        case $coll in # what NCCL has
        alltoall) rivals=() ;;
        bcast | reduce) rivals=(nccl) ;;
        *) rivals=(nccl windows) ;;
        esac
        table "$coll" "$gpus" "$sizes,256M" auto on "${rivals[@]}" mirrors
    done
    for coll in allreduce reduce bcast; do
        table "$coll" $((4 * gpus)) "$few" ipc gsb btb both mirrors
    done
fi
through_mps()
{
    verified 60 "MPS, $cases random cases, 4 ranks" \
        xylem-run -n 4 --env CALLS_MEMORY=cuda calls sweep "$cases"
    verified 60 "MPS, $cases random cases, cuda_ipc, 4 ranks" xylem-run -n 4 \
        --env CALLS_MEMORY=some --env CALLS_ALGORITHM=cuda_ipc \
        calls sweep "$cases"
    verify_levels
    one
}
has_mps=''
! command -v nvidia-cuda-mps-control >/dev/null || has_mps=yes
[[ ! $has_mps ]] || ! does mps || with_mps through_mps
if does designs; then
    verify_designs
    [[ ! $has_mps ]] || with_mps verify_designs
fi
if does copies; then
    copies
    [[ ! $has_mps ]] || with_mps copies
fi
if does figures; then
    ! command -v bench_pairs >/dev/null || both_ways pairs
    for ranks in "${jobs[@]}"; do
        both_ways figures "$ranks"
    done
fi
! does first || first_calls
! does kill || kills
if does sanitize && command -v compute-sanitizer >/dev/null; then
    sanitize
    [[ ! $has_mps ]] || with_mps sanitize
fi
exit "$failed"
