#!/bin/bash
# Compiles the programs of this folder for an MPI, runs them with the binding
# and prints TAP. Every run is bounded by timeout(1), far above what it takes.
#
#   run.sh MPI FOLDER [PART]
#
#   MPI     a name of library.sh
#   FOLDER  where libxylem-mpi.so has been built
#   PART    one, two or all: which half of the runs
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

mpi=$1
folder=$(realpath "$2")
part=${3:-all}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
bound=300 # seconds

# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*} ${!UCX_*} LD_PRELOAD
export UCX_LOG_LEVEL=error XYLEM_CONF=none

bail()
{
    echo "1..0 # SKIP $1"
    exit 0
}

# shellcheck source=tests/mpi/library.sh
. "$here/library.sh"

# launch RANKS [NAME=VALUE]... PROGRAM [ARGUMENT]...: as the MPI does it; only
# the ranks get the binding. All that is said is in $out.
launch()
{
    local ranks=$1
    shift
    attempt_job "${mpi_run[@]}" "$ranks" env LD_PRELOAD="$front" \
        XYLEM_MPI_VERBOSE=1 "$@"
    cat "$err" >>"$out"
    : >"$err"
}

# passes NAME RANKS [NAME=VALUE]... PROGRAM...: it says PASS, and that calls
# were taken; the library says nothing.
passes()
{
    local name=$1
    shift
    launch "$@"
    if [ "$code" -eq 0 ] && grep -q 'PASS' "$out" &&
        ! grep -q '^FAIL\|^xylem: ' "$out" &&
        grep -q ' taken$' "$out"; then
        report "$name on $1" yes
    else
        report "$name on $1" no
    fi
}

# Also takes no call that the pattern names.
passes_without()
{
    local pattern=$1
    shift
    passes "$@"
    if grep -qE "$pattern" "$out"; then
        report "$1: nothing of $pattern" no
    fi
}

# ---------------------------------------------------------------------------

# ranks_of FEW ALL: how many ranks, in turn; all of them only at night.
ranks_of()
{
    ((${CHECK_DEPTH:-1} > 1)) && echo "$2" || echo "$1"
}

first_programs=(beside collectives comms corners deaths errors failing_local
    families gaps giants hints layouts mismatch neighbors no_memory operations
    recovery spawn values wrong_op)
second_programs=(comms first fortran_MPIF_H fortran_USE_MPI fortran_USE_MPI_F08
    profiled requests sessions threads together)

first_part()
{
    local ranks

    for ranks in 1 2 3; do
        passes_without 'left to' "all collectives, all forms" $ranks \
            "$work/collectives"
    done
    for ranks in $(ranks_of '4 5 7' '4 5 6 7 8 9'); do
        passes "all collectives, some sizes" $ranks "$work/collectives" few
    done
    passes "collectives, a thread that makes progress" 2 \
        XYLEM_PROGRESS=thread "$work/collectives" few
    passes "collectives, no shared memory" 3 XYLEM_SHM=off \
        "$work/collectives" few
    passes "collectives, some of them taken" 3 \
        XYLEM_MPI_COLLECTIVES=-bcast,-allreduce,-alltoallw,-gatherv \
        "$work/collectives" few
    for ranks in 2 5; do
        passes_without 'left to' "operations and types" $ranks "$work/operations"
    done
    passes "types that libraries may do without" 3 "$work/operations" optional
    passes_without 'left to' "corners of the standard" 4 "$work/corners"
    passes_without 'left to' "elements with strange layouts" 3 "$work/layouts"
    for ranks in 1 2 3 5; do
        passes_without 'left to' "data with gaps" $ranks "$work/gaps"
    done
    passes_without 'left to' "elements that reach beyond 2 GiB" 2 "$work/giants"
    test_giants
    launch 3 "$work/families"
    check "families of functions are whole" grep -q 'PASS families' "$out"
    passes "neighbours" 1 "$work/neighbors"
    for ranks in 2 3 4 6; do
        passes_without 'left to' "neighbours" $ranks "$work/neighbors" with
    done
    passes "operations, a thread that makes progress" 3 \
        XYLEM_PROGRESS=thread "$work/operations"
    check "which calls no operation of the program's" grep -q \
        'left .*: operation that calls MPI' "$out"
    passes "errors are returned" 3 "$work/errors"
    passes "calls that differ are told" 3 "$work/mismatch"
    test_hints
    test_beside
    test_values
    test_closed
    test_spawn
    test_wrong_op
    attempt_job "${mpi_run[@]}" 1 env LD_PRELOAD="$front" "$work/no_memory"
    check "a rank without memory" grep -q 'PASS' "$out"
    test_deaths
    test_recovery
    test_fatal
    test_selection
    test_no_mpi
    test_strangers
    test_partial
    test_preload
    test_wrong_settings
    test_report
}

