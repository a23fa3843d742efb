#!/bin/bash
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
#   --out DIR    where tables (txt, csv) and plots (png) go; build/figures
#   --only NAME  some of the above, as in 3.5,4.10
#
# DIR/index.html shows all of it, theirs and ours. XYLEM_SIM names the program;
# without it, it is built into build/release.
# docs/simulator.md says what is simulated and what is not.
set -uo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
cd "$root" || exit 1
release=build/release
out=build/figures
quick=no
figures='3.5 3.6 3.7 4.6 4.7 4.10 5.1 5.2 5.3 5.8 5.12 5.13 5.17 6.3 6.4 6.5 6.6'
figures+=' elasticity'
only=${figures// /,}
jobs=$(nproc)
failures=0

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
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

# ---------------------------------------------------------------------------
# Runs

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

# plain NAME...: the rows of runs without titles, quotes and commas in names.
plain()
{
    local name
    for name; do
        awk -F'"' -v OFS= 'FNR > 1 {
            for (i = 2; i <= NF; i += 2) gsub(",", ";", $i)
            $1 = $1
            print
        }' "$raw/$name.csv"
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

# plot FIGURE TITLE: gnuplot commands from standard input; $figure.csv is there.
plot()
{
    local figure=$1 title=$2

    command -v gnuplot >/dev/null || return 0
    {
        echo "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) \\"
        echo "set terminal pngcairo size 1100,600; \\"
        echo "else set terminal png size 1100,600"
        echo "set output '$out/$figure.png'"
        echo "set title '$title' noenhanced"
        echo "set datafile separator ','"
        echo "set key below noenhanced"
        echo "set bmargin 5.5"
        echo "set grid ytics"
        echo "set xtics noenhanced"
        echo "set style fill solid 0.8 border -1"
        echo "file = '$out/$figure.csv'"
        cat
    } | gnuplot 2>"$raw/gnuplot.err" || {
        echo "figures.sh: gnuplot did not draw $figure.png:" >&2
        head -n 3 "$raw/gnuplot.err" >&2
        failures=$((failures + 1))
    }
}

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

# ---------------------------------------------------------------------------
# 3.5: one rank is held up

run_3.5()
{
    run 3.5 -m saturn -N 16 -p 1 -c bcast -s 4M --algorithm binary \
        --impl event,waitall --noise 'once:1ms@0us,rank=6' -i 1 --warmup 0 \
        --per-rank
}

draw_3.5()
{
    table '
        BEGIN { print "rank,event,event delayed,by,waitall,waitall delayed,by" }
        $rank != "all" { us[$rank, $impl, $noise == "none"] = $avg }
        END {
            for (r = 0; r < 16; r++) {
                printf "%d", r
                for (i = 1; i <= 2; i++) {
                    name = i == 1 ? "event" : "waitall"
                    quiet = us[r, name, 1]; late = us[r, name, 0]
                    printf ",%.0f,%.0f,%+.0f", quiet, late, late - quiet
                }
                print ""
            }
        }' 3.5 >"$out/3.5.csv"
    heading 3.5 "bcast of 4 MB, 16 ranks of Saturn, binary tree; rank 6 is
held up for 1 ms. When each rank ends, in microseconds"
    aligned <"$out/3.5.csv"
    awk -F, '
        function add(list, r) { return list (list == "" ? "" : ", ") r }
        NR > 1 && $4 > 500 { event = add(event, $1) }
        NR > 1 && $4 > 100 && $4 <= 500 { partly = add(partly, $1) }
        NR > 1 && $7 > 500 { waitall = add(waitall, $1); n++ }
        END {
            printf "\ndelayed by more than half of the burst: event: %s;", event
            printf " waitall: %s\n", n == 16 ? "all ranks" : waitall
            printf "delayed by more than a tenth of it: event: %s\n", partly
        }' "$out/3.5.csv"
    printed 3.5
    remark "As in the thesis the event-driven broadcast delays rank 6 and its" \
        "descendants, here 13 and 14 (the thesis numbers its binary tree" \
        "differently: 10 and 14). Its parent ends somewhat later, too, as it" \
        "holds the last segments until rank 6 has taken them."
    plot 3.5 "3.5: bcast of 4 MB on 16 ranks of Saturn, rank 6 held up 1 ms" <<'END'
set xlabel 'rank'
set ylabel 'time to end, microseconds'
set yrange [0:*]
plot file using 1:2 skip 1 with linespoints lc 1 pt 6 title 'event', \
     file using 1:3 skip 1 with linespoints lc 1 pt 7 title 'event, rank 6 held up', \
     file using 1:5 skip 1 with linespoints lc 2 pt 6 title 'waitall', \
     file using 1:6 skip 1 with linespoints lc 2 pt 7 title 'waitall, rank 6 held up'
END
}

# ---------------------------------------------------------------------------
# 3.6, 3.7: noise

# noise_run FIGURE MACHINE NODES PPN
noise_run()
{
    local figure=$1 coll calls=40 seeds=4
    [[ $quick == no ]] || { calls=8; seeds=1; }
    for coll in reduce bcast; do
        run "$figure-$coll" -m "$2" -N "$3" -p "$4" -c $coll -s 4M -i $calls \
            --impl event,waitall,blocking \
            --noise 'uniform:10Hz,0-10ms;uniform:10Hz,0-20ms'
    done
    # The same noise on one rank, and on the ranks of one node: fewer bursts,
    # so more runs.
    run "$figure-few" -m "$2" -N "$3" -p "$4" -c bcast -s 4M -i $calls \
        --impl event,waitall --seeds $seeds \
        --noise 'uniform:10Hz,0-20ms,rank=500;uniform:10Hz,0-20ms,node=5'
}

# noise_draw FIGURE MACHINE RANKS
noise_draw()
{
    local figure=$1

    table '
        BEGIN {
            print "coll,implementation,quiet us,5 % us,10 % us," \
                  "5 % slowdown,10 % slowdown,amplified 5 %,amplified 10 %"
        }
        $rank == "all" {
            level = $noise == "none" ? 0 : $noise ~ /10ms/ ? 1 : 2
            us[level] = $avg; slow[level] = $slowdown; by[level] = $amplified
            if (level == 2)
                printf "%s,%s,%.0f,%.0f,%.0f,%.0f %%,%.0f %%,%.1f,%.1f\n",
                       $coll, $impl, us[0], us[1], us[2], slow[1], slow[2],
                       by[1], by[2]
        }' "$figure-bcast" "$figure-reduce" >"$out/$figure.csv"
    heading "$figure" "4 MB, $3 ranks of $2, noise on every rank; time per call"
    aligned <"$out/$figure.csv"
    printf '\nbcast, the same noise of 10 %% on fewer ranks: slowdown\n\n'
    table '
        BEGIN { print "implementation,one rank,one node" }
        $rank == "all" && $noise ~ /rank=/ { one = $slowdown }
        $rank == "all" && $noise ~ /node=/ {
            printf "%s,%.0f %%,%.0f %%\n", $impl, one, $slowdown
        }' "$figure-few" | tee "$out/$figure-few.csv" | aligned
    printed "$figure"
    remark "The order of the designs is the thesis's; the size is not. Calls" \
        "of 2 to 6 ms on all these ranks always meet some rank in a burst of" \
        "up to 20 ms; with events a rank can run ahead of it by about a call" \
        "per rank that lies between, with waits by a segment or two, so that" \
        "far more than a rank's own share of the time is lost. Slowdowns as" \
        "small as the thesis's come out when few ranks are noisy: a possible" \
        "cause is that its injection, which it describes in one sentence, did" \
        "not stop every rank ten times a second while calls were timed."
    sed 's/ %//g' "$out/$figure.csv" >"$raw/$figure-plot.csv"
    plot "$figure" "$figure: slowdown by noise, 4 MB on $3 ranks of $2" <<END
file = '$raw/$figure-plot.csv'
set ylabel 'slowdown by noise, percent'
set logscale y
set yrange [1:*]
set style data histogram
set style histogram clustered gap 1
plot file using 6:xtic(strcol(1).' '.strcol(2)) skip 1 title '5 %', \\
     file using 7 skip 1 title '10 %'
END
}

run_3.6() { noise_run 3.6 cori 32 32; }
draw_3.6() { noise_draw 3.6 cori 1024; }
run_3.7() { noise_run 3.7 stampede2 32 48; }
draw_3.7() { noise_draw 3.7 stampede2 1536; }

# ---------------------------------------------------------------------------
# 4.6, 4.7: trees, by message size

trees='topology binary binomial chain'

sizes()
{
    if [[ $quick == yes ]]; then
        echo 64K 512K 4M
    else
        echo 64K 128K 256K 512K 1M 2M 4M
    fi
}

# tree_run FIGURE MACHINE NODES PPN
tree_run()
{
    local figure=$1 coll size tree
    for size in $(sizes); do
        for tree in $trees; do
            for coll in bcast reduce; do
                run "$figure-$coll-$tree-$size" -m "$2" -N "$3" -p "$4" \
                    -c $coll -s "$size" --algorithm "$tree" -i 1 --warmup 0 \
                    --impl event,waitall
            done
        done
    done
}

# tree_draw FIGURE MACHINE RANKS
tree_draw()
{
    local figure=$1 coll size tree names=()
    for coll in bcast reduce; do
        for size in $(sizes); do
            for tree in $trees; do
                names+=("$figure-$coll-$tree-$size")
            done
        done
    done
    table '
        BEGIN {
            print "coll,bytes,event topology,waitall topology,waitall/event," \
                  "event binary,event binomial,event chain,waitall binary"
        }
        $rank == "all" { us[$impl, $tree] = $last }
        $rank == "all" && $tree == "chain" && $impl == "waitall" {
            e = us["event", "topology"]; w = us["waitall", "topology"]
            printf "%s,%d,%.0f,%.0f,%.2f,%.0f,%.0f,%.0f,%.0f\n", $coll, $bytes,
                   e, w, w / e, us["event", "binary"], us["event", "binomial"],
                   us["event", "chain"], us["waitall", "binary"]
        }' "${names[@]}" >"$out/$figure.csv"
    heading "$figure" "$3 ranks of $2: microseconds until the last rank ends a
call that all begin together; topology: chains of nodes, sockets, ..., cores;
the other trees go by ranks, which fill node after node"
    aligned <"$out/$figure.csv"
    awk -F, '
        $2 == 4194304 {
            printf "\n%s of 4 MB: event, topology is %.1f times as fast as " \
                   "waitall, binary", $1, $9 / $3
        }
        END { print "" }' "$out/$figure.csv"
    printed "$figure"
    printed "${figure/%[67]/$((${figure#4.} + 2))}"
    tree_remark
    for coll in bcast reduce; do
        awk -F, -v coll=$coll 'NR == 1 || $1 == coll' "$out/$figure.csv" \
            >"$raw/$figure-$coll-plot.csv"
    done
    plot "$figure" "$figure: trees on $3 ranks of $2" <<END
set multiplot layout 1,2
set logscale x 4
set logscale y
set xtics 65536,4
set format x '%.0b %BB'
set xlabel 'message'
set ylabel 'microseconds until the last rank ends'
do for [coll in 'bcast reduce'] {
    file = '$raw/$figure-'.coll.'-plot.csv'
    set title coll.', $3 ranks of $2 (figure $figure)'
    plot file using 2:3 skip 1 with linespoints title 'event, topology', \\
         file using 2:4 skip 1 with linespoints title 'waitall, topology', \\
         file using 2:6 skip 1 with linespoints title 'event, binary', \\
         file using 2:7 skip 1 with linespoints title 'event, binomial', \\
         file using 2:8 skip 1 with linespoints title 'event, chain'
}
END
}

tree_remark()
{
    remark "At 4 MB the topology-aware tree is far ahead of the binary tree and" \
        "of one chain through all ranks, as these cross between nodes or wait" \
        "for them needlessly; in broadcasts the binomial tree keeps up, as" \
        "where ranks fill node after node it is nearly topology-aware by" \
        "itself (the thesis does not print how its ranks were placed). Below" \
        "1 MB chains do not fill, as the thesis says. The step at the end is" \
        "where messages leave the caches and a node's ranks share its memory."
    remark "The speedups over OMPI-default are of another figure and compare" \
        "with whatever tree Open MPI took, which is not printed."
    remark "Of the 20 % between events and waiting in one tree, broadcasts show" \
        "next to nothing: without noise nothing is late in this model but by" \
        "contention, and a call ends with its slowest chain, which both" \
        "designs keep busy. Reductions show more, up to 2 MB; at 4 MB the root" \
        "even ends later with events, though most ranks end earlier: the" \
        "likely cause is that ranks far from the root, which may run a window" \
        "ahead, have the node's memory first, and that the few near the root" \
        "cannot use all of it in the end."
}

run_4.6() { tree_run 4.6 cori 32 32; }
draw_4.6() { tree_draw 4.6 cori 1024; }
run_4.7() { tree_run 4.7 stampede2 32 48; }
draw_4.7() { tree_draw 4.7 stampede2 1536; }

# ---------------------------------------------------------------------------
# 4.10: strong scaling

scales()
{
    if [[ $quick == yes ]]; then
        echo 1 4 16
    else
        echo 1 2 4 8 16 32 48
    fi
}

run_4.10()
{
    local nodes coll
    for nodes in $(scales); do
        for coll in bcast reduce; do
            run "4.10-$coll-$nodes" -m cori -N "$nodes" -p 32 -c $coll -s 4M \
                --algorithm topology -i 1 --warmup 0 --impl event,waitall
        done
    done
}

draw_4.10()
{
    local nodes coll names=()
    for nodes in $(scales); do
        for coll in bcast reduce; do
            names+=("4.10-$coll-$nodes")
        done
    done
    table '
        BEGIN {
            print "nodes,ranks,bcast event,bcast waitall,reduce event," \
                  "reduce waitall"
        }
        $rank == "all" { us[$coll, $impl] = $last }
        $rank == "all" && $coll == "reduce" && $impl == "waitall" {
            printf "%d,%d,%.0f,%.0f,%.0f,%.0f\n", $nodes, 32 * $nodes,
                   us["bcast", "event"], us["bcast", "waitall"],
                   us["reduce", "event"], us["reduce", "waitall"]
        }' "${names[@]}" >"$out/4.10.csv"
    heading 4.10 "4 MB on Cori, chains at all levels: microseconds until the
last rank ends a call that all begin together"
    aligned <"$out/4.10.csv"
    awk -F, '
        NR == 2 { nodes = $1; bcast = $3; reduce = $5 }
        END {
            printf "\nfrom %d to %d nodes, event: bcast %+.0f %%, reduce " \
                   "%+.0f %%\n", nodes, $1, 100 * ($3 / bcast - 1),
                   100 * ($5 / reduce - 1)
        }' "$out/4.10.csv"
    printed 4.10
    remark "As in the thesis the time grows little: each node makes the chain" \
        "longer by a segment, and the slowest part, which is the memory of a" \
        "node, stays the same. From one node to two, reductions become slower" \
        "at once, as the ranks that lead a node then combine one more child."
    plot 4.10 "4.10: 4 MB on Cori, chains at all levels" <<'END'
set xlabel 'nodes of 32 ranks'
set ylabel 'microseconds until the last rank ends'
set yrange [0:*]
plot file using 1:3 skip 1 with linespoints title 'bcast, event', \
     file using 1:4 skip 1 with linespoints title 'bcast, waitall', \
     file using 1:5 skip 1 with linespoints title 'reduce, event', \
     file using 1:6 skip 1 with linespoints title 'reduce, waitall'
END
}

# ---------------------------------------------------------------------------
# 5.1 - 5.3: within a node

node_sizes()
{
    if [[ $quick == yes ]]; then
        echo 512 32K 4M
    else
        echo 512 2K 8K 32K 128K 256K 512K 1M 4M
    fi
}

# node_run FIGURE COLL
node_run()
{
    local size
    for size in $(node_sizes); do
        run "$1-shm-$size" -m cori -N 1 -p 20 -c "$2" -s "$size" -i 1 \
            --warmup 0 --impl event --shared-memory
        run "$1-net-$size" -m cori -N 1 -p 20 -c "$2" -s "$size" -i 1 \
            --warmup 0 --impl event
    done
}

# node_draw FIGURE COLL
node_draw()
{
    local figure=$1 size names=()
    for size in $(node_sizes); do
        names+=("$figure-net-$size" "$figure-shm-$size")
    done
    table '
        BEGIN { print "bytes,shared memory us,messages us,messages/shared" }
        $rank == "all" && !net { net = $last; next }
        $rank == "all" {
            printf "%d,%.2f,%.2f,%.2f\n", $bytes, $last, net, net / $last
            net = 0
        }' "${names[@]}" >"$out/$figure.csv"
    heading "$figure" "$2 of 20 ranks within a node of Cori: microseconds until
the last rank ends a call that all begin together"
    aligned <"$out/$figure.csv"
    printed "$figure"
    remark "Shared memory wins, as in the thesis, but on the longest messages," \
        "where in a single call the memory of the node is what limits both." \
        "The thesis's two modules, SM for short messages and SOLO for long" \
        "ones, are one design here, which changes from words in the line that" \
        "announces a call to windows that ranks claim, so that there is" \
        "nothing to cross over. The thesis has a node of Haswell E5-2650 at" \
        "ICL; Cori's is the Haswell node that the simulator knows."
    plot "$figure" "$figure: $2 of 20 ranks within a node" <<'END'
set logscale x 4
set xtics 16
set format x '%.0b %BB'
set logscale y
set format y '%g'
set xlabel 'message'
set ylabel 'microseconds until the last rank ends'
set key top left noenhanced
plot file using 1:2 skip 1 with linespoints title 'shared memory', \
     file using 1:3 skip 1 with linespoints title 'messages'
END
}

run_5.1() { node_run 5.1 bcast; }
draw_5.1() { node_draw 5.1 bcast; }
run_5.2() { node_run 5.2 reduce; }
draw_5.2() { node_draw 5.2 reduce; }
run_5.3() { node_run 5.3 allreduce; }
draw_5.3() { node_draw 5.3 allreduce; }

# ---------------------------------------------------------------------------
# 5.8 - 5.17: tasks of HAN

# task_run NAME OPTION...: a call that all begin together, on ranks that share
# memory; who has done its part waits for those that it sends to, as the thesis's
# tasks do.
task_run()
{
    local name=$1
    shift
    XYLEM_DETACH_BYTES=0 run "$name" -m nacl -i 1 --warmup 0 --impl event \
        --per-rank --shared-memory "$@"
}

run_5.8()
{
    task_run 5.8-ib -N 6 -p 1 -c bcast -s 64K --algorithm binomial --segment 64K
    task_run 5.8-sb -N 1 -p 12 -c bcast -s 64K
    task_run 5.8-1 -N 6 -p 12 -c bcast -s 64K --algorithm han:1/binomial \
        --segment 64K
    task_run 5.8-2 -N 6 -p 12 -c bcast -s 128K --algorithm han:1/binomial \
        --segment 64K
}

draw_5.8()
{
    table '
        BEGIN { print "leader of node,ib(0) us,sb(0) us,sbib(1) us,overlap %" }
        $rank == "all" { run++; next }
        run == 1 { ib[$rank] = $avg }
        run == 2 && $rank == 0 { sb = $avg }
        run == 3 && $rank % 12 == 0 { one[$rank / 12] = $avg }
        run == 4 && $rank % 12 == 0 {
            n = $rank / 12
            both = $avg - one[n]
            least = ib[n] < sb ? ib[n] : sb
            overlap = (ib[n] + sb - both) / least
            overlap = overlap < 0 ? 0 : overlap > 1 ? 1 : overlap
            printf "%d,%.1f,%.1f,%.1f,%.0f\n", n, ib[n], sb, both, 100 * overlap
        }' 5.8-ib 5.8-sb 5.8-1 5.8-2 >"$out/5.8.csv"
    heading 5.8 "tasks of a broadcast in segments of 64 KiB, 6 nodes of 12 ranks
of NaCl, binomial tree between nodes: what they cost each node leader"
    aligned <"$out/5.8.csv"
    printed 5.8
    remark "sbib(1) is what a second segment adds to a call of one. As in the" \
        "thesis with SOLO the two overlap fully on leaders that pass segments" \
        "on, and as there the leaders end ib(0) at different times, which is" \
        "why sbib cannot be timed without what comes before it. For leaves" \
        "the formula has no meaning here: their second segment comes when the" \
        "root has served all its children, however long their own ib(0) was." \
        "SM, whose copies keep the core that must also carry on ib, has no" \
        "counterpart: in xylem no leader waits within sb."
    plot 5.8 "5.8: tasks on the leaders of 6 nodes of 12 ranks of NaCl" <<'END'
set style data histogram
set style histogram clustered gap 1
set xlabel 'leader of node'
set ylabel 'microseconds'
set yrange [0:*]
plot file using 2:xtic(1) skip 1 title 'ib(0)', file using 3 skip 1 \
     title 'sb(0)', file using 4 skip 1 title 'sbib(1)'
END
}

betweens='chain binary binomial'

run_5.12()
{
    local between count
    for between in $betweens; do
        for count in 1 2 3 4 5 6 7 8 9; do
            task_run "5.12-$between-$count" -N 64 -p 12 -c bcast \
                -s $((count * 65536)) --segment 64K \
                --algorithm "han:1/$between"
        done
    done
}

draw_5.12()
{
    local between count names=()
    for count in 1 2 3 4 5 6 7 8 9; do
        for between in $betweens; do
            names+=("5.12-$between-$count")
        done
    done
    table '
        BEGIN { print "i,chain us,binary us,binomial us" }
        $rank == "all" {
            tree = runs++ % 3
            step[tree] = $last - before[tree]
            before[tree] = $last
            if (tree == 2 && runs > 3)
                printf "%d,%.1f,%.1f,%.1f\n", runs / 3 - 1, step[0], step[1],
                       step[2]
        }' "${names[@]}" >"$out/5.12.csv"
    heading 5.12 "what the i-th segment of 64 KiB adds to a broadcast, sbib(i),
64 nodes of 12 ranks of NaCl, by the tree between nodes"
    aligned <"$out/5.12.csv"
    printed 5.12
    remark "With a chain and a binary tree the cost is stable from the first" \
        "segment on, which is what lets a model multiply it. With a binomial" \
        "tree, whose root has six children, it is not. The thesis times the" \
        "task on one leader; here it is what the segment adds until the last" \
        "rank ends."
    plot 5.12 "5.12: sbib(i) on 64 nodes of 12 ranks of NaCl" <<'END'
set xlabel 'i'
set ylabel 'microseconds'
set yrange [0:*]
plot file using 1:2 skip 1 with linespoints title 'chain', \
     file using 1:3 skip 1 with linespoints title 'binary', \
     file using 1:4 skip 1 with linespoints title 'binomial'
END
}

segments='16 32 64 128 256 512' # KiB

# model_run FIGURE COLL FEW: times of FEW segments, of one more, and of 4 MiB.
model_run()
{
    local between segment count
    for between in $betweens; do
        for segment in $segments; do
            for count in "$3" $(($3 + 1)) $((4096 / segment)); do
                task_run "$1-$between-$segment-$count" -N 64 -p 12 -c "$2" \
                    -s $((count * segment * 1024)) --segment "${segment}K" \
                    --algorithm "han:1/$between"
            done
        done
    done
}

# model_draw FIGURE COLL FEW
model_draw()
{
    local figure=$1 between segment count names=()
    for between in $betweens; do
        for segment in $segments; do
            for count in "$3" $(($3 + 1)) $((4096 / segment)); do
                names+=("$figure-$between-$segment-$count")
            done
        done
    done
    table '
        BEGIN {
            split(trees, shapes, " "); m = split(sizes, size, " ")
            print "between nodes,segment KiB,actual us,estimated us,error %"
        }
        $rank == "all" {
            us[runs++ % 3] = $last
            if (runs % 3 == 0) {
                which = runs / 3 - 1
                segment = size[which % m + 1]
                estimate = us[1] + (4096 / segment - few - 1) * (us[1] - us[0])
                printf "%s,%d,%.0f,%.0f,%+.1f\n",
                       shapes[int(which / m) + 1], segment, us[2], estimate, 100 * (estimate / us[2] - 1)
            }
        }' "trees=$betweens" "sizes=$segments" "few=$3" "${names[@]}" \
        >"$out/$figure.csv"
    heading "$figure" "$2 of 4 MB on 64 nodes of 12 ranks of NaCl: the cost
model's estimate, from calls of $3 and $(($3 + 1)) segments, and the time"
    aligned <"$out/$figure.csv"
    awk -F, '
        NR == 1 { next }
        !best || $3 < us { best = $1 ", " $2 " KiB"; us = $3 }
        !guess || $4 < least { guess = $1 ", " $2 " KiB"; least = $4; its = $3 }
        { e = $5 < 0 ? -$5 : $5; sum += e; n++ }
        END {
            printf "\nbest: %s; best by the model: %s, which takes %.1f %% " \
                   "more; mean error %.1f %%\n", best, guess,
                   100 * (its / us - 1), sum / n
        }' "$out/$figure.csv"
    printed "$figure"
    remark "The tree and the segments that are best are near the thesis's; the" \
        "estimates are mostly too low. The simulator takes a call of 4 MB to" \
        "be beyond the caches and one of a few segments, from which the" \
        "estimate comes, to be within; and a chain of 64 nodes needs more" \
        "segments than these to be full. Sub-modules are not compared, as" \
        "xylem has one for memory within a node."
    plot "$figure" "$figure: $2 of 4 MB on 64 nodes of 12 ranks of NaCl" <<'END'
set logscale x 2
set xlabel 'segment, KiB'
set ylabel 'microseconds'
set yrange [0:*]
plot for [t in 'chain binary binomial'] \
     file using (strcol(1) eq t ? $2 : NaN):3 skip 1 with linespoints \
     title t.', actual', \
     for [t in 'chain binary binomial'] \
     file using (strcol(1) eq t ? $2 : NaN):4 skip 1 with linespoints dt 2 \
     title t.', estimated'
END
}

run_5.13() { model_run 5.13 bcast 3; }
draw_5.13() { model_draw 5.13 bcast 3; }
run_5.17() { model_run 5.17 allreduce 5; }
draw_5.17() { model_draw 5.17 allreduce 5; }

# ---------------------------------------------------------------------------
# 6.3 - 6.6: levels in series against Open MPI's default module

# levels_run FIGURE MACHINE NODES PPN COLL
levels_run()
{
    local sizes=1024,16384,131072,1048576,4194304,33554432 nodes=$3
    if [[ $quick == yes ]]; then
        sizes=16384,1048576
        nodes=8
    fi
    while (($(jobs -rp | wc -l) >= jobs)); do
        wait -n
    done
    bash bench/studies/han_sim.sh --bin "$(dirname "$sim")" --machine "$2" \
        --nodes "$nodes" --ppn "$4" --colls "$5" --rules 4.0 --limit 400 \
        --sizes "$sizes" --csv "$raw/$1.csv" >"$raw/$1.txt" 2>"$raw/$1.err" ||
        echo "$1" >>"$raw/failed" &
}

# levels_draw FIGURE MACHINE COLL
levels_draw()
{
    local figure=$1

    awk -F, '
        BEGIN { print "bytes,han us,tuned 4.0 us,tuned takes,tuned/han" }
        NR > 1 {
            ratio = $8 == "-" ? "-" : sprintf("%.2f", $8 / $5)
            printf "%d,%s,%s,%s,%s\n", $4, $5, $8, $7, ratio
        }' "$raw/$figure.csv" >"$out/$figure.csv"
    heading "$figure" "$3 on $(awk -F, 'NR == 2 { print $2 }' \
        "$raw/$figure.csv") ranks of $2: levels in series (han) against what
Open MPI 4.0's default module takes; microseconds until the last rank ends"
    aligned <"$out/$figure.csv"
    printed "$figure"
    remark "Levels win at all sizes, as in the thesis. How much differs: the" \
        "thesis has the modules of 2020, and the machines' networks have routes" \
        "and other users, which the simulator has not. Of Cray, Intel and" \
        "MVAPICH nothing is known that could be simulated. A '-' is a run that" \
        "would take too long."
    plot "$figure" "$figure: $3 on $2, levels in series against tuned" <<'END'
set logscale x 4
set xtics 16
set format x '%.0b %BB'
set logscale y
set format y '%g'
set xlabel 'message'
set ylabel 'microseconds until the last rank ends'
set key top left noenhanced
plot file using 1:2 skip 1 with linespoints title 'han', \
     file using 1:3 skip 1 with linespoints title 'tuned, Open MPI 4.0'
END
}

run_6.3() { levels_run 6.3 shaheen2 128 32 bcast; }
draw_6.3() { levels_draw 6.3 shaheen2 bcast; }
run_6.5() { levels_run 6.5 stampede2 32 48 bcast; }
draw_6.5() { levels_draw 6.5 stampede2 bcast; }
run_6.6() { levels_run 6.6 shaheen2 128 32 allreduce; }
draw_6.6() { levels_draw 6.6 shaheen2 allreduce; }

pair_sizes='512 4K 16K 64K 256K 512K 2M 16M'

run_6.4()
{
    local size
    for size in $pair_sizes; do
        run "6.4-$size" -m shaheen2 -N 2 -p 1 -c bcast -s "$size" -i 1 \
            --warmup 0 --impl event --algorithm flat --segment "$size"
    done
}

draw_6.4()
{
    local size names=()
    for size in $pair_sizes; do
        names+=("6.4-$size")
    done
    table '
        BEGIN { print "bytes,us,GB/s" }
        $rank == "all" {
            printf "%d,%.2f,%.3f\n", $bytes, $last, $bytes / $last / 1e3
        }' "${names[@]}" >"$out/6.4.csv"
    heading 6.4 "one message between two nodes of Shaheen II, as the simulator
has it"
    aligned <"$out/6.4.csv"
    printed 6.4
    remark "The simulator has one network, by numbers that were published of" \
        "the machine; the thesis compares two libraries over it, of which Open" \
        "MPI had less than Cray MPI from 512 B to 2 MB."
    plot 6.4 "6.4: bandwidth between two nodes of Shaheen II" <<'END'
set logscale x 4
set xtics 16
set format x '%.0b %BB'
set xlabel 'message'
set ylabel 'GB/s'
plot file using 1:3 skip 1 with linespoints notitle
END
}

# ---------------------------------------------------------------------------
# Depth against noise

run_elasticity()
{
    local seeds=32
    [[ $quick == no ]] || seeds=4
    run elasticity --elasticity --seeds $seeds
}

draw_elasticity()
{
    awk -F, '
        BEGIN {
            print "coll,call ms,depth,noise %,simulated,error,equal,formula," \
                  "error,model 8 seeds,model 2048 seeds,error,difference," \
                  "agrees"
        }
        FNR == 1 { next }
        NR == FNR {
            key = $1 "," $2 "," $3 "," $4
            few[key] = $5; many[key] = $6; error[key] = $7
            next
        }
        {
            key = $1 "," $2 "," $3 "," $4
            gap = $8 - many[key]
            both = sqrt($9 * $9 + error[key] * error[key])
            size = gap < 0 ? -gap : gap
            verdict = size <= 2 ? "2 points" : size <= 3 * both ? \
                      "sampling" : "no"
            printf "%s,%.1f,%.1f,%s,%.1f,%.1f,%s,%s,%s,%+.1f,%s\n", key, $5,
                   $6, $7, $8, $9, few[key], many[key], error[key], gap, verdict
        }' bench/studies/figures/elasticity.csv "$raw/elasticity.csv" \
        >"$out/elasticity.csv"
    heading elasticity "slowdown in per cent of a synthetic collective, 16
ranks, 400 calls, a rank at most so many calls ahead of the slowest; simulated,
and by a model that was written before and apart from the simulator"
    aligned <"$out/elasticity.csv"
    awk -F, '
        NR > 1 { cells++; equal += $7 == "yes"; near += $14 == "2 points" }
        NR > 1 { chance += $14 == "sampling" }
        END {
            printf "\n%d cells: %d agree within 2 points, %d more within 3 " \
                   "standard errors;\nin %d the simulation and the formula " \
                   "give the same times on the same bursts\n", cells, near,
                   chance, equal
            exit cells != near + chance || cells != equal
        }' "$out/elasticity.csv" || failures=$((failures + 1))
    remark "Where calls wait for each other (depth 1 and 4) a single run's" \
        "slowdown varies by up to 120 points, so that means over any feasible" \
        "number of seeds differ by some points; on equal bursts nothing does."
}

# ---------------------------------------------------------------------------

# One page of all that was drawn.
page()
{
    local figure

    {
        echo '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        echo '<title>Figures of the thesis, again</title><style>'
        echo 'body{font-family:"DejaVu Sans",sans-serif;margin:2em auto;'
        echo 'max-width:70em}img{max-width:100%}pre{overflow-x:auto}</style>'
        echo '<h1>Figures of the thesis, again</h1><p>Theirs: what Luo (PhD'
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
rm -rf "$raw"
mkdir -p "$raw"
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
((failures == 0)) || fail "something did not agree or was not drawn; see above"
