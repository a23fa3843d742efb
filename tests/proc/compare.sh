#!/bin/bash
# bench/compare.sh and bench/peers.sh, with stubs in place of programs and MPI
# libraries: what is started, what its lines become in the table, what is said
# when something is missing. No network. Arguments: the source folder.
source=$1
# shellcheck source=tests/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"

# stub PATH US [TEXT]: takes that long for each collective that it is asked for;
# the text goes to standard error, its own command line to $work/started.
stub()
{
    mkdir -p "$(dirname "$1")"
    cat >"$1" <<END
#!/bin/bash
echo "\$0 \$*" >>"$work/started"
echo "${3-}" >&2
while [ "\$1" != -c ]; do shift; done
for coll in \${2//,/ }; do
    echo "xylem-result latency impl=x coll=\$coll bytes=8 ranks=2" \\
        "min_us=1 avg_us=$2 max_us=9 iterations=1 wrong=0"
done
END
    chmod +x "$1"
}

compare()
{
    : >"$work/started"
    attempt env PATH="$work/path:$PATH" bash "$source/bench/compare.sh" \
        --bin "$work/bin" --peers "$work/peers" -n 2 --rounds 2 "$@"
}

stub "$work/bin/xylem-run" 2
stub "$work/bin/xylem-bench" 0
stub "$work/bin/xylem-mpi-driver-mpich" 0
stub "$work/bin/xylem-mpi-driver-openmpi" 0
stub "$work/peers/bin/mpirun.mpich5" 4
stub "$work/peers/bin/mpirun.openmpi5" 5
stub "$work/peers/bin/mpirun.intel" 8 "MPI is used alone"
mkdir -p "$work/lib" "$work/build/bench" "$work/build/bindings/mpi"
touch "$work/lib/libxylem-mpi.so" "$work/build/bindings/mpi/libxylem-mpi.so"
for name in bin/xylem-sim bin/xylem-tune build/bench/xylem-asp; do
    stub "$work/$name" 0
done

compare -c bcast,barrier --impls xylem,mpich5,openmpi5-tuned --csv "$work/csv"
check "the ratio is that to the best" \
    grep -Eq '^ +8 +2\.00 +4\.00 +5\.00 +0\.50  mpich5$' "$out"
check "one launch does all collectives" test "$(
    grep -c -- '-c bcast,barrier ' "$work/started")" -eq 6
check "the CSV has every round" test "$(wc -l <"$work/csv")" -eq 13
cp "$work/csv" "$work/before"
compare -c bcast --impls xylem,mpich5 --csv "$work/csv"
check "a CSV with rows is refused before a run" test \
    "$code:$(wc -l <"$work/started")" = 1:0
check "and stays" cmp "$work/csv" "$work/before"
head -n 1 "$work/before" >"$work/csv"
compare -c bcast --impls xylem,mpich5 --csv "$work/csv"
check "one without rows is filled" test "$(wc -l <"$work/csv")" -eq 5

# The same of the other scripts that write one.
mkdir -p "$work/folder"
cp "$work/before" "$work/folder/gpu.csv"
echo 'bcast 8 1.0' >"$work/folder/own-2"
for words in "studies/choices.sh --bin $work/bin --csv $work/before" \
    "studies/han_sim.sh --bin $work/bin --csv $work/before" \
    "studies/predict.sh --bin $work/bin --csv $work/before" \
    "apps/run.sh --build $work/build --csv $work/before" \
    "mpi/apps.sh --build $work/build --csv $work/before" \
    "gpu.sh --out $work/folder" \
    "studies/retune.sh --np 2 --bin $work/bin --out $work/folder"; do
    read -ra words <<<"$words"
    attempt bash "$source/bench/${words[0]}" "${words[@]:1}"
    check "${words[0]} refuses results of before" grep -q \
        'has results of before; it is left as it is' "$err"
done
check "and they stay" test "$(wc -l <"$work/before"):$(
    cat "$work/folder/own-2"):$(wc -l <"$work/folder/gpu.csv")" = "13:bcast 8 1.0:13"
compare -c bcast,barrier --impls xylem,openmpi5-adapt --osu --consume
check "the adapt module is asked for what it has" \
    grep -q 'coll_adapt_priority 100 .*-c bcast .*--osu --consume' "$work/started"
