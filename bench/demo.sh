#!/bin/bash
# Shows on this machine what xylem is for: installs what is missing, builds,
# holds ranks up by noise, and measures how much that costs each
# implementation. It says first how long all of it will take; measuring takes two
# minutes at most, and what would not fit is left out.
#
#   bash bench/demo.sh [--quick] [--no-deps] [-n RANKS]
#
#   --quick      half a minute: smaller messages, fewer levels of noise
#   --peers      fetch today's MPI libraries, too (bench/peers.sh); those that
#                are in build/peers take part in any case, and time
#   --no-deps    install nothing
#   -n RANKS     ranks (default: one per core, at most 16)
#   --anyway     measure on a machine that is busy, too
#
# Compared are xylem, two designs that wait, which are xylem's own, on the
# same trees and network (waitall waits for all children, blocking for each), and
# the MPI libraries that are installed. What a rank that is late does to the others
# is simulated, with 16 ranks. Tables, CSV files and plots go to build/demo/; the
# folder of an earlier run gets its time behind its name.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root" || exit 1
# shellcheck source=bench/common/quiet.sh
. bench/common/quiet.sh
release=build/release
out=build/demo
noise=$release/bench/xylem-noise

quick=no
peers=no
install=yes
ranks=
anyway=no
failures=0
# What the time to install and build is estimated by, in loops of probe().
fetch_rate=20 # MB a second
unpack_loops=22 # per 100 MB
build_loops=175
limit=120 # seconds, without the time to install and build

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' bench/demo.sh
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
        --anyway) anyway=yes ;;
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

# with_progress LOG COMMAND...: its output goes to the log; now and then a line says
# how long it has been at work, and how much of it is done where the log does.
with_progress()
{
    local log=$1 begin=$SECONDS shown=$SECONDS step child
    shift

    "$@" >"$log" 2>&1 </dev/null &
    child=$!
    while kill -0 $child 2>/dev/null; do
        sleep 1
        ((SECONDS - shown >= 10)) || continue
        shown=$SECONDS
        # Of a build: "[DONE/ALL] ...".
        step=$(grep -o '^\[[0-9]*/[0-9]*\]' "$log" | tail -n 1)
        printf '   %d s%s\n' $((SECONDS - begin)) \
            "${step:+, $(tr -d '[]' <<<"$step" | sed 's|/| of |') steps}"
    done
    wait $child
}

install_packages()
{
    with_progress "$out/packages.log" bash tools/deps.sh build || {
        tail -n 20 "$out/packages.log" >&2
        fail "xylem cannot be built without these"
    }
    with_progress "$out/packages.log" bash tools/deps.sh demo ||
        echo "going on without those that are missing"
    missing_say
}

# Runs a command with its output in a log, which is shown when it fails.
logged()
{
    with_progress "$out/build.log" "$@" && return
    tail -n 40 "$out/build.log" >&2
    fail "building failed; the whole log is $out/build.log"
}

# What there will not be, before anything is measured; building needs more than that.
missing_say()
{
    local tool

    for tool in meson ninja cc; do
        command -v $tool >/dev/null ||
            fail "xylem cannot be built: $tool is not installed (tools/deps.sh build)"
    done
    command -v gnuplot >/dev/null || echo "no pictures: gnuplot is not installed"
    command -v mpirun.openmpi >/dev/null ||
        echo "no comparison with Open MPI: it is not installed"
    command -v mpirun.mpich >/dev/null ||
        echo "no comparison with MPICH: it is not installed"
}

# Sets `loop`, the seconds of a core that a loop of bash takes here while each core has
# one, and `longer`, how many times as long the loops take because of other programs.
probe()
{
    local TIMEFORMAT='%R %U %S' j i

    read -r loop longer < <({
        time {
            for ((j = 0; j < cores; j++)); do
                for ((i = 0; i < 300000; i++)); do :; done &
            done
            wait
        }
    } 2>&1 | awk -v cores="$cores" '{
        longer = cores * $1 / ($2 + $3)
        printf "%.3f %.1f\n", ($2 + $3) / cores, (longer > 1 ? longer : 1)
    }')
}

# computing LOOPS PROCESSES: the seconds that so many loops take here, in so many processes.
computing()
{
    awk -v work="$1" -v processes="$2" -v loop="$loop" -v longer="$longer" \
        -v cores="$cores" 'BEGIN {
            share = cores / longer
            printf "%.0f\n", work * loop / (share < processes ? share : processes)
        }'
}

# How many seconds, by estimate.
announce()
{
    local bytes=0 megabytes fetch=0 build=0 measure=$limit

    echo "looking up what is missing here"
    [[ $install == no ]] || bytes=$(bash tools/deps.sh --size build demo)
    megabytes=$((${bytes:-0} / 1000000))
    if [[ ! -x $noise || $megabytes -gt 0 ]]; then
        probe
        fetch=$((megabytes / fetch_rate + $(computing $((megabytes * unpack_loops / 100)) 1)))
        [[ -x $noise ]] || build=$(computing $build_loops $cores)
    fi
    printf 'about %d s: ' $((fetch + build + measure))
    ((fetch == 0)) ||
        printf '%d to download %d MB (at %d MB a second) and install them, ' \
            "$fetch" "$megabytes" $fetch_rate
    ((build == 0)) || printf '%d to build, ' "$build"
    printf '%d at most to measure\n' "$measure"
    more_than "${longer:-1}" 1.2 || return 0
    echo "this machine is busy: computing takes $longer times as long as without other programs"
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
    logged ninja -C "$release" demo
}

