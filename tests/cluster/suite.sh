#!/bin/bash
# xylem on several nodes; prints TAP.
#
#   suite.sh GROUP TESTS-FOLDER BENCH-FOLDER
#
#   GROUP   tool: the cluster itself; collectives: under mpirun;
#           death: a rank is killed; slurm: under srun; mpi: the binding
#           for MPI, under Open MPI; noise: campaigns of xylem-noise,
#           killed and gone on with (nightly), and in the end
#           `N passed, N failed, N skipped`
# Folders: where the programs have been built. Every group makes clusters of its
# own, in a folder that goes with it, and skips where there can be none.
set -u
# shellcheck source=tests/support/tap.sh
TMPDIR=/tmp . "$(dirname "$0")/../support/tap.sh" # as paths of sockets are short

group=$1
tests=$(realpath "$2")
bench=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
run=$here/run.sh
export CLUSTER_DIR=$work/c

# The ranks' settings are those of the tests; UCX's own remarks are not of
# interest.
# shellcheck disable=SC2086 # a list of names
unset ${!XYLEM_*} ${!UCX_*} CLUSTER_NET
export XYLEM_CONF=none
export UCX_LOG_LEVEL=error

# shellcheck source=tests/cluster/lib/tap.sh
. "$here/lib/tap.sh"

take_down()
{
    local cluster

    for cluster in "$work"/*/nodes; do
        [[ ! -e $cluster ]] || CLUSTER_DIR=${cluster%/*} bash "$run" down
    done
    rm -rf "$work"
}
trap take_down EXIT
trap 'exit 143' TERM INT

# The last lines. As a suite of its own, for tests/nightly.sh, a group counts.
end()
{
    finish
    code=$?
    [[ $group != noise ]] || total
    exit $code
}

# need_cluster NODES: ends the group when there can be none.
need_cluster()
{
    attempt bash "$run" up "$1" --owner $$
    ((code != 0)) || return 0
    if ((code == 77)); then
        skip "a cluster of $1 nodes" "$(sed -n 's/^cluster: //p' "$err")"
    else
        report "a cluster of $1 nodes" no
    fi
    end
}

# shellcheck source=tests/cluster/lib/test_tool.sh
. "$here/lib/test_tool.sh"
# shellcheck source=tests/cluster/lib/test_jobs.sh
. "$here/lib/test_jobs.sh"
# shellcheck source=tests/cluster/lib/test_noise.sh
. "$here/lib/test_noise.sh"

case $group in
tool) test_tool ;;
collectives) test_collectives ;;
death) test_death ;;
slurm) test_slurm ;;
mpi) test_mpi ;;
noise) test_noise ;;
*)
    echo "there is no group '$group'" >&2
    exit 2
    ;;
esac
end
