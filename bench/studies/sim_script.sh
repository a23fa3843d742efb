# What scripts share that run xylem-sim many times; sourced.
# shellcheck shell=bash

# shellcheck source=bench/common/results.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common/results.sh"

fail()
{
    echo "${0##*/}: $1" >&2
    exit 1
}

# takes_value OPTION: in usage's text a word in capitals stands behind it; 2:
# there is no such option.
takes_value()
{
    local option value

    while read -r option value _; do
        [ "$option" = "$1" ] || continue
        [[ $value =~ ^[A-Z]+$ ]]
        return
    done < <(usage)
    return 2
}

# options_parse WORD...: sets the variable of each option, flags' to "yes".
options_parse()
{
    local name kind

    while [ $# -gt 0 ]; do
        [[ $1 != --help && $1 != -h ]] || { usage; exit 0; }
        takes_value "$1"
        kind=$?
        [[ $1 == --* && $kind -ne 2 ]] && [ $# -gt $((1 - kind)) ] ||
            { usage >&2; exit 2; }
        name=${1#--}
        name=${name//-/_}
        if [ $kind -eq 1 ]; then
            printf -v "$name" yes
        else
            printf -v "$name" %s "$2"
            shift
        fi
        shift
    done
}

# begin: with `bin` or without, sets `sim` and a folder `work` that goes with the
# script.
begin()
{
    local here
    here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
    if [ -z "$bin" ]; then
        bin=$here/../../build/release/simulator
        [ ! -x "$here/xylem-sim" ] || bin=$here
    fi
    sim=$bin/xylem-sim
    [ -x "$sim" ] || fail "no xylem-sim in $bin"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
}

# max_us FILE: the time on the rank that took longest, of a run's --csv.
max_us()
{
    awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "max_us") column = i }
        NR == 2 { print $column }' "$1"
}
