#!/bin/bash
# Runs the programs of this folder as ranks of jobs and prints TAP. Every run
# is bounded by timeout(1), far above what it takes.
#
#   run.sh GROUP XYLEM-RUN FOLDER [SET]
#
#   GROUP   collectives, calls, misuse, death or bench
#   FOLDER  where the programs have been built
#   SET     all, or few: where programs run slowly, about a third of the cases,
#           with every mode and every setting in at least one of them; what the
#           environment has in CHECK_SET comes before
# Commands of ranks are in single quotes on purpose.
# shellcheck disable=SC2016
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

group=$1
run=$(realpath "$2")
programs=$(realpath "$3")
set=${CHECK_SET:-${4:-all}}

# The ranks' settings are those of the tests; UCX's own remarks are not of
# interest.
settings_forget
export UCX_LOG_LEVEL=error
# Leaks of PMIx are told from others by whole stacks, also through the C
# library, which keeps no frame pointers.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}fast_unwind_on_malloc=0

# succeeds NAME COMMAND...: exit code 0 and nothing on standard error. $try:
# attempt, or attempt_job for a launcher of the host's.
succeeds()
{
    local name=$1
    shift
    "${try:-attempt}" "$@"
    if [ "$code" -eq 77 ]; then
        skip "$name" "not enough memory, or not on this machine"
    elif [ "$code" -eq 0 ] && [ ! -s "$err" ]; then
        report "$name" yes
    else
        report "$name" no
    fi
}

# says NAME CODE PATTERN COMMAND...: the exit code, and a line of errors.
says()
{
    local name=$1 wanted=$2 pattern=$3
    shift 3
    attempt "$@"
    if [ "$code" -eq "$wanted" ] && grep -q -- "$pattern" "$err"; then
        report "$name" yes
    else
        report "$name" no
    fi
}

# set_options [NAME=VALUE | option]...: what xylem-run is to be told.
set_options()
{
    local word
    options=()
    for word; do
        case $word in
        [A-Z]*=*) options+=(--env "$word") ;;
        *) options+=("$word") ;;
        esac
    done
}

# job RANKS MODE NUMBER [NAME=VALUE | option]...
job()
{
    local ranks=$1 mode=$2 number=$3 options
    shift 3
    set_options "$@"
    succeeds "$mode $number on $ranks${*:+, $*}" "$run" -n "$ranks" \
        "${options[@]}" "$programs/collectives" "$mode" "$number"
}

