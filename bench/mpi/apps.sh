#!/bin/bash
# Whether the binding pays: programs that others wrote, as Debian ships them, and
# mini-applications, by the MPI library alone and with the binding, quiet and with
# noise; whether their own checks pass, and how long they take.
#
#   bash bench/mpi/apps.sh [OPTION...] [NAME]...
#
#   --np N          ranks; one per core, a power of two, at least 2
#   --mpi NAME,...  of openmpi, mpich (Debian's), openmpi5, mpich5, intel
#                   (bench/peers.sh); openmpi,mpich,intel, those that are there
#   --build FOLDER  where the library was built; build/release
#   --runs N        of each, in turns; the median counts; 3
#   --noise SPEC    beside none; uniform:10Hz,0-10ms, which is 5 % (docs/noise.md);
#                   none: only quiet
#   --scale N       larger problems, N times as long or so; 1
#   --seconds N     begin nothing after so many; 100000
#   --no-count      do not run each once more, to count the calls that are taken
#   --csv FILE      every time; one that has some from before is refused;
#                   build/mpi-apps.csv, or mpi-apps-2.csv, ... where that is there
#   NAME            asp, train, cg, fft (bench/apps); hpcc, mumps, scalapack,
#                   netpipe where installed; all of them but netpipe
#
# Of a mini-application the time of its loop counts, of others the job's. In a
# bundle (bench/bundle.sh --peers) `run-in-bundle.sh apps.sh` needs nothing of the
# machine. Packages: hpcc mumps-test netpipe-openmpi scalapack-mpi-test.
# shellcheck disable=SC2317 # programs are called by their names
set -uo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
np=1
cores=$(nproc)
while ((np * 2 <= cores || np < 2)); do np=$((np * 2)); done
runs=3 noise=uniform:10Hz,0-10ms scale=1 seconds=100000 mpis=openmpi,mpich,intel
counts=yes
build=$root/build/release
csv=''
names=()
libs=/usr/lib/$(uname -m)-linux-gnu

fail()
{
    echo "apps.sh: $1" >&2
    exit 1
}

# shellcheck source=bench/common/results.sh
. "$here/../common/results.sh"

while (($# > 0)); do
    case $1 in
    --help | -h) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;;
    --np | --runs | --noise | --scale | --seconds | --build | --csv)
        printf -v "${1#--}" %s "${2?}"; shift ;;
    --mpi) mpis=${2?}; shift ;;
    --no-count) counts=no ;;
    -*) echo "unknown option '$1'; see --help" >&2; exit 2 ;;
    *) names+=("$1") ;;
    esac
    shift
done
((${#names[@]} > 0)) || names=(hpcc mumps scalapack asp train cg fft)

# In a bundle, or in the build.
if [[ -e $here/../lib/libxylem-mpi.so ]]; then
    bundle=$(cd "$here/.." && pwd -P)
    front=$bundle/lib/libxylem-mpi.so noise_lib=$bundle/lib/libxylem-noise.so
    own=$bundle/bin apps=$bundle/apps root=$PWD
else
    build=$(realpath -m "$build")
    front=$build/bindings/mpi/libxylem-mpi.so
    noise_lib=$build/bench/libxylem-noise.so
    own=$build/bench apps=''
    PATH=${TEST_MPIS:-$root/build/peers}/bin:$PATH
fi
[[ -e $front ]] || { echo "there is no $front; build first" >&2; exit 2; }
# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*} ${!NOISE_*} LD_PRELOAD
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# As Open MPI 4 and 5 call it.
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe UCX_LOG_LEVEL=error
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
[[ -n $csv ]] || csv=$(results_name "$root/build/mpi-apps.csv")
csv=$(realpath -m "$csv")
results_begin "$csv" program,mpi,ranks,way,noise,run,seconds
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# launcher MPI: what starts ranks of it, each on a core of its own if there are
# enough, into `start`; 1: it is not here.
launcher()
{
    local bound=()

    case $1 in
    openmpi | openmpi5)
        start=("mpirun.$1")
        ((np > cores)) && bound=(--bind-to none) || bound=(--bind-to core) ;;
    mpich) start=(mpiexec.hydra)
        ((np > cores)) || bound=(-bind-to core) ;;
    mpich5) start=(mpirun.mpich5)
        ((np > cores)) || bound=(-bind-to core) ;;
    intel) start=(mpirun.intel) ;;
    *) echo "no MPI is called $1; see --help" >&2; exit 2 ;;
    esac
    command -v "${start[0]}" >/dev/null || return
    # Not everywhere may ranks be bound.
    ((${#bound[@]} == 0)) ||
        timeout 20 "${start[@]}" "${bound[@]}" -n "$np" true >out 2>&1 ||
        bound=()
    start+=("${bound[@]}" -n "$np")
}

# Whose programs run on it.
family_of()
{
    case $1 in openmpi*) echo openmpi ;; *) echo mpich ;; esac
}

