#!/bin/bash
# shellcheck disable=SC2034 # variables of what is sourced below
#
# Draws figures of Luo's thesis (University of Tennessee, 2020) again, from
# simulated runs, and sets the numbers that the thesis prints beside them:
#
#   3.5         who is delayed when one rank is
#   3.6, 3.7    what noise costs on Cori and on Stampede2
#   4.6, 4.7    topology-aware trees against others, by message size
#   4.10        strong scaling with chains at all levels
#   5.1 - 5.3   within a node: shared memory against messages, by size
#   5.8         what the tasks of HAN cost on node leaders, and their overlap
#               (5.8 to 5.11 of the thesis)
#   5.12        the task sbib, segment by segment
#   5.13, 5.17  the cost model against what calls really take, bcast, allreduce
#   6.3 - 6.6   levels in series against Open MPI's default module, 6.4:
#               bandwidth between two ranks
#   elasticity  how much depth absorbs how much noise: a model, checked
#
#   bash bench/studies/figures.sh [--quick] [--out DIR] [--only NAME,...]
#
#   --quick      fewer calls, sizes, seeds and ranks: a minute
#   --out DIR    where tables (txt, csv) and plots (png) go; build/figures; a folder
#                with files that are not this script's is refused
#   --only NAME  some of the above, as in 3.5,4.10
#
# DIR/index.html shows all of it, theirs and ours. XYLEM_SIM names the program;
# without it, it is built into build/release. What runs and draws each figure is in
# bench/studies/figures/, by chapter.
# docs/simulator.md says what is simulated and what is not.
set -uo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
cd "$root" || exit 1
release=build/release
out=build/figures
quick=no
title='Figures of the thesis, again'
figures='3.5 3.6 3.7 4.6 4.7 4.10 5.1 5.2 5.3 5.8 5.12 5.13 5.17 6.3 6.4 6.5 6.6'
figures+=' elasticity'
only=${figures// /,}
jobs=$(nproc)

usage()
{
    sed -n '4,/^[^#]/s/^# \{0,1\}//p' bench/studies/figures.sh
}

fail()
{
    printf 'figures.sh: %s\n' "$1" >&2
    exit 1
}

parse_options()
{
    local name

    while (($# > 0)); do
        case $1 in
        --quick) quick=yes ;;
        --out)
            out=${2:?"--out needs a folder"}
            shift
            ;;
        --only)
            only=${2:?"--only needs names"}
            shift
            ;;
        --help | -h) usage; exit 0 ;;
        *) echo "figures.sh: unknown option '$1'; see --help" >&2; exit 2 ;;
        esac
        shift
    done
    for name in ${only//,/ }; do
        [[ " $figures " == *" $name "* ]] ||
            fail "--only $name: there is no such figure; see --help"
    done
}

wanted()
{
    [[ ,$only, == *,$1,* ]]
}

build()
{
    [[ -f $release/build.ninja ]] ||
        meson setup "$release" --buildtype release -Db_lto=true \
            -Dtests=false || return
    ninja -C "$release" simulator/xylem-sim
}

find_program()
{
    if [[ -n ${XYLEM_SIM-} ]]; then
        sim=$XYLEM_SIM
    else
        sim=$release/simulator/xylem-sim
        build >"$out/build.log" 2>&1 ||
            fail "building failed; the log is $out/build.log"
    fi
    [[ -x $sim ]] || fail "$sim is no program"
}

# shellcheck disable=SC1090 # the figures, by chapter
for part in drawing late trees node tasks levels depth; do
    . "bench/studies/figures/$part.sh"
done

# One page of all that was drawn.
page()
{
    local figure

    {
        echo '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        echo "<title>$title</title><style>"
        echo 'body{font-family:"DejaVu Sans",sans-serif;margin:2em auto;'
        echo 'max-width:70em}img{max-width:100%}pre{overflow-x:auto}</style>'
        echo "<h1>$title</h1>"
        echo '<p>Theirs: what Luo (PhD'
        echo 'thesis, University of Tennessee, 2020) prints of each. Ours:'
        echo 'simulated, by <code>bench/studies/figures.sh</code>.</p>'
        for figure in $figures; do
            wanted "$figure" || continue
            echo "<h2 id=\"$figure\">$figure</h2>"
            [[ ! -f $out/$figure.png ]] ||
                printf '<img alt="%s" src="data:image/png;base64,%s">\n' \
                    "$figure" "$(base64 -w 0 "$out/$figure.png")"
            echo "<pre>"
            sed 's/&/\&amp;/g; s/</\&lt;/g' "$out/$figure.txt"
            echo "</pre>"
        done
        echo '</html>'
    } >"$out/index.html"
}

parse_options "$@"
begin=$SECONDS
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd -P)
raw=$out/raw
# The page's title tells a folder of this script from others.
[[ -z $(ls -A "$out") ]] || grep -qs "$title" "$out/index.html" ||
    fail "$out has files of others, and is left as it is: name another (--out)"
echo "$title" >"$out/index.html"
rm -rf "$raw"
mkdir -p "$raw"
command -v column >/dev/null || fail "needs column (Debian: bsdextrautils)"
command -v gnuplot >/dev/null || echo "no pictures: gnuplot is not installed"
find_program
# Unlike a user's settings, what is simulated here is the same everywhere.
# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*}

# The longest first.
for figure in 6.6 6.3 6.5 3.7 3.6 elasticity 4.7 4.6 5.17 5.13 4.10 5.12 3.5 5.8 \
    5.1 5.2 5.3 6.4; do
    ! wanted $figure || "run_$figure"
done
wait
if [[ -f $raw/failed ]]; then
    while IFS= read -r name; do
        echo "figures.sh: the run $name failed:" >&2
        head -n 3 "$raw/$name.err" >&2
    done <"$raw/failed"
    fail "see $raw for what the runs said"
fi
for figure in $figures; do
    ! wanted "$figure" || "draw_$figure" | tee "$out/$figure.txt"
done
page
printf '\nin %d s; tables and plots are in %s, all together in %s\n' \
    $((SECONDS - begin)) "$out" "$out/index.html"
[[ ! -f $raw/disagrees ]] ||
    fail "something did not agree or was not drawn; see above"
