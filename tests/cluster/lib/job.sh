# Open MPI's mpirun over the nodes; sourced by run.sh.
# shellcheck shell=bash disable=SC2154 # cluster_dir

# Kills what still runs of a job, on all nodes: its processes, and no others,
# have its name in their environments.
job_sweep()
{
    local tries list

    for ((tries = 0; tries < 20; tries++)); do
        # shellcheck disable=SC2016 # expanded on the head node
        list=$(in_head bash -c 'grep -lzx -- "$0" /proc/[0-9]*/environ' \
            "CLUSTER_JOB=$1" 2>/dev/null | tr -cd '0-9\n')
        [[ -n $list ]] || return 0
        # shellcheck disable=SC2086 # a list of numbers
        in_head bash -c 'kill -KILL "$@"' kill $list 2>/dev/null
        sleep 0.1
    done
    fail "processes of the job cannot be killed"
}

# job_hosts SLOTS...: n0:SLOTS,n1:SLOTS,... without nodes that have none.
job_hosts()
{
    local number=0 slots list=

    for slots; do
        [[ $slots =~ ^[0-9]{1,4}$ ]] || fail "'$slots' is no number of ranks"
        ((slots == 0)) || list+=${list:+,}n$number:$slots
        number=$((number + 1))
    done
    ((number <= cluster_nodes)) || fail "there are only $cluster_nodes nodes"
    [[ -n $list ]] || fail "a job needs a rank"
    echo "$list"
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

# What jobs get unless the caller has set it. Nodes do not see that all of them
# share the machine's cores, so ranks would spin where they should sleep.
job_defaults()
{
    export UCX_NET_DEVICES=${UCX_NET_DEVICES-eth0}
    export XYLEM_PROGRESS=${XYLEM_PROGRESS-blocking}
    export XYLEM_SPIN_US=${XYLEM_SPIN_US-0}
}

# job_run SECONDS HOSTS OPTIONS PROGRAM...: OPTIONS are one word.
job_run()
{
    local seconds=$1 hosts=$2 options job=$$.$RANDOM code
    read -ra options <<<"$3"
    shift 3

    write_agent
    job_defaults
    # Without shells of a login in between, nodes have the environment of the
    # caller.
    in_head env CLUSTER_JOB=$job TMPDIR="$cluster_dir/tmp" \
        timeout -k 5 "$seconds" mpirun.openmpi --allow-run-as-root \
        --bind-to none --host "$hosts" --mca plm rsh \
        --mca plm_rsh_agent "$cluster_dir/agent" \
        --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include eth0 \
        --mca btl_tcp_if_include eth0 "${options[@]}" "$@"
    code=$?
    job_sweep $job
    if ((code == 124 || code == 137)) && ((SECONDS >= seconds)); then
        fail "the time limit of $seconds s is over" 124
    fi
    return $code
}
