#!/bin/bash
# What a machine or a user has too little of: descriptors, memory, /dev/shm,
# teams. All ranks get the same answer, in time, and what there is room for works.
# Prints TAP.
#
#   limits.sh XYLEM-RUN NTH LIMITS
#
#   NTH, LIMITS  nth.c and limits.c beside this script
# Commands of ranks are in single quotes on purpose.
# shellcheck disable=SC2016
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

run=$(realpath "$1")
nth=$(realpath "$2")
limits=$(realpath "$3")
ranks=3
bound=240

settings_forget
export UCX_LOG_LEVEL=fatal
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}fast_unwind_on_malloc=0

is_sanitized()
{
    nm "$nth" 2>/dev/null | grep -q __asan_init
}

# Whether all ranks say the same of each step, to the end or until all give up.
all_agree()
{
    awk -v ranks="$ranks" '
        $1 != "step" { next }
        $2 == "gives" { gone++; next }
        { told[$2]++; if (!($2 in said)) said[$2] = $5 }
        said[$2] != $5 { exit bad = 1 }
        END {
            for (step in told)
                if (told[step] != ranks)
                    bad = 1
            exit bad || told["destroy"] != ranks && gone != ranks
        }' "$1"
}

# Whether enough ranks come to their end, or all give up.
most_end()
{
    [ "$(grep -c -e 'step destroy.*XYLEM_OK' -e 'step gives up' "$out")" \
        -ge $((ranks - 1)) ]
}

# lives NAME LIMIT [option]...: rank 1, or with `each` set all ranks, have that
# limit; a rank's whole life. Where the program's own buffers do not fit beside
# the libraries it dies, and where UCX has no memory for a message that comes UCX
# ends it by an assertion; the others have to hear of that.
lives()
{
    local name=$1 limit=$2 good=no
    shift 2
    attempt "$run" -n "$ranks" --no-kill --env XYLEM_LOG=none "$@" sh -c '
        limit=$1
        shift
        if [ -n "${each-}" ] || [ "$PMIX_RANK" = 1 ]; then
            eval "$limit"
        fi
        exec "$@"' sh "$limit" "$nth" 1 limits
    [ "$code" -eq 0 ] && all_agree "$out" && good=yes
    [ -z "${each-}" ] && most_end && grep -q -e 'no memory of its own' \
        -e 'uct_iface\.h:.*Assertion' "$err" && good=yes
    report "$name: $(sed -n 's/^step create0 rank 0 //p' "$out"), $(
        grep -c 'step destroy.*XYLEM_OK' "$out") of $ranks to the end" $good
}

# told NAME LIMIT: rank 1 has that limit, which may end it: the others come to
# their end, or all give up.
told()
{
    attempt "$run" -n "$ranks" --no-kill --env XYLEM_LOG=none sh -c '
        [ "$PMIX_RANK" != 1 ] || eval "$1"
        shift
        exec "$@"' sh "$2" "$nth" 1 limits
    check "$1" most_end
}

# passes NAME COMMAND...
passes()
{
    local name=$1
    shift
    attempt "$@"
    check "$name" [ "$code" -eq 0 ]
}

test_descriptors()
{
    local most

    for most in 16 24 28 36 44 64; do
        lives "$most descriptors on one rank" "ulimit -n $most"
    done
    each=yes lives "40 descriptors on all ranks" "ulimit -n 40"
    lives "44 descriptors, and TCP" "ulimit -n 44" --nodes 3 \
        --env UCX_TLS=tcp,self
    lives "64 descriptors, and TCP" "ulimit -n 64" --nodes 3 \
        --env UCX_TLS=tcp,self
    ranks=8 each=yes lives "64 descriptors on each of eight ranks" \
        "ulimit -n 64"
}

