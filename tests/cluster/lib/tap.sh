# What the suite judges commands by, beside tests/support/tap.sh; sourced.
# shellcheck shell=bash disable=SC2154 # out, err, code

# gives NAME CODE COMMAND...: the exit code; 77 skips where it is not wanted.
gives()
{
    local name=$1 wanted=$2
    shift 2

    attempt "$@"
    if ((code == wanted)); then
        report "$name" yes
    elif ((code == 77)); then
        skip "$name" "$(sed -n 's/^cluster: //p' "$err" | head -n 1)"
    else
        report "$name" no
    fi
}

# says NAME CODE PATTERN COMMAND...: the exit code, and a line of output or of
# errors.
says()
{
    local name=$1 wanted=$2 pattern=$3
    shift 3

    attempt "$@"
    if ((code == wanted)) && cat "$out" "$err" | grep -q -- "$pattern"; then
        report "$name" yes
    elif ((code == 77)); then
        skip "$name" "$(sed -n 's/^cluster: //p' "$err" | head -n 1)"
    else
        report "$name" no
    fi
}
