#!/bin/bash
# Tests of xylem-run as a user sees it: exit codes, output, signals and what is
# left behind. Prints TAP. Every run is bounded by timeout(1); where a test has
# to wait for something, it waits until that has happened or the bound passes.
#
#   launcher.sh XYLEM-RUN PMIX-CLIENT
# Programs of ranks are in single quotes on purpose.
# shellcheck disable=SC2016
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

run=$(realpath "$1")
client=$(realpath "$2")
bound=60 # seconds; long, as the machine may be slow
export TMPDIR=$work/tmp # what the launcher makes is found here
mkdir "$TMPDIR"

job() {
    attempt "$run" "$@"
}

# Starts the launcher in the background. Job control lets it have SIGINT. The
# array `before` begins the command.
before=()
job_start() {
    set -m
    timeout --foreground -k 5 $bound "${before[@]}" "$run" "$@" >"$out" 2>"$err" \
        </dev/null &
    timer=$!
    set +m
    until_true launcher_found
}

launcher_found() {
    launcher=$(cat "/proc/$timer/task/$timer/children" 2>/dev/null)
    launcher=${launcher% }
    [ -n "$launcher" ]
}

job_wait() {
    wait "$timer" 2>/dev/null
    code=$?
}

until_true() {
    local end=$((SECONDS + bound))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.02
    done
}

gone() {
    local pid
    for pid in "$@"; do
        [ ! -e "/proc/$pid" ] || return 1
    done
}

# Init may take its time to collect orphans.
dead() {
    local pid
    for pid in "$@"; do
        grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" && return 1
    done
    return 0
}

lines_are() {
    [ "$(grep -c "$2" "$1")" -eq "$3" ]
}

# The code, and one line on standard error that matches a pattern.
fails_with() {
    [ "$code" -eq "$1" ] && [ "$(wc -l <"$err")" -eq 1 ] && grep -q "$2" "$err"
}

succeeds() {
    [ "$code" -eq 0 ] && [ ! -s "$err" ]
}

prints() {
    succeeds && [ "$(sort "$out")" = "$1" ]
}

# ---------------------------------------------------------------------------
# Options

test_options() {
    job --help
    check "--help" grep -q -- '--nodes' "$out"
    job --version
    check "--version" grep -q '^xylem-run [0-9]' "$out"
    local bad
    for bad in "" "-n 0 true" "-n 4097 true" "-n x true" "-n 2" \
        "-n 2 --nodes 3 true" "-n 2 --map odd true" "-n 2 --bind odd true" \
        "-n 2 --timeout 0 true" "-n 2 --grace -1 true" "-n 2 --env x true" \
        "-np 2 true"; do
        # shellcheck disable=SC2086 # the words are options
        job $bad
        check "refused: '$bad'" fails_with 125 '^xylem-run: '
    done
    job -n 2 "$work/nowhere"
    check "program not found" fails_with 127 'not found.*nowhere'
    check "nothing else is said" test ! -s "$out"
    job -n 2 surely-no-such-program
    check "program not found in PATH" fails_with 127 'not found.*surely'
    printf '#!/bin/sh\n' >"$work/here"
    chmod +x "$work/here"
    cd "$work" || exit
    job -n 2 here
    check "program that is here, and not in PATH" \
        fails_with 127 'there is ./here'
    cd "$OLDPWD" || exit
    echo nonsense >"$work/plain"
    job -n 2 "$work/plain"
    check "not executable" fails_with 126 'plain'
    chmod +x "$work/plain"
    job -n 3 "$work/plain"
    check "not a program" fails_with 126 'plain'
    job -n 2 --env A=1 --env B='x y' --env A=2 sh -c 'echo "$A,$B"'
    check "--env" prints $'2,x y\n2,x y'
    job -n 1 sh -c 'echo "$1" -n 3' name --help
    check "options behind the program are its own" prints '--help -n 3'
}

# ---------------------------------------------------------------------------
# PMIx

test_pmix() {
    job -n 4 "$client" ring 0 block
    check "data goes around" succeeds
    job -n 7 --nodes 3 "$client" ring 3 block
    check "three nodes in blocks" succeeds
    job -n 7 --nodes 3 --map cyclic "$client" ring 3 cyclic
    check "three nodes in turn" succeeds
    job -n 3 --nodes 3 "$client" ring 3 block
    check "one rank on each node" succeeds
    job -n 1 --nodes 1 "$client" ring 1 block
    check "one rank" succeeds
    PMIX_NAMESPACE=other PMIX_RANK=9 PMIX_SERVER_URI41=bad job -n 2 "$client" \
        ring 0 block
    check "inside a job of another launcher" succeeds
    job -n 16 "$client" finalize
    check "sixteen ranks" succeeds
}

# ---------------------------------------------------------------------------
# Failures

