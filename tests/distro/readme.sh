#!/bin/bash
# Runs every command of README.md and docs/using.md, from their own text and in
# their order, in a bare root as run.sh makes it: as root, from the checkout's
# folder, with nothing installed. Prints TAP, and in the end `N passed, N failed, N skipped`.
#
#   readme.sh --run | --list
#
#   --run    install packages and programs as the commands say: in such a root only
#   --list   run nothing; print each command with what becomes of it, and end
#            with 1 if an exception fits no command
#
# A command is an indented line, or a `quoted` one: a program of xylem's, at
# least two words of which the first is in small letters, or a setting. The
# program in C becomes hello.c. A command that ends with ... goes on with hello.
set -u
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
bound=3000

# What is not run: PATTERN|REASON.
exceptions=(
    'bash bench/demo.sh*|run.sh has demo for it'
    'bash tests/run.sh*|run.sh has tests for it'
    'bash tests/distro/run.sh*|it runs this script'
    'bash bench/bundle.sh|it packs MPI libraries that a bare system lacks'
    'meson setup|a part of another command'
    'slurm.sh *|the row of srun runs both'
    'args.algorithm = *|a line of C'
    'xylem-plot|a package of Python, installed by itself'
    '*=DIR/*|taken where --prefix=DIR is tried, the last'
    'xylem-preload mpirun *|no program for MPI is there; tests/mpi/ runs it'
)

# Prints the program.
program()
{
    awk '/^```/ { if (inside) exit; inside = /^```c[[:space:]]*$/; next }
         inside' README.md
}

# Prints the commands, one per line. A paragraph is one line before it is
# looked through, as a quoted command may go over two.
commands()
{
    awk '
        function is_command(text) {
            return text ~ /^xylem-[a-z]+( |$)/ || text ~ /^[A-Z_]+=/ ||
                text ~ /^[a-z][a-z0-9.-]* [^ ]/
        }
        function quoted(text) {
            gsub(/ +/, " ", text)
            while (match(text, /`[^`]+`/)) {
                if (is_command(substr(text, RSTART + 1, RLENGTH - 2)))
                    print substr(text, RSTART + 1, RLENGTH - 2)
                text = substr(text, RSTART + RLENGTH)
            }
        }
        FNR == 1 { quoted(paragraph); paragraph = "" }
        /^```/ { quoted(paragraph); paragraph = ""; fenced = !fenced; next }
        fenced { next }
        /^    / && paragraph == "" { sub(/^ */, ""); sub(/ *\/\/ .*/, ""); print; next }
        /^$/ { quoted(paragraph); paragraph = ""; next }
        { paragraph = paragraph (paragraph == "" ? "" : " ") $0 }
        END { quoted(paragraph) }' README.md docs/using.md
}

# reason_of COMMAND: why it is not run; fails where it is.
reason_of()
{
    local exception

    for exception in "${exceptions[@]}"; do
        # shellcheck disable=SC2053 # a pattern
        [[ $1 == ${exception%%|*} ]] && echo "${exception#*|}" && return
    done
    return 1
}

# An exception that fits no command is one for a README of before.
list()
{
    local command exception fits ok=0

    for command in "${all[@]}"; do
        if reason=$(reason_of "$command"); then
            printf 'not run: %s (%s)\n' "$command" "$reason"
        else
            printf '%s\n' "$command"
        fi
    done
    for exception in "${exceptions[@]}"; do
        fits=no
        for command in "${all[@]}"; do
            # shellcheck disable=SC2053 # a pattern
            [[ $command != ${exception%%|*} ]] || fits=yes
        done
        [[ $fits == yes ]] ||
            { echo "no page has a command ${exception%%|*}" && ok=1; }
    done
    return $ok
}

# first PATTERN: the first command like this.
first()
{
    local command

    for command in "${all[@]}"; do
        # shellcheck disable=SC2053 # a pattern
        [[ $command == $1 ]] && echo "$command" && return
    done
}

# What is below a folder.
files_below()
{
    find "$1" ! -type d 2>/dev/null | sort
}

# ---- what some commands need, which their readers have ----

# The drivers of the comparison are built where the MPI libraries are.
with_mpi()
{
    bash tools/deps.sh bench && meson setup --reconfigure build/release &&
        ninja -C build/release
}

# srun by the Slurm of a cluster, from its head node.
with_slurm()
{
    bash tools/deps.sh cluster && bash tests/cluster/run.sh up 2 &&
        bash tests/cluster/slurm.sh up || return
    # With the PATH of before: there the real srun is looked for.
    printf '#!/bin/bash\nPATH=%q exec bash %q run "$@"\n' "${PATH#*:}" \
        "$PWD/tests/cluster/slurm.sh" >"$work/bin/srun"
    chmod +x "$work/bin/srun"
}

prepare()
{
    case $1 in
    'cc hello.c '*) program >hello.c ;;
    'mpirun '*) bash tools/deps.sh cluster ;;
    'srun '*) with_slurm ;;
    'bash bench/compare.sh '*) with_mpi ;;
    'XYLEM_TUNING=FILE '*) echo '{"rules": []}' >FILE ;;
    esac
}

