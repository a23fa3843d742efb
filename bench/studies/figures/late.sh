# shellcheck shell=bash
# shellcheck disable=SC2154 # sim, jobs, out, raw and quick are of figures.sh
# Figures 3.5 to 3.7: who is delayed when one rank is, and what noise costs.

# ---------------------------------------------------------------------------
# 3.5: one rank is held up

run_3.5()
{
    run 3.5 -m saturn -N 16 -p 1 -c bcast -s 4M --algorithm binary \
        --impl xylem,waitall --noise 'once:1ms@0us,rank=6' -i 1 --warmup 0 \
        --per-rank
}

draw_3.5()
{
    table '
        BEGIN { print "rank,xylem,xylem delayed,by,waitall,waitall delayed,by" }
        $rank != "all" { us[$rank, $impl, $noise == "none"] = $avg }
        END {
            for (r = 0; r < 16; r++) {
                printf "%d", r
                for (i = 1; i <= 2; i++) {
                    name = i == 1 ? "xylem" : "waitall"
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
        NR > 1 && $4 > 500 { xylem = add(xylem, $1) }
        NR > 1 && $4 > 100 && $4 <= 500 { partly = add(partly, $1) }
        NR > 1 && $7 > 500 { waitall = add(waitall, $1); n++ }
        END {
            printf "\ndelayed by more than half of the burst: xylem: %s;", xylem
            printf " waitall: %s\n", n == 16 ? "all ranks" : waitall
            printf "delayed by more than a tenth of it: xylem: %s\n", partly
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
plot file using 1:2 skip 1 with linespoints lc 1 pt 6 title 'xylem', \
     file using 1:3 skip 1 with linespoints lc 1 pt 7 title 'xylem, rank 6 held up', \
     file using 1:5 skip 1 with linespoints lc 2 pt 6 title 'waitall (own design)', \
     file using 1:6 skip 1 with linespoints lc 2 pt 7 title 'waitall, rank 6 held up'
END
}

# ---------------------------------------------------------------------------
# 3.6, 3.7: noise

# noise_run FIGURE MACHINE NODES PPN CALLS: so many reductions, whose simulation
# takes minutes.
noise_run()
{
    local figure=$1 coll impl calls=40 reduces=$5 seeds=4
    [[ $quick == no ]] || { calls=8; reduces=4; seeds=1; }
    for coll in reduce bcast; do
        [[ $coll == bcast ]] || calls=$reduces
        for impl in xylem waitall blocking; do
            run "$figure-$coll-$impl" -m "$2" -N "$3" -p "$4" -c $coll -s 4M \
                -i $calls --impl $impl \
                --noise 'uniform:10Hz,0-10ms;uniform:10Hz,0-20ms'
        done
    done
    # The same noise on one rank, and on the ranks of one node: fewer bursts,
    # so more runs.
    run "$figure-few" -m "$2" -N "$3" -p "$4" -c bcast -s 4M -i $calls \
        --impl xylem,waitall --seeds $seeds \
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
        }' "$figure"-{bcast,reduce}-{xylem,waitall,blocking} \
        >"$out/$figure.csv"
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
    remark "With events noise costs what the thesis says, and what it costs a" \
        "rank that waits for nobody: the ranks of a node run ahead of a late" \
        "one through the node's memory, and between nodes another rank takes a" \
        "late leader's place. Designs that wait lose far more here than in the" \
        "thesis. A call on all these ranks always meets some rank in a burst" \
        "of up to 20 ms, and a rank that waits can run ahead of it by a" \
        "segment or two. Slowdowns of waits as small as the thesis's come out" \
        "when few ranks are noisy: a possible cause is that its injection," \
        "which it describes in one sentence, did not stop every rank ten times" \
        "a second while calls were timed."
    sed 's/ %//g' "$out/$figure.csv" >"$raw/$figure-plot.csv"
    plot "$figure" "$figure: slowdown by noise, 4 MB on $3 ranks of $2" <<END
file = '$raw/$figure-plot.csv'
set xlabel 'waitall, blocking: own designs' offset 0,-1
set ylabel 'slowdown by noise, percent; a stub: 1 or less'
set logscale y
set yrange [1:*]
stub(percent) = percent > 1.1 ? percent : 1.1
set style data histogram
set style histogram clustered gap 1
plot file using (stub(\$6)):xtic(strcol(1)."\\n".strcol(2)) skip 1 title '5 %', \\
     file using (stub(\$7)) skip 1 title '10 %'
END
}

run_3.6() { noise_run 3.6 cori 32 32 40; }
draw_3.6() { noise_draw 3.6 cori 1024; }
run_3.7() { noise_run 3.7 stampede2 32 48 24; }
draw_3.7() { noise_draw 3.7 stampede2 1536; }