# fits SECONDS WHAT: whether that many seconds are left, or there is no limit.
fits()
{
    ((limit == 0 || SECONDS - begin + $1 <= limit)) && return
    echo "left out, as the time would not be enough here: $2"
    return 1
}

# Whether figures of this machine can be believed: `why` says why not. A loop on
# each core that does nothing else says what others take.
why=
is_quiet()
{
    local lost

    lost=$(loop_loses "$noise" "$out/idle")
    if ((cores < 2)); then
        why="it has one core, on which ranks take turns"
    elif ((ranks > cores)); then
        why="$ranks ranks share $cores cores"
    elif more_than "$lost" "$busy_percent"; then
        why="a loop that does nothing else loses $lost % of its time here to others"
    else
        return 0
    fi
    return 1
}

# experiment NAME OPTION...: one call of xylem-noise. Its table is shown where the
# machine was quiet, and else why it is not.
experiment()
{
    local name=$1 options=(--csv "$out/$1.csv") before lost
    shift

    if [[ $anyway == no ]] && ! is_quiet; then
        echo "not measured: this machine is not quiet: $why"
        return
    fi
    if command -v gnuplot >/dev/null; then
        options+=(--plot "$out/$name.png")
    fi
    before=$(ticks)
    "$noise" "$@" --limit 100 --warmup 3 "${options[@]}" >"$out/$name.txt" ||
        failures=$((failures + 1))
    lost=$(stolen "$before")
    if [[ $anyway == no ]] && more_than "$lost" "$busy_percent"; then
        rm -f "$out/$name.png"
        echo "not shown: others took $lost % of these cores' time while this was measured;"
        echo "what it was is in $out/$name.txt"
        return
    fi
    cat "$out/$name.txt"
    [[ ! -f $out/$name.png ]] || echo "a picture: $out/$name.png"
}

# simulate NAME OPTION...: a bcast by xylem-sim.
simulate()
{
    local name=$1 options=(--csv "$out/$1.csv")
    shift

    if command -v gnuplot >/dev/null; then
        options+=(--plot "$out/$name.png")
    fi
    "$release/simulator/xylem-sim" -c bcast "$@" --no-wall --jobs "$cores" \
        "${options[@]}" | sed '/^per call of all ranks/,$d' | tee "$out/$name.txt" ||
        failures=$((failures + 1))
    [[ ! -f $out/$name.png ]] || echo "a picture: $out/$name.png"
}

parse_options "$@"
if compgen -G "$out/*.csv" >/dev/null; then
    mv -T "$out" "$out-$(date -r "$out" +%F-%H%M%S)" || fail "cannot move $out"
fi
mkdir -p "$out"
rm -f "$out"/*.png "$out"/*.txt

cores=$(nproc)
[[ -n $ranks ]] || ranks=$((cores > 16 ? 16 : cores))
[[ $quick == no ]] || limit=30
say "how long this will take"
announce
if [[ $install == yes ]]; then
    say "packages"
    install_packages
else
    missing_say
fi
say "building into $release"
build
# Unlike a user's settings, what is measured here is the same everywhere.
# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*}
"$release/bench/xylem-info" >"$out/machine.txt"
sed -n '/^machine/,/^$/p' "$out/machine.txt"

# The first one has all levels of noise; those that follow the longest one.
if [[ $quick == yes ]]; then
    first=(-s 256K --max-ms "0,10" --seconds 0.2)
    common=("${first[@]}")
    simulated=(-s 256K -i 60)
else
    first=(-s 4M --max-ms "0,10,20" --seconds 0.5)
    common=(-s 4M --max-ms "0,20" --seconds 0.4)
    simulated=(-s 4M -i 60)
fi
if [[ $peers == yes ]]; then
    say "today's MPI libraries"
    bash bench/peers.sh || echo "going on without them"
fi
PATH=$PATH:$root/build/peers/bin
# Libraries that were fetched take the time that they take.
[[ ! -d build/peers ]] || limit=0

begin=$SECONDS
several="$ranks ranks, each"
((ranks > 1)) || several="1 rank,"
say "bcast on $several held up 10 times per second"
experiment noise-bcast -n "$ranks" -c bcast --hz 10 --rounds 1 "${first[@]}"
# With one level less, and half as much for the other ones.
took=$((2 * (SECONDS - begin) / 3 + 1))

say "simulated: bcast on 16 ranks of Saturn, binary tree, rank 6 held up for 1 ms"
simulate one-rank -m saturn -N 16 -p 1 -s 4M --algorithm binary --impl xylem,waitall \
    --noise 'once:1ms@0us,rank=6' --per-rank
say "simulated: bcast on 256 ranks of Cori, each held up 10 times per second"
simulate simulated -m cori -N 8 -p 32 --impl xylem,waitall "${simulated[@]}" \
    --noise 'uniform:10Hz,0-10ms;uniform:10Hz,0-20ms'

for coll in reduce allreduce; do
    say "$coll on $several held up 10 times per second"
    fits $took "$coll" || continue
    experiment "noise-$coll" -n "$ranks" -c "$coll" --hz 10 --rounds 1 \
        "${common[@]}"
done

say "done in $((SECONDS - begin)) s; written to $out/:"
ls "$out"
if ((failures > 0)); then
    fail "$failures of 5 experiments had failures; see the messages above"
fi
