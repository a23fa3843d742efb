# Lines of TAP, and commands whose code and output they judge; sourced by the
# suite, which sets `work`.
# shellcheck shell=bash disable=SC2154 # work

count=0
failures=0
out=$work/out
err=$work/err

# report NAME OK: with what the last command said when not OK.
report()
{
    count=$((count + 1))
    if [[ $2 == yes ]]; then
        echo "ok $count - $1"
        return
    fi
    echo "not ok $count - $1"
    failures=$((failures + 1))
    echo "# code $code; output and errors begin with:"
    head -c 1000 "$out" | sed 's/^/# /'
    head -c 2000 "$err" | sed 's/^/# /'
}

skip()
{
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# attempt COMMAND...: its code is in $code, its output in $out and $err.
attempt()
{
    # In the background, for a signal to the suite to be heard at once.
    timeout -k 5 120 "$@" >"$out" 2>"$err" </dev/null &
    wait $!
    code=$?
}

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

# The last lines of a suite.
finish()
{
    echo "1..$count"
    ((failures == 0))
}