# cross RUN SETTINGS CASE...: runs each case, some words, with each setting; of
# the set `few` each case with one of them, in turn. There are at least as many
# cases as settings, so that none is left out.
cross()
{
    local run_one=$1 settings cases=("${@:3}") setting case words

    read -ra settings <<<"$2"
    for setting in "${!settings[@]}"; do
        for case in "${!cases[@]}"; do
            [ "$set" = all ] ||
                [ $((case % ${#settings[@]})) -eq "$setting" ] || continue
            read -ra words <<<"${cases[case]}"
            "$run_one" "${words[@]}" "${settings[setting]}"
        done
    done
}

# ---------------------------------------------------------------------------
# Collectives

# Shared memory of xylem's own leaves little to them.
transports=(UCX_RNDV_THRESH=0 'UCX_TLS=tcp,self' 'UCX_TLS=posix,self')
progresses=(XYLEM_PROGRESS=caller XYLEM_PROGRESS=blocking
    XYLEM_PROGRESS=thread)

test_defaults()
{
    local ranks
    for ranks in 1 2 3 4 5; do
        [ "$set" = all ] || [ $ranks -le 3 ] || continue
        job $ranks sweep 1
    done
    job 8 sweep 5
    job 9 sweep 7
    job 5 big 16
    job 4 persistent 300
    job 4 flight 20
    job 2 brief 4000
    job 5 teams 200
    job 3 parts 5
    job 2 huge 12000
    job 3 stack 64
    job 6 stack 64 XYLEM_SHM=off XYLEM_ALGORITHMS=alltoall=bruck:4
    [ "$set" = few ] || job 2 large 12000
}

test_transports()
{
    local -x XYLEM_SHM=off
    cross job "${transports[*]}" '2 sweep 7' '5 sweep 7' '3 big 16' \
        '4 parts 2' '4 flight 5' '4 teams 50'
}

test_progress()
{
    local progress
    cross job "${progresses[*]}" '3 sweep 11' '4 persistent 50' \
        '3 threads 60' '3 brief 400' '3 parts 3' '3 teams 50' \
        '3 callbacks 200 XYLEM_LOG=none'
    for progress in blocking thread; do
        job 3 idle 300 XYLEM_PROGRESS=$progress
        job 3 idle 300 XYLEM_PROGRESS=$progress UCX_TLS=tcp,self
    done
}

test_layouts()
{
    local folder progress

    job 5 sweep 7 --nodes 2
    job 6 sweep 7 --nodes 3 --map cyclic
    job 4 teams 50 --nodes 2
    job 5 brief 400 --nodes 2
    succeeds "contexts one after the other" "$run" -n 3 "$programs/again"
    folder=$(mktemp -d)
    succeeds "a fence that is abandoned" "$run" -n 2 "$programs/abandoned" \
        "$folder"
    rm -r "$folder"
    for progress in caller blocking thread; do
        succeeds "threads that are cancelled, $progress" "$run" -n 3 \
            --env XYLEM_PROGRESS=$progress "$programs/ends" thread
        # Whoever ends so leaves behind what it has.
        says "an end without a word, $progress" 1 "without xylem_context_destroy" \
            "$run" -n 3 --env XYLEM_LOG=none --env XYLEM_PROGRESS=$progress \
            --env "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0" \
            "$programs/ends" exit
    done
    succeeds "sweep without a launcher" "$programs/collectives" sweep 3
    succeeds "teams without a launcher" "$programs/collectives" teams 50
    if ! command -v mpirun.openmpi >/dev/null; then
        skip "mpirun" "mpirun.openmpi is not installed"
        return
    fi
    local mpirun=(mpirun.openmpi --allow-run-as-root --oversubscribe)
    local try=attempt_job
    succeeds "sweep under mpirun" "${mpirun[@]}" -n 3 \
        "$programs/collectives" sweep 7
    succeeds "contexts one after the other under mpirun" "${mpirun[@]}" -n 3 \
        "$programs/again"
    succeeds "flight under mpirun" "${mpirun[@]}" -n 4 \
        "$programs/collectives" flight 5
}

# ---------------------------------------------------------------------------
# All collectives by all algorithms

# calls RANKS MODE NUMBER [NAME=VALUE | option]...
calls()
{
    local ranks=$1 mode=$2 number=$3 options
    shift 3
    set_options "$@"
    succeeds "calls $mode $number on $ranks${*:+, $*}" "$run" -n "$ranks" \
        "${options[@]}" "$programs/calls" "$mode" "$number"
}

test_calls()
{
    local ranks much=3000
    [ "$set" = all ] || much=600
    for ranks in 1 2 3 5; do
        [ "$set" = all ] || [ "$ranks" = 3 ] || continue
        calls $ranks sweep $much
        calls $ranks flight $((much / 60))
        calls $ranks threads $((much / 10))
    done
    cross calls "${progresses[*]}" "3 sweep $((much / 5))" '4 flight 10' \
        '2 threads 60' '3 handover 20'
    XYLEM_SHM=off cross calls "${transports[*]} XYLEM_PROGRESS=thread" \
        "5 sweep $((much / 10))" '3 flight 10' '3 threads 40' '2 flight 10'
    calls 6 sweep $((much / 5)) --nodes 3 --map cyclic
    calls 5 flight 10 --nodes 2
    calls 3 tags $((much / 60))
    calls 4 tags $((much / 200)) --nodes 2
    calls 3 tags $((much / 200)) XYLEM_PROGRESS=thread
    calls 4 tags $((much / 200)) XYLEM_SHM=off UCX_TLS=tcp,self
    calls 6 sweep $((much / 10)) XYLEM_NODE_GROUPS=2
    calls 7 sweep $((much / 20)) XYLEM_NODE_GROUPS=3
    calls 8 sweep $((much / 20)) --nodes 2 \
        "XYLEM_ALGORITHMS=bcast=han:within=node_groups:2,allreduce=han:within=node_groups:2"
    calls 6 sweep $((much / 10)) --nodes 2 XYLEM_BYPASS_US=1
    calls 6 late 2 --nodes 2 XYLEM_BYPASS_US=5 XYLEM_DETACH_BYTES=1
    calls 6 late 1 --nodes 3 --map cyclic XYLEM_BYPASS_US=5 \
        XYLEM_DETACH_BYTES=1 XYLEM_PROGRESS=blocking
}

# ---------------------------------------------------------------------------
# Misuse

# refused NAME STATUS WORD [NAME=VALUE]... [-- SETTING...]: one process cannot
# create a context.
refused()
{
    local name=$1 status=$2 word=$3 variables=()
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    succeeds "$name" env XYLEM_LOG=none "${variables[@]}" \
        "$programs/misuse" create "XYLEM_$status" "$word" "$@"
}

test_settings()
{
    refused "bad word" ERR_CONFIG "XYLEM_PROGRESS: cannot use the value 'odd'" \
        XYLEM_PROGRESS=odd
    refused "bad number" ERR_CONFIG XYLEM_SPIN_US XYLEM_SPIN_US=-1
    refused "bad bytes" ERR_CONFIG "'12Q'" XYLEM_SEGMENT_BYTES=12Q
    refused "bad tree" ERR_CONFIG "knomial takes a radix of 2" \
        XYLEM_ALGORITHMS=bcast=knomial:1
    refused "what is set to nothing is not set" OK "" XYLEM_ALGORITHMS= \
        XYLEM_SPIN_US= XYLEM_CONF= -- PROGRESS=
    refused "values as users write them" OK "" XYLEM_NOISE_BUDGET=64MiB \
        XYLEM_SPIN_US=2ms XYLEM_SHM=No XYLEM_CUDA=false XYLEM_TRACE=0 \
        -- LOG=WARNING SEGMENT_BYTES=8kb
    refused "window too large" ERR_CONFIG XYLEM_RECV_WINDOW \
        XYLEM_RECV_WINDOW=65
    refused "N above M" ERR_CONFIG XYLEM_SEND_WINDOW XYLEM_RECV_WINDOW=2 \
        XYLEM_SEND_WINDOW=3
    refused "unknown setting" ERR_CONFIG "'SPEED=9'" -- SPEED=9
    refused "setting without value" ERR_CONFIG "'LOG'" -- LOG
    refused "setting with a bad value" ERR_CONFIG "settings: XYLEM_PROGRESS" \
        -- PROGRESS=odd
    refused "settings win over the environment" OK "" XYLEM_SEND_WINDOW=3 \
        -- SEND_WINDOW=1 RECV_WINDOW=1
    printf 'SPIN_US = 5\nSEND_WINDOW = 3\nSPEED = 9\n' >"$work/conf"
    refused "settings win over files" OK "" XYLEM_CONF="$work/conf" \
        -- SEND_WINDOW=1 RECV_WINDOW=1
    refused "files hold where nothing else is said" ERR_CONFIG \
        XYLEM_SEND_WINDOW XYLEM_CONF="$work/conf" XYLEM_RECV_WINDOW=2
    says "an unknown name in a file is warned of" 0 \
        "conf:3: there is no setting 'SPEED'" env XYLEM_CONF="$work/conf" \
        "$programs/misuse" create XYLEM_OK "" LOG=warn
    succeeds "xylem-info tells where values come from" \
        env XYLEM_CONF="$work/conf" XYLEM_LOG=none \
        sh -c '"$0" | grep -Fxq "$1"' \
        "$programs/../bench/xylem-info" \
        "  XYLEM_SPIN_US = 5 (default 1000) from $work/conf:1"
    refused "PMIx without a launcher" ERR_BOOTSTRAP xylem-run \
        XYLEM_BOOTSTRAP=pmix
    refused "no such core" ERR_CONFIG "=1023: this machine has " \
        XYLEM_PROGRESS=thread XYLEM_PROGRESS_CORE=1023
    refused "core beyond all" ERR_CONFIG XYLEM_PROGRESS_CORE \
        XYLEM_PROGRESS=thread XYLEM_PROGRESS_CORE=4000000000
    says "an unknown variable is warned of" 0 "no setting XYLEM_SPEED;" \
        env XYLEM_SPEED=9 "$programs/misuse" create XYLEM_OK "" LOG=warn
    echo "{" >"$work/broken"
    says "a file of settings that is not there is warned of" 0 \
        "XYLEM_CONF: $work/nowhere: No such file" \
        env XYLEM_CONF="$work/nowhere" "$programs/misuse" create XYLEM_OK ""
    says "so is a launcher that does not offer what ranks need" 0 \
        "started 3 processes (PMI_SIZE).*each is a job of its own" \
        env PMI_SIZE=3 "$programs/misuse" create XYLEM_OK ""
    says "what may be said instead is said whole" 0 \
        "operations that do not commute never do\.$" \
        env XYLEM_REDUCE_ORDER=any "$programs/misuse" create XYLEM_ERR_CONFIG ""
    says "a broken table is done without" 0 \
        "XYLEM_TUNING=.* is not used.*line" env XYLEM_TUNING="$work/broken" \
        "$programs/misuse" create XYLEM_OK "" LOG=warn
    says "an error is logged" 0 "error: .*XYLEM_PROGRESS" \
        env XYLEM_PROGRESS=odd "$programs/misuse" create XYLEM_ERR_CONFIG ""
    succeeds "XYLEM_LOG=none is silent" env XYLEM_LOG=none XYLEM_SPEED=9 \
        "$programs/misuse" create XYLEM_OK ""
}

# Ranks with different settings all refuse, and say which differs.
test_differences()
{
    succeeds "different segments" "$run" -n 3 --env XYLEM_LOG=none sh -c '
        XYLEM_SEGMENT_BYTES=$((4096 + (PMIX_RANK == 1))) exec "$0" create \
            XYLEM_ERR_VERSION XYLEM_SEGMENT_BYTES' "$programs/misuse"
    succeeds "different trees" "$run" -n 2 --env XYLEM_LOG=none sh -c '
        [ $PMIX_RANK = 1 ] && export XYLEM_ALGORITHMS=reduce=chain
        exec "$0" create XYLEM_ERR_VERSION XYLEM_ALGORITHMS' "$programs/misuse"
    succeeds "settings that one rank cannot read" "$run" -n 3 \
        --env XYLEM_LOG=none sh -c '
        [ $PMIX_RANK = 1 ] && export XYLEM_PROGRESS=odd
        exec "$0" create XYLEM_ERR_CONFIG ""' "$programs/misuse"
    succeeds "a topology that one rank cannot read" "$run" -n 3 --nodes 3 \
        --env XYLEM_LOG=none sh -c '
        [ $PMIX_RANK = 2 ] && export XYLEM_TOPOLOGY=nowhere.json
        exec "$0" create XYLEM_ERR_CONFIG ""' "$programs/misuse"
    succeeds "settings that may differ" "$run" -n 2 --env XYLEM_LOG=none \
        sh -c '[ $PMIX_RANK = 1 ] && export XYLEM_PROGRESS=blocking
        exec "$0" create XYLEM_OK ""' "$programs/misuse"
}

# said_once NAME LINE [NAME=VALUE | COMMAND]...: a job of three says nothing of
# settings but this line.
said_once()
{
    local name=$1 line=$2 settings=()
    shift 2
    while [[ $1 == [A-Z]*=* ]]; do
        settings+=(--env "$1")
        shift
    done
    attempt "$run" -n 3 "${settings[@]}" "$@"
    check "$name is said once" [ "$(grep '^xylem: .*XYLEM_' "$err" |
        sed "s|$line||")" = 'xylem: ' ]
}

# All ranks have the same fault, or one of them has.
test_said_once()
{
    local fails=("$programs/misuse" create XYLEM_ERR_CONFIG "")
    local goes_on=("$programs/misuse" create XYLEM_OK "") step
    local cannot="cannot use the value 'odd' .*"

    said_once "a bad value" "error: XYLEM_PROGRESS: $cannot" \
        XYLEM_PROGRESS=odd "${fails[@]}"
    said_once "a bad value of one rank" \
        "rank 2: error: XYLEM_PROGRESS: $cannot" \
        sh -c '[ $PMIX_RANK != 2 ] || export XYLEM_PROGRESS=odd
            exec "$0" "$@"' "${fails[@]}"
    said_once "a bad value of two ranks" \
        "rank 1: error: XYLEM_PROGRESS: $cannot" \
        sh -c '[ $PMIX_RANK = 0 ] || export XYLEM_PROGRESS=odd
            exec "$0" "$@"' "${fails[@]}"
    said_once "an unknown variable" \
        "warning: there is no setting XYLEM_SPEED; it changes nothing .*" \
        XYLEM_SPEED=9 "${goes_on[@]}"
    said_once "an unknown variable of one rank" \
        "rank 1: warning: there is no setting XYLEM_SPEED; .*" \
        sh -c '[ $PMIX_RANK != 1 ] || export XYLEM_SPEED=9
            exec "$0" "$@"' "${goes_on[@]}"
    for step in "XYLEM_NET=odd|XYLEM_ERR_CONFIG|rank 0: error: XYLEM_NET: there is no net .*" \
        "XYLEM_TUNING=/nowhere|XYLEM_OK|warning: XYLEM_TUNING=.*" \
        "XYLEM_SEND_WINDOW=65|XYLEM_ERR_CONFIG|error: XYLEM_SEND_WINDOW.*"; do
        said_once "${step%%|*}" "${step##*|}" "${step%%|*}" \
            "$programs/misuse" create "$(cut -d '|' -f 2 <<<"$step")" ""
    done
    said_once "a difference" \
        "rank 0: error: XYLEM_SHARE_BYTES differs between rank 2 and this rank; .*" \
        sh -c '[ $PMIX_RANK != 2 ] || export XYLEM_SHARE_BYTES=1M
            exec "$0" "$@"' "$programs/misuse" create XYLEM_ERR_VERSION ""
}

# What a topology file says must be equal, wherever it lies; and jobs run by it.
test_topologies()
{
    local net=$work/net number
    for number in 0 1 2; do
        echo "{\"switches\": [{\"name\": \"s$((number % 2))\",
            \"nodes\": [\"node0\", \"node2\"]}]}" >"$net$number"
    done
    refused "a topology that is not there" ERR_CONFIG nowhere.json \
        XYLEM_TOPOLOGY=nowhere.json
    says "a topology without a node of the job" 0 "names no node of this job" \
        "$run" -n 2 --env XYLEM_TOPOLOGY="${net}0" \
        "$programs/misuse" create XYLEM_OK ""
    succeeds "different topologies" "$run" -n 2 --env XYLEM_LOG=none sh -c '
        XYLEM_TOPOLOGY=$1$PMIX_RANK exec "$0" create \
            XYLEM_ERR_VERSION XYLEM_TOPOLOGY' "$programs/misuse" "$net"
    succeeds "equal topologies in different files" "$run" -n 2 \
        --env XYLEM_LOG=none sh -c '
        XYLEM_TOPOLOGY=$1$((PMIX_RANK * 2)) exec "$0" create XYLEM_OK ""' \
        "$programs/misuse" "$net"
    succeeds "collectives below switches" "$run" -n 8 --nodes 4 \
        --env XYLEM_TOPOLOGY="${net}0" "$programs/collectives" flight 5
}

test_misuse()
{
    local mode ranks
    for mode in args handles parts callbacks blocks contract ends tasks; do
        for ranks in 1 2 3; do
            succeeds "$mode on $ranks" "$run" -n $ranks --env XYLEM_LOG=none \
                "$programs/misuse" $mode
        done
        succeeds "$mode with a progress thread" "$run" -n 2 \
            --env XYLEM_LOG=none --env XYLEM_PROGRESS=thread \
            "$programs/misuse" $mode
    done
    succeeds "a dump has remote tasks" "$run" -n 2 --env XYLEM_LOG=none \
        --env XYLEM_HANG_DUMP="$work/dump" "$programs/misuse" tasks
    says "messages go where the program wants them" 0 "error: " \
        "$run" -n 2 --env XYLEM_LOG=error "$programs/misuse" contract
    succeeds "operations" "$run" -n 3 --env XYLEM_LOG=none \
        "$programs/misuse" operations
    for mode in good version build abi magic length zero break; do
        succeeds "a bootstrap of the user's: $mode" env XYLEM_LOG=none \
            "$programs/own_bootstrap" $mode
    done
    succeeds "a bootstrap of the user's: abort" env XYLEM_LOG=warn \
        UCX_TLS=tcp,self "$programs/own_bootstrap" abort
}

# ---------------------------------------------------------------------------
# Death of a rank

# death RANKS VICTIM SEED cold|warm|idle|full|combine [NAME=VALUE|OPTION]...
death()
{
    local ranks=$1 victim=$2 seed=$3 warmth=$4 options good=no
    shift 4
    set_options "$@"
    attempt "$run" -n "$ranks" --no-kill --env XYLEM_LOG=none \
        "${options[@]}" "$programs/death" "$victim" "$seed" "$warmth"
    if [ "$code" -eq 137 ] &&
        [ "$(grep -c '^rank [0-9]* survived$' "$out")" -eq $((ranks - 1)) ]
    then
        good=yes
    fi
    report "rank $victim of $ranks dies, $warmth, seed $seed${*:+, $*}" $good
}

# unreceived [NAME=VALUE | option]...: one of four ranks aborts a team, of which
# another does not hear.
unreceived()
{
    local options good=no
    set_options "$@"
    rm -f "$work/words"
    attempt "$run" -n 4 "${options[@]}" "$programs/unreceived" "$work/words"
    [ "$code" -eq 0 ] && good=yes
    report "a context ends though a message is not received${*:+, $*}" $good
}

# unwanted [NAME=VALUE | option]...: one of four ranks aborts a team whose other
# ranks have sent it messages.
unwanted()
{
    local options good=no
    set_options "$@"
    attempt "$run" -n 4 --env UCX_LOG_LEVEL=warn "${options[@]}" \
        "$programs/unwanted"
    [ "$code" -eq 0 ] && ! grep -q 'UCX' "$out" "$err" && good=yes
    report "nothing is left of messages of an aborted team${*:+, $*}" $good
}

# unspoken RANKS LATE [NAME=VALUE | option]...: a rank dies whose first message
# has come, and which nobody has sent anything; another looks so many seconds
# later than the others.
unspoken()
{
    local ranks=$1 late=$2 options good=no
    shift 2
    set_options "$@"
    : >"$work/pid"
    attempt "$run" -n "$ranks" --no-kill --env XYLEM_LOG=none \
        --env XYLEM_LIVENESS_MS=60000 "${options[@]}" \
        "$programs/unspoken" "$work/pid" "$late"
    [ "$code" -eq 137 ] &&
        [ "$(grep -c '^rank [0-9]* survived$' "$out")" -eq $((ranks - 1)) ] &&
        good=yes
    [ "$late" -eq 0 ] || set -- "one is $late s late" "$@"
    report "one of $ranks dies before it is answered${*:+, $*}" $good
}

# gone WHEN HOW "first|last|apart [deaf]" [NAME=VALUE | option]...: a rank that
# has no context goes, and the others are told each time they try to make theirs.
gone()
{
    local when=$1 how=$2 order options good=no wanted
    read -ra order <<<"$3"
    shift 3
    set_options "$@"
    case $how-$when in
    kill-*) wanted=137 ;;
    fail-*) wanted=3 ;;
    exit-begin | exit-again) wanted=0 ;;
    *) wanted=1 ;; # without xylem_context_destroy
    esac
    attempt "$run" -n 3 --no-kill --env XYLEM_LOG=none "${options[@]}" \
        "$programs/gone" "$when" "$how" "${order[@]}"
    [ "$code" -eq $wanted ] && [ "$(grep -c ' is told after ' "$out")" -eq 4 ] &&
        good=yes
    report "a rank goes without a context, $when $how ${order[*]}${*:+, $*}" \
        $good
}

