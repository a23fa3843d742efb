#!/bin/bash
# The first process of a cluster, and of its head node: the machine on which
# users log in and launchers run. It has the switch, and all nodes are below it.
#
#   head.sh NODES     with CLUSTER_DIR and CLUSTER_NET
set -u
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=tests/cluster/lib/common.sh
. "$here/common.sh"
# shellcheck source=tests/cluster/lib/inside.sh
. "$here/inside.sh"

nodes=$1

write_hosts()
{
    local number

    echo "127.0.0.1 localhost"
    for ((number = 0; number < nodes; number++)); do
        echo "$cluster_net.$((number + 1)) n$number"
    done
    echo "$cluster_net.254 head"
}

# wait_for FILE PROCESS: 1 when the process ends without making the file.
wait_for()
{
    local tries

    for ((tries = 0; tries < 2000; tries++)); do
        [[ ! -s $1 && ! -e $1 ]] || return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

start_node()
{
    local number=$1 log=$cluster_dir/log.$1 starter pid

    unshare --mount --net --uts --ipc --pid --fork --kill-child \
        --propagation unchanged bash "$here/node.sh" "$number" >"$log" 2>&1 &
    starter=$!
    wait_for "$cluster_dir/pid.$number" $starter &&
        read -r pid <"$cluster_dir/pid.$number" &&
        ip link add "v$number" type veth peer name eth0 netns "$pid" &&
        ip link set "v$number" master eth0 up &&
        wait_for "$cluster_dir/ready.$number" $starter && return
    cat "$log" >&2
    cannot "node n$number does not come up"
}

keep_mounts || cannot "mounts cannot be kept to the cluster"
find_outer_pid
echo "$outer_pid $(readlink /proc/self/ns/pid)" >"$cluster_dir/head.new"
mv "$cluster_dir/head.new" "$cluster_dir/head"
hostname head && mount_own && write_hosts >"$cluster_dir/hosts" &&
    mount_hosts || cannot "the head node cannot be given its own files"
# With an address of its own, not that of a cable, which may be laid otherwise.
ip link set lo up && ip link add eth0 address 02:00:00:00:00:fe type bridge &&
    ip address add "$cluster_net.254/24" dev eth0 &&
    ip link set eth0 up || cannot "no bridge can be made"
for ((number = 0; number < nodes; number++)); do
    start_node $number
done
: >"$cluster_dir/ready.head"
stay
