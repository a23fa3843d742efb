#!/bin/bash
# Programs that others wrote, as Debian ships them, with the binding and without:
# whether their own checks pass, and how long they take.
#
#   bash bench/mpi/apps.sh [--np N] [--build FOLDER] [--runs N] [NAME]...
#
#   --np N          ranks; 4
#   --build FOLDER  where the library was built; build/release
#   --runs N        of each, in turns; the fastest counts; 3
#   NAME            hpcc, mumps, netpipe, scalapack, or lu, the latter under
#                   MPICH; all that are installed
#
# Packages: hpcc mumps-test netpipe-openmpi scalapack-mpi-test.
set -uo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
np=4
runs=3
build=$root/build/release
names=()
libs=/usr/lib/$(uname -m)-linux-gnu

while (($# > 0)); do
    case $1 in
    --np) np=$2; shift ;;
    --build) build=$(realpath "$2"); shift ;;
    --runs) runs=$2; shift ;;
    --help | -h) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;;
    -*) echo "unknown option '$1'; see --help" >&2; exit 2 ;;
    *) names+=("$1") ;;
    esac
    shift
done
((${#names[@]} > 0)) || names=(netpipe hpcc mumps scalapack lu)

front=$build/bindings/mpi/libxylem-mpi.so
[[ -e $front ]] || { echo "there is no $front; build first" >&2; exit 2; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# As Open MPI 4 and 5 call it.
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe UCX_LOG_LEVEL=error
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# run PRELOAD MPI RANKS PROGRAM...: standard input is $input.
run()
{
    local preload=$1 mpi=$2 ranks=$3
    shift 3
    case $mpi in
    openmpi) set -- mpirun.openmpi -n "$ranks" env "$preload" \
        XYLEM_MPI_VERBOSE=1 "$@" ;;
    mpich) set -- mpiexec.hydra -n "$ranks" env "$preload" \
        XYLEM_MPI_VERBOSE=1 "$@" ;;
    esac
    timeout 120 "$@" <"$input" >"$work/out" 2>&1
}

# compare NAME MPI RANKS PATTERN PROGRAM...: the pattern says that its results
# are right.
compare()
{
    local name=$1 mpi=$2 ranks=$3 pattern=$4 way begin ms i taken=0
    local -A best=() right=()
    shift 4
    for ((i = 0; i < runs; i++)); do
        for way in plain xylem; do
            begin=$(date +%s%N)
            case $way in
            plain) run XYLEM_NONE= "$mpi" "$ranks" "$@" ;;
            xylem) run "LD_PRELOAD=$front" "$mpi" "$ranks" "$@" ;;
            esac
            ms=$((($(date +%s%N) - begin) / 1000000))
            ((${best[$way]:-999999} > ms)) && best[$way]=$ms
            right[$way]=no
            check "$pattern" && right[$way]=yes
            [[ $way == xylem ]] || continue
            taken=$(awk '/ taken$/ { n += $(NF - 1) } END { print n + 0 }' out)
            [[ ${right[xylem]} == yes ]] || { failed=1; tail -n 5 out; }
        done
    done
    printf '%-22s %-8s %5d  %6d ms %-4s  %6d ms %-4s  %8d\n' "$name" "$mpi" \
        "$ranks" "${best[plain]}" "${right[plain]}" "${best[xylem]}" \
        "${right[xylem]}" "$taken"
}

# Whether the last run says so, in its output or in the file that HPCC writes.
check()
{
    grep -qE -- "$1" out hpccoutf.txt 2>/dev/null
    local code=$?
    rm -f hpccoutf.txt
    return "$code"
}

# Messages between two ranks, and barriers: always the same number of them, with
# its check of the data. By itself it takes as many as it needs for half a second.
netpipe()
{
    compare NetPIPE openmpi 2 '49153 bytes .*check passed' \
        NPopenmpi -i -n 200 -u 65536
}

# A small problem; the whole of the suite, with its checks.
hpcc()
{
    sed -e "s/^1000 .*/400          Ns/; s/^2  *Ps/1            Ps/" \
        -e "s/^2  *Qs/$np            Qs/" \
        /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt
    compare HPCC openmpi "$np" 'Success=1' hpcc
}

mumps()
{
    input=/usr/lib/mumps/input_simpletest_real
    compare "MUMPS, double" openmpi "$np" 'Solution is' /usr/lib/mumps/dsimpletest
}

# Its test of LU decompositions, on grids of up to np ranks.
scalapack_of()
{
    local tests=$libs/scalapack/$2-tests
    [[ -x $tests/xdlu ]] || { echo "$1: not installed"; return; }
    cp "$tests"/*.dat .
    compare "$1" "$2" "$3" ' 0 tests completed and failed' "$tests/xdlu"
}

scalapack() { scalapack_of "ScaLAPACK, LU" openmpi "$np"; }
# MPICH's ranks never leave a core to others.
lu() { scalapack_of "ScaLAPACK, LU" mpich "$(($(nproc --all) < np ? $(nproc --all) : np))"; }

printf '%-22s %-8s %5s  %9s %-4s  %9s %-4s  %8s\n' program MPI ranks alone \
    good xylem good "taken"
for name in "${names[@]}"; do
    input=/dev/null
    case $name in
    netpipe) command -v NPopenmpi >/dev/null && netpipe ;;
    hpcc) command -v hpcc >/dev/null && hpcc ;;
    mumps) [[ -x /usr/lib/mumps/dsimpletest ]] && mumps ;;
    scalapack | lu) $name ;;
    *) echo "there is no program '$name'; see --help" >&2; exit 2 ;;
    esac || echo "$name: not installed"
done
exit $failed
