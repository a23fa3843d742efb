#!/bin/bash
# Shared memory leaves nothing behind, also when a rank is killed. Prints TAP.
#
#   leftovers.sh XYLEM-RUN FOLDER
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

run=$(realpath "$1")
programs=$(realpath "$2")

settings_forget
export UCX_LOG_LEVEL=error TMPDIR=$work/tmp
mkdir "$TMPDIR"

# gives NAME CODE COMMAND...
gives()
{
    local name=$1 wanted=$2
    shift 2
    attempt "$@"
    check "$name" [ "$code" -eq "$wanted" ]
}

# no_names NAME: neither among the names of shared memory nor of passing files.
no_names()
{
    gives "$1" 1 sh -c "ls -A '$TMPDIR' /dev/shm | grep xylem | grep -v -e -bench"
}

gives "shared memory has no name" 0 "$run" -n 3 "$programs/nameless" shared
gives "two nodes of two" 0 "$run" -n 4 --nodes 2 "$programs/nameless" shared
gives "one rank" 0 "$programs/nameless" alone
gives "a rank on each node" 0 "$run" -n 2 --nodes 2 "$programs/nameless" alone
# One rank that cannot is enough: the others do not use it either.
for limited in 0 2; do
    # shellcheck disable=SC2016 # the ranks' command
    gives "rank $limited may not have large files" 0 "$run" -n 3 \
        --env LIMITED=$limited sh -c '[ $PMIX_RANK != $LIMITED ] ||
            ulimit -f 1000000; exec "$0" alone' "$programs/nameless"
    cat "$out" "$err" >"$work/said"
    gives "which is warned of once" 0 sh -c "[ \$(wc -l <'$work/said') = 1 ] &&
        grep 'rank 0: warning: .* rank $limited says .*ulimit' '$work/said'"
done
gives "not wanted" 0 "$run" -n 2 --env XYLEM_SHM=off "$programs/nameless" alone
no_names "nothing is left"
for seed in 1 2 3; do
    gives "a rank is killed, seed $seed" 137 "$run" -n 3 --no-kill \
        --env XYLEM_LOG=none "$programs/death" 1 $seed cold
    no_names "nothing is left of it, seed $seed"
done
finish
