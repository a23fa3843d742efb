# The group `bench` of run.sh, which sources this: xylem-bench and the drivers
# of the MPI libraries measure and check every collective; algorithms are
# listed, run and refused as they should be.
# shellcheck shell=bash disable=SC2154 # run, programs, set, code, out, err

bench_colls=(bcast reduce allreduce barrier gather gatherv scatter scatterv
    allgather allgatherv alltoall alltoallv alltoallw reduce_scatter
    reduce_scatter_block scan exscan neighbor_allgather)
# Few calls of few sizes, the largest beyond what goes in one message.
bench_calls=(-b 4 -e 64K -i 2 --warmup 1 --buffers 2 --check --lines)
bench_sizes=15

# measures NAME SIZES COMMAND...: exit code 0, and as many sizes, all correct.
# What an MPI has to say on standard error is its own business.
measures()
{
    local name=$1 sizes=$2 good=no
    shift 2
    attempt "$@"
    if [ "$code" -eq 0 ] &&
        [ "$(grep -c '^xylem-result latency .* wrong=0$' "$out")" -eq "$sizes" ]
    then
        good=yes
    fi
    report "$name" $good
}

# coll_measures NAME COLL COMMAND...: the options for the collective follow the
# command.
coll_measures()
{
    local name=$1 coll=$2 sizes=$bench_sizes
    shift 2
    [ "$coll" != barrier ] || sizes=1
    measures "$name" $sizes "$@" -c "$coll" "${bench_calls[@]}"
}

# colls_measured NAME LINES COLL...: of the last command, a line for each
# collective; a barrier has one size.
colls_measured()
{
    local name=$1 lines=$2 coll wanted good
    shift 2
    for coll; do
        wanted=$lines good=no
        [ "$coll" != barrier ] || wanted=1
        [ "$code" -ne 0 ] || [ "$(grep -c \
            "^xylem-result latency .* coll=$coll .* wrong=0$" "$out")" -ne \
            "$wanted" ] || good=yes
        report "$coll $name" $good
    done
}

# all_measure NAME COMMAND...: all collectives in one job, as jobs begin slowly.
all_measure()
{
    local name=$1
    shift
    attempt "$@" -c "$(IFS=, && echo "${bench_colls[*]}")" "${bench_calls[@]}"
    colls_measured "$name" $bench_sizes "${bench_colls[@]}"
}

# Prints the algorithms of a collective, one per line, without ":K".
algorithms_of()
{
    "$programs/xylem-bench" --algorithm list -c "$1" |
        sed -n 's/^  \([a-z_]*\).*/\1/p'
}

test_bench_ranks()
{
    local ranks
    for ranks in 1 2 3 4 5; do
        [ "$set" = all ] || [ $ranks -eq 3 ] || continue
        all_measure "on $ranks" "$run" -n $ranks "$programs/xylem-bench" \
            --root $((ranks - 1))
    done
}

test_bench_modes()
{
    local mode coll good
    for mode in nonblocking persistent; do
        all_measure "$mode on 3" "$run" -n 3 "$programs/xylem-bench" --mode $mode
    done
    coll_measures "back to back" alltoall "$run" -n 3 "$programs/xylem-bench" \
        --back-to-back
    coll_measures "results read" allgather "$run" -n 3 \
        "$programs/xylem-bench" --consume
    measures "a list" 5 "$run" -n 3 "$programs/xylem-bench" -i 2 --check \
        --lines -c barrier,reduce,scatter --sizes 4,64K
    for coll in bcast reduce gather scatterv; do
        coll_measures "roots that rotate, $coll" $coll "$run" -n 3 \
            "$programs/xylem-bench" --rotate-roots
    done
    measures "as OSU's" 2 "$run" -n 3 "$programs/xylem-bench" -i 2 --lines \
        -c allreduce --sizes 4,64K --osu --consume
    attempt "$run" -n 3 "$programs/xylem-bench" -c bcast,barrier --sizes 64 \
        --max-ms 0,5 --seconds 0.01
    good=no
    [ "$code" -ne 0 ] || [ "$(grep -c ' noise=\(none\|uniform:10Hz,0-5ms\) ' "$out")" -ne 4 ] || good=yes
    report "noise of several levels" $good
    coll_measures "waitall" reduce "$run" -n 3 "$programs/xylem-bench" \
        --impl waitall
    coll_measures "blocking" bcast "$run" -n 3 "$programs/xylem-bench" \
        --impl blocking
}

