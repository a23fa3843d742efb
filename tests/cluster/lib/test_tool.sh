# The group `tool` of suite.sh: nodes are what they should be, and nothing of
# them is left in the end.
# shellcheck shell=bash disable=SC2154 # run, work

# holds NAME CONDITION...
holds()
{
    code=0
    : >"$out"
    : >"$err"
    check "$@"
}

# Prints what there is of the cluster. Its processes have its folder in their
# environments, and namespaces live as long as processes or mounts use them.
traces()
{
    env -u CLUSTER_DIR grep -lzx "CLUSTER_DIR=$CLUSTER_DIR" \
        /proc/[0-9]*/environ 2>/dev/null
    grep -F "$work" /proc/self/mountinfo
    ls -d "$CLUSTER_DIR" 2>/dev/null
}

has_traces()
{
    [[ -n $(traces) ]]
}

has_no_traces()
{
    ! has_traces
}

is_gone()
{
    [[ ! -e $1 ]]
}

# alive COMMAND-LINE: such a process runs on some node.
alive()
{
    # In the environment, or it would find itself.
    # shellcheck disable=SC2016 # expanded on the head node
    wanted=$1 bash "$run" exec head bash -c 'cat /proc/[0-9]*/cmdline \
        2>/dev/null | tr "\0" " " | grep -q -f <(echo "$wanted")'
}

not_alive()
{
    ! alive "$1"
}

test_nodes()
{
    local own

    own=$(cat /proc/sys/kernel/random/boot_id)
    says "a host name" 0 '^n2$' bash "$run" exec 2 hostname
    says "an address" 0 '10.77.0.3/24' bash "$run" exec n2 ip address
    says "the head node" 0 '^head$' bash "$run" exec head hostname
    says "the folder of the caller" 0 "^$PWD\$" bash "$run" exec 1 pwd
    says "interfaces of its own" 0 '^1$' bash "$run" exec 1 \
        bash -c 'ls -d /sys/class/net/eth* | wc -l'
    gives "an identity of its own" 1 bash "$run" exec 1 \
        grep "$own" /proc/sys/kernel/random/boot_id
    gives "memory of its own" 0 bash "$run" exec 0 touch /dev/shm/mark
    gives "which others do not see" 1 bash "$run" exec 1 test -e /dev/shm/mark
    gives "an exit code" 5 bash "$run" exec 0 bash -c 'exit 5'
    says "no such node" 1 "there is no node 'n7'" bash "$run" exec n7 true
    says "no such command" 2 "unknown command" bash "$run" odd
    says "a second one in the same folder" 1 "run.sh down first" \
        bash "$run" up 2
    says "no cluster" 1 "no cluster is up in $work/none" \
        env CLUSTER_DIR="$work/none" bash "$run" status
}

# The way there and back.
trip_ms()
{
    # shellcheck disable=SC2016 # expanded on the node
    bash "$run" exec "$1" python3 -c 'import socket, sys, time
begin = time.monotonic()
try:
    socket.create_connection((sys.argv[1], 1), 60)
except ConnectionRefusedError:
    print(round((time.monotonic() - begin) * 1000))' "$2"
}

# takes_ms LEAST NODE ADDRESS
takes_ms()
{
    (($(trip_ms "$2" "$3") >= $1))
}

test_delay()
{
    attempt bash "$run" delay 2 30 5
    ((code != 77)) || { skip "a long cable" "$(cat "$err")"; return; }
    report "a long cable" "$( ((code == 0)) && echo yes || echo no)"
    says "is reported, too, and" 0 'late by 30 ms, give or take 5' \
        bash "$run" status
    holds "it takes its time" takes_ms 50 0 10.77.0.3
    holds "both ways" takes_ms 50 2 10.77.0.1
    says "no time" 1 'no milliseconds' bash "$run" delay 2 x
    gives "a short cable" 0 bash "$run" nodelay 2
    holds "connects" takes_ms 0 0 10.77.0.3
}

