#!/bin/bash
# The N-th call that may fail does so on one rank, and all ranks get a status:
# no hang, no crash, no memory lost, and the same on all. Prints TAP.
#
#   nth.sh XYLEM-RUN NTH [SET]
#
#   NTH  the program nth.c beside this script
#   SET  few: some calls by their names; all: every call, in several settings,
#        for hours; what the environment has in CHECK_SET comes before
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

run=$(realpath "$1")
nth=$(realpath "$2")
set=${CHECK_SET:-${3:-few}}
ranks=3
bound=240 # seconds of a command
alone=no

settings_forget
export UCX_LOG_LEVEL=fatal
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}fast_unwind_on_malloc=0

# Whether all ranks say the same of each step. With `alone`, where PMIx does not
# answer the rank that fails, that one creates its context once more than the
# others, who wait for it; who gives up is gone.
all_agree()
{
    awk -v ranks="$ranks" -v alone="$alone" '
        $1 != "step" { next }
        $2 == "gives" { gone++; next }
        alone == "yes" && $2 ~ /^create/ && $5 != "XYLEM_OK" { next }
        { step = alone == "yes" && $2 ~ /^create/ ? "create" : $2 }
        { told[step]++; if (!(step in said)) said[step] = $5 }
        said[step] != $5 { exit bad = 1 }
        END {
            for (step in told)
                if (told[step] != ranks - gone)
                    bad = 1
            exit bad || !("destroy" in told) && !gone
        }' "$1"
}

# fails RANK N [NAME=VALUE | option]... [-- FUNCTION [BYTES]]
fails()
{
    local rank=$1 number=$2 options=() only=()
    shift 2
    while (($# > 0)) && [[ $1 != -- ]]; do
        case $1 in
        [A-Z]*=*) options+=(--env "$1") ;;
        *) options+=("$1") ;;
        esac
        shift
    done
    (($# == 0)) || only=("${@:2}")
    attempt "$run" -n $ranks --no-kill --env XYLEM_LOG=none \
        "${options[@]}" "$nth" "$rank" "$number" "${only[@]}"
    ((code != 0)) && return 1
    all_agree "$out"
}

# case_of RANK N [...]: as above, and a line for it.
case_of()
{
    local good=no words="${*:3}"
    fails "$@" && good=yes
    report "rank $1, call $2 ${words//"$work"\/}: $(sed -n 's/^failed //p' \
        "$out")" $good
}

# Every call until there is none left.
sweep()
{
    local rank number
    for rank in 0 1; do
        for ((number = 1; ; number++)); do
            case_of $rank $number XYLEM_TIMEOUT_S=10 "$@"
            grep -q '^failed nothing' "$out" && break
        done
    done
}

if [[ $set == all ]]; then
    alone=yes
    sweep
    sweep XYLEM_SHM=off
    sweep --nodes 2
    sweep --nodes 3 UCX_TLS=tcp,self
    sweep XYLEM_PROGRESS=thread
    sweep XYLEM_PROGRESS=blocking
    finish
    exit
fi
# Contexts
case_of 1 1 -- aligned_alloc
case_of 1 1 -- ucp_worker_create
case_of 0 1 -- event_base_new
case_of 1 1 XYLEM_TIMEOUT_S=1000 -- PMIx_Put # nobody waits for so long
case_of 1 1 XYLEM_PROGRESS=thread -- pthread_create
case_of 1 1 -- memfd_create
# A record of what is done, teams and agreements included; no memory for it,
# which is the only piece of its size.
case_of 1 0 XYLEM_TRACE="$work/trace"
case_of 1 1 XYLEM_TRACE="$work/trace" -- calloc 1000000
# Teams and operations
case_of 1 1 -- malloc
case_of 2 2 --nodes 3 -- ucp_ep_create
case_of 0 3 XYLEM_SHM=off -- ucp_tag_send_nbx
case_of 1 2 -- ucp_tag_send_nbx # of the first agreement
case_of 1 4 -- mmap64
# One rank is refused before it begins to shrink, and calls again; another then
# cannot begin to make the team, and says so to all.
good=no
# shellcheck disable=SC2016
attempt "$run" -n $ranks --no-kill --env XYLEM_LOG=none --env NTH_SHRINK=1 \
    sh -c '[ "$PMIX_RANK" = 0 ] && exec "$0" 0 2 calloc 8
        exec "$0" 1 1 calloc 8' "$nth"
[[ $code -eq 0 ]] && all_agree "$out" &&
    [[ $(grep -c '^failed calloc' "$out") -eq 2 ]] && good=yes
report "two ranks have no memory to shrink" $good
finish
