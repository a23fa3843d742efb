#!/bin/bash
# xylem-noise with xylem's own implementations: lists of collectives, sizes and
# noise, the file that it writes after each run and goes on with, pictures.
# And the noise that is preloaded into any program. Arguments: xylem-noise,
# libxylem-noise.so, xylem-run.
noise=$1 preload=$2 run=$3
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=tests/support/tap.sh
. "$tests/support/tap.sh"

campaign()
{
    attempt "$noise" -n 2 --impl xylem,waitall --seconds 0.01 --rounds 1 \
        --warmup 1 "$@"
}

rows() # how many rows of the file match
{
    grep -c "$1" "$work/csv"
}

refuses()
{
    attempt "$noise" -n 2 "${@:2}"
    check "refuses ${*:2}" grep -q -e "$1" "$err"
}

campaign -c bcast,allgather,barrier -s 1K,64K --max-ms 0,5 --check \
    --csv "$work/csv"
check "lists are measured" test "$code" -eq 0
check "each case has its table" test "$(
    grep -c '^[a-z]*\( of .*\)\?, 2 ranks, ' "$out")" -eq 5
check "one round is said to be one" test "$(
    grep -c ', algorithm auto, 1 round$' "$out")" -eq 5
check "each row has a floor" test "$(
    grep -cE '^xylem +[0-9.]+ +[0-9.]+ +[-+][0-9.]+% +[0-9.]+$' "$out")" -eq 5
check "the room of what runs ahead is told" test "$(
    grep -c '^room of xylem: 512 MiB, ' "$out")" -eq 2
check "own designs are said to be such" grep -q \
    "^waitall: xylem's own designs of what others do" "$out"
check "one round is no rounds" test \
    "$(grep -c ', 1 round$' "$out")" -eq 5
check "waitall has broadcasts only" test "$(grep -c '^waitall ' "$out")" -eq 2
check "the file has rounds and medians" test "$(rows ^noise,)" -eq 28

# Going on with a file: what it has is not measured again.
sed -i 's/^\(noise,xylem,bcast,1024,2,1,none,all,\)[0-9.]*/\11234567.000/
    /^noise,xylem,barrier/d' "$work/csv"
campaign -c bcast,allgather,barrier -s 1K,64K --max-ms 0,5 --rounds 2 \
    --resume --csv "$work/csv"
check "what is there is kept" test "$(rows 1,none,all,1234567.000,)" -eq 1
check "what is not there is measured" test "$(rows ,2,2,)" -eq 14
check "also what the first round lacked" test "$(rows barrier,0,2,1,)" -eq 2

# As does a file of before, which had another name of the library.
sed 's/^noise,xylem,/noise,event,/' "$work/csv" >"$work/older"
cp "$work/older" "$work/before"
attempt "$noise" -n 2 --impl event,waitall --seconds 0.01 --rounds 2 --warmup 1 \
    -c bcast,allgather,barrier -s 1K,64K --max-ms 0,5 --resume --csv "$work/older"
check "a file with the older name of the library is gone on with" test \
    "$code" -eq 0 -a "$(grep -c '^xylem ' "$out")" -eq 5
check "and has all its rows already" cmp "$work/older" "$work/before"

# No way loses a row: with other options the file has what it had, and more.
cp "$work/csv" "$work/before"
is_kept()
{
    test "$(grep -vcxFf "$work/csv" "$work/before")" -eq 0
}
campaign -c bcast -s 1K --max-ms 0,5 --csv "$work/csv"
check "rows of before are not written over" test "$code" -eq 1 -a \
    "$(grep -c 'has results of before' "$err")" -eq 1
check "and stay" cmp "$work/csv" "$work/before"
campaign -c bcast -s 1K --max-ms 0,2 --resume --csv "$work/csv"
check "with other noise they stay" is_kept
campaign -c bcast -s 4K --max-ms 0,5 --resume --csv "$work/csv"
check "with other sizes" is_kept
campaign -n 3 -c bcast -s 1K --max-ms 0,5 --resume --csv "$work/csv"
check "with other ranks" is_kept
campaign -c bcast -s 1K --max-ms 0,5 --resume --one-rank 1 --csv "$work/csv"
check "with another experiment" is_kept
cp "$work/csv" "$work/before"
campaign -c bcast -s 1K --max-ms 0,5 --mode persistent --resume \
    --csv "$work/csv"
