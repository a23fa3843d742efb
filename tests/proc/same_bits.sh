#!/bin/bash
# The reproducible order gives the same bits on any number of ranks and nodes,
# through memory, the net, and whatever algorithm. Arguments: xylem-run and the
# program that prints what stands for all bits.
run=$1
program=$2
# shellcheck source=tests/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"

export XYLEM_REDUCE_ORDER=reproducible XYLEM_LOG=warn

# All ranks have printed the line that the first run did.
first=
is_the_same()
{
    local lines
    lines=$(sort -u "$out")
    first=${first:-$lines}
    [[ $code == 0 && -n $lines && $lines == "$first" ]]
}

for shape in '2 1' '3 1' '6 1' '2 2' '5 2' '6 3'; do
    read -r ranks nodes <<<"$shape"
    attempt "$run" -n "$ranks" -N "$nodes" "$program"
    check "$ranks ranks on $nodes nodes" is_the_same
done
XYLEM_SHM=off attempt "$run" -n 4 -N 2 "$program"
check "without shared memory" is_the_same
XYLEM_NOISE_BUDGET=1M attempt "$run" -n 4 "$program"
check "with little of it" is_the_same
for algorithm in ring rabenseifner double recursive_doubling; do
    XYLEM_ALGORITHMS=allreduce=$algorithm attempt "$run" -n 4 "$program"
    check "by $algorithm" is_the_same
done
finish
