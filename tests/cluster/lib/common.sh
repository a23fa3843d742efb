# What the scripts of this folder share; sourced, not run.
#
# A cluster is a tree of namespaces below one process, the first of the head
# node. Nothing of it has a name outside: bridge and links live in the head
# node's network, mounts in the nodes' mount namespaces, and all processes in
# the head node's namespace of process numbers, which the kernel empties when
# that process is killed. So clusters cannot meet each other, and all that one
# leaves on the machine is its folder:
#
#   nodes     how many nodes there are
#   head      process number of the head node, identity of its namespace
#   pid.K     process number of node K, as the head node counts
#   ready.K   node K, or head, has been set up; log.K is what it said
#   hosts     what the nodes see as /etc/hosts
#   agent     what mpirun calls to reach a node
#   tmp       where each node puts a memory file system of its own
# shellcheck shell=bash

cluster_home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# Two checkouts have two default folders.
cluster_dir=${CLUSTER_DIR:-/tmp/xylem-cluster-$(cksum <<<"$cluster_home" |
    cut -d ' ' -f 1)}
# shellcheck disable=SC2034 # these are used by the scripts that source this
cluster_net=${CLUSTER_NET:-10.77.0}
# shellcheck disable=SC2034
cluster_nodes_max=64
code_skip=77

fail()
{
    printf 'cluster: %s\n' "$1" >&2
    exit "${2:-1}"
}

# cannot REASON: what was asked for cannot be done on this machine.
cannot()
{
    fail "$1" $code_skip
}

# require_tools PACKAGE=COMMAND...
require_tools()
{
    local pair

    for pair; do
        command -v "${pair#*=}" >/dev/null ||
            cannot "no ${pair#*=}; install the package ${pair%%=*}"
    done
}

# Sets head_pid; 1 when there is no cluster, or its processes are gone.
find_head()
{
    local space

    [[ -r $cluster_dir/head ]] &&
        read -r head_pid space <"$cluster_dir/head" &&
        [[ $(readlink "/proc/$head_pid/ns/pid") == "$space" ]]
} 2>/dev/null

require_cluster()
{
    find_head || fail "no cluster is up in $cluster_dir"
    read -r cluster_nodes <"$cluster_dir/nodes"
}

# node_number K: accepts 2 and n2, prints 2.
node_number()
{
    local number=${1#n}

    [[ $number =~ ^[0-9]{1,3}$ ]] && ((10#$number < cluster_nodes)) ||
        fail "there is no node '$1' among n0 to n$((cluster_nodes - 1))"
    echo $((10#$number))
}

# The roots, too: entering a mount namespace alone leaves a chroot.
enter=(nsenter --mount --uts --ipc --net --pid --root)

# in_head COMMAND...: runs it on the head node, in the same folder as here.
in_head()
{
    "${enter[@]}" --target "$head_pid" -- env -C "$PWD" -- "$@"
}

# in_node K COMMAND...: the same on node K.
in_node()
{
    local pid

    read -r pid <"$cluster_dir/pid.$1"
    shift
    "${enter[@]}" --target "$head_pid" -- \
        env -C / "${enter[@]}" --target "$pid" -- env -C "$PWD" -- "$@"
}
