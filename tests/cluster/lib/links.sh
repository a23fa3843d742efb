# The cables of the nodes: slower, lossy, longer, pulled; sourced by run.sh.
# shellcheck shell=bash disable=SC2154 # cluster_dir

# shape K RATE [BURST]: both directions.
link_shape()
{
    local node=$1 shape=(tbf rate "$2" burst "${3:-256k}" latency 50ms)

    require_tools iproute2=tc
    in_head tc qdisc replace dev "v$node" root "${shape[@]}" &&
        in_node "$node" tc qdisc replace dev eth0 root "${shape[@]}"
}

link_unshape()
{
    in_head tc qdisc delete dev "v$1" root 2>/dev/null
    in_node "$1" tc qdisc delete dev eth0 root 2>/dev/null
    return 0
}

# loss K PERCENT: of the packets that come to the node.
link_loss()
{
    local node=$1 percent=$2 thousandths

    require_tools nftables=nft
    [[ $percent =~ ^([0-9]{1,3})(\.([0-9]))?$ ]] ||
        fail "'$percent' is no percentage, such as 1 or 0.5"
    thousandths=$((10#${BASH_REMATCH[1]} * 10 + ${BASH_REMATCH[3]:-0}))
    link_noloss "$node"
    in_node "$node" nft -f - <<END
table inet loss {
    chain in {
        type filter hook input priority -300;
        iifname "eth0" numgen random mod 1000 < $thousandths drop
    }
}
END
}

link_noloss()
{
    in_node "$1" nft delete table inet loss 2>/dev/null
    return 0
}

# The cable of node K ends at a bridge of its own then, and delay.py stands
# between that and the switch: kernels without netem have nothing for it.
link_delay()
{
    local node=$1 number='^[0-9]{1,4}(\.[0-9]+)?$' file=$cluster_dir/delay.$1 tries

    require_tools python3=python3 iproute2=ip
    [[ $2 =~ $number && ${3:-0} =~ $number ]] ||
        fail "'$2${3:+ $3}' are no milliseconds, such as 5 or 0.5"
    [[ -c /dev/net/tun ]] || cannot "no /dev/net/tun"
    link_nodelay "$node"
    in_head setsid python3 "$cluster_home/lib/delay.py" "$file" "a$node" \
        "b$node" "${@:2}" >"$cluster_dir/log.delay" 2>&1 </dev/null &
    disown
    for ((tries = 0; tries < 2000; tries++)); do
        [[ ! -e $file ]] || break
        kill -0 $! 2>/dev/null || break
        sleep 0.05
    done
    [[ -e $file ]] || fail "no delay: $(tail -n 1 "$cluster_dir/log.delay")"
    echo "${2} ms${3:+, give or take $3}" >"$cluster_dir/delayed.$node"
    # shellcheck disable=SC2016 # expanded on the head node
    in_head bash -c '
        ip link add "w$1" type bridge && ip link set "w$1" up &&
            ip link set "a$1" txqueuelen 10000 master "w$1" up &&
            ip link set "b$1" txqueuelen 10000 master eth0 up &&
            ip link set "v$1" master "w$1"' - "$node"
}

link_nodelay()
{
    local file=$cluster_dir/delay.$1

    [[ -e $file ]] || return 0
    # shellcheck disable=SC2016 # expanded on the head node
    in_head bash -c 'kill "$2"; ip link set "v$1" master eth0 &&
        ip link delete "w$1"
        for ((tries = 0; tries < 2000; tries++)); do
            [[ -e /sys/class/net/a$1 ]] || break
            sleep 0.05
        done' - "$1" "$(cat "$file")"
    rm -f "$file" "$cluster_dir/delayed.$1"
}

link_set()
{
    [[ $2 == up || $2 == down ]] || fail "a link is set up or down, not '$2'"
    in_head ip link set "v$1" "$2"
}

link_status()
{
    local node=$1 text

    text=$(in_head ip -o link show dev "v$node")
    [[ $text == *'state UP'* ]] || echo "  link down"
    text=$(in_head tc qdisc show dev "v$node" root 2>/dev/null)
    [[ $text != *tbf* ]] || echo "  shaped: ${text#* root refcnt * }"
    text=$(in_node "$node" nft list table inet loss 2>/dev/null)
    [[ $text != *'mod 1000 < '* ]] || {
        text=${text#*mod 1000 < }
        echo "  loses ${text%% drop*} packets of 1000"
    }
    [[ ! -e $cluster_dir/delayed.$node ]] ||
        echo "  late by $(cat "$cluster_dir/delayed.$node")"
}
