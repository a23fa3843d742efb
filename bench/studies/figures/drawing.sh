# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # sim, jobs, out, raw and quick are of figures.sh
# What the figures share: runs of the simulator, tables of their rows, plots, and what
# stands around them. Sourced by figures.sh.

# run NAME OPTION...: in the background, as many at a time as there are cores.
# Rows go to $raw/NAME.csv.
run()
{
    local name=$1
    shift
    while (($(jobs -rp | wc -l) >= jobs)); do
        wait -n
    done
    {
        "$sim" "$@" --no-wall --quiet --csv "$raw/$name.csv" \
            >"$raw/$name.txt" 2>"$raw/$name.err" || echo "$name" >>"$raw/failed"
    } &
}

# plain NAME...: the rows of runs without titles, quotes and commas in names; of
# runs with several seeds their mean.
plain()
{
    local name
    for name; do
        awk -F'"' -v OFS= 'FNR > 1 {
            for (i = 2; i <= NF; i += 2) gsub(",", ";", $i)
            $1 = $1
            split($0, cell, ",")
            key = cell[10]
            for (i = 1; i <= 8; i++) key = key "," cell[i]
            if (!(key in row)) order[++keys] = key
            if (cell[9] >= seeds[key]) {
                row[key] = $0
                seeds[key] = cell[9]
            }
        }
        END { for (i = 1; i <= keys; i++) print row[order[i]] }' \
            "$raw/$name.csv"
    done
}

# Columns of xylem-sim's CSV files.
columns='machine=1 nodes=2 coll=4 bytes=5 impl=6 tree=7 noise=8 rank=10'
columns+=' avg=13 last=14 slowdown=15 amplified=17'

# table AWK-PROGRAM [NAME=VALUE]... NAME...: awk over the rows, columns by name.
table()
{
    local program=$1 assignments=() column
    shift
    while [[ $1 == *=* ]]; do
        assignments+=(-v "$1")
        shift
    done
    for column in $columns; do
        assignments+=(-v "$column")
    done
    plain "$@" | awk -F, "${assignments[@]}" "$program"
}

# aligned: columns that are separated by commas, side by side.
aligned()
{
    column -t -s, -o '  '
}

# plot FIGURE TITLE [HEIGHT]: gnuplot commands from standard input; $figure.csv is
# there. As wide as a paper's column at 300 dots per inch, with texts to match.
plot()
{
    local figure=$1 title=$2 size=1000,${3:-760}

    command -v gnuplot >/dev/null || return 0
    {
        echo "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) \\"
        echo "set terminal pngcairo size $size font ',20' lw 2 ps 1.5; \\"
        echo "else set terminal png size $size"
        echo "set output '$out/$figure.png'"
        echo "set title '$title' noenhanced font ',18'"
        echo "set datafile separator ','"
        echo "set key below Left reverse maxcols 2 samplen 2 noenhanced"
        echo "set bmargin 7"
        echo "set grid ytics lc rgb '#dddddd' lw 0.5"
        echo "set border 3 lw 0.5"
        echo "set tics nomirror"
        echo "set linetype 1 lc rgb '#1b7f5c'; set linetype 2 lc rgb '#d1495b'"
        echo "set linetype 3 lc rgb '#2e4057'; set linetype 4 lc rgb '#f2b134'"
        echo "set linetype 5 lc rgb '#7b2d8b'; set linetype 6 lc rgb '#00798c'"
        echo "set xtics noenhanced"
        echo "set style fill solid 0.8 border -1"
        echo "file = '$out/$figure.csv'"
        cat
    } | gnuplot 2>"$raw/gnuplot.err" || {
        echo "figures.sh: gnuplot did not draw $figure.png:" >&2
        head -n 3 "$raw/gnuplot.err" >&2
        echo "$figure" >>"$raw/disagrees"
    }
}

# Axes for gnuplot: bytes of messages, and times of calls.
size_axis="set logscale x 2
set xtics ('64' 64, '256' 256, '1K' 2**10, '4K' 2**12, '16K' 2**14, \
           '64K' 2**16, '256K' 2**18, '1M' 2**20, '4M' 2**22, '16M' 2**24)
set xlabel 'bytes'"
time_axis="set logscale y
set format y '%g'
set ylabel 'microseconds until the last rank ends'
set key below noenhanced"

# heading FIGURE TEXT
heading()
{
    printf '\n== figure %s: %s\n\n' "$1" "$2"
}

# printed FIGURE: what the thesis prints of it.
printed()
{
    printf '\nthe thesis prints of figure %s:\n' "$1"
    awk -F, -v figure=" $1 " '
        NR > 1 && index(" " $2 " ", figure) {
            stands = $7 == "" ? "" : " (here " $7 ")"
            printf "  %s, %s%s: %s: %s\n", $5, $6, stands, $8, $9
            found = 1
        }
        END { if (!found) print "  no numbers of this figure" }
    ' bench/studies/figures/thesis.csv
}

remark()
{
    printf '\n'
    fold -s -w 79 <<<"$*" | sed 's, *$,,'
}
