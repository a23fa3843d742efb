#!/bin/bash
# The mini-applications with and without noise, by xylem's own interface and by
# the MPI libraries, with the binding and without: time, the part of it that is
# communication, and what noise makes of it. Every result is checked.
#
#   asp     shortest paths between all pairs: a broadcast per iteration
#           (table 6.3 of Luo's thesis)
#   train   data-parallel training: an allreduce per layer, while the rank
#           computes the next
#   cg      conjugate gradients: an allgather and two sums per iteration
#   fft     Fourier transforms of a square: alltoalls
#
#   bash bench/apps/run.sh [OPTION...] [asp] [train] [cg] [fft]
#
# Without a name asp and train are measured.
#
#   --np N          ranks; one per core, at least 2
#   --runs N        of each, in turns; the median counts; 3
#   --noise SPEC    beside none; uniform:10Hz,0-20ms (docs/noise.md)
#   --asp OPTIONS   default '-s 1024'; as in the thesis, on a large machine:
#                   '-s 1048576 --rows 1 --no-check'
#   --train OPTIONS default '-i 10'; '--divide 1' for all of AlexNet
#   --cg OPTIONS    default '-i 500'; --fft OPTIONS, '-i 20'
#   --openmpi CMD   mpirun of Open MPI with what it takes on this machine, as in
#                   'mpirun --hostfile HOSTS --bind-to core'; xylem's own
#                   interface is started by it then, too
#   --mpich CMD     the same for MPICH
#   --impl NAME,... of xylem, openmpi, xylem-openmpi, mpich, xylem-mpich; all
#                   that are there
#   --build DIR     build/release
#   --csv FILE      every number, for xylem-plot; one that has some from before is
#                   refused; build/apps.csv, or apps-2.csv, ... where that is there
set -uo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
cores=$(nproc)
np=$((cores < 2 ? 2 : cores))
runs=3
noise=uniform:10Hz,0-20ms
declare -A given=([asp]='-s 1024' [train]='-i 10' [cg]='-i 500' [fft]='-i 20')
openmpi='' mpich='' impls=''
build=$root/build/release
csv=''
apps=()
failures=0

fail()
{
    echo "run.sh: $1" >&2
    exit 1
}

# shellcheck source=bench/common/results.sh
. "$root/bench/common/results.sh"

