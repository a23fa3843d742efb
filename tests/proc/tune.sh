#!/bin/bash
# xylem-tune end to end: a table made on simulated ranks, and one made by ranks
# of a job, are what programs then choose by; a search that was broken off goes
# on; what is no table is said so, and done without. Prints TAP. Arguments:
# xylem-tune, xylem-sim, xylem-run and xylem-bench.
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=tests/support/tap.sh
. "$tests/support/tap.sh"
settings_forget
tune=$(realpath "$1") sim=$(realpath "$2") run=$(realpath "$3")
bench=$(realpath "$4")
table=$work/table.json

simulated=(-m stampede2 -N '2,4' -p 4 -q)
attempt "$tune" "${simulated[@]}" -c bcast,allreduce --sizes 1K,64K -o "$table"
check "tunes on simulated ranks" test "$code" -eq 0
check "says what the search cost" grep -q "% of the .* s of an exhaustive" "$out"
check "says how far off its models are" grep -q \
    "^cross-check: plans in levels took .* % than by tasks of their levels" "$out"
check "writes both collectives" grep -q '"for": "allreduce"' "$table"

chosen="$sim -m stampede2 -N 4 -p 4 -i 1 --impl xylem -c bcast"
XYLEM_VERBOSE=select XYLEM_TUNING=$table attempt $chosen -s 64K
check "programs choose by it" \
    grep -q "65536 bytes.*rule [0-9]* of $table: simulated on stampede2" "$err"
XYLEM_VERBOSE=select XYLEM_TUNING=$table attempt $chosen -p 16 -s 64K
check "but not with more ranks on each node" \
    grep -q "65536 bytes.*of the built-in table" "$err"

cp "$table" "$work/first"
lines=$(wc -l <"$table.times")
attempt "$tune" "${simulated[@]}" -c bcast,allreduce --sizes 1K,64K -o "$table"
check "measures nothing twice" grep -q "^0 times measured" "$out"
check "and finds the same" cmp -s "$table" "$work/first"
sed -i "$((lines / 2)),\$d" "$table.times"
attempt "$tune" "${simulated[@]}" -c bcast,allreduce --sizes 1K,64K -o "$table"
check "goes on where it was broken off" cmp -s "$table" "$work/first"

# What was measured and found before stays.
cp "$table" "$work/kept"
cp "$table.times" "$work/kept.times"
attempt "$tune" "${simulated[@]}" -c reduce --sizes 1K --all --heuristics \
    -o "$work/kept"
check "another collective's rules come to those of before" test "$code" -eq 0 \
    -a "$(grep -c '"for": "bcast"' "$work/kept")" -eq \
    "$(grep -c '"for": "bcast"' "$work/first")" -a \
    "$(grep -c '"for": "reduce"' "$work/kept")" -ge 1
sed -i '1s/.*/# xylem-tune 2, times of another machine/' "$work/kept.times"
cp "$work/kept.times" "$work/before.times"
attempt "$tune" "${simulated[@]}" -c bcast --sizes 1K --heuristics -o "$work/kept"
check "times of another machine stay, and are said" test "$code:$(
    grep -vcxFf "$work/kept.times" "$work/before.times"):$(
    grep -c 'which stay' "$err")" = 0:0:1
attempt "$tune" "${simulated[@]}" -c bcast --sizes 1K --heuristics -o "$work/kept"
check "and those of here are found behind them" grep -q '^0 times' "$out"
echo mine >"$work/words"
cp "$work/words" "$work/other"
attempt "$tune" "${simulated[@]}" -c bcast --sizes 1K --heuristics -o "$work/other"
check "what is no table is not written over" test "$code:$(<"$work/other")" = \
    1:mine
cp "$work/words" "$work/new.times"
attempt "$tune" "${simulated[@]}" -c bcast --sizes 1K --heuristics -o "$work/new"
check "nor what is no file of times" test "$code:$(<"$work/new.times")" = 1:mine
attempt "$tune" "${simulated[@]}" -c bcast --sizes 1K --heuristics \
    -o "$work/numbers" --csv "$work/other"
check "nor what has other columns" test "$code:$(<"$work/other")" = 1:mine

attempt "$tune" "${simulated[@]}" -c bcast --sizes 1K --minutes 0.001 --exhaustive \
    -o "$work/short"
check "ends in time" test "$code" -eq 0

attempt "$tune" "${simulated[@]}" -c bcast --sizes 64,64K --exhaustive \
    --minutes 0.001 --all -o "$work/hasty"
check "a rule is of a plan that was measured" \
    test "$(grep -c '"use"' "$work/hasty")" -le "$(wc -l <"$work/hasty.times")"
