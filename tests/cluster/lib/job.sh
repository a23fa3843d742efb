# Jobs on the cluster: started on the head node, bounded in time, swept up
# afterwards. Sourced by run.sh and slurm.sh.
# shellcheck shell=bash disable=SC2154 # cluster_dir

# job_sweep NAME: kills what runs of the jobs whose names begin so, on all
# nodes. Their processes, and no others, have the name in their environments.
job_sweep()
{
    local tries list

    for ((tries = 0; tries < 600; tries++)); do
        # shellcheck disable=SC2016 # expanded on the head node
        list=$(in_head bash -c 'grep -lz -- "$0" /proc/[0-9]*/environ' \
            "^CLUSTER_JOB=$1" 2>/dev/null | tr -cd '0-9\n')
        [[ -n $list ]] || return 0
        # shellcheck disable=SC2086 # a list of numbers
        in_head bash -c 'kill -KILL "$@"' kill $list 2>/dev/null
        sleep 0.1
    done
    fail "processes of the job cannot be killed"
}

# What jobs get unless the caller has set it. Nodes do not see that all of them
# share the machine's cores, so ranks would spin where they should sleep.
job_defaults()
{
    export UCX_NET_DEVICES=${UCX_NET_DEVICES-eth0}
    export XYLEM_PROGRESS=${XYLEM_PROGRESS-blocking}
    export XYLEM_SPIN_US=${XYLEM_SPIN_US-0}
}

# job_run SECONDS COMMAND...: a launcher on the head node; what it leaves on
# any node is killed, also in time. Nodes get the caller's environment.
job_run()
{
    local seconds=$1 job=$$.$RANDOM: code
    shift

    [[ $seconds =~ ^[1-9][0-9]{0,5}$ ]] || fail "'$seconds' is no time" 2
    job_defaults
    in_head env CLUSTER_JOB=$job TMPDIR="$cluster_dir/tmp" \
        timeout -k 5 "$seconds" "$@"
    code=$?
    job_sweep $job
    if ((code == 124 || code == 137)) && ((SECONDS >= seconds)); then
        fail "the time limit of $seconds s is over" 124
    fi
    return $code
}

# ---- mpirun ----

# job_hosts SLOTS...: where the ranks go, in their order, as n0:SLOTS,n1:SLOTS,
# ... without nodes that have none.
job_hosts()
{
    local number=0 slots list=

    (($# <= cluster_nodes)) || fail "there are only $cluster_nodes nodes"
    for slots; do
        [[ $slots =~ ^[0-9]{1,4}$ ]] || fail "'$slots' is no number of ranks"
        ((slots == 0)) || list+=${list:+,}n$number:$slots
        number=$((number + 1))
    done
    [[ -n $list ]] || fail "a job needs a rank"
    echo "$list"
}

# job_hosts_in_turn SLOTS...: the same, each rank on the next node with room.
job_hosts_in_turn()
{
    local turn number room=("$@") list

    job_hosts "$@" >/dev/null || return
    for ((turn = 0; turn < 10000; turn++)); do
        list=
        for ((number = 0; number < $#; number++)); do
            ((room[number] <= turn)) || list+=${list:+,}n$number:1
        done
        [[ -n $list ]] || return 0
        ((turn == 0)) || printf ,
        printf %s "$list"
    done
}

write_agent()
{
    [[ ! -x $cluster_dir/agent ]] || return 0
    printf '#!/bin/bash\nCLUSTER_DIR=%q CLUSTER_NET=%q exec bash %q "$@"\n' \
        "$cluster_dir" "$cluster_net" "$cluster_home/lib/agent.sh" \
        >"$cluster_dir/agent.new"
    chmod +x "$cluster_dir/agent.new"
    mv "$cluster_dir/agent.new" "$cluster_dir/agent"
}

# How Open MPI reaches the nodes, by the names of version 4 and of the launcher
# that came with version 5. Slurm's daemons are not asked even if there are any.
openmpi_ways()
{
    export OMPI_MCA_plm=^slurm PRTE_MCA_plm=^slurm
    export OMPI_MCA_plm_rsh_agent=$cluster_dir/agent
    export PRTE_MCA_plm_ssh_agent=$cluster_dir/agent
    export OMPI_MCA_plm_rsh_no_tree_spawn=1 PRTE_MCA_plm_ssh_no_tree_spawn=1
    export OMPI_MCA_oob_tcp_if_include=eth0 PRTE_MCA_prte_if_include=eth0
    export OMPI_MCA_btl_tcp_if_include=eth0
}

# openmpi_order HOSTS: sets `order` to the options that put the ranks in the
# order of HOSTS, where nodes occur in it again.
openmpi_order()
{
    local place seen=, rank=0 ranks="" again=no file=/dev/shm/ranks.$$

    order=()
    for place in ${1//,/ }; do
        [[ $seen != *,${place%:*},* ]] || again=yes
        seen+=${place%:*},
        ranks+="rank $rank=${place%:*} slot=0"$'\n'
        rank=$((rank + 1))
    done
    if [[ $again == no ]]; then
        return
    elif mpirun.openmpi --version | grep -q ') 4\.'; then
        order=(--map-by node)
    else
        # Version 5 cannot map uneven nodes by turns, but where it is told to.
        # The head node's own file: a hyphen in its name would not do.
        in_head tee "$file" >/dev/null <<<"$ranks"
        order=(--map-by "rankfile:file=$file:OVERSUBSCRIBE")
    fi
}

# openmpi_slots HOSTS: the same nodes, each once, with all its ranks.
openmpi_slots()
{
    local place node names=() list=""
    declare -A slots=()

    for place in ${1//,/ }; do
        node=${place%:*}
        [[ -n ${slots[$node]-} ]] || names+=("$node")
        slots[$node]=$((${slots[$node]:-0} + ${place#*:}))
    done
    for node in "${names[@]}"; do
        list+=${list:+,}$node:${slots[$node]}
    done
    echo "$list"
}

# openmpi_run SECONDS HOSTS OPTIONS PROGRAM...: OPTIONS are one word.
openmpi_run()
{
    local seconds=$1 hosts=$2 options order
    read -ra options <<<"$3"
    shift 3

    write_agent
    openmpi_ways
    openmpi_order "$hosts"
    job_run "$seconds" mpirun.openmpi --allow-run-as-root --bind-to none \
        --host "$(openmpi_slots "$hosts")" "${order[@]}" "${options[@]}" "$@"
}

# mpich_run SECONDS HOSTS OPTIONS PROGRAM...
mpich_run()
{
    local seconds=$1 hosts=$2 options ranks=0 slots
    read -ra options <<<"$3"
    shift 3

    write_agent
    for slots in ${hosts//,/ }; do
        ranks=$((ranks + ${slots#*:}))
    done
    job_run "$seconds" mpiexec.hydra -launcher ssh \
        -launcher-exec "$cluster_dir/agent" -iface eth0 -hosts "$hosts" \
        -n "$ranks" "${options[@]}" "$@"
}