test_gone()
{
    local when how order

    if [ "$set" = all ] && [ "${CHECK_DEPTH:-1}" -gt 1 ]; then
        for when in begin again told met reach reached settle settled; do
            for how in kill exit fail; do
                for order in first last apart "last deaf"; do
                    gone $when $how "$order"
                    gone $when $how "$order" --nodes 3 XYLEM_PROGRESS=thread
                done
            done
        done
        return
    fi
    gone begin kill first
    gone begin exit last XYLEM_PROGRESS=thread
    gone begin fail last --nodes 2
    gone again exit last
    gone told kill last XYLEM_PROGRESS=blocking
    gone met kill first
    gone reach kill first
    gone reached fail last
    gone settle fail last
    gone settled kill first --nodes 3
    gone begin kill apart
    gone again exit apart
    gone begin kill "first deaf"
    gone settle kill "last deaf"
}

# mismatch RANKS FIRST COUNT STEP [NAME=VALUE | option]...
mismatch()
{
    local ranks=$1 first=$2 pairs=$3 step=$4 options
    shift 4
    set_options "$@"
    succeeds "$ranks ranks call different things, $first $step${*:+, $*}" \
        "$run" -n "$ranks" --env XYLEM_LOG=none \
        "${options[@]}" "$programs/mismatch" "$first" "$pairs" "$step"
}

