#!/bin/bash
# What every program prints of its table of options: --help, --version, and a
# completion for bash that offers each option that the help names. One spelling
# means one thing everywhere: -n ranks, -N nodes, -i iterations. Arguments: the
# programs.
# shellcheck source=tests/support/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"

# The long options of a program, as its help names them.
options_of()
{
    sed -n '/^Options:/,$ s/^  \(-[A-Za-z], \|    \)\(--[a-z-]*\).*/\2/p' "$1"
}

# What bash offers behind "PROGRAM WORD...", the last one being incomplete.
offered()
{
    local COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()

    # shellcheck source=/dev/null
    . "$work/completion"
    "_${1//-/_}"
    printf '%s\n' "${COMPREPLY[@]}"
}

completes()
{
    local name=$1
    cmp -s <(options_of "$out" | sort) \
        <(offered "$name" -- | grep -v '^$' | sort)
}

for program; do
    name=${program##*/}
    attempt "$program" --version
    check "$name --version" grep -qx "$name [0-9][0-9.]*" "$out"
    attempt "$program" --completion
    check "$name --completion" bash -n "$out"
    cp "$out" "$work/completion"
    attempt "$program" --help
    check "$name --help" grep -q "^Usage: $name " "$out"
    check "$name completes what its help names" completes "$name"
    check "$name calls things what the others do" test -z "$(
        grep -E '^  -(n|N|i), ' "$out" | grep -vE -- \
            '-n, --(ranks|processes) |-N, --nodes |-i, --iterations ')"
    check "$name --help has lines that fit" test -z "$(
        sed -n '/^Options:/,$p' "$out" | grep -E '.{81}')"
    attempt "$program" --no-such-option
    check "$name refuses what it does not know" test "$code" -ne 0 -a ! -s "$out"
done
finish