test_failures() {
    job -n 4 "$client" exit 2 5
    check "code of the rank that failed" \
        fails_with 5 'rank 2 (pid [0-9]*) exited with code 5'
    job -n 4 "$client" crash 1 6
    check "signal that ended a rank" \
        fails_with 134 'rank 1 (pid [0-9]*) was ended by signal 6'
    job -n 3 "$client" stray 1
    check "exit without PMIx_Finalize" \
        fails_with 1 'rank 1 .*without xylem_context_destroy or MPI_Finalize'
    job -n 3 "$client" abort 1 42
    check "PMIx_Abort" fails_with 42 'rank 1 .*abort.* 42: as asked'
    job -n 3 --no-kill "$client" abort 2 43
    check "PMIx_Abort with --no-kill" fails_with 43 'rank 2 .*abort.* 43'
    job -n 4 --no-kill "$client" survive 2
    check "--no-kill: code" fails_with 137 'rank 2 .*signal 9'
    check "--no-kill: the others go on" lines_are "$out" survives 3
    # Memory that has been freed is overwritten, so that no use of it passes.
    MALLOC_PERTURB_=165 job -n 2 "$client" pending 6
    check "a rank fails inside a fence" fails_with 6 'rank 0 .*code 6'
    # Rank 0 fails when rank 1 has set its trap.
    local wait_fail='
        if [ $PMIX_RANK = 0 ]; then
            until [ -e "$1" ]; do sleep 0.05; done
            exit 3
        fi'
    local go_on='>"$1"; while :; do sleep 0.05; done'
    job -n 2 --grace 0.2 sh -c "$wait_fail; trap '' TERM; $go_on" - "$work/set1"
    check "SIGKILL for who ignores SIGTERM" fails_with 3 'rank 0 .*code 3'
    job -n 2 --grace 50 sh -c \
        "$wait_fail; trap 'echo asked; exit 0' TERM; $go_on" - "$work/set2"
    check "SIGTERM comes first" lines_are "$out" asked 1
    job -n 2 --timeout 0.3 sleep 600
    check "--timeout" fails_with 124 'time limit of 0.3 s'
    job -n 2 --timeout 50 true
    check "--timeout that is not needed" succeeds
}

# ---------------------------------------------------------------------------
# Output and input

# Every rank's lines are whole, complete and in order.
lines_whole() {
    awk -v ranks="$1" -v lines="$2" -v bytes="$3" '
        NF == 4 && $4 == "end" && length($3) == bytes && $2 == next_of[$1] {
            next_of[$1]++
            next
        }
        NF == 2 && $2 == "last" { last[$1]++; next }
        { print "# bad line: " substr($0, 1, 100); bad = 1; exit }
        END {
            for (r = 0; r < ranks; r++)
                if (next_of[r] != lines || last[r] != 1)
                    bad = 1
            exit bad
        }' "$out"
}

test_output() {
    job -n 8 "$client" lines 3000 50
    check "many lines" lines_whole 8 3000 50
    timeout -k 5 $bound "$run" -n 4 "$client" lines 1000 900 </dev/null |
        { sleep 0.5; cat; } >"$out"
    check "many lines through a slow pipe" lines_whole 4 1000 900
    job -n 3 "$client" lines 20 9000
    check "long lines" lines_whole 3 20 9000
    head -c 1000000 /dev/urandom >"$work/bytes"
    job -n 1 cat "$work/bytes"
    check "bytes are passed as they are" cmp -s "$work/bytes" "$out"
    tr -d '\n' <"$work/bytes" >"$work/line"
    timeout -k 5 $bound "$run" -n 1 cat "$work/line" </dev/null | cat >"$out"
    check "a line without end" cmp -s "$work/line" "$out"
    job -n 2 --tag sh -c 'printf "a\nb"; printf "c\n" >&2'
    check "--tag" test "$(sort "$out" "$err")" = \
        $'[0] a\n[0] b\n[0] c\n[1] a\n[1] b\n[1] c'
    job -n 2 sh -c 'echo out; echo err >&2'
    check "two outputs" test "$(cat "$out")/$(cat "$err")" = \
        $'out\nout/err\nerr'
    timeout -k 5 $bound "$run" -n 2 yes 2>"$err" </dev/null | head -n 1 >"$out"
    code=${PIPESTATUS[0]}
    check "the reader goes away" fails_with 141 'signal 13'
    echo hello | timeout -k 5 $bound "$run" -n 3 --tag cat >"$out" 2>"$err"
    code=$?
    check "input goes to rank 0" prints '[0] hello'
    if [ -w /dev/full ]; then
        timeout -k 5 $bound "$run" -n 1 echo lost >/dev/full 2>"$err"
        code=$?
        check "lost output is no success" fails_with 125 'No space'
    fi
}

