#!/bin/bash
# Compiles the programs of this folder.
#
#   compile.sh MPI FOLDER TARGET PROGRAM...
#
#   MPI      a name of library.sh
#   FOLDER   where libxylem-mpi.so has been built
#   TARGET   where the programs go
#   PROGRAM  Fortran's, fortran_WAY, are made where there is a compiler
#
# The code says whether all that could be compiled were.
set -u
if [[ ${1-} == --help || ${1-} == -h ]]; then
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
fi

mpi=$1
folder=$(realpath "$2")
target=$(realpath "$3")
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
failed=0

# shellcheck source=tests/mpi/library.sh
. "$here/library.sh"
mpi_choose "$mpi"
if [[ -n $mpi_lacks ]]; then
    echo "$mpi_lacks" >&2
    exit 1
fi

# compile NAME ARGUMENT...: what is C. A library comes behind what needs it.
compile()
{
    local name=$1
    shift
    "${mpi_cc[0]}" -O1 -g -w -I"$here/../.." -o "$target/$name" "$@" \
        "${mpi_cc[@]:1}" || failed=1
}

# The programs that together.c calls, and itself.
compile_together()
{
    local program objects=()

    for program in first corners layouts operations requests comms threads \
        errors; do
        compile $program.o -c -DTEST_TOGETHER -Dmain=${program}_main \
            "$here/$program.c"
        objects+=("$target/$program.o")
    done
    compile together "$here/together.c" "${objects[@]}" "${linked[@]}"
}

# MPI-4's functions come from the binding where the MPI has none.
linked=(-L"$folder" -lxylem-mpi -lpthread)
for program; do
    case $program in
    together) compile_together ;;
    collectives | families | first | giants | hints | neighbors | no_memory | \
        requests | sessions | threads | wrong_op)
        compile "$program" "$here/$program.c" "${linked[@]}" ;;
    failing_local)
        compile failing_local.so -shared -fPIC -D_GNU_SOURCE \
            "$here/failing_local.c" ;;
    fortran_*)
        ((${#mpi_fortran[@]} > 0)) && [[ $program != *"${mpi_no_way:-none}" ]] ||
            continue
        "${mpi_fortran[0]}" -O1 -g -w -fallow-argument-mismatch \
            "-D${program#fortran_}" -o "$target/$program" \
            "$here/fortran.F90" "${mpi_fortran[@]:1}" || failed=1 ;;
    values) compile "$program" "$here/$program.c" -lm ;;
    *) compile "$program" "$here/$program.c" ;;
    esac
done
exit $failed