check "calls of another kind are measured for themselves" test "$(
    rows '1024,2,1,.*,persistent,')" -eq 2
XYLEM_NOISE_BUDGET=64M campaign -c bcast -s 1K --max-ms 0,5 --resume \
    --csv "$work/csv"
check "so are those of other settings" test "$(
    rows '1024,2,1,.*[, ]XYLEM_NOISE_BUDGET=64M')" -eq 4
campaign -c bcast -s 1K --max-ms 0,5 --mode persistent --resume \
    --csv "$work/csv"
check "and all stay" is_kept
printf 'noise,xylem,bcast,10' >>"$work/csv"
campaign -c bcast -s 1K --max-ms 0,5 --resume --csv "$work/csv"
check "a row that was cut off goes, and no other" test \
    "$code:$(tail -c 1 "$work/csv" | wc -l):$(rows 'bcast,10$')" = 0:1:0
check "which is said" grep -q 'cut off' "$err"
check "those before it stay" is_kept

# What is not its own it leaves as it is.
echo some,words >"$work/other"
cp "$work/other" "$work/words"
campaign --resume --csv "$work/other"
check "another file is refused" test "$code" -eq 1
campaign --csv "$work/other"
check "in any case" cmp "$work/other" "$work/words"
cp "$work/words" "$work/new.json"
campaign --csv "$work/new"
check "so is another file beside it" test "$code" -eq 1
check "which stays" cmp "$work/new.json" "$work/words"
"$run" -n 2 "$(dirname "$noise")/xylem-bench" -c bcast --sizes 4K -i 5 \
    --noise none --raw "$work/other" >"$out" 2>"$err"
check "calls are not written over it" cmp "$work/other" "$work/words"
for _ in 1 2; do
    attempt "$run" -n 2 "$(dirname "$noise")/xylem-bench" -c bcast --sizes 4K,8K \
        -i 5 --csv "$work/measured"
done
check "xylem-bench adds to its own" test "$(
    grep -c '^bcast,' "$work/measured")" -eq 4
attempt "$run" -n 2 "$(dirname "$noise")/xylem-bench" -c bcast --sizes 4K -i 5 \
    --csv "$work/other"
check "and to no other file" test "$code" -ne 0
check "which it leaves as it is" cmp "$work/other" "$work/words"

# Killed at some moment: the file has whole rows, and is gone on with.
rm "$work/csv"
# In a shell of its own, which would tell of it.
setsid bash -c '"$@"' - "$noise" -n 2 --impl xylem,local --seconds 0.01 -s 1K \
    --rounds 99 --max-ms 0,5 --csv "$work/csv" >"$out" 2>"$err" &
end=$((SECONDS + bound))
until grep -qs ',[0-9]*,none,all,' "$work/csv" || ((SECONDS > end)); do
    sleep 0.05
done
kill -s KILL -- -$! 2>"$err"
wait $! 2>"$err"
kept=$(rows ',[0-9]*,none,all,')
campaign -s 1K --max-ms 0,5 --resume --csv "$work/csv"
check "after a kill it goes on" test "$code" -eq 0 -a "$kept" -gt 0

# Killed at any moment: what was measured stays as it was, what was not is
# measured, and nothing is measured twice.
again()
{
    timeout -s KILL "${1:-300}" bash -c '"$@"' - "$noise" -n 2 \
        --impl xylem,waitall -c bcast,allgather --seconds 0.01 -s 1K,4K \
        --rounds 3 --max-ms 0,5 --csv "$work/killed" --raw "$work/raw" \
        --resume >"$out" 2>"$err"
}

is_complete()
{
    local cells='^noise,[a-z]*,[a-z]*,[0-9]*,2,[1-3],'
    # The file may not be there yet.
    grep "$cells" "$work/killed" >"$work/before" 2>"$err"
    again || return 1
    grep "$cells" "$work/killed" >"$work/after"
    cp "$out" "$work/report"
    test "$(grep -vcxFf "$work/after" "$work/before")" -eq 0 -a \
        "$(grep -c . "$work/after")" -eq 36
}

rm -rf "$work/killed" "$work/raw"
for moment in "0.$((RANDOM % 10))" "1.$((RANDOM % 10))"; do
    { again "$moment" & wait $!; } 2>"$err"
done
check "killed at some moments it becomes complete" is_complete
check "and leaves no part of a file" test -z "$(
    find "$work" -name '*.part')"