test_links()
{
    gives "a slow link" 0 bash "$run" shape 1 200mbit
    says "is reported" 0 'shaped: rate 200Mbit' bash "$run" status
    gives "a fast link" 0 bash "$run" unshape 1
    gives "a lossy link" 0 bash "$run" loss 2 0.5
    says "is reported, too" 0 'loses 5 packets of 1000' bash "$run" status
    gives "a good link" 0 bash "$run" noloss 2
    says "an odd percentage" 1 'no percentage' bash "$run" loss 2 x
    test_delay
    gives "a pulled cable" 0 bash "$run" link 0 down
    says "is seen on the node" 0 'lowerlayerdown\|down' \
        bash "$run" exec 0 cat /sys/class/net/eth0/operstate
    gives "a plugged cable" 0 bash "$run" link 0 up
    holds "nothing of it remains" \
        test "$(bash "$run" status | grep -c '^  ')" -eq 0
}

test_jobs()
{
    # Open MPI 5's launcher may never notice the end of what ends at once.
    attempt bash "$run" run -s 1,2,3 bash -c 'hostname; sleep 0.3'
    ((code != 77)) || { skip "jobs" "$(cat "$err")"; return; }
    holds "slots" test "$(sort "$out" | uniq -c | tr -s ' \n' '  ')" = \
        " 1 n0 2 n1 3 n2 "
    attempt bash "$run" run -s 1,0,3 --in-turn -o --tag-output \
        bash -c 'hostname; sleep 0.3'
    holds "a node without ranks" \
        test "$(sed 's/.*,\([0-9]\).*: */\1/' "$out" | sort | tr '\n' ' ')" = \
        "0n0 1n2 2n2 3n2 "
    says "more nodes than there are" 1 'only 3 nodes' \
        bash "$run" run -s 1,1,1,1 hostname
    says "a job that takes too long" 124 'time limit of 2 s' \
        bash "$run" run -p 2 -t 2 bash -c 'trap "" TERM; sleep 54321; sleep 3'
    holds "which leaves no process" not_alive 'sleep 54321'
    bash "$run" run -p 1 sleep 54322 >/dev/null 2>&1 &
    holds "a job" eventually alive 'sleep 54322'
    gives "is stopped" 0 bash "$run" stop
    holds "and leaves no process" not_alive 'sleep 54322'
    wait
}

# eventually CONDITION...: within a minute or two.
eventually()
{
    local tries

    for ((tries = 0; tries < 1000; tries++)); do
        ! "$@" || return 0
        sleep 0.1
    done
    return 1
}

test_several()
{
    local other=$work/d job

    gives "another cluster" 0 env CLUSTER_DIR="$other" bash "$run" up 2
    CLUSTER_DIR=$other bash "$run" run -p 2 "$tests/calls" sweep 60 \
        >"$work/other" 2>&1 &
    job=$!
    gives "a job on the one" 0 bash "$run" run -p 2 "$tests/calls" sweep 60
    wait $job
    code=$?
    holds "and at the same time on the other" test $code -eq 0 -o $code -eq 77
    gives "the other goes" 0 env CLUSTER_DIR="$other" bash "$run" down
    gives "the one stays" 0 bash "$run" status
}

test_ends()
{
    local round owner

    holds "a cluster is seen" has_traces
    gives "all goes" 0 bash "$run" down
    holds "and leaves nothing" eventually has_no_traces
    for round in 1 2 3; do
        gives "up, round $round" 0 bash "$run" up 2
        gives "down, round $round" 0 bash "$run" down
    done
    says "one that cannot be made" 77 'cannot be\|no bridge' \
        env CLUSTER_NET=999.0.0 bash "$run" up 2
    holds "leaves no folder" is_gone "$CLUSTER_DIR"
    sleep 60 &
    owner=$!
    gives "one with an owner" 0 bash "$run" up 2 --owner $owner
    kill $owner
    wait $owner 2>/dev/null
    holds "goes with it" eventually is_gone "$CLUSTER_DIR"
    gives "down, without a cluster" 0 bash "$run" down
    holds "nothing is left" eventually has_no_traces
}

test_tool()
{
    need_cluster 3
    test_nodes
    test_links
    test_jobs
    test_several
    test_ends
}
