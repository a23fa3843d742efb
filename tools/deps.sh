#!/bin/bash
# Installs the Debian packages that xylem needs, and only those that are
# missing. The one place that knows their names; written for Debian 12, and
# content with a system that has nothing but bash, coreutils and apt.
#
#   tools/deps.sh [--check | --size] [GROUP...]
#
#   build   the library and its programs
#   docs    their man pages, and the completion of their options
#   test    the tests and the checks of the source
#   bench   comparisons with MPI libraries, and plots
#   demo    of these, what bench/demo.sh uses
#   cluster tests on several nodes, made of namespaces; with Open MPI and Slurm
#   plot    xylem-plot, the optional package of Python
#
# Without a group: all of them. --check installs nothing, names what is missing
# and exits 1 if anything is. --size installs nothing and prints how many bytes
# would be downloaded.
set -euo pipefail

build_packages=(gcc g++ meson ninja-build pkg-config libucx-dev libhwloc-dev
    libevent-dev libjansson-dev libpmix-dev)
mpi_packages=(openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran)
docs_packages=(help2man man-db bash-completion)
# llvm has the symbolizer that gives sanitizer reports their line numbers.
test_packages=("${mpi_packages[@]}" ccache clang clang-format clang-tidy
    libclang-rt-dev llvm valgrind shellcheck abigail-tools)
demo_packages=("${mpi_packages[@]}" gnuplot-nox)
bench_packages=("${demo_packages[@]}" hpcc mumps-test
    netpipe-openmpi scalapack-mpi-test)
# Some 15 MB of them for Slurm. No daemon needs to run: tests start their own.
cluster_packages=(hostname iproute2 mount nftables util-linux openmpi-bin
    slurm-wlm munge)
plot_packages=(python3-matplotlib python3-pandas)

install_options=(-y --no-install-recommends -o DPkg::Lock::Timeout=300)

usage()
{
    while read -r line && [[ $line == '#'* ]]; do
        [[ $line == '#!'* ]] || { line=${line#'#'}; echo "${line# }"; }
    done <"${BASH_SOURCE[0]}"
}

fail()
{
    printf 'deps.sh: %s\n' "$1" >&2
    (($# < 2)) || printf '    %s\n' "${@:2}" >&2
    exit 1
}

# Sets `missing` to those of its arguments that are not installed.
find_missing()
{
    local package state installed=" "

    while read -r package state; do
        [[ $state == ?i* ]] && installed+="${package%%:*} "
    done < <(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' "$@" \
        2>/dev/null || true)
    missing=()
    for package; do
        [[ $installed == *" $package "* ]] || missing+=("$package")
    done
}

# Runs a command with its output in the log.
logged()
{
    echo "\$ $*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null
}

# The bytes of what would be downloaded, to standard output; nothing where
# Debian's lists of packages do not say.
size_print()
{
    "${apt[@]}" install "${install_options[@]}" --print-uris "${missing[@]}" \
        2>/dev/null | awk '$1 ~ /^.http/ { sum += $3 } END { printf "%.0f\n", sum }'
}

# Debian's lists of packages are absent from a bare image and old on others.
install_missing()
{
    logged "${apt[@]}" install "${install_options[@]}" "${missing[@]}" ||
        { logged "${apt[@]}" update &&
            logged "${apt[@]}" install "${install_options[@]}" \
                "${missing[@]}"; }
}

check_only=no
size_only=no
packages=()
for argument; do
    case $argument in
    --check) check_only=yes ;;
    --size) size_only=yes ;;
    --help | -h) usage; exit 0 ;;
    build) packages+=("${build_packages[@]}") ;;
    docs) packages+=("${docs_packages[@]}") ;;
    test) packages+=("${test_packages[@]}") ;;
    bench) packages+=("${bench_packages[@]}") ;;
    demo) packages+=("${demo_packages[@]}") ;;
    cluster) packages+=("${cluster_packages[@]}") ;;
    plot) packages+=("${plot_packages[@]}") ;;
    *) fail "unknown argument '$argument'; see --help" ;;
    esac
done
if ((${#packages[@]} == 0)); then
    packages=("${build_packages[@]}" "${docs_packages[@]}"
        "${test_packages[@]}" "${bench_packages[@]}" "${cluster_packages[@]}"
        "${plot_packages[@]}")
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "this is not a Debian system; install what corresponds to:" \
        "${packages[*]}"
fi

find_missing "${packages[@]}"
if ((${#missing[@]} == 0)); then
    [[ $size_only == no ]] || echo 0
    exit 0
fi
if [[ $check_only == yes ]]; then
    echo "missing packages: ${missing[*]}"
    exit 1
fi

apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q)
if ((EUID != 0)); then
    by_hand="apt-get install --no-install-recommends ${missing[*]}"
    command -v sudo >/dev/null ||
        fail "packages are missing; as root, run:" "$by_hand"
    # Without a terminal nobody can type a password.
    sudo_options=(-n)
    [[ -t 0 && -t 2 ]] && sudo_options=()
    sudo "${sudo_options[@]}" true ||
        fail "packages are missing and sudo refuses; as root, run:" "$by_hand"
    apt=(sudo -n "${apt[@]}")
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [[ $size_only == yes ]]; then
    # Without these lists apt-get names no package at all.
    logged "${apt[@]}" -s install "${install_options[@]}" "${missing[@]}" ||
        logged "${apt[@]}" update || true
    size_print
    exit
fi
echo "installing ${missing[*]}"
if ! install_missing; then
    cat "$log" >&2
    fail "the packages could not be installed; the log is above"
fi
find_missing "${packages[@]}"
((${#missing[@]} == 0)) || fail "still missing: ${missing[*]}"
