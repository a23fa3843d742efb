#!/bin/bash
# A cluster on one machine, for tests: nodes that are network, host name,
# shared memory, process number and mount namespaces, joined by a bridge. Needs
# the rights of root, and changes nothing outside of its folder.
#
#   run.sh up NODES [--owner PID]   makes nodes n0, n1, ... and a head node;
#                                   with an owner, until that process ends
#   run.sh run [OPTION]... PROGRAM [ARGUMENT]...
#                                   mpirun from the head node over the nodes
#       -p, --per-node RANKS        on each node (default 1)
#       -s, --slots A,B,...         ranks on n0, on n1, ... instead
#       -i, --in-turn               each rank on the next node that has room,
#                                   instead of all of a node's one by one
#       -t, --time SECONDS          limit (default 200); exit code 124
#       -o, --options "OPTIONS"     more options of mpirun, such as
#                                   "--tag-output"
#       -m, --mpi MPI               whose mpirun: openmpi (default) or mpich
#   run.sh stop                     kills all jobs
#   run.sh exec NODE COMMAND...     NODE is 2, n2 or head
#   run.sh shape NODE RATE [BURST]  200mbit, say; unshape NODE
#   run.sh loss NODE PERCENT        of packets to the node; noloss NODE
#   run.sh delay NODE MS [JITTER]   of packets from and to the node; nodelay NODE
#   run.sh link NODE up|down        plugs, or pulls, the cable
#   run.sh status                   exit code 1 when there is none
#   run.sh down                     also what a failed `up` has left
#
# CLUSTER_DIR    folder of the cluster; by default one per checkout. Clusters
#                with different folders do not notice each other.
# CLUSTER_NET    first three numbers of its addresses (default 10.77.0)
#
# Exit code 77: it cannot be done on this machine, for the reason given.
set -u
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=tests/cluster/lib/common.sh
. "$here/lib/common.sh"
# shellcheck source=tests/cluster/lib/links.sh
. "$here/lib/links.sh"
# shellcheck source=tests/cluster/lib/job.sh
. "$here/lib/job.sh"

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

