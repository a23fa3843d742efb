# The cables of the nodes: slower, lossy, pulled; sourced by run.sh. Delay is
# left out, since kernels without netem have nothing for it.
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
}