compare -c bcast --impls xylem,xylem-openmpi5,xylem-intel,mpich5
check "the binding is preloaded" \
    grep -q "openmpi5 .*-x LD_PRELOAD=$work/.*libxylem-mpi.so" "$work/started"
check "where MPI is used alone nothing is compared" \
    grep -Eq '^ +8 +2\.00 +5\.00 +- +4\.00 ' "$out"
compare -c bcast --impls xylem,mpich6
check "what is not there is said" grep -q 'no mpich6 here' "$err"
check "rounds are counted" grep -q '(median of 2 rounds);$' "$out"
compare -c bcast --impls event --rounds 1
check "one round is no rounds" grep -q '^2 ranks, .*(median of 1 round);$' "$out"
check "the library's older name" grep -Eq '^ +bytes +xylem ' "$out"
# IMB's tables, as its programs print them.
mkdir -p "$work/peers/intel/bin"
cat >"$work/peers/intel/bin/IMB-MPI1" <<'END'
#!/bin/bash
cat <<'TABLE'
# Benchmarking Bcast
# #processes = 2
#---
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            8         1000         0.40         0.50         0.25
# Benchmarking Barrier
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.10         0.30         0.20
TABLE
END
cat >"$work/peers/intel/bin/IMB-NBC" <<'END'
#!/bin/bash
cat <<'TABLE'
# Benchmarking Ibcast
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            8         1000         3.00         0.25         2.00        75.00
TABLE
END
cat >"$work/peers/bin/mpirun.intel" <<END
#!/bin/bash
echo "\$0 \$*" >>"$work/started"
while [[ \$1 != */IMB-* ]]; do shift; done
exec "\$@"
END
chmod +x "$work/peers/intel/bin"/IMB-* "$work/peers/bin/mpirun.intel"
compare -c bcast,barrier,scan --impls xylem,intel,openmpi5-tuned --imb rotating --sizes 8,1K
check "IMB itself is run" grep -q \
    'IMB-MPI1 .*-sync off -root_shift on Bcast Barrier$' "$work/started"
check "and the same way by this project's programs" grep -q \
    'openmpi5 .*--sizes 8,1024 .*--osu --back-to-back --rotate-roots' "$work/started"
check "in one table" grep -Eq '^ +8 +2\.00 +0\.25 +5\.00 +8\.00  intel$' "$out"
compare -c bcast --impls intel,xylem-intel --imb barriers --mode nonblocking
check "overlap has a table" grep -Eq '^ +8 +75\.0 +75\.0$' "$out"
compare -c scan --impls intel --imb barriers
check "without a benchmark IMB is not started" test ! -s "$work/started"
compare -c bcast --impls openmpi5-tuned --begin 8 --end 4KiB
check "sizes double" grep -q -- '--sizes 8,16,.*,2048,4096 ' "$work/started"
compare -c bcast --imb barriers --consume
check "what IMB cannot do is refused" test $code -eq 2
compare -c bcast --sizes 8,many
check "a wrong size is refused" test $code -eq 2
compare -c bcats
check "a wrong collective is refused" test $code -eq 2

peers=(env PIP_NO_INDEX=1 bash "$source/bench/peers.sh" "$work/made")
attempt "${peers[@]}" mpich6
check "peers: a wrong name is refused" test $code -eq 2
if [[ $(uname -m) == x86_64 ]] && python3 -m pip --version >"$out" 2>&1; then
    attempt "${peers[@]}" mpich5
    check "peers: without a network there is a reason" \
        grep -q 'could not fetch mpich5:.*network' "$err"
    check "peers: and nothing is left behind" test "$(
        find "$work/made" | wc -l)" -eq 2
    mkdir -p "$work/made/mpich5/bin" "$work/made/mpich5/include"
    # shellcheck disable=SC2016 # for the script that is written
    echo 'echo "$LD_LIBRARY_PATH $*"' >"$work/made/mpich5/bin/mpiexec.hydra"
    chmod +x "$work/made/mpich5/bin/mpiexec.hydra"
    attempt "${peers[@]}" mpich5
    mv "$work/made" "$work/moved"
    attempt "$work/moved/bin/mpirun.mpich5" -n 3 program
    check "peers: a launcher uses its own libraries, wherever they lie" \
        grep -q "^$work/moved/mpich5/lib:.* -n 3 program$" "$out"
else
    skip "peers" "there is no pip"
fi
finish
