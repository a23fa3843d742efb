#!/bin/bash
# Shows on this machine what xylem is for: installs what is missing, builds,
# holds ranks up by noise, and measures how much that costs each
# implementation. Takes at most two minutes, the first table and picture half a
# minute, after the time to install and build; what would not fit is left out,
# on a machine that is slow or busy.
#
#   bash bench/demo.sh [--quick] [--no-deps] [-n RANKS]
#
#   --quick      half a minute: smaller messages, fewer levels of noise
#   --peers      fetch today's MPI libraries, too (bench/peers.sh); those that
#                are in build/peers take part in any case, and time
#   --no-deps    install nothing
#   -n RANKS     ranks (default: one per core, at least 4 and at most 16)
#
# Compared are xylem (event), the same trees and network with a wait for all
# children (waitall) or for each (blocking), and the MPI libraries that are
# installed. Tables, CSV files and plots go to build/demo/.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root" || exit 1
release=build/release
out=build/demo
noise=$release/bench/xylem-noise

quick=no
peers=no
install=yes
ranks=
failures=0
limit=120 # seconds, without the time to install and build

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

fail()
{
    printf 'demo.sh: %s\n' "$1" >&2
    exit 1
}

say()
{
    printf '\n== %s\n' "$*"
}

parse_options()
{
    while (($# > 0)); do
        case $1 in
        --quick) quick=yes ;;
        --peers) peers=yes ;;
        --no-deps) install=no ;;
        -n)
            [[ ${2-} =~ ^[1-9][0-9]{0,3}$ ]] || fail "-n needs a number"
            ranks=$2
            shift
            ;;
        --help | -h) usage; exit 0 ;;
        *) echo "demo.sh: unknown option '$1'; see --help" >&2; exit 2 ;;
        esac
        shift
    done
}

install_packages()
{
    bash tools/deps.sh build || fail "xylem cannot be built without these"
    bash tools/deps.sh bench ||
        echo "going on without the MPI libraries or gnuplot that are missing"
}

# Runs a command with its output in a log, which is shown when it fails.
logged()
{
    "$@" >"$out/build.log" 2>&1 </dev/null && return
    tail -n 40 "$out/build.log" >&2
    fail "building failed; the whole log is $out/build.log"
}

# Whether an MPI is here whose driver has not been built.
lacks_driver()
{
    local mpi

    for mpi in openmpi mpich; do
        if command -v "mpirun.$mpi" >/dev/null &&
            [[ ! -x $release/bench/xylem-mpi-driver-$mpi ]]; then
            return 0
        fi
    done
    return 1
}

build()
{
    if [[ ! -f $release/build.ninja ]]; then
        logged meson setup "$release" --buildtype release -Db_lto=true \
            -Dtests=false
    elif lacks_driver; then
        logged meson setup --reconfigure "$release"
    fi
    logged ninja -C "$release"
}

# fits SECONDS WHAT: whether that many seconds are left, or there is no limit.
fits()
{
    ((limit == 0 || SECONDS - begin + $1 <= limit)) && return
    echo "left out, as two minutes would not be enough here: $2"
    return 1
}

# experiment NAME OPTION...: one call of xylem-noise.
experiment()
{
    local name=$1 options=(--csv "$out/$1.csv")
    shift

    if command -v gnuplot >/dev/null; then
        options+=(--plot "$out/$name.png")
    fi
    "$noise" "$@" --limit 100 --warmup 3 "${options[@]}" | tee "$out/$name.txt" ||
        failures=$((failures + 1))
}

parse_options "$@"
mkdir -p "$out"
rm -f "$out"/*.csv "$out"/*.png "$out"/*.txt

if [[ $install == yes ]]; then
    say "packages"
    install_packages
fi
say "building into $release"
build
# Unlike a user's settings, what is measured here is the same everywhere.
# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*}
"$release/bench/xylem-info" >"$out/machine.txt"
sed -n '/^machine/,/^$/p' "$out/machine.txt"

cores=$(nproc)
if [[ -z $ranks ]]; then
    ranks=$((cores < 4 ? 4 : cores > 16 ? 16 : cores))
fi
delay_ranks=$((ranks >= 16 ? 16 : ranks >= 8 ? 8 : 4))
if ((ranks > cores)); then
    echo "$ranks ranks share $cores cores: expect numbers that vary a lot, and"
    echo "noise of the ranks' own making beside the noise that is injected"
fi
# The first one has all levels of noise; those that follow the longest one.
if [[ $quick == yes ]]; then
    first=(-s 256K --max-ms "0,10" --seconds 0.2)
    common=("${first[@]}")
    delay=(-s 256K --seconds 0.2)
    simulated=(-s 256K -i 20)
else
    first=(-s 4M --max-ms "0,10,20" --seconds 0.5)
    common=(-s 4M --max-ms "0,20" --seconds 0.4)
    delay=(-s 4M --seconds 0.4)
    simulated=(-s 4M -i 30)
fi
if [[ $peers == yes ]]; then
    say "today's MPI libraries"
    bash bench/peers.sh || echo "going on without them"
fi
PATH=$PATH:$root/build/peers/bin
# Libraries that were fetched take the time that they take.
[[ ! -d build/peers ]] || limit=0

begin=$SECONDS
say "bcast on $ranks ranks, each held up 10 times per second"
experiment noise-bcast -n "$ranks" -c bcast --hz 10 --rounds 1 "${first[@]}"
[[ ! -f $out/noise-bcast.png ]] || echo "a picture: $out/noise-bcast.png"
# With one level less, and half as much for the other ones.
took=$((2 * (SECONDS - begin) / 3 + 1))

say "in simulation: bcast on 256 ranks of Cori"
"$release/simulator/xylem-sim" -m cori -N 8 -p 32 -c bcast "${simulated[@]}" \
    --noise 'uniform:10Hz,0-10ms;uniform:10Hz,0-20ms' \
    --csv "$out/simulated.csv" | tee "$out/simulated.txt" ||
    failures=$((failures + 1))

say "bcast on $delay_ranks ranks in a binary tree, rank 1 held up for 1 ms"
! fits $took "one rank held up" ||
    experiment one-rank -n "$delay_ranks" -c bcast --one-rank 1 --delay-ms 1 \
        --algorithm binary --rounds 1 "${delay[@]}"
for coll in reduce allreduce; do
    say "$coll on $ranks ranks, each held up 10 times per second"
    fits $took "$coll" || continue
    experiment "noise-$coll" -n "$ranks" -c "$coll" --hz 10 --rounds 1 \
        "${common[@]}"
    [[ ! -f $out/noise-$coll.png ]] || echo "a picture: $out/noise-$coll.png"
done

say "done in $((SECONDS - begin)) s; written to $out/:"
ls "$out"
if ((failures > 0)); then
    fail "$failures of 5 experiments had failures; see the messages above"
fi