# All pairs of calls, in parts: a second for each in which somebody waits. The
# unit tests have all of them in the simulator.
test_mismatch()
{
    local i

    if [ "$set" = all ] && [ "${CHECK_DEPTH:-1}" -gt 1 ]; then
        for i in $(seq 0 35); do
            mismatch 3 $((36 * i)) 36 1
            mismatch 4 $((36 * i)) 36 1
            mismatch 3 $((36 * i)) 36 1 XYLEM_PROGRESS=thread
            mismatch 4 $((36 * i)) 36 1 --nodes 2
            mismatch 3 $((36 * i)) 36 1 XYLEM_SHM=off
        done
        return
    fi
    mismatch 3 1 1296 43
    mismatch 4 5 1296 103 --nodes 2
    mismatch 2 13 1296 331 XYLEM_SHM=off
    mismatch 3 7 1296 307 XYLEM_PROGRESS=thread
}

# recovery RANKS DEATHS [NAME=VALUE | option]...
recovery()
{
    local ranks=$1 deaths=$2 options good=no
    shift 2
    set_options "$@"
    attempt "$run" -n "$ranks" --no-kill --env XYLEM_LOG=none \
        "${options[@]}" "$programs/../examples/recovery"
    if [ "$code" -eq 137 ] && [ "$(grep -c ' have done 1000 rounds' "$out")" \
        -eq $((ranks - deaths)) ]
    then
        good=yes
    fi
    report "$ranks ranks go on without $deaths${*:+, $*}" $good
}