second_part()
{
    local ranks ways=(MPIF_H USE_MPI USE_MPI_F08) way

    for ranks in $(ranks_of '1 3 6 8' '1 3 5 6 7 8 9'); do
        passes "all programs" $ranks "$work/together"
    done
    for ranks in 2 4; do
        passes "all programs, four threads" $ranks "$work/together" threads
    done
    passes "requests" 2 "$work/requests"
    passes "requests, a thread that makes progress" 3 XYLEM_PROGRESS=thread \
        "$work/requests"
    passes "communicators, a storm" 2 "$work/comms" 400
    passes "communicators" 3 "$work/comms" 60
    passes "four threads" 2 "$work/threads" 15
    for ranks in $(ranks_of '1 3 9' '1 3 5 6 7 8 9'); do
        passes "four threads" $ranks "$work/threads" 1
    done
    passes "four threads, and one that makes progress" 2 \
        XYLEM_PROGRESS=thread "$work/threads" 10
    passes_without 'alltoall: .*left to' "first calls that do not block" 3 \
        "$work/first"
    for ranks in 2 5; do
        passes_without 'left to' "no call blocks" $ranks \
            XYLEM_MPI_CONNECT=init "$work/first" init
    done
    for ranks in $(ranks_of '1 2 3 4 8 9' '1 2 3 4 5 6 7 8 9'); do
        way=${ways[ranks % 3]}
        if [ ! -x "$work/fortran_$way" ]; then
            skip "Fortran, $way on $ranks" "no compiler for it"
            continue
        fi
        # Open MPI 5 keeps MPI_Ialltoallw in Fortran for itself.
        passes_without '[^w]: [0-9]+ left to' "Fortran, $way" $ranks "$work/fortran_$way"
    done
    test_sessions
    test_profiled
    test_imb
}

# Elements of more than 2 GiB in all calls move 100 GiB: only at night.
test_giants()
{
    local bound=1800

    ((${CHECK_DEPTH:-1} >= 10)) || return 0
    passes_without 'left to' "elements of more than 2 GiB" 2 "$work/giants" long
}

# Communicators of sessions, in what ways the library by itself can: Open MPI 5
# hangs in one of three where two threads make them, MPICH 4 and Intel MPI let
# nobody initialise MPI during a session, and only MPICH 5 begins again.
test_sessions()
{
    local way ways=(alone inside across)

    case $mpi in
    openmpi) return ;;
    openmpi5) ways+=(around) ;;
    mpich5*) ways+=(around again threads) ;;
    *) ways+=(threads) ;;
    esac
    for way in "${ways[@]}"; do
        case $way in
        alone | again | threads)
            passes_without 'left to' "sessions, $way" 3 "$work/sessions" "$way" ;;
        *) passes "sessions, $way" 3 "$work/sessions" "$way" ;;
        esac
    done
    launch 2 XYLEM_MPI_REPORT="$work/sessions.json" "$work/sessions" alone
    attempt "$folder/../../bench/xylem-report" "$work/sessions.json"
    check "a report of sessions" grep -q '^  allreduce  *[1-9]' "$out"
}

# A rank that dies: Open MPI 5 survives it where it is asked to, and so do the
# others' collectives; elsewhere the job ends.
test_recovery()
{
    local bound=120 before=("${mpi_run[@]}") way

    launch 3 "$work/recovery"
    check "a death ends the job" [ "$code" != 0 ]
    check "nobody waits for the dead" [ "$code" != 124 ]
    [[ $mpi == openmpi5 ]] || return 0
    mpi_run=("${mpi_run[0]}" --with-ft ulfm "${mpi_run[@]:1}")
    attempt_job "${mpi_run[@]}" 3 "$work/recovery"
    if grep -q 'PASS recovery' "$out"; then
        for way in '' revoke; do
            launch 4 "$work/recovery" $way
            check "after ${way:-a death} the others go on" grep -q \
                'PASS recovery' "$out"
            check "${way:-a death}: by xylem" grep -q \
                'allreduce: 1[0-9][0-9] taken' "$out"
        done
    else
        skip "after a death the others go on" "this library cannot by itself, here"
    fi
    mpi_run=("${before[@]}")
}