clean_up_after()
{
    case $1 in
    'srun '*) bash tests/cluster/run.sh down ;;
    esac
}

# ---- running ----

# How many ranks a command with hello has, by its own options; 0: not known.
ranks_of()
{
    if [[ $1 =~ \ -n\ ([0-9]+)\ .*\./hello ]]; then
        echo "${BASH_REMATCH[1]}"
    elif [[ $1 =~ \ --slots\ ([0-9,]+)\ .*\./hello ]]; then
        echo $((${BASH_REMATCH[1]//,/+}))
    else
        echo 0
    fi
}

# Without a launcher that is known, each would be a job of its own.
are_one_job()
{
    local ranks
    ranks=$(ranks_of "$1")

    ((code == 0)) && ((ranks == 0 ||
        $(grep -c "rank [0-9]* of $ranks: the sum is" "$out") == ranks))
}

# run NAME COMMAND
run()
{
    attempt bash -c "$2"
    if ((code == 77)); then
        skip "$1" "$(tail -n 1 "$err")"
    else
        check "$1" are_one_job "$2"
    fi
}

run_of_readme()
{
    local command=$1

    [[ $command != *' ...' ]] ||
        command="${command%...}xylem-run -n 2 ./hello"
    [[ ! $command =~ ^[A-Z_]+=[^\ ]*$ ]] || command+=' xylem-run -n 2 ./hello'
    [[ ! $command =~ ^xylem-[a-z]+$ || $command == xylem-info ]] ||
        command+=" --help"
    if prepare "$1" >"$out" 2>"$err" </dev/null; then
        run "$1" "$command"
    else
        code=$?
        check "what is needed for $1" false
    fi
    clean_up_after "$1" >/dev/null 2>&1
}

uninstall()
{
    local command
    command=$(first '*uninstall')

    run_of_readme "$command"
    files_below /usr/local >"$out"
    diff "$work/before" "$out" >"$err" # with what is still there
    code=$?
    check "nothing is left by $command" [ "$code" -eq 0 ]
}

# The same installation below a folder, and the same program with it.
prefix()
{
    local folder=$work/prefix setup

    setup=$(first 'meson setup build/*')
    {
        echo 'set -e; rm -f hello'
        echo "$setup --reconfigure --prefix=DIR"
        first 'meson install *'
        printf 'export %s\n' "${settings_of_prefix[@]}"
        first 'cc hello.c *'
        first 'xylem-run -n 2 ./hello'
    } | sed "s,DIR,$folder,g" >"$work/commands"
    run "--prefix=DIR, and hello" "$(cat "$work/commands")"
    files_below /usr/local | diff "$work/before" - >"$out"
    code=$?
    check "--prefix=DIR installs below DIR alone" [ "$code" -eq 0 ]
}

mapfile -t all < <(commands)
mapfile -t settings_of_prefix < <(printf '%s\n' "${all[@]}" | grep '=DIR/')
case ${1-} in
--run) ;;
--list) list; exit ;;
*) echo "readme.sh: --run or --list; see --help" >&2; exit 2 ;;
esac
# Root, and fewer cores than ranks, are this box's, not the reader's.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
mkdir "$work/bin" # for what stands in for a program
PATH=$work/bin:$PATH
files_below /usr/local >"$work/before"
for command in "${all[@]}"; do
    if reason=$(reason_of "$command"); then
        skip "$command" "$reason"
    elif [[ ! $command =~ ^xylem-[a-z]+$|uninstall$ ]]; then
        run_of_readme "$command"
    fi
done
# They are named above Install, too.
for command in $(printf '%s\n' "${all[@]}" | grep -xE 'xylem-[a-z]+' | sort -u); do
    reason_of "$command" >/dev/null || run_of_readme "$command"
done
uninstall
prefix
finish
code=$?
total
exit $code