attempt "$tune" "${simulated[@]}" -c bcast --sizes 16K,64K --heuristics --all -o "$work/ends"
check "checks what lies between sizes" grep -q "^cross-check: of [12] middles" "$out"
attempt "$tune" "${simulated[@]}" -c bcast --sizes 64K --all \
    --arrivals synchronised,late -o "$work/late"
check "tunes for a rank that is late" grep -q '"arrivals": "late"' "$work/late"
XYLEM_VERBOSE=select XYLEM_ARRIVALS=late XYLEM_TUNING=$work/late \
    attempt $chosen -s 64K
check "whose rules hold where a setting says so" \
    grep -q "65536 bytes.*rule [01] of $work/late: simulated on stampede2" "$err"
XYLEM_VERBOSE=select XYLEM_TUNING=$work/late attempt $chosen -s 64K
check "and nowhere else" \
    grep -q "65536 bytes.*rule [23] of $work/late" "$err"
sed 's/^{/&"arrivals": "late",/' "$work/late" >"$work/seen"
XYLEM_VERBOSE=select XYLEM_TUNING=$work/seen attempt $chosen -s 64K
check "or where the table says so" \
    grep -q "65536 bytes.*rule [01] of $work/seen" "$err"
attempt "$tune" "${simulated[@]}" -c bcast --arrivals never
check "refuses arrivals that there are not" test "$code" -eq 2
attempt "$tune" -q -c bcast --sizes 64 -o "$work/alone"
check "one rank has nothing to tune" test "$code" -ne 0 -a ! -e "$work/alone"
attempt "$run" -n 2 "$tune" -q -c bcast --sizes 64 -o "$work/no/such/folder"
check "says where it cannot write, on all ranks" \
    grep -q "such/folder.times" "$err"

# What was measured is far from what is.
pairs='"us": \[(\[[^]]*\](, )?)*\]'
sed -E "s/$pairs/\"us\": [[\"64K\", 0.5]]/" "$work/late" >"$work/wrong"
XYLEM_VERBOSE=select XYLEM_TUNING=$work/late attempt $chosen -s 64K -i 40
check "a plan that takes what was measured is not talked of" \
    test "$(grep -c "calls took at least" "$err")" -eq 0
XYLEM_VERBOSE=select XYLEM_TUNING=$work/wrong attempt $chosen -s 64K -i 40
check "one that is far from it is" \
    grep -q "bcast of 65536 bytes.*calls took at least.*of $work/wrong" "$err"

# A long run learns, on all ranks in the same calls.
XYLEM_TUNING_LEARN=$work/learnt attempt "$run" -n 2 --nodes 2 "$bench" --check \
    -c bcast,allreduce --sizes 16K -i 600
check "a run that learns ends, and is right" \
    test "$code:$(grep -c " 0$" "$out")" = 0:2
check "and tries other plans" \
    test "$(grep -v " auto " "$work/learnt.1" | grep -c "^allreduce")" -ge 1
XYLEM_TUNING_LEARN=$work/brief attempt "$run" -n 2 "$bench" --check \
    -c bcast,allreduce --sizes 8 -i 600
check "also in short calls on one node" \
    test "$code:$(grep -c " 0$" "$out")" = 0:2 -a \
    "$(grep -v " auto " "$work/brief.1" | grep -c "^allreduce")" -ge 1
attempt "$tune" -o "$work/taught" learn "$work"/learnt.?
check "what it has learnt is said" grep -q "^allreduce of 16384 bytes.* us, by " "$out"
attempt "$tune" check "$work/taught"
check "and becomes a table" test "$code" -eq 0
attempt "$tune" -o "$work/taught" learn "$work/taught"
check "but not what is no record of a run" test "$code" -ne 0

table=$work/job.json
attempt "$run" -n 4 --nodes 2 "$tune" -q -c bcast --sizes 4K,64K --heuristics \
    --seconds 0.001 --all -o "$table"
check "tunes on ranks of a job" test "$code" -eq 0
check "keeps what tasks take on each leader, within nodes and between" test "$(
    awk '$2 * $3 == 2 && $12 > 0 && $13 > 0 && NF == 13 { n += !seen[$2]++ } END { print n }' \
        "$table.times")" -eq 2
XYLEM_VERBOSE=select XYLEM_TUNING=$table attempt "$run" -n 4 --nodes 2 "$bench" \
    -c bcast --sizes 64K -i 2
check "programs choose by that" \
    grep -q "65536 bytes.*rule [0-9]* of $table: measured by xylem-tune" "$err"

# Calls that name no plan learn others, persistent requests do not.
XYLEM_TUNING_LEARN=$work/plain attempt "$run" -n 2 "$tune" -q -c allreduce \
    --sizes 8 --plans node_direct --seconds 0.1 -o "$work/plainly"
