# Which folder may use which: the arrows of the layers, for the checks of
# includes and of calls. Sourced, not run; docs/architecture.md draws them.
# shellcheck shell=bash

# What everything may use.
ground="runtime/base include"
# The core and all that lies below it; and faults, for those above the core.
below_core="runtime/core runtime/modules.h runtime/job progress $ground"
core="runtime/faults $below_core"
library="runtime progress trees collectives include"

# Prints the folders and files that a file may use; "any" for the outermost.
arrows_of()
{
    local data="collectives/data trees $core"
    local stages="collectives/stages $data"

    case $1 in
    include/*) ;;
    runtime/base/*) echo "$ground" ;;
    runtime/job/*) echo "runtime/job $ground" ;;
    runtime/core/*) echo "$below_core" ;;
    runtime/faults/*) echo "$core" ;;
    runtime/assembly/*) echo "runtime/assembly $core" ;;
    runtime/triggers/*) echo "runtime/triggers $core" ;;
    runtime/modules.h) ;;
    progress/event.h) echo "$ground" ;;
    progress/net/*) echo "progress/net progress/event.h $ground" ;;
    progress/shm/*) echo "progress/shm $ground" ;;
    progress/exec/*) echo "progress/exec progress/event.h $ground" ;;
    progress/engine/*)
        echo "progress/engine progress/event.h progress/net/net.h" \
            "progress/shm/shm.h $ground"
        ;;
    trees/*) echo "trees $ground" ;;
    collectives/data/*) echo "$data" ;;
    collectives/stages/*) echo "$stages" ;;
    collectives/schedules/*)
        echo "collectives/schedules collectives/data trees $ground"
        ;;
    collectives/board/*) echo "collectives/board $core" ;;
    collectives/node/*) echo "collectives/node collectives/board $stages" ;;
    collectives/levels/*)
        echo "collectives/levels collectives/schedules collectives/node" \
            "collectives/board $stages"
        ;;
    collectives/device/*)
        echo "collectives/device collectives/levels collectives/schedules" \
            "collectives/node collectives/board $stages"
        ;;
    collectives/choose/*)
        echo "collectives/choose collectives/device collectives/levels collectives/schedules" \
            "collectives/node collectives/board $stages"
        ;;
    collectives/tune/*)
        echo "collectives/tune collectives/choose collectives/device collectives/levels" \
            "collectives/schedules collectives/node $stages"
        ;;
    collectives/tasks/*)
        echo "collectives/tasks runtime/triggers collectives/choose" \
            "collectives/device collectives/levels collectives/schedules collectives/node" \
            "$stages"
        ;;
    collectives/*)
        echo "collectives runtime/triggers runtime/assembly $stages"
        ;;
    bindings/*) echo "bindings $library" ;;
    launcher/*) echo "launcher bench/common" ;;
    simulator/program/* | simulator/calibrate/*) echo any ;;
    simulator/*) echo "simulator $library" ;;
    *) echo any ;;
    esac
}

# Whether one file may use another; both are paths from the top folder.
may_use()
{
    local from=${1%/*} folder

    [[ $1 == progress/event.h ]] && from=$1
    [[ -v arrows[$from] ]] || arrows[$from]=$(arrows_of "$1")
    for folder in ${arrows[$from]}; do
        [[ $folder == any || $2 == "$folder" || $2 == "$folder"/* ]] && return
    done
    return 1
}
declare -A arrows=()