# Blocks of kernels wait for words when a rank dies: they are told.
test_blocks()
{
    local victim progress good

    for progress in "${progresses[@]}"; do
        victim=$((${victim:--1} + 1)) good=no
        attempt "$run" -n 3 --no-kill --env XYLEM_LOG=none --env "$progress" \
            "$programs/blocks" 20 own $victim
        [ "$code" -ne 137 ] || [ "$(grep -c '^right$' "$out")" -ne 2 ] ||
            good=yes
        report "blocks are told of the death of rank $victim, $progress" $good
    done
    succeeds "blocks on two nodes" "$run" -n 4 --nodes 2 "$programs/blocks" 20 \
        shared
}

test_recovery()
{
    recovery 5 2
    recovery 4 2 XYLEM_PROGRESS=thread
    recovery 5 2 XYLEM_PROGRESS=blocking
    recovery 3 1 XYLEM_SHM=off
    recovery 6 2 --nodes 3
    test_blocks
    if nm -D "$programs/death" | grep -q ' __[at]san_'; then
        skip "no descriptors of processes" "sanitizers want to come first"
    else
        recovery 4 2 LD_PRELOAD="$programs/no_pidfd.so"
    fi
}

# Ranks in namespaces of process numbers of their own, as containers have them,
# whose hosts have one name: each is on a node of its own.
test_containers()
{
    local name="two of four ranks in containers with the host's name"

    if ! unshare -pf true 2>"$err"; then
        skip "$name" "no right to make namespaces"
        return
    fi
    # shellcheck disable=SC2016
    succeeds "$name" "$run" -n 4 sh -c \
        'if [ "$PMIX_RANK" -lt 2 ]; then exec "$@"; else exec unshare -pf "$@"
        fi' sh "$programs/collectives" flight 2
}