while (($# > 0)); do
    case $1 in
    --help | -h) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;;
    asp | train | cg | fft) apps+=("$1"); shift; continue ;;
    --np | --runs | --noise | --openmpi | --mpich | --build | --csv) ;;
    --impl | --asp | --train | --cg | --fft) ;;
    *) echo "run.sh: unknown option '$1'; see --help" >&2; exit 2 ;;
    esac
    (($# >= 2)) || fail "$1 needs a value"
    name=${1#--}
    case $name in
    impl) impls=${2//,/ } ;;
    asp | train | cg | fft) given[$name]=$2 ;;
    *) printf -v "$name" %s "$2" ;;
    esac
    shift 2
done
((${#apps[@]} > 0)) || apps=(asp train)
[[ -x $build/bench/xylem-asp ]] || fail "no programs in $build/bench"
# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*} ${!NOISE_*} LD_PRELOAD
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export UCX_LOG_LEVEL=error
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Words of the command that starts ranks of it, into `start`; 1: it is not here.
launcher()
{
    case ${1#xylem-} in
    xylem)
        if [[ -n $openmpi ]]; then
            read -ra start <<<"$openmpi -n $np"
        else
            start=("$build/launcher/xylem-run" -n "$np")
        fi
        return
        ;;
    openmpi) read -ra start <<<"${openmpi:-mpirun.openmpi --oversubscribe} -n $np" ;;
    mpich) read -ra start <<<"${mpich:-mpiexec.hydra} -n $np" ;;
    *) return 1 ;;
    esac
    command -v "${start[0]}" >/dev/null &&
        [[ -x $build/bench/xylem-asp-${1#xylem-} ]] &&
        { [[ $1 != xylem-* ]] || [[ -e $build/bindings/mpi/libxylem-mpi.so ]]; }
}

# measure APP IMPL NOISE ROUND: a row of the file.
measure()
{
    local app=$1 impl=$2 spec=$3 round=$4 preload='' program line
    local total comm share iterations words

    launcher "$impl" || return
    program=$build/bench/xylem-$app
    [[ $impl == xylem ]] || program+=-${impl#xylem-}
    [[ $impl != xylem-* ]] || preload=$build/bindings/mpi/libxylem-mpi.so
    read -ra words <<<"${given[$app]}"
    if [[ $spec != none ]]; then
        preload+=${preload:+:}$build/bench/libxylem-noise.so
        preload+=" NOISE_SPEC=$spec NOISE_SEED=$round NOISE_REPORT=$work/noise"
    fi
    rm -f "$work/noise"
    # shellcheck disable=SC2086 # several words
    timeout 900 "${start[@]}" env ${preload:+LD_PRELOAD=$preload} "$program" \
        "${words[@]}" >"$work/out" 2>"$work/err" </dev/null
    line=$(grep "^$app .* check=ok" "$work/out") || {
        echo "run.sh: $app by $impl under $spec failed:" >&2
        cat "$work/out" "$work/err" | tail -n 5 >&2
        failures=$((failures + 1))
        return
    }
    total=${line##*total_s=} comm=${line##*comm_percent=}
    iterations=${line##*iterations=}
    share=$(awk 'match($0, /injected_percent=[0-9.]+/) {
        sum += substr($0, RSTART + 17, RLENGTH - 17) }
        END { printf "%.3f", NR ? sum / NR : 0 }' "$work/noise" 2>/dev/null)
    awk -v t="${total%% *}" -v n="${iterations%% *}" -v comm="${comm%% *}" \
        -v head="noise,$impl,$app,0,$np,$round,\"$spec\",all" \
        -v share="${share:-0}" 'BEGIN {
            printf "%s,%.3f,,%s,,,,%s\n", head, t / n * 1e6, share, comm
        }' >>"$csv"
}

[[ -n $impls ]] || impls='xylem openmpi xylem-openmpi mpich xylem-mpich'
[[ -n $csv ]] || csv=$(results_name "$root/build/apps.csv")
results_begin "$csv" experiment,impl,coll,bytes,ranks,round,noise,rank,time_us,$(
)delayed_us,injected_percent,low_us,high_us,floor_us,comm_percent
for ((round = 1; round <= runs; round++)); do
    for app in "${apps[@]}"; do
        for impl in $impls; do
            for spec in none "$noise"; do
                measure "$app" "$impl" "$spec" "$round"
            done
        done
    done
done

# The medians. Only commas between columns are left.
printf '%d ranks; noise: %s; medians of %d\n\n' "$np" "$noise" "$runs"
tr -d '"' <"$csv" | sed 's/uniform:\([^,]*\),/uniform:\1;/' | awk -F, '
    function median(list, n, v, i, j, x) {
        n = split(list, v, " ")
        for (i = 2; i <= n; i++) {
            x = v[i] + 0
            for (j = i - 1; j >= 1 && v[j] + 0 > x; j--) v[j + 1] = v[j]
            v[j + 1] = x
        }
        return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    NR > 1 {
        key = $3 "," $2
        if (!(key in seen)) { seen[key] = 1; order[++keys] = key }
        level = $7 == "none" ? 0 : 1
        us[key, level] = us[key, level] " " $9
        comm[key, level] = comm[key, level] " " $NF
    }
    END {
        printf "%-7s %-15s %12s %8s %12s %8s %9s\n", "app", "by", "us/step",
            "comm", "with noise", "comm", "slower"
        for (i = 1; i <= keys; i++) {
            key = order[i]; split(key, part, ",")
            a = median(us[key, 0]); b = median(us[key, 1])
            printf "%-7s %-15s %12.1f %6.1f %% %12.1f %6.1f %% %+7.1f %%\n",
                part[1], part[2], a, median(comm[key, 0]), b,
                median(comm[key, 1]), (a ? 100 * (b / a - 1) : 0)
        }
    }'
printf '\nevery number is in %s\n' "$csv"
((failures == 0))
