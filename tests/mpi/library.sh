# The MPI libraries that the binding is tested under; sourced.
#
#   openmpi, mpich           Debian's
#   openmpi5, mpich5, intel  Open MPI, MPICH and Intel MPI of today, in the folder
#                            $TEST_MPIS, which bench/peers.sh has made
#   mpich5abi, intelabi      the same, by their libmpi_abi.so
# shellcheck shell=bash disable=SC2034 # what is set is for others


# The peer NAME, by its LIBRARY; more ARGUMENTs for the compiler.
mpi_from_peers()
{
    local name=$1 library=$2 prefix
    shift 2

    if [[ -z ${TEST_MPIS-} ]]; then
        mpi_lacks="TEST_MPIS does not say where bench/peers.sh has made MPIs"
        return
    fi
    prefix=$(realpath -m "$TEST_MPIS")/$name
    if [[ ! -e $prefix/lib/lib$library.so || ! -d $prefix/include ]]; then
        mpi_lacks="there is no $prefix/lib/lib$library.so"
        return
    fi
    mpi_cc=(cc "$@" -I"$prefix/include" -L"$prefix/lib" -l"$library")
    mpi_path=$prefix/lib
    mpi_run=("$prefix/../bin/mpirun.$name" -n)
}

# Intel's modules for the gfortran that is here.
mpi_intel_fortran()
{
    local prefix=${TEST_MPIS-}/intel modules major

    major=$(gfortran -dumpversion 2>/dev/null) || return
    for modules in "$prefix/include/mpi/gfortran/${major%%.*}".*; do
        [[ -d $modules ]] || continue
        mpi_fortran=(gfortran -I"$prefix/include" -I"$modules"
            -L"$prefix/lib" -lmpifort -lmpi)
        mpi_no_way=F08 # these modules are for other compilers
    done
}

# mpi_choose NAME: how programs are compiled and run, and which front they get;
# $mpi_lacks says why they cannot be.
mpi_choose()
{
    mpi_front=libxylem-mpi.so
    # Debian 12 has Open MPI 4, Debian 13 has Open MPI 5.
    [[ $1 != openmpi ]] || ! mpirun.openmpi --version 2>/dev/null |
        grep -q '(Open\(RTE\| MPI\)) 4\.' || mpi_front=libxylem-mpi-3.so
    mpi_lacks='' mpi_path='' mpi_no_way='' mpi_cc=() mpi_fortran=()
    # Rights that a test in a container needs; one machine, more ranks than
    # cores. As Open MPI 4 and 5 call it.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1
    export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    case $1 in
    openmpi | mpich)
        command -v "mpicc.$1" >/dev/null || mpi_lacks="there is no mpicc.$1"
        mpi_cc=("mpicc.$1")
        command -v "mpifort.$1" >/dev/null &&
            command -v gfortran >/dev/null && mpi_fortran=("mpifort.$1")
        mpi_run=("$([[ $1 == mpich ]] && echo mpiexec.hydra ||
            echo mpirun.openmpi)" -n)
        ;;
    openmpi5) mpi_from_peers openmpi5 mpi ;;
    mpich5) mpi_from_peers mpich5 mpi ;;
    mpich5abi) mpi_from_peers mpich5 mpi_abi -DMPI_ABI ;;
    intel)
        mpi_from_peers intel mpi
        mpi_intel_fortran
        ;;
    intelabi) mpi_from_peers intel mpi_abi -DMPI_ABI ;;
    *) mpi_lacks="no MPI library is called $1" ;;
    esac
}
