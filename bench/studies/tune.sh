#!/bin/bash
# The tuner's model against reality, as figures 5.13 and 5.17 of Luo's thesis, and
# what its four strategies cost and find, as figures 6.1 and 6.2; or the rules of
# the built-in table for several nodes. All simulated: nothing depends on how busy
# this computer is.
#
#   bash bench/studies/tune.sh [options] [FOLDER]    default build/tune
#
#   --parts LIST    figures, strategies or table (default figures,strategies)
#   --machine M     default nacl, on which the thesis measured
#   --nodes N       default 64
#   --ppn P         default 12
#   --colls LIST    default bcast,allreduce
#   --sizes LIST    of the strategies (default 4K,16K,64K,256K,1M,4M)
#   --promising     measure all plans that heuristics let pass, instead of all
#   --quick         16 nodes of 4 ranks
#
# With 64 nodes of 12 all of it takes hours, most of them for segments of 1 and 4
# KiB, which --promising leaves out of long messages; so does the table. What has
# been measured is kept in FOLDER, and not measured again. BUILD names the build
# (default build/release).
set -eu
export LC_ALL=C XYLEM_CONF=none
unset XYLEM_TUNING
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tune=${BUILD:-build/release}/bench/tune/xylem-tune
parts=figures,strategies machine=nacl nodes=64 ppn=12 colls=bcast,allreduce
sizes=4K,16K,64K,256K,1M,4M all=--exhaustive
while [[ ${1:-} == --* ]]; do
    case $1 in
    --quick) nodes=16 ppn=4 ;;
    --promising) all="--exhaustive --heuristics" ;;
    --parts | --machine | --nodes | --ppn | --colls | --sizes)
        (($# >= 2)) || exit 2
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    *)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
        exit 2
        ;;
    esac
    shift
done
out=${1:-build/tune}
mkdir -p "$out"

has_part()
{
    [[ ,$parts, == *,$1,* ]]
}

# search COLL NAME OPTION...: a table, NAME.json, from the times that are known of
# the collective; what is measured besides becomes known.
search()
{
    local coll=$1 name=$2 known=$out/$1.times
    shift 2
    touch "$known"
    cp "$known" "$out/$name.json.times"
    "$tune" --simulate "$machine" -N "$nodes" -p "$ppn" -c "$coll" --all -q \
        --minutes 6000 -o "$out/$name.json" "$@"
    cp "$out/$name.json.times" "$known"
}

# panels FILE.csv FILE.png: for each plan the times of its segments.
panels()
{
    awk -F, -v png="$2" '
        NR == 1 || $7 <= 0 || $8 <= 0 { next }
        !($5 in rows) { order[++n] = $5 }
        { rows[$5] = rows[$5] "\"" ($6 >= 1048576 ? $6 / 1048576 "M" : $6 / 1024 "K") \
            "\" " $8 / 1000 " " $7 / 1000 "\n"
          most = $8 > most ? $8 : most; most = $7 > most ? $7 : most
          low = $7 < $8 ? $7 : $8
          least = least == 0 || low < least ? low : least
          title = $1 " of " $4 / 1048576 " MiB on " $2 " nodes of " $3 }
        END {
            columns = n < 4 ? n : 4; lines = int((n + columns - 1) / columns)
            printf "set terminal pngcairo size %d,%d font \",10\"\n", 300 * columns, 230 * lines + 40
            printf "set output \"%s\"\n", png
            printf "set multiplot layout %d,%d title \"%s: actual (gray) and by the model (orange), ms\" noenhanced\n", \
                lines, columns, title
            print "set style data histogram\nset style fill solid 1 noborder"
            print "set border 3\nset tics nomirror\nset grid ytics lc rgb \"#dddddd\"\nunset key"
            printf "set logscale y\nset yrange [%g:%g]\n", least / 1500, most / 800
            print "set ytics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)"
            for (i = 1; i <= n; i++) {
                printf "set title \"%s\" noenhanced\n$d%d << EOD\n%sEOD\n", order[i], i, rows[order[i]]
                printf "plot $d%d using 2:xtic(1) lc rgb \"#8fa3b3\", \"\" using 3 lc rgb \"#f2b134\"\n", i
            }
            print "unset multiplot" }' "$1" | gnuplot
}

# The estimate and the actual time of 4 MiB by each algorithm between nodes and
# each segment, with one leader.
figure()
{
    local coll=$1 file=$out/model-$1
    # shellcheck disable=SC2086 # words
    search "$coll" "actual-$coll" --sizes 4M --plans han:1/ $all >/dev/null
    # shellcheck disable=SC2086
    search "$coll" "model-$coll" --sizes 4M --plans han:1/ ${all#--exhaustive} \
        --csv "$file.csv" >/dev/null
    awk -F, 'NR > 1 && $7 > 0 && $8 > 0 {
        e = $7 / $8 - 1; e = e < 0 ? -e : e; sum += e; error[++n] = e
        if (best == 0 || $8 < best) { best = $8; fastest = $5 " " $6 }
        if (model == 0 || $7 < model) { model = $7; chosen = $8; name = $5 " " $6 } }
        END {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && error[j] < error[j - 1]; j--) {
                    t = error[j]; error[j] = error[j - 1]; error[j - 1] = t }
            printf "%s: %d plans, the error is %.1f %% on average, %.1f %% in the middle; " \
            "the model takes %s, %.3f of the best (%s)\n", "'"$coll"'", n, 100 * sum / n,
            50 * (error[int((n + 1) / 2)] + error[int(n / 2) + 1]), name, chosen / best, fastest }' "$file.csv"
    if command -v gnuplot >/dev/null; then
        panels "$file.csv" "$file.png"
        echo "$file.png"
    fi
}

