#!/bin/bash
# Tries the README's commands as a new user would: in a bare root of a Debian
# release, made by debootstrap from the mirror that this machine uses, with
# nothing installed by hand. Root and this machine see nothing of it but the
# processors: mounts, processes and the network's name are its own, and all of it
# is gone in the end, however that comes.
#
#   tests/distro/run.sh [OPTION]... [RELEASE]... [WHAT]...
#
#   RELEASE   bookworm, trixie, forky (default: bookworm and trixie)
#   WHAT      demo    bash bench/demo.sh
#             tests   bash tests/run.sh
#             quick   bash tests/run.sh --quick
#             death   the suite of ranks that die, eight times
#             readme  all other commands of README.md (readme.sh)
#             (default: readme, demo and tests)
#   --logs FOLDER   where the outputs go (default: build/distro)
#   --repeat N      so many times: of quick, which is tried once, and of death
#
# Needs the rights of root; exit code 77: it cannot be done here, for the reason
# given. The last line is `N passed, N failed, N skipped`, of commands.
set -uo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
here=$top/tests/distro
logs=$top/build/distro
repeat=
releases=()
whats=()
passed=0
failed=0
skipped=0
work=

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

cannot()
{
    echo "distro: $1" >&2
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}

parse_options()
{
    while (($# > 0)); do
        case $1 in
        bookworm | trixie | forky) releases+=("$1") ;;
        demo | tests | quick | death) whats+=("$1") ;;
        readme) whats=(readme "${whats[@]}") ;; # in the root as it was made
        --logs) logs=$(realpath -m "${2:?--logs needs a folder}") && shift ;;
        --repeat) repeat=${2:?--repeat needs a number} && shift ;;
        --help | -h) usage; exit 0 ;;
        *) echo "distro: unknown argument '$1'; see --help" >&2; exit 2 ;;
        esac
        shift
    done
    ((${#releases[@]} > 0)) || releases=(bookworm trixie)
    ((${#whats[@]} > 0)) || whats=(readme demo tests)
}

# The address from which apt gets Debian itself.
mirror()
{
    # shellcheck disable=SC2016 # for apt
    apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' \
        'Created-By: Packages' |
        awk '$2 == "Debian" && $3 == "Debian" { print $1; exit }'
}

require()
{
    ((EUID == 0)) || cannot "a root of its own needs the rights of root"
    command -v debootstrap >/dev/null ||
        cannot "debootstrap is missing: apt-get install debootstrap"
    unshare --mount --pid --fork --mount-proc true 2>/dev/null ||
        cannot "namespaces cannot be made"
    mirror_address=$(mirror)
    [[ -n $mirror_address ]] || cannot "apt's configuration names no mirror"
}

# The machine's own way through to the mirror, such as a proxy, goes along.
make_root()
{
    local release=$1 root=$2 scripts=/usr/share/debootstrap/scripts script=()

    # An older debootstrap does not know releases to come; they are made as sid.
    [[ -e $scripts/$release ]] || script=("$scripts/sid")
    debootstrap --variant=minbase "$release" "$root" "$mirror_address" \
        "${script[@]}" &&
        cp /etc/resolv.conf "$root/etc/" &&
        apt-config dump Acquire --format '%F "%v";%n' |
        grep -iE '::(proxy|https?::verify|check-date|check-valid-until)' \
            >"$root/etc/apt/apt.conf.d/90machine"
    [[ -x $root/usr/bin/apt-get ]]
}

# The checkout as it is, without what has been built.
copy_checkout()
{
    mkdir -p "$1" && tar -C "$top" --exclude=./build --exclude=./.git -c . |
        tar -C "$1" -x
}

# in_root ROOT COMMAND: with processes and mounts that end with it.
in_root()
{
    unshare --mount --pid --fork --kill-child --propagation private \
        bash "$here/inside.sh" "$@"
}

# What still runs in a root goes with its first process.
clean_up()
{
    local child

    for child in $(jobs -p); do
        pkill -KILL -P "$child"
        kill -KILL "$child"
    done 2>/dev/null
    wait
    rm -rf "$work"
}

commands_of()
{
    case $1 in
    demo) echo "bash bench/demo.sh" ;;
    tests) echo "bash tests/run.sh" ;;
    quick)
        echo "for ((i = 0; i < ${repeat:-1}; i++)); do
                  bash tests/run.sh --quick || exit
              done"
        ;;
    readme) echo "bash tests/distro/readme.sh --run" ;;
    death)
        echo "bash tools/deps.sh build && meson setup build/death &&
              ninja -C build/death && meson test -C build/death --no-rebuild --print-errorlogs \
              --repeat ${repeat:-8} proc_death"
        ;;
    esac
}

# try RELEASE WHAT ROOT: says how it went, and shows the end of what has failed.
try()
{
    local name=$1-$2 log=$logs/$1-$2.log begin=$SECONDS code=0

    # In the background, for a signal to this script to be heard at once.
    in_root "$3" "$(commands_of "$2")" >"$log" 2>&1 </dev/null &
    wait $! || code=$?
    printf '%-16s %-6s %5d s  %s\n' "$name" \
        "$( ((code == 0)) && echo good || echo failed)" $((SECONDS - begin)) \
        "$(grep -E '^[0-9]+ passed, ' "$log" | tail -n 1)"
    if ((code == 0)); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "--- the end of $log:"
        tail -n 40 "$log" | cut -c -300
    fi
    # What is skipped on one release and not on another shows here.
    sed -n '/^folder  *suite/,/^$/p' "$log" | awk '$5 > 0' >"$logs/$name.skipped"
}

try_release()
{
    local release=$1 root=$work/$1 what

    make_root "$release" "$root" >"$logs/$release-root.log" 2>&1 </dev/null &
    if ! wait $!; then
        echo "$release: a root cannot be made; the end of its log:"
        tail -n 5 "$logs/$release-root.log"
        skipped=$((skipped + ${#whats[@]}))
        return
    fi
    copy_checkout "$root/src/xylem"
    for what in "${whats[@]}"; do
        if [[ $what == readme ]]; then
            # What it installs is no other's.
            cp -a "$root" "$root-readme"
            try "$release" readme "$root-readme"
            rm -rf "$root-readme"
        else
            try "$release" "$what" "$root"
        fi
    done
    rm -rf "$root"
}

parse_options "$@"
require
mkdir -p "$logs"
# Where memory is not: roots take some gigabytes.
work=$(mktemp -d "${TMPDIR:-/var/tmp}/distro.XXXXXX")
trap clean_up EXIT
trap 'exit 143' TERM INT
for release in "${releases[@]}"; do
    try_release "$release"
done
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0 && passed > 0))
