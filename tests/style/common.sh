# Shared by the checks of the source; sourced, not run. A check is a script
# that prints what is wrong, one finding per line, and exits with 0 (nothing
# found), 1 (something found) or 77 (cannot be checked here). Each works from
# any directory and leaves no file behind.
# shellcheck shell=bash

# Messages and the order of sorting do not depend on the user's language.
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
cd "$root" || exit 1
found=0

# The folders from which the library and its programs are built.
# shellcheck disable=SC2034 # used by the scripts that source this
source_folders=(runtime progress trees collectives bindings launcher simulator
    bench)

finding()
{
    printf '%s\n' "$*"
    found=1
}

skip()
{
    printf 'skipped: %s\n' "$*"
    exit 77
}

finish()
{
    exit "$found"
}

# Prints the project's files that match the given git patterns, one per line:
# what git knows or would add; in an unpacked archive all but build folders.
project_files()
{
    local top pattern name

    if top=$(git rev-parse --show-toplevel 2>/dev/null) &&
        [[ $top == "$root" ]]; then
        git ls-files --cached --others --exclude-standard -- "$@"
    else
        # As in git, a star also stands for slashes.
        for pattern; do
            find . -name 'build*' -type d -prune -o -name .git -prune -o \
                -type f -path "./$pattern" -print
        done
    fi | sort -u | while IFS= read -r name; do
        # The index also lists what has just been deleted.
        [[ ! -f $name ]] || printf '%s\n' "${name#./}"
    done
}
