#!/bin/bash
# Compiles the programs of this folder.
#
#   compile.sh MPI FOLDER TARGET [PROGRAM]...
#
#   MPI      openmpi or mpich
#   FOLDER   where libxylem-mpi.so has been built
#   TARGET   where the programs go
#   PROGRAM  default: all; Fortran's, fortran_WAY, where there is a compiler
#
# The code says whether all that could be compiled were.
set -u

mpi=$1
folder=$(realpath "$2")
target=$(realpath "$3")
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
failed=0

# compile NAME COMPILER ARGUMENT...
compile()
{
    local name=$1 compiler=$2
    shift 2
    "$compiler.$mpi" -O1 -g -w -I"$here/../.." -o "$target/$name" "$@" ||
        failed=1
}

# The programs that together.c calls, and itself.
compile_together()
{
    local program objects=()

    for program in first corners layouts operations requests comms threads \
        errors; do
        compile $program.o mpicc -c -DTEST_TOGETHER -Dmain=${program}_main \
            "$here/$program.c"
        objects+=("$target/$program.o")
    done
    compile together mpicc "$here/together.c" "${objects[@]}" "${linked[@]}"
}

# MPI-4's functions come from the binding where the MPI has none.
linked=(-L"$folder" -lxylem-mpi -lpthread)
(($# > 0)) || set -- collectives requests threads operations comms errors \
    first corners layouts neighbors profiled together fortran_MPIF_H fortran_USE_MPI fortran_USE_MPI_F08
for program; do
    case $program in
    together) compile_together ;;
    collectives | neighbors | requests | threads)
        compile "$program" mpicc "$here/$program.c" "${linked[@]}" ;;
    fortran_*)
        command -v "mpifort.$mpi" >/dev/null &&
            command -v gfortran >/dev/null || continue
        compile "$program" mpifort -fallow-argument-mismatch \
            "-D${program#fortran_}" "$here/fortran.F90" ;;
    *) compile "$program" mpicc "$here/$program.c" ;;
    esac
done
exit $failed