# one_by_algorithm COLL ALGORITHM RANKS COMMAND...: runs, or says why not.
one_by_algorithm()
{
    local coll=$1 name=$2 ranks=$3
    shift 3
    attempt "$@" -c "$coll"
    if [ "$code" -eq 2 ] && [ "$ranks" -eq 3 ] &&
        grep -q 'this algorithm needs' "$err"; then
        report "$coll $name on 3 is refused" yes
    elif [ "$code" -eq 2 ] &&
        grep -q 'needs buffers in memory of GPUs' "$err"; then
        report "$coll $name on $ranks is refused" yes
    elif [ "$code" -eq 1 ] && [[ $name == node_* ]] &&
        grep -q "algorithm $name \(needs\|takes\|combines\|is no\)" "$err"; then
        report "$coll $name on $ranks is refused, as it lacks something" yes
    else
        colls_measured "$name on $ranks" 7 "$coll"
    fi
}

# What is listed can be asked for; what does not fit three ranks says so, and so
# does what lacks something in the memory of a node. Levels are those of two nodes.
# An algorithm does its collectives in one job, unless one of them is refused.
test_bench_algorithms()
{
    local coll name ranks nodes command list
    local -A colls_of=()
    for coll in "${bench_colls[@]}"; do
        for name in $(algorithms_of "$coll"); do
            colls_of[$name]+=" $coll"
        done
    done
    for name in $(printf '%s\n' "${!colls_of[@]}" | sort); do
        read -ra list <<<"${colls_of[$name]}"
        for ranks in 4 3; do
            [ "$set" = all ] || [ $ranks -eq 4 ] || continue
            [[ $name != node_* || $ranks -eq 4 ]] || continue
            nodes=1
            [ "$name" != han ] || nodes=2
            command=("$run" -n "$ranks" --nodes "$nodes"
                "$programs/xylem-bench" --algorithm "$name" -b 64 -e 4K -n 2
                --warmup 1 --buffers 2 --check --lines)
            attempt "${command[@]}" -c "$(IFS=, && echo "${list[*]}")"
            if [ "$code" -eq 0 ]; then
                colls_measured "$name on $ranks" 7 "${list[@]}"
                continue
            fi
            for coll in "${list[@]}"; do
                one_by_algorithm "$coll" "$name" $ranks "${command[@]}"
            done
        done
    done
}