# Every victim in every mode and setting, with as many seeds as wanted.
kill_matrix()
{
    local seed victim mode setting settings=('' XYLEM_SHM=off '--nodes 2'
        '--nodes 4' 'XYLEM_PROGRESS=thread' 'XYLEM_PROGRESS=thread --nodes 2')
    for ((seed = 1; seed <= $1; seed++)); do
        for setting in "${settings[@]}"; do
            for mode in cold warm idle full combine; do
                for victim in 0 1 2 3; do
                    # shellcheck disable=SC2086 # several words, or none
                    death 4 $victim $((1000 * seed + victim)) $mode $setting
                done
            done
        done
    done
}

# phases RANKS FIRST STEP OPERATIONS [NAME=VALUE | option]...: one rank after the
# other dies, in the phase that a case says, until two are left.
phases()
{
    local ranks=$1 first=$2 step=$3 operations=$4 options good=no
    shift 4
    set_options "$@"
    : >"$work/died"
    attempt "$run" -n "$ranks" --no-kill --env XYLEM_LOG=none \
        "${options[@]}" "$programs/phases" "$first" "$step" "$operations" \
        "$work/died"
    grep 'answered after' "$out" >>"$work/answers"
    [ "$code" -eq 137 ] &&
        [ "$(grep -c "survived $((ranks - 2)) deaths" "$out")" -eq 2 ] &&
        good=yes
    report "$((ranks - 2)) deaths by phase, $first $step${*:+, $*}" $good
}