check "times the library's choice by calls as programs make them" \
    test "$(grep -v " auto \| node_direct " "$work/plain.0" | grep -c "^allreduce 1 2 8 ")" -ge 1

attempt "$tune" show "$work/first"
check "shows a table" grep -q "stampede2\|tuned" "$out"
attempt "$tune" check "$table"
check "says for which machine a table is" grep -q "^[0-9]* rules*, 0 limits, for .* x " "$out"
attempt "$tune" diff "$work/first" "$work/first"
check "a table differs in nothing from itself" test "$code" -eq 0 -a ! -s "$out"
attempt "$tune" diff "$work/first" "$work/short"
check "shows what differs" grep -q "^- " "$out"
attempt "$tune" merge "$work/first" "$work/short"
cp "$out" "$work/merged"
attempt "$tune" check "$work/merged"
check "merges tables to a table" test "$code" -eq 0
attempt "$tune" merge "$work/first" "$work/late"
check "a rule for some arrivals is no other one's" \
    test "$(grep -c '"arrivals": "late"' "$out")" -ge 1
attempt "$tune" show "$work/late"
check "shows for which arrivals a rule is" grep -q "arrivals" "$out"
attempt "$tune" diff "$work/first"
check "says how many files it takes" grep -q "diff: takes two files, not 1" "$err"
attempt "$tune" check --all "$work/first"
check "says that files have no options" grep -q "takes no options" "$err"
echo '{"rules": []}' >"$work/none"
attempt "$tune" plot "$work/none"
check "says that there is nothing to plot" grep -q 'no rule of .*/none says' "$err"
if command -v gnuplot >/dev/null; then
    cd "$work" || exit
    attempt "$tune" plot "$work/first" "$work/late"
    check "plots two tables" test "$code" -eq 0 -a -s xylem-tuning.png
    check "of which nothing is cut off" python3 "$tests/support/picture.py" \
        xylem-tuning.png
    cd "$OLDPWD" || exit
fi
attempt "$tune" merge "$work/none" "$work/none"
cp "$out" "$work/merged"
attempt "$tune" check "$work/merged"
check "also where none has a rule" test "$code" -eq 0
attempt "$tune" merge "$work/first" "$table"
check "does not merge those of different machines" test "$code" -ne 0
attempt "$tune" show "$0"
check "says what is no table" grep -q "line 1" "$err"

# Beside the program, in the user's folder, and not on another machine.
here=(env -u XYLEM_CONF -u XDG_CONFIG_HOME XYLEM_VERBOSE=select "$run" -n 4 --nodes 2 "$bench" -c bcast
    --sizes 64K -i 2)
mkdir -p "$work/job" "$work/home/.config"
cp "$table" "$work/job/xylem-tuning.json"
cp "$table" "$work/home/.config/xylem-tuning.json"
cd "$work/job" || exit
HOME=$work attempt "${here[@]}"
check "a table in the job's folder is found" \
    grep -q "rule [0-9]* of xylem-tuning.json" "$err"
XYLEM_TUNING=none attempt "${here[@]}"
check "and can be passed over" grep -q "of the built-in table" "$err"
cd "$work" || exit
HOME=$work/home attempt "${here[@]}"
check "one in the user's folder is found" \
    grep -q "rule [0-9]* of $work/home/.config/xylem-tuning.json" "$err"
sed -i 's/"machine": "/&no /' "$work/home/.config/xylem-tuning.json"
HOME=$work/home attempt "${here[@]}"
check "but not one of another machine" \
    grep -q "is not used.*machine" "$err"

# Rank 0 lives where no table is.
cat >"$work/apart" <<'END'
#!/bin/sh
[ "$PMIX_RANK" != 0 ] || cd /
exec "$@"
END
chmod +x "$work/apart"
cd "$work/job" || exit
HOME=$work attempt env -u XYLEM_CONF -u XDG_CONFIG_HOME XYLEM_VERBOSE=select \
    "$run" -n 4 --nodes 2 "$work/apart" "$bench" -c bcast --sizes 64K -i 2
check "ranks that find different tables do without" \
    grep -q "have found different tables" "$err"
check "and go on" grep -q "of the built-in table" "$err"
cd "$work" || exit

for text in '' '{"rules": [' '{"rules": 3}' "$(head -c 300 "$work/first")"; do
    printf '%s' "$text" >"$work/broken"
    XYLEM_TUNING=$work/broken attempt $chosen -s 64K
    check "does without what is no table: ${#text} bytes" \
        test "$code" -eq 0 -a -s "$err"
done

attempt "$tune" -m no-such-machine -o "$work/none"
check "refuses a machine that it does not know" test "$code" -ne 0
attempt "$tune" -m stampede2 --sizes 64K,1K
check "refuses sizes that fall" test "$code" -eq 2
finish
