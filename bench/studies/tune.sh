#!/bin/bash
# The tuner's model against reality, as figures 5.13 and 5.17 of Luo's thesis, and
# what its four strategies cost and find, as figures 6.1 and 6.2; and, with
# --table, the rules of the built-in table for several nodes. All simulated.
#
#   bash bench/studies/tune.sh [--quick] [FOLDER]    default build/tune
#   bash bench/studies/tune.sh --table [FOLDER]      hours
#
# BUILD names the build (default build/release).
set -eu
export LC_ALL=C XYLEM_CONF=none
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tune=${BUILD:-build/release}/bench/tune/xylem-tune
machine=stampede2 mode=study nodes=64 ppn=12
while [[ ${1:-} == --* ]]; do
    case $1 in
    --quick) nodes=16 ppn=4 ;;
    --table) mode=table ;;
    *)
        echo "$1: expected --quick or --table" >&2
        exit 2
        ;;
    esac
    shift
done
out=${1:-build/tune}
mkdir -p "$out"

# The rules that a person then takes into collectives/choose/table.json:
# cores of two sockets, and of several caches; the first ones win.
if [[ $mode == table ]]; then
    for machine in stampede2 shaheen2; do
        "$tune" --simulate $machine -N 2,4,8,16,32,64,128 -p 8,32 \
            -c bcast,reduce,allreduce,barrier -b 64 -e 16M --heuristics \
            --minutes 600 -o "$out/$machine.json"
    done
    "$tune" --simulate node64 -N 1 -p 2,4,8,16,32,64 -b 64 -e 16M --heuristics \
        --minutes 600 -o "$out/node64.json"
    "$tune" merge "$out/stampede2.json" "$out/shaheen2.json" \
        "$out/node64.json" >"$out/table.json"
    "$tune" check "$out/table.json"
    exit
fi

# Estimate and actual time of 4 MiB, each tree and segment, one leader.
for coll in bcast allreduce; do
    file=$out/model-$coll
    plans=(--simulate "$machine" -N "$nodes" -p "$ppn" -c "$coll" --sizes 4M
        --plans han:1/ --heuristics --all -q --minutes 60 -o "$file.json")
    "$tune" "${plans[@]}" --exhaustive
    "$tune" "${plans[@]}" --csv "$file.csv"
    awk -F, 'NR > 1 && $7 > 0 && $8 > 0 {
        e = $7 / $8 - 1; e = e < 0 ? -e : e; sum += e; n++
        if (best == 0 || $8 < best) best = $8
        if (model == 0 || $7 < model) { model = $7; chosen = $8; name = $5 " " $6 } }
        END { printf "%s: %d plans, the mean error %.1f %%; the model takes %s, " \
            "%.3f of the best\n", "'$coll'", n, 100 * sum / n, name, chosen / best }' \
        "$file.csv"
    command -v gnuplot >/dev/null || continue
    gnuplot <<EOF
set terminal pngcairo size 1200,500
set output '$file.png'
set datafile separator ','
set style data histogram
set style fill solid 0.8
set xtics rotate by -60 noenhanced font ',8'
set ylabel 'microseconds'
set yrange [0:*]
plot '$file.csv' using 8:xtic(stringcolumn(5).' '.stringcolumn(6)) skip 1 title 'actual', \
    '' using 7 skip 1 title 'model'
EOF
done

# Each strategy alone, and how far from the best its choices are.
for coll in bcast allreduce; do
    for strategy in "--exhaustive" "--exhaustive --heuristics" "" "--heuristics"; do
        file=$out/cost-$coll$(tr -d ' ' <<<"$strategy")
        rm -f "$file.json.times"
        # shellcheck disable=SC2086 # words
        "$tune" --simulate $machine -N 8 -p 4 -c $coll --sizes 4K,16K,64K,256K,1M,4M \
            --all -q --minutes 60 $strategy -o "$file.json" >/dev/null
        awk -v what="$coll ${strategy:-model}" -v all="$out/cost-$coll--exhaustive.json.times" '
            BEGIN { while ((getline line < all) > 0) { split(line, w, " ")
                    if (w[1] == "#" || w[5] == "auto") continue
                    total += w[10]
                    if (!(w[4] in best) || w[9] < best[w[4]]) best[w[4]] = w[9] } }
            $1 == "#" { next }
            { cost += $10 }
            $5 != "auto" { if (!($4 in own) || $9 < own[$4]) own[$4] = $9 }
            END { for (b in best) { r = own[b] / best[b]; n++; near += r <= 1.05
                    worst = r > worst ? r : worst }
                printf "%-34s %5.1f %% of the cost; %d of %d sizes within 5 %%, " \
                    "worst %.3f\n", what, 100 * cost / total, near, n, worst }' \
            "$file.json.times"
    done
done
