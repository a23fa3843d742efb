#!/usr/bin/env bash
# Collectives of levels ("han") with shared memory within nodes, against flat
# ones as Open MPI's default module "tuned" would take them, both simulated. A
# time is that of one call that all ranks begin together, until the last of them
# has ended it. Beside it stands what Luo's thesis measured on the machines.
#
# What tuned takes are the fixed rules of coll_tuned_decision_fixed.c:
#
#   4.0  those of Open MPI 1.2 to 4.0, hence of the thesis's comparison
#   4.1  those of Open MPI 4.1, from measurements on larger clusters
#
# Its trees are run by the implementation "waitall": transfers that are
# nonblocking, and a wait for all children in each segment, as tuned does. Where
# it does two collectives one after the other their times are added. A split
# binary tree is a binary tree that moves half of the message; that the halves
# are exchanged in the end is left out, in tuned's favour. A ring of more than
# 2,048 ranks takes minutes and some 16 GB: --long brings it.
set -u
export LC_ALL=C
# shellcheck source=bench/studies/sim_script.sh
. "$(dirname "${BASH_SOURCE[0]}")/sim_script.sh"

usage()
{
    cat <<'TXT'
usage: bench/studies/han_sim.sh [options]

  --machine M      default shaheen2
  --nodes N        default 128
  --ppn P          ranks per node (default 32)
  --colls LIST     bcast, allreduce (default both)
  --sizes LIST     bytes (default 4 ... 128 MiB, fourfold)
  --rules LIST     of tuned: 4.0, 4.1 (default both)
  --long           also what takes minutes
  --limit S        give up a run after that many seconds (default 180)
  --bin DIR        where xylem-sim is (default build/release/simulator)
  --csv FILE       the table, too; one that has rows from before is refused
TXT
}

machine=shaheen2 nodes=128 ppn=32 colls=bcast,allreduce rules=4.0,4.1 long=''
sizes=4,16,64,256,1024,4096,16384,65536,262144,1048576,4194304,16777216,$(
)67108864,134217728
limit=180 csv='' bin=''
options_parse "$@"
begin
ranks=$((nodes * ppn)) ring_ranks_max=2048

# ---- a run ----

# Microseconds; "-": it took too long.
simulate() # collective, bytes, option...
{
    local coll=$1 bytes=$2
    shift 2
    rm -f "$work/csv"
    if ! nice timeout "$limit" "$sim" -m "$machine" -N "$nodes" -p "$ppn" \
        -c "$coll" -s "$bytes" -i 1 --warmup 0 --quiet --csv "$work/csv" "$@" \
        >/dev/null 2>"$work/errors"; then
        cat "$work/errors" >&2
        echo -
        return
    fi
    max_us "$work/csv"
}

# ---- what tuned takes: lines COLLECTIVE BYTES IMPLEMENTATION NAME SEGMENT ----

# Whether one size is below a line over another, as the rules of 4.0 put it.
is_below() # ranks, slope per byte, bytes, at 0 bytes
{
    awk -v n="$1" -v a="$2" -v m="$3" -v b="$4" 'BEGIN { exit !(n < a * m + b) }'
}

bcast_40() # bytes
{
    if [ "$1" -lt 2048 ]; then
        echo "bcast $1 waitall binomial $1"
    elif [ "$1" -lt 370728 ]; then
        echo "bcast $(($1 / 2)) waitall kary:2 1024"
    elif is_below "$ranks" 1.6134e-6 "$1" 2.1102; then
        echo "bcast $1 waitall chain 131072"
    elif [ "$ranks" -lt 13 ]; then
        echo "bcast $(($1 / 2)) waitall kary:2 8192"
    elif is_below "$ranks" 2.3679e-6 "$1" 1.1787; then
        echo "bcast $1 waitall chain 65536"
    elif is_below "$ranks" 3.2118e-6 "$1" 8.7936; then
        echo "bcast $1 waitall chain 16384"
    else
        echo "bcast $1 waitall chain 8192"
    fi
}

bcast_41() # bytes
{
    local all=524288 # from where on the scatter pays
    [ "$ranks" -lt 2048 ] || all=262144
    if [ "$1" -ge "$all" ]; then
        echo "bcast $1 xylem scatter_allgather 0"
    elif [ "$ranks" -ge 4096 ] && [ "$1" -ge 8192 ] && [ "$1" -lt 16384 ]; then
        echo "bcast $1 waitall kary:2 $1"
    else
        echo "bcast $1 waitall knomial:4 $1"
    fi
}

