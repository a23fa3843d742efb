# shellcheck shell=bash
# shellcheck disable=SC2154 # sim, jobs, out, raw and quick are of figures.sh
# Figures 6.3 to 6.6: levels in series against Open MPI's default module, and the
# bandwidth between two ranks.

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
    plot "$figure" "$figure: $3 on $2, levels in series against tuned" <<END
$size_axis
$time_axis
plot file using 1:2 skip 1 with linespoints title 'han', \\
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
            --warmup 0 --impl xylem --algorithm flat --segment "$size" \
            --messages
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
    plot 6.4 "6.4: bandwidth between two nodes of Shaheen II" <<END
$size_axis
set ylabel 'GB/s'
plot file using 1:3 skip 1 with linespoints notitle
END
}
