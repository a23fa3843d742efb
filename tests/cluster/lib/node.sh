#!/bin/bash
# The first process of a node, in namespaces of its own.
#
#   node.sh K     with CLUSTER_DIR and CLUSTER_NET
set -u
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=tests/cluster/lib/common.sh
. "$here/common.sh"
# shellcheck source=tests/cluster/lib/inside.sh
. "$here/inside.sh"

number=$1
find_outer_pid
echo "$outer_pid" >"$cluster_dir/pid.new"
mv "$cluster_dir/pid.new" "$cluster_dir/pid.$number"
hostname "n$number" && mount_own && mount_boot_id && mount_hosts ||
    cannot "node n$number cannot be given its own files"
# The head node lays the cable.
for ((tries = 0; tries < 2000; tries++)); do
    ! ip link show dev eth0 >/dev/null 2>&1 || break
    sleep 0.05
done
ip link set lo up &&
    ip address add "$cluster_net.$((number + 1))/24" dev eth0 &&
    ip link set eth0 up || cannot "node n$number cannot be connected"
: >"$cluster_dir/ready.$number"
stay