# How long after a death who lives was told; of the bounds the lab book speaks.
answers_summarize()
{
    local what=$1
    awk -v what="$what" '{ ms = $(NF - 1); sum += ms; if (ms > most) most = ms
             n++; if (ms > 2000) late++; if (ms > 5000) later++ }
         END { if (n) printf "# %s: %d answers, mean %.1f ms, slowest %.1f ms;" \
             " %d above 2 s, %d above 5 s\n", what, n, sum / n, most, late,
             later }' "$work/answers"
    rm -f "$work/answers"
}

# Every collective, length, victim and phase: 1,080 cases, four to a job.
phase_matrix()
{
    local setting case settings=('' '--nodes 3' XYLEM_PROGRESS=thread
        'XYLEM_PROGRESS=thread --nodes 3' XYLEM_SHM=off)
    for setting in "${settings[@]}"; do
        for ((case = 0; case < 1080; case += 4)); do
            # shellcheck disable=SC2086 # several words, or none
            phases 6 $case 1 1000 $setting
        done
        answers_summarize "one node or several, '$setting'"
        for case in 1 2 3 4 5 6 7 8; do
            # shellcheck disable=SC2086 # several words, or none
            tasks_death 4 $((300 * case)) $setting
        done
    done
}

# A rank that stands still for ten seconds is not dead.
test_stopped()
{
    local progress
    for progress in "${progresses[@]}"; do
        succeeds "a rank is stopped for ten seconds, $progress" \
            "$run" -n 3 --env "$progress" bash -c '
                "$0" flight 300 &
                rank=$!
                if [ "$PMIX_RANK" = 1 ]; then
                    kill -STOP $rank
                    sleep 10
                    kill -CONT $rank
                fi
                wait $rank' "$programs/collectives"
    done
}