# Standard output is not read before standard error has been.
test_pressure() {
    mkfifo "$work/first" "$work/second"
    timeout -k 5 $bound "$run" -n 2 sh -c '
        [ $PMIX_RANK = 1 ] && exec >&2
        sleep 0.1; yes | head -c 1000000' \
        >"$work/first" 2>"$work/second" </dev/null &
    exec 7<"$work/first" 8<"$work/second"
    timeout $bound head -c 1000000 <&8 | wc -c >"$out"
    timeout $bound head -c 1000000 <&7 | wc -c >>"$out"
    exec 7<&- 8<&-
    wait $!
    code=$?
    check "one output waits, the other goes on" test \
        "$code $(tr '\n' ' ' <"$out")" = "0 1000000 1000000 "
    # A stuck reader must not keep signals from being heard.
    timeout -k 5 $bound "$run" -n 1 --grace 0.2 --timeout 0.5 yes \
        2>"$err" </dev/null | {
        until_true grep -qs 'time limit' "$err" || echo too late >>"$err"
        cat >"$out"
    }
    code=${PIPESTATUS[0]}
    check "the time limit holds when nobody reads" \
        fails_with 124 'time limit'
    # More than the launcher keeps: it leaves the rest in the rank's pipe.
    timeout -k 5 $bound "$run" -n 1 --grace 0.2 --timeout 0.5 yes \
        2>"$err" >"$work/first" </dev/null &
    exec 7<"$work/first"
    wait $!
    code=$?
    exec 7<&-
    check "and when nobody ever does" fails_with 124 'time limit'
}

# ---------------------------------------------------------------------------
# Signals

# passed_on NAME WHAT: the signal reaches the ranks, and the job ends.
passed_on() {
    job_start -n 2 "$client" listen
    until_true lines_are "$out" ready 2
    kill -s "$1" "$launcher"
    job_wait
    check "$2 is passed on" lines_are "$out" "got SIG$1" 2
    check "$2: code" succeeds
}

test_signals() {
    local name
    for name in INT TERM HUP QUIT USR1 USR2; do
        passed_on "$name" "SIG$name"
        before=(env "--block-signal=$name,CHLD")
        passed_on "$name" "SIG$name that was blocked"
        # That SIGHUP is ignored is nohup's wish.
        before=(env "--ignore-signal=$name,CHLD")
        [ "$name" = HUP ] || passed_on "$name" "SIG$name that was ignored"
        before=()
    done
    before=(env --block-signal)
    job_start -n 2 sleep 600
    until_true ranks_run sleep 2
    kill -s TERM "$launcher"
    job_wait
    check "SIGTERM ends ranks when all signals were blocked" \
        fails_with 143 'signal 15'
    before=()
    attempt env --block-signal "$run" -n 1 grep SigBlk /proc/self/status
    check "nothing is blocked in ranks" prints $'SigBlk:\t0000000000000000'
    attempt env --ignore-signal=HUP,TSTP,PIPE,CHLD "$run" -n 1 \
        grep SigIgn /proc/self/status
    check "ranks ignore what the launcher does not pass on" prints \
        $'SigIgn:\t0000000000081001'
    job_start -n 2 sleep 600
    until_true ranks_run sleep 2
    kill -s TERM "$launcher"
    job_wait
    check "ranks ended by SIGTERM" fails_with 143 'signal 15'
    job_start -n 2 sh -c 'trap "echo heard" INT; trap "echo asked" TERM
        echo ready; while :; do sleep 0.05; done'
    until_true lines_are "$out" ready 2
    kill -s INT "$launcher"
    until_true lines_are "$out" heard 2
    kill -s INT "$launcher"
    job_wait
    check "the second SIGINT kills" fails_with 137 'signal 9'
    check "without asking" lines_are "$out" asked 0
}

# The launcher has this many children of a name.
ranks_run() {
    local pid found=0
    for pid in $(cat "/proc/$launcher/task/$launcher/children"); do
        if grep -qsx "$1" "/proc/$pid/comm"; then
            found=$((found + 1))
        fi
    done
    [ $found -eq "$2" ]
}

# stopped PID...: all of them are.
stopped() {
    local pid
    for pid; do
        grep -qs '^State:.T (stopped)' "/proc/$pid/status" || return 1
    done
}

running() {
    ! stopped "$launcher"
}

# As a shell's job control and batch systems do it.
test_stops() {
    local pids
    job_start -n 2 sh -c 'trap "echo ends; exit 0" USR1
        sleep 600 & echo $$; wait'
    until_true lines_are "$out" . 2
    pids=$(cat "$out")
    kill -s TSTP "$launcher"
    # shellcheck disable=SC2086 # one word for each process
    check "SIGTSTP stops ranks and launcher" until_true stopped "$launcher" $pids
    kill -s CONT "$launcher"
    check "SIGCONT lets the launcher go on" until_true running
    kill -s USR1 "$launcher"
    job_wait
    check "SIGCONT lets ranks go on" lines_are "$out" ends 2
    check "SIGCONT: code" succeeds
}

