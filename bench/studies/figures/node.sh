# shellcheck shell=bash
# shellcheck disable=SC2154 # sim, jobs, out, raw and quick are of figures.sh
# Figures 5.1 to 5.3: within a node, shared memory against messages, by size.

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
            --warmup 0 --impl xylem
        run "$1-net-$size" -m cori -N 1 -p 20 -c "$2" -s "$size" -i 1 \
            --warmup 0 --impl xylem --messages
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
    plot "$figure" "$figure: $2 of 20 ranks within a node" <<END
$size_axis
$time_axis
plot file using 1:2 skip 1 with linespoints title 'shared memory', \\
     file using 1:3 skip 1 with linespoints title 'messages'
END
}

run_5.1() { node_run 5.1 bcast; }
draw_5.1() { node_draw 5.1 bcast; }
run_5.2() { node_run 5.2 reduce; }
draw_5.2() { node_draw 5.2 reduce; }
run_5.3() { node_run 5.3 allreduce; }
draw_5.3() { node_draw 5.3 allreduce; }