test_bench_list()
{
    local coll good=yes
    attempt "$programs/xylem-bench" --algorithm list
    for coll in "${bench_colls[@]}"; do
        grep -q "^$coll\( \|$\)" "$out" || good=no
    done
    grep -q '^  knomial:K .*tree' "$out" && [ "$code" -eq 0 ] || good=no
    report "the list has all collectives" $good
    good=no
    [ "$(grep -c '^  node .*needs ranks that share memory' "$out")" -ne \
        ${#bench_colls[@]} ] ||
        ! grep -q '^  han:K .*K leaders of a node, 1 ... 16' "$out" || good=yes
    report "the list has what knows nodes" $good
    attempt "$programs/xylem-bench" --algorithm list -c alltoall
    good=no
    [ "$code" -ne 0 ] || [ "$(grep -c '^[a-z]' "$out")" -ne 1 ] || good=yes
    report "the list of one collective" $good
}

test_bench_refusals()
{
    local bench=("$run" -n 2 "$programs/xylem-bench" -i 1)
    says "no such collective" 2 "no such collective" "${bench[@]}" -c odd
    says "no such mode" 2 "expected blocking" "${bench[@]}" -c bcast --mode x
    says "no such algorithm" 2 "there is no such algorithm" "${bench[@]}" \
        -c gather --algorithm odd
    says "an algorithm of another collective" 2 "it is not for gather" \
        "${bench[@]}" -c gather --algorithm pairwise
    says "a radix that is not taken" 2 "takes no radix" "${bench[@]}" \
        -c gather --algorithm linear:4
    says "a radix out of range" 2 "takes a radix of 2 ... 64" "${bench[@]}" \
        -c bcast --algorithm knomial:1
    says "a tree where there are none" 2 "it is not for alltoall" \
        "${bench[@]}" -c alltoall --algorithm double
    says "a collective that waitall lacks" 2 "bcast and reduce only" \
        "${bench[@]}" -c gather --impl waitall
    says "a schedule that waitall lacks" 2 "trees only" "${bench[@]}" \
        -c bcast --impl waitall --algorithm ring
    says "a mode that blocking lacks" 2 "blocking calls only" "${bench[@]}" \
        -c bcast --impl blocking --mode persistent
    says "no such size" 2 "expected 1 ... 64 sizes" "${bench[@]}" -c scan \
        --sizes 4,x
    says "OSU's buffers are not checked" 2 "neither --check" "${bench[@]}" \
        -c scan --osu --check
    says "bursts that leave no time" 2 "from burst to burst" "${bench[@]}" \
        -c scan --max-ms 0,200
    says "sums of less than a float" 2 "4 bytes each" "${bench[@]}" \
        -c scan -b 2
}

# mpi_measures NAME COMMAND...
mpi_measures()
{
    local name=$1
    shift
    if ! command -v "$1" >/dev/null ||
        [ ! -x "$programs/xylem-mpi-driver-$name" ]; then
        skip "$name" "it is not installed"
        return
    fi
    all_measure "on 3 by $name" "$@" -n 3 "$programs/xylem-mpi-driver-$name" \
        --root 2
    coll_measures "$name: nonblocking alltoallw on 3" alltoallw "$@" -n 3 \
        "$programs/xylem-mpi-driver-$name" --mode nonblocking
}

# A line per leader and size; what has no tasks is refused.
test_bench_tasks()
{
    local program=$programs/xylem-bench coll good words
    for coll in bcast allreduce; do
        good=no
        attempt "$run" -n 5 --nodes 2 "$program" --tasks -c $coll -b 4K -e 8K \
            -n 2 --warmup 1
        [ "$code" -ne 0 ] ||
            [ "$(grep -cE '^(4096|8192) +[01] ' "$out")" -ne 4 ] || good=yes
        report "--tasks of $coll" $good
    done
    for words in '-c gather' '-c bcast --root 1' '-c bcast --max-ms 1' \
        '-c bcast --impl waitall' '-c bcast --algorithm scatter_ring'; do
        good=no
        # shellcheck disable=SC2086 # to be split
        attempt "$program" --tasks $words
        [ "$code" -ne 2 ] || ! grep -q -e '--tasks' "$err" || good=yes
        report "--tasks refuses $words" $good
    done
    good=no
    attempt "$run" -n 2 --nodes 2 "$program" --tasks -c bcast
    [ "$code" -ne 2 ] || ! grep -q 'two ranks on one' "$err" || good=yes
    report "--tasks wants nodes of several ranks" $good
}

test_bench_mpi()
{
    mpi_measures openmpi mpirun.openmpi --allow-run-as-root --oversubscribe \
        --mca pml ucx --mca opal_common_ucx_tls any \
        --mca opal_common_ucx_devices any
    mpi_measures mpich mpirun.mpich
}

test_bench()
{
    test_bench_list
    test_bench_refusals
    test_bench_tasks
    test_bench_ranks
    test_bench_modes
    test_bench_algorithms
    [ "$set" = few ] || test_bench_mpi
}