test_death()
{
    # Over TCP warm only: UCX ends the process when a connection that is just
    # being made is refused.
    cross death "${progresses[*]}" '5 1 1 cold' '4 0 11 warm' '4 2 2 cold' \
        '5 1 12 warm XYLEM_NOISE_BUDGET=256K' '5 3 3 cold' '4 2 13 warm' \
        '4 0 4 cold XYLEM_NOISE_BUDGET=64K' '5 3 14 warm' \
        '3 1 15 cold XYLEM_NOISE_BUDGET=256K XYLEM_REDUCE_ORDER=arrival' \
        '5 1 16 warm XYLEM_REDUCE_ORDER=arrival' '4 0 17 cold XYLEM_SHM=off' \
        '5 3 18 warm XYLEM_SHM=off' '4 1 21 idle' \
        '3 2 22 full XYLEM_NOISE_BUDGET=64K' '4 0 23 combine' \
        '5 2 24 combine XYLEM_REDUCE_ORDER=arrival' '2 1 25 idle' \
        '4 3 26 full' '3 0 27 combine XYLEM_SHM=off' \
        '4 2 5 warm XYLEM_SHM=off UCX_TLS=tcp,self' \
        '4 0 6 cold XYLEM_SHM=off UCX_RNDV_THRESH=0'
    death 6 2 28 warm --nodes 2 XYLEM_BYPASS_US=20
    death 6 3 29 cold --nodes 2 XYLEM_BYPASS_US=20
    death 2 1 7 cold
    death 2 0 8 warm
    unreceived --nodes 4 UCX_TLS=tcp,self
    unreceived XYLEM_SHM=off UCX_TLS=tcp,self XYLEM_PROGRESS=blocking
    unwanted XYLEM_SHM=off
    unwanted --nodes 4 UCX_TLS=tcp,self
    unspoken 2 0 XYLEM_SHM=off
    unspoken 4 0 XYLEM_SHM=off
    unspoken 4 0 XYLEM_SHM=off XYLEM_PROGRESS=blocking
    unspoken 4 7 XYLEM_SHM=off
    phases 6 17 89 60
    phases 6 300 113 60 --nodes 3
    phases 5 500 89 60 XYLEM_PROGRESS=thread
    phases 5 700 131 60 --nodes 2 XYLEM_PROGRESS=thread
    phases 5 900 89 60 XYLEM_SHM=off
    answers_summarize "some of all phases"
    test_gone
    test_recovery
    cross tasks_death "${progresses[*]}" '3 600' '4 600 --nodes 2' \
        '3 600 UCX_RNDV_THRESH=0'
    if [ "${CHECK_DEPTH:-1}" -gt 1 ]; then
        test_stopped
        kill_matrix "$CHECK_DEPTH"
        phase_matrix
    fi
}

# tasks RANKS MODE COUNT [NAME=VALUE | option]...
tasks()
{
    local ranks=$1 mode=$2 many=$3 options
    shift 3
    set_options "$@"
    succeeds "tasks $mode $many on $ranks${*:+, $*}" "$run" -n "$ranks" \
        "${options[@]}" "$programs/tasks" "$mode" "$many"
}

# The last rank dies, the others end as usual.
tasks_death()
{
    local ranks=$1 many=$2 options good=no
    shift 2
    set_options "$@"
    attempt "$run" -n "$ranks" --no-kill --env XYLEM_LOG=none \
        "${options[@]}" "$programs/tasks" death "$many"
    [ "$code" -eq 137 ] &&
        [ "$(grep -c '^rank [0-9]* survived$' "$out")" -eq $((ranks - 1)) ] &&
        good=yes
    report "a rank dies among $many tasks on $ranks${*:+, $*}" $good
}

test_tasks()
{
    tasks 1 sweep 1000
    tasks 4 sweep 1500 --nodes 2
    cross tasks "${progresses[*]} ${transports[*]}" '2 sweep 1000' \
        '3 sweep 1000' '2 sweep 1000 --nodes 2' '4 sweep 700' \
        '3 sweep 700 --nodes 3' '2 sweep 1000'
    if [ "${CHECK_DEPTH:-1}" -gt 1 ]; then # a million
        cross tasks "${progresses[*]}" '4 sweep 50000' \
            '4 sweep 50000 XYLEM_SHM=off' '3 sweep 70000' '2 sweep 100000' \
            '4 sweep 50000 --nodes 2'
    fi
}

# ---------------------------------------------------------------------------
# The benchmarks

# shellcheck source=tests/proc/bench.sh
. "$(dirname "$0")/bench.sh"

case $group in
collectives)
    test_defaults
    test_transports
    test_progress
    test_layouts
    test_containers
    ;;
misuse)
    test_settings
    test_differences
    test_said_once
    test_topologies
    test_misuse
    test_mismatch
    ;;
calls)
    test_calls
    test_tasks
    ;;
death) test_death ;;
bench) test_bench ;;
*)
    echo "there is no group '$group'" >&2
    exit 2
    ;;
esac
finish