# What was spawned has ranks that nothing can be asked of.
test_spawn()
{
    local bound=60

    attempt_job "${mpi_run[@]}" 2 "$work/spawn"
    if ! grep -q 'PASS spawn' "$out"; then
        skip "a job that spawns another" "this library cannot by itself, here"
        return
    fi
    bound=300
    launch 2 "$work/spawn"
    check "a job that spawns another" grep -q \
        'allreduce: 2 left .* with ranks of another job' "$out"
    check "both of them end" grep -q 'PASS spawn' "$out"
}

# A locale with a decimal comma, where one can be made: its settings are in
# $comma.
comma_make()
{
    comma=()
    command -v localedef >/dev/null &&
        localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" >/dev/null 2>&1 &&
        comma=(LOCPATH="$work" LC_ALL=de_DE.UTF-8)
}

# What programs do beside their collectives.
test_beside()
{
    local comma

    comma_make
    passes "other things beside collectives" 3 ${comma[@]+"${comma[@]}"} \
        XYLEM_MPI_REPORT="$work/comma.json" "$work/beside" "$work"
    if ((${#comma[@]} > 0)); then
        attempt "$folder/../../bench/xylem-report" "$work/comma.json"
        check "a report with a decimal comma is none" grep -q \
            '^  allreduce  *[1-9]' "$out"
    else
        skip "a locale with a decimal comma" "no such locale can be made"
    fi
    passes "1200 communicators held, and other things" 2 "$work/beside" \
        "$work" 1200
    attempt_job "${mpi_run[@]}" 2 "$work/beside" "$work" windows
    if grep -q 'PASS' "$out"; then
        passes "windows beside collectives" 2 "$work/beside" "$work" windows
    else
        skip "windows beside collectives" "this library cannot by itself, here"
    fi
}

test_values()
{
    local order

    for order in fixed arrival reproducible; do
        passes_without 'left to' "NaN, zeros and padding, $order" 3 \
            XYLEM_REDUCE_ORDER=$order "$work/values"
    done
}

# Launchers and ranks with descriptors 0 to 2 closed, under the wrapper.
test_closed()
{
    local bound=120

    closed "the wrapper and ranks" "$folder/xylem-preload" "${mpi_run[@]}" 2 \
        sh -c 'eval "exec \"\$@\" $closing"' sh "$work/values"
}

test_wrong_op()
{
    attempt_job "${mpi_run[@]}" 3 env \
        LD_PRELOAD="$front $work/failing_local.so" "$work/wrong_op"
    check "an operation that cannot be applied" grep -q 'PASS' "$out"
}

# A rank is killed, and launcher and library let the others live. MPICH's launcher
# ends them as well, with -disable-auto-cleanup, too.
test_deaths()
{
    local seed setting

    [[ $mpi == openmpi ]] || return
    for setting in '' XYLEM_PROGRESS=thread XYLEM_SHM=off; do
        for ((seed = 0; seed < ${CHECK_DEPTH:-1} * 2; seed++)); do
            : >"$work/died"
            # shellcheck disable=SC2086 # one word, or none
            attempt_job "${mpi_run[0]}" --enable-recovery "${mpi_run[@]:1}" 4 \
                env LD_PRELOAD="$front" XYLEM_LOG=none $setting \
                "$work/deaths" $seed $seed "$work/died"
            check "a death is an error, $seed${setting:+, $setting}" \
                [ "$(grep -c 'PASS rank .* answered' "$out")" -eq 3 ]
            sed -n 's/.*\(answered after.*\)/# \1/p' "$out"
        done
    done
}

# Intel's benchmarks, which run under every library with MPICH's ABI.
test_imb()
{
    local imb=${TEST_MPIS-}/intel/bin program wanted

    case $mpi in mpich5 | intel) ;; *) return ;; esac
    for program in IMB-MPI1=14 IMB-NBC=13; do
        wanted=${program#*=}
        program=${program%=*}
        if [[ ! -x $imb/$program ]]; then
            skip "$program" "it is not in $imb"
            continue
        fi
        # shellcheck disable=SC2046 # one word each
        launch 3 XYLEM_MPI_CONNECT=init "$imb/$program" -npmin 3 -iter 5 \
            -msglog 0:12 $([[ $program == IMB-NBC ]] || echo Bcast Allreduce \
                Reduce Reduce_scatter Reduce_scatter_block Allgather \
                Allgatherv Gather Gatherv Scatter Scatterv Alltoall Alltoallv \
                Barrier)
        check "$program, its collectives" [ "$code" -eq 0 ]
        check "$program, all of them" [ \
            "$(grep -c '^# Benchmarking' "$out")" -eq "$wanted" ]
        check "$program, nothing left" [ \
            "$(grep -c ' left to ' "$out") $(grep -c ' taken$' "$out")" = \
            "0 $wanted" ]
    done
}

# What info keys ask for is done, and said where it cannot be.
test_hints()
{
    launch 3 XYLEM_SHM=off XYLEM_VERBOSE=select "$work/hints"
    check "info keys of communicators" grep -q 'PASS' "$out"
    check "an algorithm by info" [ "$(grep -cE \
        'rank 0: .*(bcast.*chain|allreduce.*ring|bcast.*knomial:3).*\(asked for' \
        "$out")" = 3 ]
    check "one that there is not is said once" [ \
        "$(grep -c "rank 0: error: bcast: algorithm 'nonsense'" "$out")" = 1 ]
    check "what is not understood is said" [ \
        "$(grep -c '^xylem-mpi: .* is not understood$' "$out")" = 3 ]
}

# Whether the host's own handler ends some job by a fatal error, but with code 0,
# where nothing has been taken over, as that of MPICH 4.2 does.
host_forgets_code()
{
    local try

    for ((try = 0; try < 20; try++)); do
        attempt_job "${mpi_run[@]}" 2 "$work/errors" host
        [ "$code" -eq 0 ] && ! grep -q 'PASS' "$out" && return 0
    done
    return 1
}

# A wrong argument ends the job where no handler says otherwise.
test_fatal()
{
    local name="errors are fatal"

    launch 2 "$work/errors" fatal
    if [ "$code" -eq 124 ] || grep -q 'PASS' "$out"; then
        report "$name" no
    elif [ "$code" -ne 0 ]; then
        report "$name" yes
    elif host_forgets_code; then
        skip "$name" "this MPI itself ends such jobs with code 0 at times"
    else
        report "$name" no
    fi
}

# What differs between ranks must not be acted upon.
test_selection()
{
    # shellcheck disable=SC2016 # for the ranks
    launch 3 bash -c 'rank=${OMPI_COMM_WORLD_RANK-}${PMI_RANK-}
        [ "$rank" = 1 ] && export XYLEM_MPI_COLLECTIVES=-bcast
        exec "$0" 20' "$work/comms"
    if [ "$code" -eq 0 ] && grep -q 'PASS' "$out" &&
        grep -q 'differs between ranks' "$out" &&
        ! grep -q ' taken$' "$out"; then
        report "settings that differ" yes
    else
        report "settings that differ" no
    fi
    launch 2 XYLEM_MPI_COLLECTIVES=none "$work/comms" 20
    if [ "$code" -eq 0 ] && ! grep -q ' taken$' "$out"; then
        report "nothing is selected" yes
    else
        report "nothing is selected" no
    fi
}

# Programs without MPI do not notice.
test_no_mpi()
{
    attempt env LD_PRELOAD="$front" bash -c 'echo PASS'
    check "a process without MPI" [ "$(cat "$out" "$err")" = PASS ]
}

# stranger SONAME SAYS: a program on such a library.
stranger()
{
    cc -shared -fPIC -w "-Wl,-soname,$1" "-DSAYS=\"$2\"" \
        -o "$work/libstranger.so" "$here/stranger.c" &&
        ln -sf libstranger.so "$work/$1" &&
        cc -DPROGRAM -w -o "$work/stranger" "$here/stranger.c" \
            -L"$work" -lstranger
    attempt env LD_PRELOAD="$front" LD_LIBRARY_PATH="$work:$folder" \
        "$work/stranger"
}

# Libraries that there is no module for are named in a line, and used alone.
test_strangers()
{
    local line='xylem-mpi: no module for '

    stranger libmpi.so.12 'Open MPI v1.10.7'
    check "the soname of one MPI, the text of another" [ "$(cat "$out" "$err")" = \
        "PASS
${line}libmpi.so.12 (Open MPI v1.10.7), MPI is used alone" ]
    stranger libmpi.so.99 'Open MPI v9'
    check "an MPI of another version" [ "$(cat "$out" "$err")" = "PASS
${line}libmpi.so.99 (Open MPI v9), MPI is used alone" ]
    stranger libmpi_abi.so.1 'half an MPI'
    check "an MPI that lacks functions" [ "$(head -1 "$out") $(tail -1 "$err")" = \
        "PASS xylem-mpi: libxylem-mpi-abi.so does not fit, MPI is used alone" ]
}

# Whether the host's launcher crashes when it is given two programs, the binding
# or not.
crashes_by_two()
{
    launcher_crashed || return 1
    attempt "${mpi_run[@]}" 2 env true : "${mpi_run[@]:1}" 1 true
    launcher_crashed
}

# Of two programs one has the binding: nobody waits for the other.
test_partial()
{
    attempt_job "${mpi_run[@]}" 2 env LD_PRELOAD="$front" XYLEM_MPI_VERBOSE=on \
        "$work/comms" 20 : "${mpi_run[@]:1}" 1 "$work/comms" 20
    if crashes_by_two; then
        skip "ranks without the binding are found" "the launcher crashes"
        return
    fi
    cat "$err" >>"$out"
    check "ranks without the binding are found" grep -q \
        '1 ranks of the job run without the binding; MPI is used alone' "$out"
    check "the job does without" grep -q 'PASS comms' "$out"
    check "no rank uses it" [ "$(grep -c ' taken$' "$out")" = 0 ]
}

# checks_nothing WHAT LINE PROGRAM...: --check says so, and nothing is run.
checks_nothing()
{
    local what=$1 line=$2
    shift 2

    attempt_job "$folder/xylem-preload" --check "${mpi_run[@]}" 2 "$@"
    check "a look at $what" [ "$code:$(grep -c "$line" "$out")" = 1:1 ]
    check "a look at $what runs nothing" \
        [ "$(grep -c PASS "$out")" = 0 -a ! -e "$work/has_run" ]
}

# What the wrapper says of a command, which it does not run.
test_check()
{
    local other nothing='nothing would be taken over'

    attempt_job "$folder/xylem-preload" --check "${mpi_run[@]}" 2 "$work/comms" 20
    check "what would happen" grep -q "^collectives: xylem's" "$out"
    check "to which program" grep -qx "program: $work/comms" "$out"
    check "nothing happens" [ "$code:$(grep -c PASS "$out")" = 0:0 ]
    attempt_job "$folder/xylem-preload" --check "${mpi_run[@]}" 1 env A=1 \
        "$work/comms" : "${mpi_run[@]:1}" 1 "$work/errors"
    check "what would happen to two programs" \
        [ "$code:$(grep -c "^collectives: xylem's" "$out")" = 0:2 ]
    attempt "$folder/xylem-preload" --check "$work/comms"
    check "what would happen without a launcher" [ "$code" = 0 ]
    checks_nothing "a program without MPI" "^no MPI library: $nothing" \
        touch "$work/has_run"
    printf '#!/bin/sh\ntouch "%s"\n' "$work/has_run" >"$work/script"
    chmod +x "$work/script"
    checks_nothing "a script" '^a script' "$work/script"
    checks_nothing "a missing file" '^there is no such program' "$work/nowhere"
    cc -DPROGRAM -w -o "$work/static" "$here/stranger.c" -x c - <<<'
        int MPI_Init(int *argc, char ***argv) { return 0; }
        int MPI_Barrier(void *comm) { return 0; }'
    checks_nothing "MPI in the program" "^MPI is part of .*$nothing" "$work/static"
    case $mpi in
    openmpi) other=mpiexec.hydra ;;
    *) other=mpirun.openmpi ;;
    esac
    if ! command -v "$other" >/dev/null || [[ $mpi == openmpi5 ]]; then
        skip "the launcher of another MPI" "there is none"
        return
    fi
    attempt "$folder/xylem-preload" --check "$other" -n 2 "$work/comms" 20
    check "the launcher of another MPI" \
        [ "$code:$(grep -c '^launcher: .* another MPI' "$out")" = 1:1 ]
}

# The wrapper finds library and launcher.
test_preload()
{
    test_check
    attempt_job env XYLEM_MPI_VERBOSE=on "$folder/xylem-preload" \
        "${mpi_run[@]}" 2 "$work/comms" 20
    cat "$err" >>"$out"
    check "by the wrapper" grep -q ' taken$' "$out"
    attempt_job "$folder/xylem-preload" "${mpi_run[@]}" 1 printenv LD_PRELOAD
    check "with the front for its standard" grep -q "/$mpi_front$" "$out"
    # Rank 0 by one program, the others by another.
    attempt_job env XYLEM_MPI_VERBOSE=on "$folder/xylem-preload" \
        "${mpi_run[@]}" 1 "$work/comms" 20 : "${mpi_run[@]:1}" 2 env "$work/comms" 20
    if crashes_by_two; then
        skip "by the wrapper, two programs" "the launcher crashes"
        return
    fi
    cat "$err" >>"$out"
    check "by the wrapper, two programs" grep -q ' taken$' "$out"
}

# What is wrong with a setting is said once per job, with what comes of it.
test_wrong_settings()
{
    launch 3 XYLEM_MPI_COLLECTIVES=+bcats "$work/comms" 20
    check "a collective that there is not is told once" [ \
        "$(grep -c "no collective 'bcats'" "$out")" = 1 ]
    check "the others are taken" grep -q ' taken$' "$out"
    check "what took them is told once" [ \
        "$(grep -c '^xylem-mpi: xylem .* 3 ranks; of rank 0:' "$out")" = 1 ]
    launch 3 XYLEM_PROGRESS=odd "$work/comms" 20
    check "a value that cannot be used is told once" [ \
        "$(grep -c "XYLEM_PROGRESS: cannot use the value 'odd'" "$out")" = 1 ]
    check "what comes of it is told once" [ \
        "$(grep -c '^xylem-mpi: .*MPI is used alone' "$out")" = 1 ]
    check "the program goes on" grep -q 'PASS' "$out"
    launch 3 XYLEM_SPEED=9 "$work/comms" 20
    check "a name that there is not is told once" [ \
        "$(grep -c 'no setting XYLEM_SPEED; it changes nothing' "$out")" = 1 ]
}

# What the calls have cost, by itself and beside the MPI library alone.
test_report()
{
    local show=$folder/../../bench/xylem-report

    launch 2 XYLEM_MPI_REPORT="$work/taken.json" "$work/operations"
    launch 2 XYLEM_MPI_REPORT="$work/left.json" XYLEM_MPI_COLLECTIVES=none \
        "$work/comms" 20
    attempt "$show" "$work/taken.json"
    check "a report" grep -q '^  allreduce  *[1-9]' "$out"
    check "a report says what its bars are" grep -q '^  ####: time in calls' "$out"
    check "a report says that nothing was left" grep -q '^  none: ' "$out"
    attempt "$show" "$work/taken.json" "$work/left.json"
    check "two reports" grep -q 'of its time' "$out"
    attempt "$show" "$work/left.json"
    check "a report of the library alone" grep -q \
        'before all ranks were connected$' "$out"
    attempt "$show" "$work/out"
    check "what is no report" [ "$code" = 1 ]
}

# A tool that defines MPI's functions and calls those with a P.
test_profiled()
{
    launch 2 "$work/profiled"
    if [ "$code" -eq 0 ] && grep -q 'PASS' "$out" &&
        grep -q 'bcast: 3 taken' "$out"; then
        report "under a profiling tool" yes
    else
        report "under a profiling tool" no
    fi
}

# ---------------------------------------------------------------------------

mpi_choose "$mpi"
[[ -z $mpi_lacks ]] || bail "$mpi_lacks"
front=$folder/$mpi_front

export LD_LIBRARY_PATH=$folder:${mpi_path:+$mpi_path:}${LD_LIBRARY_PATH-}
programs=()
[ "$part" = two ] || programs+=("${first_programs[@]}")
[ "$part" = one ] || programs+=("${second_programs[@]}")
attempt bash "$here/compile.sh" "$mpi" "$folder" "$work" "${programs[@]}"
[ "$code" -eq 0 ] || report "the programs compile" no
[ "$part" = two ] || first_part
[ "$part" = one ] || second_part
finish