# What the launcher and the ranks find in a namespace of their own.
test_dev_shm()
{
    local size

    if ! unshare -m true 2>/dev/null; then
        skip "a full /dev/shm" "no namespaces"
        return
    fi
    for size in 4k 256k; do
        attempt unshare -m sh -c '
            mount -t tmpfs -o size=$1 tmpfs /dev/shm || exit 99
            shift
            exec "$@"' sh $size "$run" -n "$ranks" --no-kill \
            --env XYLEM_LOG=none "$nth" 1 limits
        check "a /dev/shm of $size" all_agree "$out"
        attempt unshare -m sh -c '
            mount -t tmpfs -o size=$1 tmpfs /dev/shm || exit 99
            shift
            exec "$@"' sh $size "$run" -n "$ranks" --no-kill \
            --env XYLEM_LOG=none --env XYLEM_SHM=off "$nth" 1 limits
        check "a /dev/shm of $size, messages alone" all_agree "$out"
    done
}

test_memory()
{
    local mib

    if is_sanitized; then
        skip "little memory" "a sanitizer needs more"
        return
    fi
    for mib in 100 200 600 650 700 800; do
        lives "$mib MiB of addresses on one rank" "ulimit -v $((mib << 10))"
    done
    for mib in 34 38 42 44 47; do
        told "$mib MiB of addresses on one rank: nobody waits for ever" \
            "ulimit -v $((mib << 10))"
    done
}

# group_make: a control group for memory, its folder in $group and its limit's
# file in $group_limit; false where there is none to be had, and why in $why.
group_make()
{
    local path parents=()

    path=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
    parents=("/sys/fs/cgroup/memory$path" /sys/fs/cgroup/memory)
    path=$(sed -n 's/^0:://p' /proc/self/cgroup)
    parents+=("/sys/fs/cgroup$path" /sys/fs/cgroup)
    why="no control group for memory can be made here"
    for path in "${parents[@]}"; do
        [ -w "$path/cgroup.procs" ] || continue
        [ ! -e "$path/cgroup.subtree_control" ] ||
            echo +memory >"$path/cgroup.subtree_control" || continue
        group=$path/xylem-limits-$$
        mkdir "$group" || continue
        for group_limit in memory.limit_in_bytes memory.max; do
            [ ! -w "$group/$group_limit" ] || return 0
        done
        rmdir "$group"
    done 2>/dev/null
    return 1
}

# grouped MIB [option]...: rank 1 has so much memory. The kernel may kill it at
# any time, and the others are told.
grouped()
{
    local mib=$1 good=no group group_limit why name tries
    shift
    name="$mib MiB for one rank${*:+, $*}"
    if ! group_make; then
        skip "$name" "$why"
        return
    fi
    echo $((mib << 20)) >"$group/$group_limit"
    echo 0 2>/dev/null >"$group/memory.swap.max"
    attempt "$run" -n "$ranks" --no-kill --env XYLEM_LOG=none "$@" sh -c '
        if [ "$PMIX_RANK" = 1 ]; then
            echo $$ >"$1/cgroup.procs"
        fi
        shift
        exec "$@"' sh "$group" "$nth" 1 limits
    for ((tries = 0; tries < 100; tries++)); do
        rmdir "$group" 2>/dev/null && break
        sleep 0.05 # the kernel may take a while to forget who was there
    done
    if [ "$code" -eq 137 ]; then
        name+=": it is killed, the others are told"
        [ "$(grep -c '^xylem-run: rank' "$err")" -eq 1 ] && good=yes
    elif [ "$code" -eq 0 ]; then
        name+=": $(sed -n 's/^step create0 rank 0 //p' "$out")"
        all_agree "$out" && good=yes
    fi
    report "$name" $good
}

test_groups()
{
    local mib

    if is_sanitized; then
        skip "a control group for memory" "a sanitizer needs more"
        return
    fi
    for mib in 4 8 16 24 64; do
        grouped $mib
    done
    grouped 8 --nodes 3
    grouped 24 --nodes 3
}

test_teams()
{
    local more=0

    is_sanitized && more=100000 # a sanitizer has memory of its own
    passes "200 teams of 4 ranks in 400 MiB" \
        "$run" -n 4 "$limits" teams 200 65536 $((400 + more))
    passes "2,000 teams of 4 ranks in 600 MiB" \
        "$run" -n 4 "$limits" teams 2000 8 $((600 + more))
    passes "more teams than tags" "$run" -n 3 --env XYLEM_LOG=none \
        "$limits" slots 100000
}

test_descriptors
test_dev_shm
test_memory
test_groups
test_teams
finish
