#!/bin/bash
# What programs may be started with: descriptors 0 to 2 closed, limits, masks of
# files, a working directory that is gone, much or no environment, no /proc,
# nowhere to write. They work, or say why not; nothing hangs. Signals are in
# launcher.sh. Prints TAP.
#
#   inherited.sh XYLEM-RUN FOLDER PROGRAM...
#
#   FOLDER   where the programs beside this script have been built
#   PROGRAM  xylem-bench, -noise, -sim, -tune, -info and -report
# Programs of ranks are in single quotes on purpose.
# shellcheck disable=SC2016
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

run=$(realpath "$1")
standard=$(realpath "$2")/standard
shift 2
declare -A of
for program; do
    of[${program##*/xylem-}]=$(realpath "$program")
done
bound=100

settings_forget
export UCX_LOG_LEVEL=fatal TMPDIR=$work/tmp
mkdir "$TMPDIR"

# works NAME COMMAND...: it ends with 0.
works()
{
    local name=$1
    shift
    attempt "$@"
    check "$name" [ "$code" -eq 0 ]
}

# says NAME CODE PATTERN COMMAND...: it ends so, with a line that tells why.
says()
{
    local name=$1 wanted=$2 pattern=$3
    shift 3
    attempt "$@"
    if [ "$code" -ne "$wanted" ] || ! grep -q -- "$pattern" "$err"; then
        report "$name" no
    else
        report "$name" yes
    fi
}

# Followed by what ulimit takes, and a command, which must not print to a file,
# as that has a limit, too.
limited=(bash -c 'ulimit $1 || exit 99
    shift
    exec "$@" >/dev/null' bash)
# Followed by commands that mount something, and one to be run then; without
# /proc the loader does not know in which folder a program is.
mounted=(unshare -m env LD_LIBRARY_PATH="${standard%/*}/.." sh -c 'eval "$1" || exit 99
    shift
    exec "$@"' sh)

is_sanitized()
{
    nm "$standard" 2>/dev/null | grep -q -e __asan_init -e __tsan_init
}

test_descriptors()
{
    closed "xylem-run" "$run" -n 2 "$standard"
    closed "one rank without a launcher" "$standard"
    closed "launcher and ranks" "$run" -n 2 sh -c \
        'eval "exec \"\$@\" $closing"' sh "$standard"
    works "ranks close theirs, later" "$run" -n 2 "$standard" late
    closed "ranks of xylem-bench" "$run" -n 2 "${of[bench]}" -c allreduce \
        -b 8 -e 8 -i 10 --check
    closed "xylem-noise" "${of[noise]}" -n 2 --impl xylem --seconds 0.01 \
        --rounds 1 --warmup 1 -s 1K --max-ms 0
    closed "xylem-sim" "${of[sim]}" -N 2 -p 2 -s 1K -i 2 --impl xylem
    closed "xylem-tune" sh -c 'exec "$1" -m stampede2 -N 2 -p 2 -q -c bcast \
        --sizes 64 --minutes 0.001 -o "$2/$$"' sh "${of[tune]}" "$work"
    closed "xylem-info" "${of[info]}"
    echo '{"collectives": []}' >"$work/report.json"
    closed "xylem-report" "${of[report]}" "$work/report.json"
}

test_limits()
{
    local limit

    for limit in '-f 0' '-s 1024' '-S -s 64' '-l 0' '-i 0' '-q 0' '-c 0' \
        '-S -n 60'; do
        works "ulimit $limit" "${limited[@]}" "$limit" sh -c \
            'exec "$@" 2>/dev/null' sh "$run" -n 2 "$standard"
    done
    says "too little stack" 125 'limit of bytes of stack' "${limited[@]}" '-s 128' \
        "$run" -n 2 true
    says "too few files" 125 'limit of open files' "${limited[@]}" '-n 64' \
        "$run" -n 2 true
    if is_sanitized; then
        skip "little memory" "a sanitizer needs more"
        return
    fi
    says "too little memory" 125 'too little memory' "${limited[@]}" '-d 6000' \
        "$run" -n 2 true
    works "little memory" "${limited[@]}" '-S -v 60000' "$run" -n 2 sh -c \
        'ulimit -S -v unlimited; exec "$1"' sh "$standard"
}

test_files()
{
    local mask big i names=() kept=()

    for mask in 000 777; do
        works "umask $mask" sh -c 'umask $1; shift; exec "$@"' sh $mask \
            "$run" -n 2 "$standard"
        check "umask $mask of ranks" sh -c 'umask $1; shift; [ "$("$@")" = 0$0 ]' \
            $mask $mask "$run" -n 1 sh -c umask
    done
    mkdir "$work/gone"
    works "the working directory is gone" sh -c 'cd "$1" && rmdir "$1" && shift
        exec "$@"' sh "$work/gone" "$run" -n 2 "$standard"
    is_sanitized && kept=("LSAN_OPTIONS=${LSAN_OPTIONS-}")
    works "no environment" env -i ${kept[@]+"${kept[@]}"} "$run" -n 2 "$standard"
    big=$(head -c 100000 /dev/zero | tr '\0' x)
    for i in 0 1 2 3 4 5 6 7 8 9; do
        names+=("BIG$i=$big")
    done
    works "an environment of 1 MB" env "${names[@]}" "$run" -n 2 "$standard"
    works "TMPDIR is not there" env TMPDIR="$work/nowhere" "$run" -n 2 "$standard"
    if ! "${mounted[@]}" 'mount -t tmpfs none /proc' true 2>/dev/null; then
        skip "no /proc, nowhere to write" "no namespaces"
        return
    fi
    works "TMPDIR and /tmp cannot be written" "${mounted[@]}" \
        'mount -t tmpfs -o ro none /tmp' "$run" -n 2 true
    says "nowhere to write" 125 'cannot make a directory in' "${mounted[@]}" \
        'for folder in /tmp /var/tmp /dev/shm; do
            mount -t tmpfs -o ro none $folder || exit
        done' "$run" -n 2 true
    works "/dev/shm cannot be written" "${mounted[@]}" \
        'mount -t tmpfs -o ro none /dev/shm' "$run" -n 2 "$standard"
    works "/dev/shm of 64 MiB" "${mounted[@]}" \
        'mount -t tmpfs -o size=64m none /dev/shm' "$run" -n 4 "${of[bench]}" \
        -c allreduce -b 1M -e 4M -i 5 --check
    works "each rank has a /dev/shm of its own" "$run" -n 3 "${mounted[@]}" \
        'mount -t tmpfs none /dev/shm' "${of[bench]}" -c allreduce -b 64 -e 1M \
        -i 5 --check
    if is_sanitized; then
        skip "no /proc" "a sanitizer reads it"
        return
    fi
    works "no /proc, one rank" "${mounted[@]}" 'mount -t tmpfs none /proc' \
        "$run" -n 1 "$standard"
    works "no /proc, programs that need none" "${mounted[@]}" \
        'mount -t tmpfs none /proc' "$run" -n 2 true
    says "no /proc" 1 'cannot connect to rank .*/proc' "${mounted[@]}" \
        'mount -t tmpfs none /proc' "$run" -n 2 "$standard"
    says "no /proc, messages alone" 1 'cannot connect to rank .*/proc' "${mounted[@]}" \
        'mount -t tmpfs none /proc' "$run" -n 2 --env XYLEM_SHM=off "$standard"
    says "no /proc, and a rank is missed" 1 'rank 1 .* has ended' "${mounted[@]}" \
        'mount -t tmpfs none /proc' "$run" -n 2 --no-kill sh -c \
        '[ "$PMIX_RANK" = 1 ] || exec "$1"' sh "$standard"
}

# What a program writes for others has points, whatever it writes for people.
test_locale()
{
    local comma=(env LOCPATH="$work" LC_ALL=de_DE.UTF-8)

    if ! localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" >/dev/null 2>&1; then
        skip "a locale with a decimal comma" "no such locale can be made"
        return
    fi
    works "times that are learnt, decimal comma" "${comma[@]}" \
        XYLEM_TUNING_LEARN="$work/learnt" "$run" -n 2 "$standard"
    check "times have points" sh -c 'grep -q "^allreduce .*[0-9]\.[0-9]" "$1" &&
        ! grep -v "^#" "$1" | grep -q ,' sh "$work/learnt.0"
    works "noise that is told, decimal comma" "${comma[@]}" \
        NOISE_SPEC=uniform:10Hz,0-1ms NOISE_REPORT="$work/told" \
        NOISE_LOG="$work/log" "$run" -n 1 env \
        LD_PRELOAD="${of[noise]%/*}/libxylem-noise.so" "$standard"
    check "noise has points" grep -q 'seconds=[0-9]*\.' "$work/told"
    check "and its log" grep -q '^length [0-9]*\.' "$work/log.0"
}

test_descriptors
test_locale
test_limits
test_files
finish
