#!/bin/bash
# bench/demo.sh with programs that only say how they were called: what it says before
# it begins, how many ranks there are, and that a machine on which figures would be
# noise gets none. Prints TAP.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)

# shellcheck source=tests/support/tap.sh
. "$here/../support/tap.sh"

release=$work/build/release
mkdir -p "$work/bench/common" "$work/bin" "$release/bench" "$release/simulator"
cp "$here/../../bench/demo.sh" "$work/bench/"
cp "$here/../../bench/common/quiet.sh" "$work/bench/common/"
touch "$release/build.ninja"

# program PATH, with its text from standard input.
program()
{
    { echo '#!/bin/bash'; cat; } >"$1"
    chmod +x "$1"
}

program "$release/bench/xylem-noise" <<'END'
[[ $1 == record ]] || { echo "noise $*"; exit 0; }
mkdir -p "${!#}" && printf 'core,share %%\n0,%s\n' "$LOST" >"${!#}/statistics.csv"
END
program "$release/bench/xylem-info" <<<'echo machine'
program "$release/simulator/xylem-sim" <<<'echo "sim $*"'
program "$work/bin/nproc" <<<'echo "$CORES"'
for name in ninja meson; do
    program "$work/bin/$name" <<<'exit 0'
done

# demo LOST CORES OPTION...
demo()
{
    LOST=$1 CORES=$2 PATH=$work/bin:$PATH attempt bash "$work/bench/demo.sh" \
        --no-deps "${@:3}"
    check "demo.sh ${*:3} on $2 cores, $1 % lost" test "$code" -eq 0
}

says()
{
    check "$1" grep -q -- "$2" "$out"
}

says_not()
{
    check "$1" test "$(grep -c -- "$2" "$out")" -eq 0
}

# The machine that tests run on may be busy itself.
demo 0.1 8 --anyway
says "says how long it will take" '^about 120 s: 120 at most to measure$'
says "has as many ranks as cores" '^noise -n 8 -c bcast'
says "simulates one rank that is late" '^sim .*-N 16 .*once:1ms@0us,rank=6'
mv "$release/bench/xylem-noise" "$work/later"
program "$work/bin/ninja" <<<"mv $work/later $release/bench/xylem-noise"
demo 0.1 1
says "building takes a time, too" '^about [0-9]* s: [1-9][0-9]* to build, '
program "$work/bin/ninja" <<<'exit 0'
mkdir "$work/few"
for name in bash dirname nproc mkdir rm sed awk; do
    ln -s "$(command -v $name)" "$work/few/"
done
attempt env "PATH=$work/few" bash "$work/bench/demo.sh" --no-deps
check "what is missing is said first" grep -q 'meson is not installed' "$err"
says_not "before anything is built" 'building'
# What others take while it measures is known then only.
real_awk=$(command -v awk)
export real_awk
program "$work/bin/awk" <<'END'
[[ $* == */proc/stat* ]] || exec "$real_awk" "$@"
ticks=$(($(cat "$0.ticks" 2>/dev/null || echo 0) + 100))
echo $ticks >"$0.ticks"
echo $((ticks / 10)) $ticks
END
demo 0.1 8
rm "$work/bin/awk"
says "what others took meanwhile is said" 'not shown: others took 10.0 % of'
says_not "and the figures are not shown" '^noise -n'
demo 7.5 8
says "a busy machine is said to be one" 'not quiet: .* loses 7.5 % of its time'
says_not "and gets no figures" '^noise -n'
says "but simulated ones" '^sim '
demo 0.1 2 -n 4
says "so is one with too few cores" 'not quiet: 4 ranks share 2 cores'
says_not "which gets none either" '^noise -n'
demo 0.1 1
says "one core is too few" 'not quiet: it has one core'
echo before >"$work/build/demo/noise-bcast.csv"
demo 0.1 1
check "what was measured before is kept" test "$(
    cat "$work"/build/demo-*/noise-bcast.csv)" = before
check "writes below build/ only" test "$(ls "$work" | tr '\n' ' ')" = \
    "bench bin build err few out "
attempt bash "$work/bench/demo.sh" --fast
check "refuses what is no option" test "$code" -eq 2
finish
