#!/bin/bash
# xylem-sim from outside: what it refuses and how it says so, what its options
# do, and that equal seeds give equal bytes. Prints TAP.
#
#   cli.sh XYLEM-SIM [SET]     the tests
#   cli.sh XYLEM-SIM --golden  what tests/sim/golden.txt should hold, after a
#                              change that is meant to change results
#
#   SET  all, or few: where programs run slowly, a third of the collectives with
#        all payloads; what the environment has in CHECK_SET comes before
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

sim=$(realpath "$1")
[ -x "$sim" ] || { echo "$1 is no program" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
bound=240 # seconds
set=${CHECK_SET:-${2:-all}}

# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*}

# simulate OPTION...
simulate()
{
    attempt "$sim" "$@"
}

# works NAME OPTION...: exit code 0 and nothing on standard error.
works()
{
    local name=$1
    shift
    simulate "$@"
    if [ "$code" -eq 0 ] && [ ! -s "$err" ]; then
        report "$name" yes
    else
        report "$name" no
    fi
}

# refuses PATTERN OPTION...: exit code 2, no output, one line that says why.
refuses()
{
    local pattern=$1
    shift
    simulate "$@"
    if [ "$code" -eq 2 ] && [ ! -s "$out" ] &&
        [ "$(wc -l <"$err")" -eq 1 ] && grep -q -- "$pattern" "$err"; then
        report "refuses $*" yes
    else
        report "refuses $*" no
    fi
}

# holds NAME PATTERN: in the output of the last attempt.
holds()
{
    check "$1" grep -qE -- "$2" "$out"
}

# equal NAME FILE FILE
equal()
{
    if cmp -s "$2" "$3"; then
        report "$1" yes
    else
        diff "$2" "$3" | head -n 20 | sed 's/^/# /'
        report "$1" no
    fi
}

small=(-N 2 -p 4 -s 64K -i 3)
colls=(barrier bcast reduce allreduce gather gatherv scatter scatterv allgather
    allgatherv alltoall alltoallv alltoallw reduce_scatter reduce_scatter_block
    scan exscan)

# ---------------------------------------------------------------------------

# Every kind of noise, payload, jitter, arrival, and all implementations.
golden_commands=(
    '-n 2 -p 8 -s 1M -i 20 --noise uniform:100Hz,0-2ms;periodic:1kHz,50us
        --messages'
    '-n 4 -p 4 -c reduce -s 256K -i 20 --noise sync:1kHz,50us;poisson:1kHz,50us
        --seeds 2 --messages'
    '-m saturn -n 16 -p 1 --algorithm binary --noise once:1ms@0us,rank=6
        --per-rank --messages'
    '-m stampede2 -n 3 -p 5 -c reduce -s 96K -i 6 --payload watched --jitter 2us
        --root 7 --seed 9 --messages'
    '-m node64 -n 1 -p 16 -s 300000 -i 5 --payload moved --algorithm knomial:4
        --segment 20000 --windows 2,5 --arrival random:20us --noise TRACE
        --messages'
    '-n 1 -p 6 --impl elastic:1,elastic:16:2ms -i 50
        --noise uniform:10Hz,0-20ms'
    '-m tcp -n 6 -p 2 -s 128K -c reduce --kill 5@0.1ms --impl xylem
        --messages'
    '-n 3 -p 4 -c allreduce -s 32K -i 5 --algorithm rabenseifner
        --payload moved --noise poisson:1kHz,50us --messages'
    '-n 4 -p 3 -c alltoall -s 2K -i 4 --algorithm bruck:3 --payload watched
        --jitter 2us --seed 4 --messages'
    '-m stampede2 -n 2 -p 5 -c reduce_scatter -s 8K -i 4 --algorithm circulant
        --messages'
    '-m node64 -n 1 -p 12 -c scan -s 100K -i 3 --algorithm linear --segment 8K
        --messages'
    '-n 2 -p 3 -c alltoallw -s 1000 -i 2 --algorithm pairwise --payload moved
        --messages'
    '-n 4 -p 4 -c barrier -i 50 --algorithm dissemination:4
        --noise sync:1kHz,50us --messages'
    '-n 3 -p 3 -c gatherv -s 600 --root 4 --kill 2@1us --messages'
    '-n 3 -p 4 -s 1M -i 20 --noise uniform:100Hz,0-2ms'
    '-n 3 -p 4 -c reduce -s 256K -i 20 --noise poisson:1kHz,50us --payload moved
        --impl xylem'
)

golden()
{
    local command options

    printf '# a record of noise\n100 20\n350 5.5\n420 1\nlength 700\n' \
        >"$work/noise"
    for command in "${golden_commands[@]}"; do
        read -rd '' -a options <<<"$command"
        echo "xylem-sim ${options[*]}"
        (cd "$work" && "$sim" "${options[@]/#TRACE/trace:noise}" --no-wall) \
            2>&1 | sed '/: note: -n is an older spelling/d'
        echo
    done
}

if [ "${2-}" = --golden ]; then
    golden
    exit
fi

# ---------------------------------------------------------------------------

test_refusals()
{
    refuses '--impl best: expected xylem' --impl best
    refuses '--impl : expected xylem' --impl xylem,
    refuses '--impl elastic:0: expected' --impl elastic:0
    refuses '--impl elastic:4:x: expected' --impl elastic:4:x
    refuses '--impl names more than 8' \
        --impl xylem,xylem,xylem,xylem,xylem,xylem,xylem,xylem,xylem
    refuses '-c fold: there is no such collective' -c fold
    refuses '-s 6: a reduction sums floats' -c reduce -s 6
    refuses '-s 6: a reduction sums floats' -c exscan -s 6
    refuses '4096 such blocks are more than' -c gather -s 1G -N 128 -p 32
    refuses '--impl waitall: does bcast and reduce only, no scan' -c scan \
        --impl xylem,waitall
    refuses '--impl elastic:2: does bcast and reduce only, no barrier' \
        -c barrier --impl elastic:2
    refuses '--impl blocking: knows trees only, no algorithm circulant' \
        --algorithm circulant --impl blocking
    refuses '--size 0: expected a number of bytes' -s 0
    refuses '--size 9G: expected a number of bytes' -s 9G
    refuses '--algorithm oak: there is no such algorithm' --algorithm oak
    refuses '--algorithm chain: it is not for allgather' -c allgather \
        --algorithm chain
    refuses '--algorithm ring:3: ring takes no radix' -c allgather \
        --algorithm ring:3
    refuses '--algorithm neighbor_exchange: .* an even number' -c allgather \
        --algorithm neighbor_exchange -N 3 -p 1
    refuses '--algorithm node: this algorithm needs ranks that share memory' \
        --algorithm node -N 2 -p 4
    refuses '--algorithm node: this algorithm needs ranks that share memory' \
        --algorithm node -N 1 -p 4 --messages
    refuses '--messages and --shared-memory say the opposite' \
        --messages --shared-memory
    refuses '--window 4,2: expected N,M' --windows 4,2
    refuses '--machine nowhere: ' -m nowhere
    refuses '--nodes 0: expected a whole number' -N 0
    refuses 'are more than 1048576 ranks' -N 1048576 -p 2
    refuses '--root 8: the ranks are 0 ... 7' -N 2 -p 4 --root 8
    refuses '--noise loud: ' --noise loud
    refuses '--noise uniform:10Hz,0-20ms,rank=8: hits nobody' -N 2 -p 4 \
        --noise 'none;uniform:10Hz,0-20ms,rank=8'
    refuses '--noise trace:/nonexistent: ' --noise trace:/nonexistent
    refuses '--arrival later: ' --arrival later
    refuses '--payload some: expected none, moved or watched' --payload some
    refuses 'need too much memory' -N 64 -p 32 -s 64M --payload moved
    refuses 'need too much memory' -N 64 -p 32 -c alltoall -s 64K \
        --payload moved
    refuses '--jitter 2: expected a time' --jitter 2
    refuses '--jitter 2parsec: expected a time' --jitter 2parsec
    refuses '--kill 3: expected RANK@TIME' --kill 3
    refuses '--kill 9@1ms: expected RANK@TIME' -N 2 -p 4 --kill 9@1ms
    refuses '--trace records one run' --trace "$work/trace.json"
    refuses '--trace records one run' --trace "$work/trace.json" -j 2 \
        --impl xylem
    refuses 'elastic moves no data' --impl elastic:1 --payload moved
    refuses '--seed 4294967295 with --seeds 2' --seed 4294967295 --seeds 2
    refuses '--fast is no option' --fast
    refuses 'unexpected argument fast' fast
}

test_help()
{
    works "--help" --help
    holds "--help names the noises" 'uniform:10Hz,0-20ms'
    works "--algorithm list" --algorithm list
    holds "lists trees" '^  knomial:K .*tree:'
    holds "lists schedules" '^  scatter_ring '
    holds "lists what needs a node" '^  node .*; needs ranks that share memory'
    holds "lists leaders" '^  han:K .*; K leaders of a node, 1 \.\.\. 16, default'
    works "--algorithm list -c allgather" --algorithm list -c allgather
    holds "lists those of a collective" '^  bruck:K .*K 2 '
    works "--machine list" --machine list
    holds "lists machines" '^stampede2$'
}

test_output()
{
    local file

    works "all implementations" "${small[@]}" --csv "$work/a.csv"
    holds "names the machine" \
        '^machine cori: 2 nodes of 4 ranks .*, 8 ranks, shared memory within nodes$'
    holds "reports this computer" 'events/us'
    simulate -n 2 -p 2 -s 1K -i 1 --windows 2,4 --no-progress
    check "older spellings, with a note" test "$code:$(<"$err")" = \
        "0:xylem-sim: note: -n is an older spelling of --nodes, and other $(
        )programs mean something else by it"
    works "--no-wall" "${small[@]}" --no-wall
    if grep -q 'events/us' "$out"; then
        report "--no-wall leaves it out" no
    else
        report "--no-wall leaves it out" yes
    fi
    file=$work/a.csv
    if [ "$(wc -l <"$file")" -eq 4 ] &&
        [ "$(awk -F, '{ print NF }' "$file" | sort -u)" = 49 ]; then
        report "CSV: a line per implementation, as many cells as titles" yes
    else
        report "CSV: a line per implementation, as many cells as titles" no
    fi
    works "--per-rank" "${small[@]}" --per-rank --csv "$work/b.csv"
    if [ "$(wc -l <"$work/b.csv")" -eq 28 ]; then
        report "CSV: and per rank" yes
    else
        report "CSV: and per rank" no
    fi
    simulate "${small[@]}" --csv /nonexistent/a.csv
    if [ "$code" -eq 1 ] && grep -q 'cannot write /nonexistent' "$err"; then
        report "a CSV file that cannot be written" yes
    else
        report "a CSV file that cannot be written" no
    fi
    simulate "${small[@]}" --noise poisson:1kHz,50us --seeds 3 --no-wall
    cp "$out" "$work/one"
    works "--jobs" "${small[@]}" --noise poisson:1kHz,50us --seeds 3 \
        --no-wall --jobs 3
    equal "--jobs changes nothing in the outcome" "$work/one" "$out"
    simulate "${small[@]}" --no-wall --impl xylem
    mv "$out" "$work/named"
    simulate "${small[@]}" --no-wall --impl event
    equal "the library's older name" "$work/named" "$out"
    holds "is shown as today's" '^xylem '
    simulate "${small[@]}" --no-wall
    holds "own designs are said to be such" \
        "^waitall, blocking: xylem's own designs of what others do"
    simulate -N 1 -p 1 -s 1 -i 1 --impl xylem --no-wall --warmup 1
    holds "one of each is no plural" \
        '^machine cori: 1 node of 1 rank \(32 cores\), 1 rank$'
    holds "nor one call" '^bcast of 1 byte, .*, 1 call for warm-up'
    works "--trace" "${small[@]}" --impl xylem --trace "$work/trace.json"
    works "--trace again" "${small[@]}" --impl xylem --trace "$work/trace.json"
    echo mine >"$work/mine"
    for file in --trace --goal; do
        simulate "${small[@]}" -q --impl xylem --algorithm binary \
            $file "$work/mine"
        check "$file writes no other file over" test \
            "$code:$(<"$work/mine")" = 1:mine
    done
    if command -v jq >/dev/null; then
        if jq -e . "$work/trace.json" >/dev/null 2>&1; then
            report "the trace is JSON" yes
        else
            report "the trace is JSON" no
        fi
    fi
    if command -v gnuplot >/dev/null; then
        works "--plot" "${small[@]}" --noise periodic:1kHz,50us \
            --plot "$work/plot.png"
        if [ -s "$work/plot.png" ]; then
            report "--plot draws" yes
        else
            report "--plot draws" no
        fi
        simulate "${small[@]}" --impl xylem,blocking --per-rank --noise \
            'sync:1kHz,50us,ranks=2-4' --plot "$work/ranks.png"
        simulate -N 1 -p 8 -s 64K -i 2 --warmup 0 --plot "$work/bars.png" \
            --noise 'uniform:1kHz,0-20us;poisson:0.5kHz,20us,rank=3'
        check "nothing in pictures is cut off" python3 \
            "$here/../support/picture.py" "$work"/{ranks,bars}.png
    fi
}

