#!/bin/bash
# What others on the machine can do to a job: docs/security.md has a line for
# each case. Prints TAP.
#
#   security.sh XYLEM-RUN FOLDER
# Programs of ranks are in single quotes on purpose.
# shellcheck disable=SC2016
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

run=$(realpath "$1")
programs=$(realpath "$2")

settings_forget
export UCX_LOG_LEVEL=fatal TMPDIR=$work/tmp
mkdir "$TMPDIR"
chmod 755 "$work" "$TMPDIR"

# Functions for the shells of ranks.
cat >"$work/functions" <<'SHELL'
# The ports of a process, as "ADDRESS:PORT" in hexadecimal digits.
listens() {
    local fd link inode
    for fd in /proc/"$1"/fd/*; do
        link=$(readlink "$fd") || continue
        case $link in
        socket:*)
            inode=${link#socket:[}
            awk -v inode="${inode%]}" '$10 == inode && $4 == "0A" { print $2 }' \
                /proc/"$1"/net/tcp
            ;;
        esac
    done
}
# Connects, and says something that nobody understands.
disturb() {
    local host=${1%:*} port=$((16#${1#*:}))
    local address=$((16#${host:6:2})).$((16#${host:4:2})).$((16#${host:2:2}))
    address+=.$((16#${host:0:2}))
    (exec 3<>"/dev/tcp/$address/$port" && head -c 300 /dev/urandom >&3) 2>/dev/null
    return 0
}
# Until a process listens, or is over.
until_listening() {
    while kill -0 "$1" 2>/dev/null && [ -z "$(listens "$1")" ]; do
        sleep 0.02
    done
}
SHELL

# gives NAME CODE COMMAND...
gives()
{
    local name=$1 wanted=$2
    shift 2
    attempt "$@"
    check "$name" [ "$code" -eq "$wanted" ]
}

# as_rank_0 NAME SCRIPT [option]...: rank 0 of two is a shell that runs the script;
# the program is $1.
as_rank_0()
{
    local name=$1 script=$2
    shift 2
    gives "$name" 0 "$run" -n 2 "$@" bash -c '. "$2"
        [ "$PMIX_RANK" = 0 ] || exec "$1" flight "${ROUNDS:-20}"
        '"$script" bash "$programs/collectives" "$work/functions"
}

as_rank_0 "the launcher listens to this machine alone" '
    for at in $(listens $PPID); do
        [ "${at%:*}" = 0100007F ] || exit 1
    done
    exec "$1" flight 20'
as_rank_0 "the folder of the launcher is for its user alone" '
    [ "$(stat -c %a "$PMIX_SERVER_TMPDIR")" = 700 ] && exec "$1" flight 20'
gives "who does not know the name of the job is not let in" 0 \
    "$run" -n 1 --env XYLEM_LOG=none bash -c '
        PMIX_NAMESPACE=${PMIX_NAMESPACE%-*} exec "$1" create \
            XYLEM_ERR_BOOTSTRAP ""' bash "$programs/misuse"
as_rank_0 "strangers at the launcher do not disturb a job" '
    for at in $(listens $PPID); do
        disturb "$at"
        disturb "$at"
    done
    exec "$1" flight 20'
mkdir "$work/ucx"
echo UCX_TLS=tcp,self >"$work/ucx/ucx.conf"
as_rank_0 "transports of a file of UCX's are used" '
    "$1" flight "$ROUNDS" &
    rank=$!
    found=1
    while kill -0 $rank 2>/dev/null; do
        [ -z "$(listens $rank)" ] || found=0
        sleep 0.02
    done
    wait $rank && exit $found' --env ROUNDS=100 --env UCX_CONFIG_DIR="$work/ucx"
as_rank_0 "ranks of one machine listen to nobody" '
    "$1" flight "$ROUNDS" &
    rank=$!
    while kill -0 $rank 2>/dev/null; do
        [ -z "$(listens $rank)" ] || exit 1
        sleep 0.02
    done
    wait $rank' --env ROUNDS=100
# From here on they use the network, too.
as_rank_0 "strangers at a rank do not disturb it" '
    "$1" flight 20 &
    rank=$!
    until_listening $rank
    for at in $(listens $rank); do
        disturb "$at"
        disturb "$at"
    done
    wait $rank' --env UCX_TLS=all
as_rank_0 "UCX_NET_DEVICES keeps ranks to themselves" '
    "$1" flight 20 &
    rank=$!
    until_listening $rank
    for at in $(listens $rank); do
        [ "${at%:*}" = 0100007F ] || exit 1
    done
    wait $rank' --env UCX_TLS=all --env UCX_NET_DEVICES=lo
name="other users see neither memory nor environment"
if [ "$(id -u)" -ne 0 ] || ! setpriv --reuid 65534 --clear-groups true 2>"$err"
then
    skip "$name" "no right to be another user"
else
    # Of a process that ends anybody reads an empty map: it is stopped first.
    as_rank_0 "$name" '
        "$1" flight "$ROUNDS" &
        rank=$!
        until_listening $rank
        kill -STOP $rank || exit 2
        for file in environ mem fd/0 maps; do
            setpriv --reuid 65534 --regid 65534 --clear-groups \
                head -c 1 "/proc/$rank/$file" >/dev/null 2>&1 && exit 1
        done
        kill -CONT $rank
        wait $rank' --env UCX_TLS=all --env ROUNDS=400
fi
finish
