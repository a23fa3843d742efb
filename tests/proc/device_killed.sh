#!/bin/bash
# Of four ranks in collectives on memory of GPUs one kills itself: the three
# others are told, whatever a design has under way. Arguments: xylem-run, calls,
# the library that takes CUDA's place, a file of rules.
set -u
number=0 failed=0
designs=(cuda_ipc cuda_gsb cuda_static:2 cuda_dynamic han:within=cuda_ipc)
echo "1..${#designs[@]}"
for design in "${designs[@]}"; do
    told=0 nodes=1
    [[ $design != han:* ]] || nodes=2
    for seed in 1 2 3; do
        output=$(timeout 60 "$1" -n 4 --nodes "$nodes" --no-kill --env XYLEM_LOG=none \
            --env CALLS_MEMORY=cuda --env "XYLEM_CUDA_LIBRARY=$3" \
            --env "XYLEM_TUNING=$4" --env "CALLS_ALGORITHM=$design" \
            "$2" killed "$seed" 2>&1 </dev/null)
        told=$((told + $(grep -c ' survived:' <<<"$output")))
    done
    number=$((number + 1))
    if ((told == 9)); then
        echo "ok $number - $design"
    else
        echo "not ok $number - $design: $told of 9 were told"
        failed=1
    fi
done
exit $failed