# What a file of rows has stays, and is not run again.
test_resume()
{
    local noisy=("${small[@]}" --noise 'poisson:1kHz,50us' --no-wall -q
        --per-rank --seeds 3)
    local i lines file=$work/whole.csv part=$work/part.csv

    works "three seeds" "${noisy[@]}" --csv "$file"
    cp "$out" "$work/one"
    check "each run has its row, and their mean" test \
        "$(grep -c ',all,' "$file")" -eq 15
    simulate "${noisy[@]}" --csv "$file"
    check "a file that has rows is not written over" test "$code" -eq 1 -a \
        "$(grep -c 'has results of before' "$err")" -eq 1
    lines=$(wc -l <"$file")
    for i in 0 1 2 $((lines / 3)) $((lines / 2)) $((lines - 1)) "$lines"; do
        head -n "$i" "$file" >"$part"
        [ "$i" != 2 ] || printf cori,2, >>"$part"
        simulate "${noisy[@]}" --resume --csv "$part"
        equal "gone on with from line $i it reports the same" "$work/one" "$out"
        check "and has the same rows" cmp <(sort -u "$file") <(sort -u "$part")
        simulate "${noisy[@]}" --resume --jobs 3 --csv "$part"
        equal "with jobs, too" "$work/one" "$out"
    done
    # The sixth cell names the implementation.
    sed -E 's/^(([^,]*,){5})xylem,/\1event,/' "$file" >"$work/older.csv"
    cp "$work/older.csv" "$work/before.csv"
    simulate "${noisy[@]}" --resume --csv "$work/older.csv"
    equal "a file with the older name of the library is gone on with" \
        "$work/one" "$out"
    check "and has all its rows already" test \
        "$(grep -c ',event,' "$work/older.csv")" -gt 4 -a \
        "$(cmp "$work/older.csv" "$work/before.csv" 2>&1)" = ''
    works "other options" "${small[@]}" -q --no-wall --resume --csv "$part" \
        --noise 'sync:1kHz,50us' --seed 2
    works "with messages in nodes" "${small[@]}" -q --no-wall --resume \
        --messages --impl xylem --csv "$part"
    works "with windows" "${small[@]}" -q --no-wall --resume --csv "$part" \
        --window 2,4 --impl xylem
    check "take no row away" test "$(
        grep -vcxFf "$part" "$file")" -eq 0
    check "and have rows of their own" test "$(
        grep -c ',all,' "$part")" -eq $((15 + 6 + 1 + 1))
    echo a,b >"$work/other.csv"
    simulate "${noisy[@]}" --resume --csv "$work/other.csv"
    check "another file is left as it is" test \
        "$code:$(<"$work/other.csv")" = 1:a,b
    rm "$part"
    # Its rows are there while it runs.
    "$sim" "${noisy[@]}" --seeds 100000 --csv "$part" >"$out" 2>"$err" &
    until [ "0$(grep -cs ',all,' "$part")" -gt 3 ] || [ -s "$err" ]; do
        sleep 0.05
    done
    kill -s KILL $!
    wait $! 2>"$err"
    simulate "${noisy[@]}" --resume --csv "$part"
    equal "killed, and gone on with" "$work/one" "$out"
    refuses '--resume needs --csv' --resume
}

