# Lines of TAP, and commands whose code and output they judge; sourced by a
# script, which may set `bound`, and `work`, a folder of its own that goes with
# it otherwise.
# shellcheck shell=bash

# Of any of these scripts: its first comment.
if [[ ${1-} == --help || ${1-} == -h ]]; then
    sed -n '/^# shellcheck/d; 2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit 0
fi
export LC_ALL=C
ulimit -c 0
if [[ -z ${work-} ]]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
count=0
failures=0
skips=0
code=0
out=$work/out
err=$work/err
bound=${bound:-240} # seconds of a command; far above what any takes

# What is tested does not depend on a user's settings.
settings_forget()
{
    # shellcheck disable=SC2086 # a list of names
    unset ${!XYLEM_*} ${!UCX_*}
    export XYLEM_CONF=none
}

# digest: of what the last command said, for who sees one line only: how many
# ranks survived, and the first lines of errors that differ in more than
# numbers, without remarks and without times and processes before UCX's.
digest()
{
    local said
    said=$(grep -c 'survived' "$out" 2>/dev/null)
    ((${said:-0} == 0)) || printf '%s survived; ' "$said"
    said=$(sed -n '/INFO/!s/^\(\[[^]]*\] *\)*//p' "$err" 2>/dev/null | tr -s ' \t' ' ' |
        awk '{ key = $0; gsub(/[0-9]+/, "", key) }
            length(key) > 1 && !seen[key]++ { print substr($0, 1, 140) }' |
        head -n 8 | paste -sd '|' | sed 's/|/ | /g')
    printf '%s' "${said:0:300}${said:+; }"
}

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
    echo "# code $code; $(digest)output and errors begin with:"
    head -c 1500 "$out" | sed 's/^/# /'
    head -c 2000 "$err" | sed 's/^/# /'
}

skip()
{
    count=$((count + 1))
    skips=$((skips + 1))
    echo "ok $count - $1 # SKIP $2"
}

# check NAME CONDITION...: of the last command.
check()
{
    local name=$1
    shift

    if "$@"; then
        report "$name" yes
    else
        report "$name" no
    fi
}

# attempt COMMAND...: its code is in $code, its output in $out and $err.
attempt()
{
    # In the background, for a signal to the script to be heard at once.
    timeout -k 5 "$bound" "$@" >"$out" 2>"$err" </dev/null &
    wait $!
    code=$?
}

# closings: the eight redirections that close some of the descriptors 0 to 2.
closings=('' '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-')

# closed NAME COMMAND...: with each of them, in $closing of the environment, side
# by side: each ends with 0.
closed()
{
    local name=$1 pids=() pid good=yes
    local -x closing
    shift

    : >"$out"
    : >"$err"
    for closing in "${closings[@]}"; do
        # shellcheck disable=SC2016 # for the shell that it starts
        timeout -k 5 "$bound" sh -c 'exec "$@" '"$closing" sh "$@" >>"$out" \
            2>>"$err" </dev/null &
        pids+=($!)
    done
    for closing in "${closings[@]}"; do
        pid=${pids[0]}
        pids=("${pids[@]:1}")
        wait "$pid"
        code=$?
        ((code == 0)) && continue
        echo "# $name, $closing: code $code"
        good=no
    done
    report "$name, each of the descriptors 0 to 2 closed or not" $good
}

# Whether the last command, a launcher of the host's, has crashed by itself: it
# died by a signal, and blames none of its ranks.
launcher_crashed()
{
    ((code > 128 && code != 137 && code != 143)) &&
        ! grep -qiE 'process rank|bad termination|exited on signal' \
            "$out" "$err"
}

# attempt_job COMMAND...: as attempt; a launcher that crashes by itself is tried
# once again, and it is said.
attempt_job()
{
    attempt "$@"
    launcher_crashed || return 0
    echo "# ${1##*/} has crashed by itself (code $code), once again: $*"
    attempt "$@"
}

# The last lines of a script.
finish()
{
    echo "1..$count"
    ((failures == 0))
}

# After them, for whoever adds up what several scripts have found.
total()
{
    echo "$((count - failures - skips)) passed, $failures failed, $skips skipped"
}