reduce_40() # bytes, of more than 10,000
{
    if is_below "$ranks" 5.875e-4 "$1" 1.3496; then
        echo "reduce $1 waitall chain 1024"
    else
        echo "reduce $1 waitall binomial 1024"
    fi
}

reduce_41() # bytes, of less than 2,048
{
    local name=binomial
    [ "$ranks" -lt 4096 ] || { [ "$1" -lt 1024 ] && { [ "$1" -lt 16 ] ||
        [ "$1" -ge 32 ]; }; } || name=inorder
    echo "reduce $1 waitall $name $1"
}

allreduce_40() # bytes
{
    if [ "$1" -lt 10000 ]; then
        echo "allreduce $1 xylem recursive_doubling 0"
    elif [ "$1" -gt $((4 * ranks)) ]; then
        echo "allreduce $1 xylem ring 0"
    else
        reduce_40 "$1"
        bcast_40 "$1"
    fi
}

allreduce_41() # bytes
{
    local rounds=16384 # below, or a ring that falls back to that
    [ "$ranks" -lt 4096 ] || rounds=32768
    if [ "$1" -lt 2048 ]; then
        reduce_41 "$1"
        bcast_41 "$1"
    elif [ "$1" -lt "$rounds" ]; then
        echo "allreduce $1 xylem recursive_doubling 0"
    else
        echo "allreduce $1 xylem rabenseifner 0"
    fi
}

# "NAME[+NAME] MICROSECONDS"
tuned() # rule, collective, bytes
{
    local coll bytes impl name segment us sum=0 names=''
    while read -r coll bytes impl name segment; do
        names+=${names:++}$name
        [ "$segment" -eq 0 ] || [ "$segment" -ge "$bytes" ] ||
            names+=/$((segment / 1024))K
        us=-
        [ "$name" = ring ] && [ -z "$long" ] &&
            [ "$ranks" -gt "$ring_ranks_max" ] ||
            us=$(simulate "$coll" "$bytes" --impl "$impl" --algorithm "$name" \
                --segment "$segment" --messages)
        sum=$(awk -v a="$sum" -v b="$us" 'BEGIN {
            if (a == "-" || b == "-") print "-"; else print a + b }')
    done < <("$2_${1/./}" "$3")
    echo "$names $sum"
}

# ---- the table ----

thesis() # collective
{
    case $machine/$1 in
    shaheen2/bcast) echo "4.72 (to 128 KiB), 7.35 (beyond)" ;;
    stampede2/bcast) echo "5.35 (to 128 KiB), 1.73 (beyond)" ;;
    shaheen2/allreduce) echo "4.86" ;;
    stampede2/allreduce) echo "no number given" ;;
    esac
}

[ "$ranks" -ge 1024 ] || [ "$rules" = 4.0 ] ||
    fail "the rules of 4.1 are noted here for 1,024 ranks and more"
row()
{
    printf '%10s %11s' "$1" "$2"
    shift 2
    while [ $# -ge 3 ]; do
        printf '  %-24s %11s %7s' "$1" "$2" "$3"
        shift 3
    done
    printf '\n'
}

[ -z "$csv" ] ||
    results_begin "$csv" machine,ranks,coll,bytes,han_us,rule,tuned,tuned_us
for coll in ${colls//,/ }; do
    echo "$coll, $machine, $nodes nodes of $ppn ranks; microseconds"
    columns=()
    for rule in ${rules//,/ }; do
        columns+=("tuned of $rule" us "/ han")
    done
    row bytes han "${columns[@]}"
    for bytes in ${sizes//,/ }; do
        han=$(simulate "$coll" "$bytes" --impl xylem --algorithm han)
        columns=()
        for rule in ${rules//,/ }; do
            read -r names us < <(tuned "$rule" "$coll" "$bytes")
            columns+=("$names" "$us" "$(awk -v a="$us" -v b="$han" 'BEGIN {
                if (a == "-" || b == "-") print "-"
                else printf "%.2f", a / b }')")
            [ -z "$csv" ] || echo "$machine,$ranks,$coll,$bytes,$han,$rule,$names,$us" \
                >>"$csv"
        done
        row "$bytes" "$han" "${columns[@]}"
    done
    echo "thesis, against Open MPI 4.0.0: up to $(thesis "$coll")"
    echo
done