# The tree of the table is named as --algorithm and settings name it.
test_select()
{
    local -x XYLEM_VERBOSE=select

    simulate "${small[@]}" -s 1K --impl xylem --messages
    if [ "$code" -eq 0 ] &&
        grep -q 'select: bcast of .*: tree topology:4, .*(rule [0-9]* of the built-in table: simulated .*' "$err"; then
        report "XYLEM_VERBOSE=select" yes
    else
        report "XYLEM_VERBOSE=select" no
    fi
    simulate "${small[@]}" -s 1K --impl xylem --messages \
        --algorithm topology:4
    if [ "$code" -eq 0 ] &&
        grep -q 'select: bcast of .*: tree topology:4, .*(asked for by the call)' "$err"; then
        report "the same tree, asked for" yes
    else
        report "the same tree, asked for" no
    fi
    simulate "${small[@]}" -s 64K --impl xylem
    if [ "$code" -eq 0 ] &&
        grep -q 'select: bcast of .* of 2 nodes: han, leaders .*, tree .*; then ' "$err"
    then
        report "how levels go" yes
    else
        report "how levels go" no
    fi
    simulate "${small[@]}" -s 64K --impl xylem \
        --algorithm han:within_segment=32K,segment=8K,within=ucx
    if [ "$code" -eq 0 ] && grep -q \
        'select: bcast of .* knomial within nodes, .*, segments of 8192 bytes (within nodes 32768), ' "$err"; then
        report "and in which segments" yes
    else
        report "and in which segments" no
    fi
}