# need COUNT ARGUMENT...: at least so many arguments.
need()
{
    (($# > $1)) || fail "not enough arguments; see --help" 2
}

require_rights()
{
    ((EUID == 0)) || cannot "namespaces need the rights of root"
    require_tools util-linux=unshare util-linux=nsenter iproute2=ip \
        mount=mount hostname=hostname
    local said
    said=$(unshare --mount --net --uts --ipc --pid --fork \
        --propagation unchanged true 2>&1) ||
        cannot "namespaces cannot be made: ${said#unshare: }"
}

# Prints why the head node has ended.
blame()
{
    local said

    said=$(sed -n 's/^cluster: //p' "$cluster_dir/log.head" | tail -n 1)
    [[ -n $said ]] || said=$(tail -n 1 "$cluster_dir/log.head")
    echo "${said:-the head node does not come up}" \
        "($(grep -v '^cluster:' "$cluster_dir/log.head" | head -n 1))"
}

# Takes the cluster down when its owner has ended.
watch_owner()
{
    local owner=$1 head

    read -r head <"$cluster_dir/head"
    while [[ -d /proc/$owner ]]; do
        sleep 1
        [[ $(cat "$cluster_dir/head" 2>/dev/null) == "$head" ]] || return 0
    done
    cluster_down
}

cluster_up()
{
    local nodes=$1 owner=${2-} starter tries code reason

    [[ $nodes =~ ^[1-9][0-9]?$ ]] && ((nodes <= cluster_nodes_max)) ||
        fail "a cluster has 1 to $cluster_nodes_max nodes, not '$nodes'" 2
    require_rights
    mkdir -m 755 "$cluster_dir" 2>/dev/null ||
        fail "$cluster_dir is there, or cannot be made; run.sh down first"
    trap cluster_down EXIT
    mkdir "$cluster_dir/tmp"
    echo "$nodes" >"$cluster_dir/nodes"
    CLUSTER_DIR=$cluster_dir CLUSTER_NET=$cluster_net setsid unshare --mount \
        --net --uts --ipc --pid --fork --kill-child --propagation unchanged \
        bash "$cluster_home/lib/head.sh" "$nodes" \
        >"$cluster_dir/log.head" 2>&1 </dev/null &
    starter=$!
    for ((tries = 0; tries < 3600; tries++)); do
        [[ ! -e $cluster_dir/ready.head ]] || break
        if ! kill -0 $starter 2>/dev/null; then
            wait $starter
            code=$?
            reason=$(blame)
            fail "$reason" $code
        fi
        sleep 0.05
    done
    [[ -e $cluster_dir/ready.head ]] || fail "the nodes do not come up in time"
    trap - EXIT
    [[ -z $owner ]] ||
        setsid bash "$cluster_home/run.sh" watch "$owner" >/dev/null 2>&1 \
            </dev/null &
    disown -a
}

cluster_down()
{
    local tries

    [[ -e $cluster_dir ]] || return 0
    [[ -f $cluster_dir/nodes || ! -e $cluster_dir/head ]] &&
        [[ -d $cluster_dir/tmp || -z $(ls -A "$cluster_dir") ]] ||
        fail "$cluster_dir is no cluster's folder"
    for ((tries = 0; tries < 2000; tries++)); do
        find_head || break
        # With its first process the kernel kills all others.
        kill -KILL "$head_pid" 2>/dev/null
        sleep 0.05
    done
    ! find_head || fail "the cluster's processes cannot be killed"
    rm -rf "$cluster_dir"
}

cluster_exec()
{
    local node=$1
    shift

    if [[ $node == head ]]; then
        in_head "$@"
    else
        node=$(node_number "$node") || exit
        in_node "$node" "$@"
    fi
}

cluster_run()
{
    local per_node=1 slots='' seconds=200 extra='' mpi=openmpi
    local hosts number list=() order=job_hosts

    while [[ ${1-} == -* ]]; do
        case $1 in
        -i | --in-turn)
            order=job_hosts_in_turn
            shift
            continue
            ;;
        -p | --per-node) per_node=${2-} ;;
        -s | --slots) slots=${2-} ;;
        -t | --time) seconds=${2-} ;;
        -o | --options) extra=${2-} ;;
        -m | --mpi) mpi=${2-} ;;
        *) fail "unknown option '$1'; see --help" 2 ;;
        esac
        need 2 "$@"
        shift 2
    done
    need 1 "$@"
    case $mpi in
    openmpi) require_tools openmpi-bin=mpirun.openmpi ;;
    mpich) require_tools mpich=mpiexec.hydra ;;
    *) fail "there is no cluster's mpirun of '$mpi'; see --help" 2 ;;
    esac
    IFS=, read -ra list <<<"$slots"
    if [[ -z $slots ]]; then
        for ((number = 0; number < cluster_nodes; number++)); do
            list+=("$per_node")
        done
    fi
    hosts=$($order "${list[@]}") || exit
    "${mpi}_run" "$seconds" "$hosts" "$extra" "$@"
}

cluster_status()
{
    local number

    echo "$cluster_nodes nodes, folder $cluster_dir"
    for ((number = 0; number < cluster_nodes; number++)); do
        echo "n$number $cluster_net.$((number + 1))"
        link_status $number
    done
    echo "head $cluster_net.254"
}

# link_command COMMAND NODE [WORD]...
link_command()
{
    local command=$1 node
    shift

    node=$(node_number "$1") || exit
    shift
    "$command" "$node" "$@"
}

command=${1-}
(($# == 0)) || shift
case $command in
up)
    need 1 "$@"
    [[ ${2-} == '' || ${2-} == --owner && ${3-} =~ ^[1-9][0-9]*$ ]] ||
        fail "up NODES [--owner PID]; see --help" 2
    cluster_up "$1" "${3-}"
    ;;
down) cluster_down ;;
watch) watch_owner "$1" ;;
--help | -h | help) usage ;;
run | exec | shape | unshape | loss | noloss | delay | nodelay | link | \
    status | stop)
    require_cluster
    case $command in
    run) cluster_run "$@" ;;
    exec) need 2 "$@"; cluster_exec "$@" ;;
    shape) need 2 "$@"; link_command link_shape "$@" ;;
    unshape) need 1 "$@"; link_command link_unshape "$@" ;;
    loss) need 2 "$@"; link_command link_loss "$@" ;;
    noloss) need 1 "$@"; link_command link_noloss "$@" ;;
    delay) need 2 "$@"; link_command link_delay "$@" ;;
    nodelay) need 1 "$@"; link_command link_nodelay "$@" ;;
    link) need 2 "$@"; link_command link_set "$@" ;;
    status) cluster_status ;;
    stop) job_sweep '[0-9]' ;;
    esac
    ;;
*) fail "unknown command '$command'; see --help" 2 ;;
esac