# run WAY SPEC SEED: the program, $program, whose input is $input. Its seconds.
run()
{
    local preload='' begin line settings=()

    [[ $1 == alone ]] || preload=$front
    if [[ $2 != none ]]; then
        preload+=${preload:+:}$noise_lib
        settings=(NOISE_SPEC="$2" NOISE_SEED="$3")
    fi
    [[ $1 != told ]] || settings+=(XYLEM_MPI_VERBOSE=on)
    rm -f hpccoutf.txt
    begin=$(date +%s%N)
    timeout -k 5 100 "${start[@]}" env ${preload:+LD_PRELOAD="$preload"} \
        "${settings[@]}" "${program[@]}" <"$input" >out 2>&1
    took=$(awk -v ns=$(($(date +%s%N) - begin)) 'BEGIN { print ns / 1e9 }')
    line=$(grep -o ' total_s=[0-9.]*' out)
    [[ -z $line ]] || took=${line#*=}
}

# Whether the last run says that its results are right.
is_right()
{
    grep -qE -- "$1" out hpccoutf.txt 2>/dev/null
}

median()
{
    tr ' ' '\n' <<<"$1" | sort -g | awk 'NF { v[++n] = $1 }
        END { print n ? v[int((n + 1) / 2)] : 0 }'
}

# compare NAME MPI PATTERN: the pattern says that its results are right.
compare()
{
    local name=$1 mpi=$2 pattern=$3 way spec i taken good=yes row=''
    local -A times=()

    if ((SECONDS > seconds)); then
        printf '%-10s %-8s no time left\n' "$name" "$mpi"
        return
    fi
    taken=-
    if [[ $counts == yes ]]; then
        run told none 0
        is_right "$pattern" || { good=NO; tail -n 5 out; }
        taken=$(awk '/ taken$/ { n += $(NF - 1) } END { print n + 0 }' out)
    fi
    for ((i = 1; i <= runs; i++)); do
        for spec in none "$noise"; do
            for way in alone xylem; do
                [[ -z ${times[$way $spec $i]-} ]] || continue
                run "$way" "$spec" "$i"
                is_right "$pattern" || { good=NO; tail -n 5 out; }
                times[$way $spec $i]=$took
                times[$way $spec]+=" $took"
                echo "$name,$mpi,$np,$way,\"$spec\",$i,$took" >>"$csv"
            done
        done
    done
    [[ $good == yes ]] || failed=1
    for spec in none "$noise"; do
        row+=$(awk -v a="$(median "${times[alone $spec]}")" \
            -v x="$(median "${times[xylem $spec]}")" 'BEGIN {
            printf " %9.3f %9.3f %+7.1f %%", a, x, a ? 100 * (x / a - 1) : 0 }')
        [[ $noise != none ]] || break
    done
    printf '%-10s %-8s %s  %-4s %8s\n' "$name" "$mpi" "$row" "$good" "$taken"
}

# ---- programs ----

# installed FILE: where the program is, in the bundle or on the machine.
installed()
{
    if [[ -n $apps ]]; then
        [[ ! -x $apps/$2/${1##*/} ]] || echo "$apps/$2/${1##*/}"
    else
        [[ ! -x $1 ]] || echo "$1"
    fi
}

# The whole of the suite, with its checks.
hpcc()
{
    local p=1
    [[ $(family_of "$1") == openmpi ]] || return 0
    program=("$(installed /usr/bin/hpcc hpcc)")
    [[ -n ${program[0]} ]] || return 0
    while ((4 * p * p <= np)); do p=$((2 * p)); done
    sed -e "s/^1000 .*/$((800 * scale))  Ns/; s/^2  *Ps/$p  Ps/" \
        -e "s/^2  *Qs/$((np / p))  Qs/" \
        "${apps:-/usr/share/doc/hpcc/examples}/_hpccinf.txt" >hpccinf.txt
    compare HPCC "$1" 'Success=1'
}

# A cube's Laplacian.
mumps()
{
    [[ $1 == openmpi ]] || return 0 # the library is Fortran
    program=("$(installed /usr/lib/mumps/dsimpletest mumps)")
    [[ -n ${program[0]} ]] || return 0
    input=$work/cube
    awk -v n=$((22 * scale)) 'BEGIN {
        N = n * n * n
        print N, ":N"; print 4 * N - 3 * n * n, ":NZ"
        for (i = 1; i <= N; i++) {
            print i, i, "6.5"
            if ((i - 1) % n) print i, i - 1, "-1.0"
            if (int((i - 1) / n) % n) print i, i - n, "-1.0"
            if (int((i - 1) / n / n)) print i, i - n * n, "-1.0"
        }
        for (i = 1; i <= N; i++) print "1.0" }' >"$input"
    compare MUMPS "$1" 'Solution is'
}

# Its test of LU decompositions, on grids of all ranks; it leaves out what does
# not fit into its memory.
scalapack()
{
    local family p=1 n=$((1200 * scale))
    family=$(family_of "$1")
    program=("$(installed "$libs/scalapack/$family-tests/xdlu" "$family")")
    [[ -n ${program[0]} ]] || return 0
    while ((4 * p * p <= np)); do p=$((2 * p)); done
    while ((8 * n * n / np > 3000000)); do n=$((n - 100)); done
    printf '%s\n' "'LU'" "'MPI'" "'LU.out'" 6 1 "$n" "$n" 2 '16 32' 1 1 1 1 \
        2 "1 $p" "$np $((np / p))" 1.0 F >LU.dat
    compare ScaLAPACK "$1" ' 4 tests completed and passed'
}

netpipe()
{
    local np=2 start
    [[ $(family_of "$1") == openmpi ]] || return 0
    program=("$(command -v NPopenmpi)" -i -n 200 -u 65536)
    [[ -n ${program[0]} ]] || return 0
    launcher "$1"
    compare NetPIPE "$1" '49153 bytes .*check passed'
}

own()
{
    local name=$1 mpi=$2
    shift 2
    program=("$own/xylem-$name-$(family_of "$mpi")" "$@")
    [[ ! -x ${program[0]} ]] || compare "$name" "$mpi" 'check=ok'
}

asp() { own asp "$1" -s 2048 -i $((2048 * scale)) --no-check; }
train() { own train "$1" -i $((10 * scale)) --divide 8; }
cg() { own cg "$1" -s 32768 -i $((6000 * scale)); }
fft() { own fft "$1" -s 1024 -i $((50 * scale)); }

printf '%d ranks on %d cores, %s; noise: %s; seconds, medians of %d\n\n' \
    "$np" "$cores" "$(awk -F': ' '/^model name/ { print $2; exit }' \
        /proc/cpuinfo)" "$noise" "$runs"
printf '%-10s %-8s  %9s %9s %9s' program MPI alone xylem change
[[ $noise == none ]] || printf ' %9s %9s %9s' noisy xylem change
printf '  %-4s %8s\n' good taken
for mpi in ${mpis//,/ }; do
    launcher "$mpi" || continue
    for name in "${names[@]}"; do
        input=/dev/null
        case $name in
        asp | train | cg | fft | hpcc | mumps | netpipe | scalapack)
            $name "$mpi" ;;
        *) echo "there is no program '$name'; see --help" >&2; exit 2 ;;
        esac
    done
done
printf '\nevery time is in %s\n' "$csv"
exit $failed