# Where no bytes are moved the ranks' clocks must not notice.
test_payloads()
{
    local coll mode i step=1
    works "messages of a word or less, of buffers without memory" -q --messages \
        -N 1 -p 12 -c bcast -s 64 --algorithm scatter_allgather -i 1 \
        --impl xylem
    [ "$set" = all ] || step=3
    for ((i = 0; i < ${#colls[@]}; i += step)); do
        coll=${colls[i]}
        for mode in none moved watched; do
            works "$coll, payload $mode" "${small[@]}" -c "$coll" --messages \
                --payload $mode --noise 'uniform:10kHz,0-20us' --no-wall
            cp "$out" "$work/$mode"
        done
        equal "$coll: equal times without payload" "$work/none" "$work/moved"
        equal "$coll: equal times, watched" "$work/moved" "$work/watched"
    done
}

# Every algorithm that there is, its results checked: 9 ranks, as a power of
# two, or an even number of ranks, hides much, and 6 for those that need that.
# Those that know nodes have their memory; there are no GPUs.
test_algorithms()
{
    local coll algorithm name
    for coll in "${colls[@]}"; do
        "$sim" --algorithm list -c "$coll" | sed -n 's/^  //p' >"$work/list"
        while read -r algorithm; do
            name=${algorithm%% *}
            if [[ $algorithm == *'memory of GPUs'* ]]; then
                refuses "${name%:K}.* in memory of GPUs" -c "$coll" \
                    --algorithm "${name/:K/:3}"
                continue
            fi
            # Where blocks vary it is for levels alone.
            [[ $coll:$name != @(gatherv|scatterv):node_direct ]] || continue
            local options=(-N 3 -p 3 -c "$coll" --algorithm "${name/:K/:3}")
            [[ $algorithm != *'even number'* ]] || options+=(-p 2)
            [[ $name == han* || $name == node* ]] || options+=(--messages)
            [[ $name != node* ]] || options+=(-N 1 -p 9)
            [ "$coll" = barrier ] || options+=(-s 12000)
            local order=fixed
            [[ $name != node_accumulator ]] || order=arrival
            XYLEM_REDUCE_ORDER=$order works "$coll, ${name/:K/:3}" "${options[@]}" -i 2 --impl xylem \
                --payload watched --jitter 1us
        done <"$work/list"
    done
}

# Levels in series: between nodes, and in the memory of each.
test_shared_memory()
{
    local coll mode
    for coll in bcast reduce allreduce barrier; do
        for mode in none moved watched; do
            works "$coll in shared memory, payload $mode" -N 3 -p 4 \
                -c "$coll" -s 300000 -i 3 --impl xylem --payload $mode \
                --noise 'uniform:10kHz,0-20us' --no-wall
            cp "$out" "$work/$mode"
        done
        equal "$coll in it: equal times without payload" "$work/none" \
            "$work/moved"
        equal "$coll in it: equal times, watched" "$work/moved" "$work/watched"
    done
    holds "names the shared memory" ', 12 ranks, shared memory within nodes$'
    works "no message stays in a node" -N 3 -p 4 --impl xylem --no-wall
    holds "no message stays in a node" '^implementation +switch  unexpected'
    cp "$out" "$work/default"
    works "--shared-memory" -N 3 -p 4 --impl xylem --no-wall --shared-memory
    equal "--shared-memory is the default" "$work/default" "$out"
    works "one node" -N 1 -p 4 --impl xylem
    works "--messages" -N 3 -p 4 --impl xylem --messages
    holds "names the messages" ', 12 ranks, messages within nodes$'
    holds "with --messages they stay" '^implementation +group +switch  unexpected'
}

# The largest message, without memory for it.
test_scale()
{
    works "1024 ranks, all to all" -N 32 -p 32 -c alltoall -s 64 -i 1 \
        --warmup 0 --algorithm bruck:4
    holds "names the size of a block" '^alltoall of 64 bytes per block, alg'
    works "blocks of 256 MiB" -N 2 -p 4 -c allgather -s 256M -i 1 --warmup 0
    works "2048 ranks" -N 64 -p 32 -s 64K -i 1 --warmup 0 --impl xylem
    holds "2048 ranks" ', 2048 ranks, '
    works "a message of 8 GiB" -N 2 -p 1 -s 8G --segment 64M -i 1 --warmup 0
    works "one rank" -N 1 -p 1 --impl xylem,waitall,blocking,elastic:1 -i 2
    works "more ranks than cores" -m saturn -N 1 -p 24 -s 64K -i 2
}

test_kill()
{
    local impl coll
    for impl in xylem waitall blocking; do
        works "$impl: a rank dies" -N 2 -p 4 --impl $impl --kill 3@0.2ms \
            --messages --payload watched --no-wall
        # What the root has sent it may be done with before.
        holds "$impl: the others end" "^$impl +[01] +[67] "
    done
    works "a rank dies in shared memory" -N 2 -p 4 --impl xylem --kill 3@50us \
        --payload watched --no-wall
    holds "the others end" "^xylem +[01] +[67] "
    for coll in allgather alltoallv reduce_scatter; do
        works "$coll: a rank dies" -N 2 -p 4 -c $coll -s 64K --kill 3@1us \
            --messages --payload watched --no-wall
        holds "$coll: the others end" "^xylem +0 +7 "
    done
}

test_elasticity()
{
    works "--elasticity" --elasticity --seeds 1
    if [ "$(grep -cE ' yes ' "$out")" -eq 48 ]; then
        report "48 cells equal the formula" yes
    else
        report "48 cells equal the formula" no
    fi
}

test_seeds()
{
    local noise=(--noise 'uniform:1kHz,0-100us' --no-wall)

    golden >"$work/golden"
    cp "$work/golden" "$out"
    : >"$err"
    code=0
    equal "golden.txt" "$here/golden.txt" "$work/golden"
    works "seed 5" "${small[@]}" "${noise[@]}" --seed 5
    cp "$out" "$work/first"
    works "seed 5 again" "${small[@]}" "${noise[@]}" --seed 5
    equal "equal seeds give equal bytes" "$work/first" "$out"
    works "seed 6" "${small[@]}" "${noise[@]}" --seed 6
    if tail -n +3 "$work/first" | cmp -s - <(tail -n +3 "$out"); then
        report "another seed gives other numbers" no
    else
        report "another seed gives other numbers" yes
    fi
}

test_refusals
test_help
test_output
test_resume
test_select
test_payloads
test_algorithms
test_shared_memory
test_scale
test_kill
test_elasticity
test_seeds
finish