# "BYTES US" for each size of a table: the plan that was chosen.
choices()
{
    grep -o '"us": \[\[.*\]\], "origin"' "$1" |
        grep -oE '\["?[0-9]+[KMG]?"?, [0-9.]+' | tr -d '[",' | sort -u
}

# What each strategy costs, and how far from the best its choices are. What one
# has measured the next one takes from there, at the price it had.
strategies()
{
    local coll=$1 strategy file text
    for strategy in "$all" "--exhaustive --heuristics" "" "--heuristics"; do
        file=$coll${strategy:+-}${strategy//[ -]/}
        # shellcheck disable=SC2086
        text=$(search "$coll" "$file" --sizes "$sizes" $strategy)
        [[ -n ${reference:-} ]] || reference=$file
        choices "$out/$file.json" >"$out/$file.choices"
        awk -v what="$coll ${strategy:-the model}" -v best="$out/$reference.choices" \
            -v cost="$(sed -n 's/^the search cost \([0-9.e+-]*\) s.*/\1/p' <<<"$text")" \
            -v dear="$out/$reference.cost" '
            BEGIN {
                while ((getline line < best) > 0) { split(line, w, " "); least[w[1]] = w[2] }
                if ((getline all < dear) <= 0) { all = cost; print cost >dear } }
            { r = $2 / least[$1]; n++; near += r <= 1.05; worst = r > worst ? r : worst }
            END { printf "%-34s %5.1f %% of the cost; %d of %d sizes within 5 %%, worst %.3f\n",
                what, 100 * cost / all, near, n, worst }' "$out/$file.choices"
    done
    unset reference
}

# The rules that a person then takes into collectives/choose/table.json:
# cores of two sockets, and of several caches; the first ones win.
table()
{
    local of
    for of in stampede2 shaheen2; do
        "$tune" --simulate $of -N 2,4,8,16,32,64,128 -p 8,32 \
            -c bcast,reduce,allreduce,barrier -b 64 -e 16M --heuristics \
            --minutes 600 -o "$out/$of.json"
    done
    "$tune" --simulate node64 -N 1 -p 2,4,8,16,32,64 -b 64 -e 16M --heuristics \
        --minutes 600 -o "$out/node64.json"
    "$tune" merge "$out/stampede2.json" "$out/shaheen2.json" \
        "$out/node64.json" >"$out/table.json"
    "$tune" check "$out/table.json"
}

for coll in ${colls//,/ }; do
    if has_part figures; then figure "$coll"; fi
    if has_part strategies; then strategies "$coll"; fi
done
if has_part table; then table; fi