cp "$work/report" "$work/first"
check "with all its calls" test "$(
    cut -d, -f1-2 "$work/raw/xylem-3.csv" | sort -u | grep -c .)" -eq 5 -a \
    "$(find "$work/raw" -name '*.csv' | grep -c .)" -ge 6
is_the_same()
{
    is_complete && cmp "$work/first" "$work/report"
}
check "and the same report, again and again" is_the_same
check "the manifest has all its sessions" test \
    "$(grep -c '"begin": ' "$work/killed.json")" -ge 2 -a \
    "$(grep -c '"cores": "' "$work/killed.json")" -ge 2

# A rank whose clock is a thousand seconds ahead, as another node's may be.
cat >"$work/ahead" <<'EOF'
[ "$PMIX_RANK" != 1 ] || exec unshare --time --fork --monotonic 1000 "$@"
exec "$@"
EOF
if unshare --time --fork --monotonic 1000 true 2>"$err"; then
    attempt "$run" -n 2 sh "$work/ahead" "$(dirname "$noise")/xylem-bench" \
        -c bcast --sizes 4K -i 50 --noise sync:100Hz,10us --raw "$work/calls"
    # shellcheck disable=SC2016 # of awk
    check "clocks are compared, with the error" awk -F '[ =]' '
        /^xylem-result rank rank=1/ {
            apart = $10 - 1e9
            good = (apart < 0 ? -apart : apart) <= $12
        }
        END { exit !good }' "$out"
    # shellcheck disable=SC2016 # of awk
    check "calls begin by one of them" awk -F , '
        NR > 1 && ($6 < -1e8 || $6 > 1e8) { bad = 1 } END { exit bad }
        ' "$work/calls"
else
    skip "clocks are compared, with the error" "no namespaces of time"
    skip "calls begin by one of them" "no namespaces of time"
fi

campaign -c scan -s 4K --noise 'poisson:100Hz,1ms;sync:10Hz,2ms' --consume
check "noise of other kinds" grep -q ' poisson:100Hz,1ms .* sync:10Hz,2ms ' "$out"
campaign -c scan -s 4K --noise 'none;sync:10Hz,2ms;sync:10Hz,2ms;none' \
    --csv "$work/twice"
check "noise that is named twice is measured once" test "$code" -eq 0 -a \
    "$(grep -cE '^xylem +[0-9.]+ +[0-9.]+ +[-+][0-9.]+% +[0-9.]+$' "$out")" \
    -eq 1 -a "$(grep -c '^noise,xylem,scan,4096,2,1,' "$work/twice")" -eq 2
campaign -c bcast,allreduce,barrier -s 4K --max-ms 0,5 --check \
    --mode nonblocking --under-way 4 --launcher "$run  -n {n}"
check "several calls at once, by a launcher that is given" test "$code" -eq 0 \
    -a "$(grep -c '^xylem ' "$out")" -eq 3
check "waitall only blocks" grep -q 'waitall is left out' "$err"
campaign -c reduce -s 4K --max-ms 0,5 --check --mode persistent --under-way 3
check "the same with persistent ones" test "$code" -eq 0
if command -v gnuplot >"$out"; then
    campaign -c bcast,reduce -s 4K --max-ms 0,5 --one-rank 1 \
        --plot "$work/plot.png"
    check "pictures of each case" test -s "$work/plot-bcast-4096.png" -a \
        -s "$work/plot-reduce-4096-one-rank.png"
    check "which are whole" python3 "$tests/support/picture.py" \
        "$work/plot-bcast-4096.png" "$work/plot-reduce-4096-one-rank.png"
    campaign -c bcast,reduce -s 4K --max-ms 0,5 --plot "$work/plot.png"
    check "its own pictures are drawn again" test "$code" -eq 0
    echo mine >"$work/plot-reduce-4096.png"
    campaign -c bcast,reduce -s 4K --max-ms 0,5 --plot "$work/plot.png"
    check "others are not, and before the runs that is said" test "$code:$(
        <"$work/plot-reduce-4096.png"):$(grep -c '^xylem ' "$out")" = 1:mine:0
else
    skip "pictures of each case" "there is no gnuplot"
    skip "which are whole" "there is no gnuplot"
    skip "its own pictures are drawn again" "there is no gnuplot"
    skip "others are not, and before the runs that is said" \
        "there is no gnuplot"
fi

