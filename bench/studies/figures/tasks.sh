# shellcheck shell=bash
# shellcheck disable=SC2154 # sim, jobs, out, raw and quick are of figures.sh
# Figures 5.8 to 5.17: tasks of HAN, and the cost model that is made of them.

# task_run NAME OPTION...: a call that all begin together; who has done its part waits for those that it sends to, as the thesis's
# tasks do.
task_run()
{
    local name=$1
    shift
    XYLEM_DETACH_BYTES=0 run "$name" -m nacl -i 1 --warmup 0 --impl xylem \
        --per-rank "$@"
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