# ---------------------------------------------------------------------------
# What is left behind

no_files() {
    [ -z "$(ls -A "$TMPDIR")" ]
}

test_left() {
    local pids usual
    job_start -n 2 sh -c 'sleep 600 & echo $$ $!; wait'
    until_true lines_are "$out" . 2
    pids=$(cut -d ' ' -f 1 "$out")
    kill -s KILL "$launcher"
    job_wait
    # shellcheck disable=SC2086 # one word for each process
    check "ranks die with the launcher" until_true dead $pids
    # shellcheck disable=SC2046
    check "so do children of ranks" until_true dead $(cut -d ' ' -f 2 "$out")
    check "its files go, too" until_true no_files

    job -n 2 sh -c 'sleep 600 & echo $!; [ $PMIX_RANK = 1 ] && exit 4; wait'
    check "children of ranks: code" fails_with 4 'rank 1'
    # shellcheck disable=SC2046
    check "children of ranks are ended" until_true dead $(cat "$out")

    job -n 2 --grace 0.2 sh -c 'sleep 600 & echo $!'
    check "children that outlive their ranks: code" succeeds
    # shellcheck disable=SC2046
    check "children that outlive their ranks are ended" \
        until_true dead $(cat "$out")

    job -n 1 --grace 0.2 sh -c 'setsid sleep 20 & echo $!; sleep 0.1'
    check "an escaped child does not hold the job" succeeds
    # shellcheck disable=SC2046
    kill $(cat "$out") 2>/dev/null

    job_start -n 2 --no-kill sh -c '[ $PMIX_RANK = 0 ] && exit 1
        exec "$1" listen' name "$client"
    until_true lines_are "$out" ready 1
    until_true grep -q 'rank 0' "$err"
    pids=$(sed -n 's/.*(pid \([0-9]*\)).*/\1/p' "$err")
    check "ended ranks are no zombies" until_true gone "$pids"
    kill -s USR1 "$launcher"
    job_wait
    check "--no-kill: first failure" fails_with 1 'rank 0'

    timeout -k 5 $bound "$run" -n 1 ls /proc/self/fd >"$out" 2>"$err" \
        8</dev/null 9</dev/null </dev/null
    code=$?
    check "no descriptors leak into ranks" prints $'0\n1\n2\n3'
    job -n 2 sh -c 'ulimit -n'
    check "limits are those of the launcher's caller" \
        prints "$(ulimit -n)"$'\n'"$(ulimit -n)"
    # As the same command has them without the launcher.
    attempt grep -E 'SigIgn|SigBlk' /proc/self/status
    usual=$(sort "$out")
    job -n 1 grep -E 'SigIgn|SigBlk' /proc/self/status
    check "signals of ranks are as usual" prints "$usual"
    check "no files are left" test -z "$(ls -A "$TMPDIR")"
}

# ---------------------------------------------------------------------------
# Binding

test_binding() {
    local all
    all=$(nproc)
    if ! command -v taskset >/dev/null; then
        echo "# no taskset: binding is not tested"
        return
    fi
    local show='grep Cpus_allowed_list /proc/self/status | cut -f 2'
    job -n 1 --bind none sh -c "$show"
    check "--bind none" prints "$(bash -c "$show")"
    job -n $((all + 1)) sh -c "nproc"
    check "more ranks than cores are not bound" test \
        "$(sort -u "$out")" = "$all"
    job -n $((all + 1)) --bind core true
    check "--bind core needs the cores" fails_with 125 'cannot bind'
    job -n 1 --bind core sh -c "$show"
    local core
    core=$(cat "$out")
    check "--bind core" test "$code" -eq 0 -a \
        "$(taskset -c "$core" nproc)" -le "$all"
    job -n 1 sh -c "$show"
    check "--bind auto: the first core" prints "$core"
    if [ "$all" -ge 2 ] && "$run" -n 2 --bind core true 2>/dev/null; then
        job -n 2 --bind core sh -c "$show"
        check "--bind core: every rank has its own" test \
            "$(sort -u "$out" | wc -l)" -eq 2
        local last
        last=$(sort -n "$out" | tail -n 1)
        timeout -k 5 $bound taskset -c "$last" "$run" -n 1 sh -c "$show" \
            >"$out" 2>"$err" </dev/null
        code=$?
        check "binding keeps to the allowed cores" prints "$last"
    fi
}

test_options
test_pmix
test_failures
test_output
test_pressure
test_signals
test_stops
test_left
test_binding
finish