# preloaded SPEC COMMAND...
preloaded()
{
    rm -f "$work/report"
    attempt env NOISE_SPEC="$1" NOISE_REPORT="$work/report" "${@:2}"
}

if nm -D "$preload" | grep -q ' __[at]san_'; then
    skip "noise in any program" "sanitizers want to come first"
else
    preloaded periodic:20Hz,1ms "$run" -n 2 env LD_PRELOAD="$preload" sleep 1
    check "any program can be held up" test "$(
        grep -cE '^rank=[01] .* bursts=[1-9][0-9]* ' "$work/report")" -eq 2
    preloaded 'periodic:20Hz,1ms,rank=1' "$run" -n 2 env LD_PRELOAD="$preload" \
        sleep 1
    check "or one rank of it" grep -qE '^rank=1 .* bursts=[1-9]' "$work/report"
    check "and not the others" grep -q '^rank=0 .* bursts=0 ' "$work/report"
    preloaded periodic:20Hz,1ms "$run" -n 2 env NOISE_BY=thread \
        NOISE_LOG="$work/log" LD_PRELOAD="$preload" sleep 1
    check "or by a thread" test "$(
        grep -cE '^rank=[01] .* by=thread.* bursts=[1-9]' "$work/report")" -eq 2
    attempt "$noise" compare "$work/log.0" "$work/log.0"
    check "with a record of what was injected" test "$code" -eq 0
    preloaded often "$run" -n 2 env LD_PRELOAD="$preload" echo ran
    check "wrong noise is told once" test "$code" -eq 0 -a "$(
        grep -c 'NOISE_SPEC=often' "$err")" -eq 1
    preloaded periodic:20Hz,1ms env LD_PRELOAD="$preload" sleep 0.1
    check "a process without a rank is left alone" test ! -e "$work/report"
fi

# What ranks did, and what they were given, in one picture.
traced()
{
    attempt env XYLEM_TRACE="$work/trace" "$run" -n 2 \
        "$(dirname "$noise")/xylem-bench" -c allreduce --sizes 64K -i 20 "$@"
    ((code == 0)) || return 1
    attempt "$(dirname "$noise")/xylem-report" --trace "$work/all.json" \
        "$work"/trace.[01] "${logs[@]}"
    ((code == 0)) || return 1
    tr '}' '\n' <"$work/all.json" >"$work/events"
    # Each rank has begins, ends, waits and segments; whatever begins ends.
    test "$(grep -c '"b".*"allreduce"' "$work/events")" -eq \
        "$(grep -c '"e".*"allreduce"' "$work/events")" -a \
        "$(grep -c '"b".*"allreduce"' "$work/events")" -ge 40 -a \
        "$(grep -c '"wait"' "$work/events")" -ge 40 -a \
        "$(grep -c '"segment"' "$work/events")" -ge 40
}
has_noise()
{
    grep -q '"noise","pid":1,"tid":2' "$work/events"
}
logs=()
check "ranks are traced" traced --mode nonblocking
check "in any mode" traced --mode persistent
if [[ -e $work/log.1 ]]; then
    logs=("$work"/log.[01])
    check "with their noise" traced --mode nonblocking
    check "in their rows" has_noise
else
    skip "with their noise" "there is no record of it"
    skip "in their rows" "there is no record of it"
fi
# Short calls that do not wait are told one of so many, all that do are told.
brief()
{
    attempt env XYLEM_TRACE="$work/brief" "$1" "$run" -n 2 \
        "$(dirname "$noise")/xylem-bench" -c barrier -i 40000 --back-to-back \
        --warmup 0
    ((code == 0)) || return 1
    tr '}' '\n' <"$work/brief.0" >"$work/events"
    told=$(grep -c '"b".*"barrier"' "$work/events")
}
check "of short calls many are told at first" brief XYLEM_TRACE_EVERY=1000000
some=$told
check "and all where that is asked for" brief XYLEM_TRACE_EVERY=1
echo "# told: $some and $told"
check "which are more" test "$some" -ge 16000 -a "$told" -ge 40000 -a \
    "$some" -le "$told"
echo '{"traceEvents":[]}' >"$work/one"
attempt "$(dirname "$noise")/xylem-report" --trace "$work/all.json" "$work/one"
check "what is no trace is refused" test "$code" -eq 1
cp "$work/trace.0" "$work/before"
attempt "$(dirname "$noise")/xylem-report" --trace "$work/trace.0" \
    "$work"/trace.[01]
