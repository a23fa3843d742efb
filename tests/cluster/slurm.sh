#!/bin/bash
# Slurm on the cluster of run.sh, for srun --mpi=pmix: one munged, slurmctld on
# the head node, a slurmd on each node. All their files are in the cluster's
# folder; those of the machine's own Slurm are not read.
#
#   slurm.sh up
#   slurm.sh run [-t SECONDS] [SRUN-OPTION]... PROGRAM [ARGUMENT]...
#                        srun on the head node; the limit is 200 s by default
#   slurm.sh down        `run.sh down` does it, too
#
# Which cluster: CLUSTER_DIR, as for run.sh. Exit code 77: not on this machine.
set -u
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=tests/cluster/lib/common.sh
. "$here/lib/common.sh"
# shellcheck source=tests/cluster/lib/job.sh
. "$here/lib/job.sh"

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

# Nodes say that they have more cores than there are, for jobs with more ranks.
write_slurm_conf()
{
    cat <<END
ClusterName=xylem
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
StateSaveLocation=$slurm/state
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdPidFile=$cluster_dir/tmp/slurmd.pid
SlurmdSpoolDir=$cluster_dir/tmp/spool
SlurmdLogFile=$slurm/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=pmix
ReturnToService=2
NodeName=n[0-$((cluster_nodes - 1))] CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP \
OverSubscribe=FORCE:16
END
}

# The daemons have the name of a job that run.sh does not stop.
on_head()
{
    in_head env CLUSTER_JOB=slurm: "$@"
}

# By force, as it would not have its socket in a folder that is not open to all.
start_munged()
{
    (umask 077 && head -c 128 /dev/urandom >"$slurm/munge.key") &&
        on_head munged --key-file="$slurm/munge.key" \
            --socket="$slurm/munge.socket" --pid-file="$slurm/munged.pid" \
            --log-file="$slurm/munged.log" --seed-file="$slurm/munge.seed" \
            --num-threads=2 --force 2>"$slurm/munged.err"
}

# What an earlier slurmd remembers of its jobs would not fit the next ones.
start_slurmd()
{
    local spool=$cluster_dir/tmp/spool

    in_node "$1" rm -rf "$spool" && in_node "$1" mkdir "$spool" &&
        in_node "$1" env CLUSTER_JOB=slurm: \
            slurmd -f "$slurm/slurm.conf" -N "n$1"
}

# Waits until all nodes are there for jobs.
wait_for_nodes()
{
    local tries idle

    for ((tries = 0; tries < 1200; tries++)); do
        idle=$(on_head env SLURM_CONF="$slurm/slurm.conf" \
            sinfo --noheader --states=idle --format=%D 2>/dev/null)
        [[ $idle != "$cluster_nodes" ]] || return 0
        sleep 0.1
    done
    fail "Slurm's nodes do not come up; see $slurm/*.log"
}

slurm_up()
{
    local number

    require_tools munge=munged slurmctld=slurmctld slurmd=slurmd \
        slurm-client=srun
    mkdir -m 755 "$slurm" 2>/dev/null ||
        fail "Slurm is up in $slurm; slurm.sh down first"
    mkdir "$slurm/state"
    write_slurm_conf >"$slurm/slurm.conf"
    echo "PMIxCliTmpDirBase=$cluster_dir/tmp" >"$slurm/mpi.conf"
    echo "CgroupPlugin=cgroup/v1" >"$slurm/cgroup.conf"
    start_munged || fail "munged does not start; see $slurm/munged.*"
    on_head slurmctld -f "$slurm/slurm.conf" || fail "slurmctld does not start"
    for ((number = 0; number < cluster_nodes; number++)); do
        start_slurmd $number || fail "slurmd of n$number does not start"
    done
    wait_for_nodes
}

slurm_run()
{
    local seconds=200

    [[ -e $slurm ]] || fail "Slurm is not up; slurm.sh up first"
    if [[ ${1-} == -t ]]; then
        seconds=${2-}
        shift 2 || fail "-t needs a number of seconds" 2
    fi
    (($# > 0)) || fail "a job needs a program; see --help" 2
    job_run "$seconds" env SLURM_CONF="$slurm/slurm.conf" srun --mpi=pmix "$@"
}

slurm_down()
{
    job_sweep slurm:
    rm -rf "$slurm"
}

case ${1-} in
up | run | down)
    require_cluster
    slurm=$cluster_dir/slurm
    command=$1
    shift
    "slurm_$command" "$@"
    ;;
--help | -h | help) usage ;;
*) fail "unknown command '${1-}'; see --help" 2 ;;
esac