check "a record is not written over" test "$code" -eq 1
check "and stays" cmp "$work/trace.0" "$work/before"
attempt "$(dirname "$noise")/xylem-report" --trace "$work/all.json" \
    "$work"/trace.[01]
check "what it has put together before is" test "$code" -eq 0

# A record of this machine, and what two records have in common.
attempt "$noise" record --seconds 0.1 -o "$work/record"
check "this machine's noise is recorded" test "$code" -eq 0 -a \
    "$(cat "$work"/record/core-*.txt | grep -c '^length ')" -eq \
    "$(grep -c '^[0-9]' "$work/record/statistics.csv")"
check "by work and by time" test "$(
    cut -d, -f1 "$work/record/quanta.csv" | sort -u | tr '\n' ' ')" = \
    "ftq fwq method "
cp -r "$work/record" "$work/before.record"
attempt "$noise" record --seconds 0.01 -o "$work/record"
check "another record does not take its place" test "$code" -eq 1
check "of which nothing changes" diff -r "$work/record" "$work/before.record"
for burst in 10 20 30 40 50 60 70 80 90 100; do
    echo "$((burst * 1000)) $burst"
done >"$work/one"
sed 's/$/.5/' "$work/one" >"$work/near"
sed 's/$/0/' "$work/one" >"$work/far"
attempt "$noise" compare --distance 0.2 "$work/one" "$work/near"
check "records may be compared" test "$code" -eq 0
attempt "$noise" compare --distance 0.01 "$work/one" "$work/near"
check "and found apart" test "$code" -eq 1
attempt "$noise" compare "$work/one" "$work/far"
check "by how much time they take" test "$code" -eq 1

# Two campaigns: of one to itself all intervals overlap.
attempt "$noise" compare "$work/killed" "$work/killed"
check "campaigns may be compared" test "$code" -eq 0 -a \
    "$(head -n 1 "$out")" = \
    "12 cells in both, 0 in one only; intervals overlap in 12: 100.0 %"
sed 's/\(,median,none,all,\)[^,]*,\([^,]*,[^,]*\),[^,]*,[^,]*/\19e9,\2,8e9,9e9/' \
    "$work/killed" >"$work/slower"
attempt "$noise" compare "$work/killed" "$work/slower"
check "and found apart in half of the cells" test "$code" -eq 1 -a \
    "$(grep -c '^apart: ' "$out")" -eq 6
attempt "$noise" compare --cells 50 "$work/killed" "$work/slower"
check "which may be enough" test "$code" -eq 0
attempt "$noise" compare "$work/killed" "$work/one"
check "a campaign and a record are not compared" grep -q 'not of a campaign' \
    "$err"

# What is replayed is as what was recorded; on a machine that nobody else uses.
replayed()
{
    local try core
    core=$(sed -n 's/^Cpus_allowed_list:\s*\([0-9]*\).*/\1/p' /proc/self/status)
    rm -rf "$work/record"
    "$noise" record --cores "$core" --seconds 3 -o "$work/record" >"$out" ||
        return 1
    for try in 1 2 3; do
        rm -rf "$work/again"
        PMIX_RANK=0 NOISE_SPEC="trace:$work/record/core-$core.txt" \
            NOISE_BY="$1" NOISE_LOG="$work/log" LD_PRELOAD="$preload" \
            "$noise" record --cores "$core" --seconds 3 -o "$work/again" >"$out"
        attempt "$noise" compare "$work/record/core-$core.txt" "$work/log.0"
        ((code != 0)) || return 0
        echo "# try $try: $(tr '\n' ' ' <"$out")"
    done
    return 1
}

for by in signal thread; do
    if [[ ${CHECK_DEPTH:-0} -eq 0 ]] || nm -D "$preload" | grep -q ' __[at]san_'
    then
        skip "replayed by a $by" "takes a quiet machine"
    else
        check "replayed by a $by" replayed "$by"
    fi
done

refuses 'no such collective' -c bcast,bcats
refuses 'expected 1 ... 16 sizes' -s 4K,none
refuses '--noise x:' --noise 'uniform:10Hz,0-1ms;x'
refuses 'say the same' --noise none --max-ms 0
refuses '--resume needs --csv' --resume
refuses '--under-way takes' --under-way 2
refuses 'floats' -c bcast,reduce -s 6
finish
