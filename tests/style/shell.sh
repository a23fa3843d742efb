#!/bin/bash
# The shell scripts parse, shellcheck has nothing to say about them, and each script
# whose first comment says how to call it has --help, in its own folder and in any other.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

mapfile -t scripts < <(
    project_files '*.sh'
    # Scripts without the suffix, such as those of the continuous integration.
    project_files '*' | while IFS= read -r file; do
        [[ ${file##*/} != *.* ]] && IFS= read -r first <"$file" &&
            [[ $first =~ ^'#!'.*sh$ ]] && printf '%s\n' "$file"
    done 2>/dev/null
)
((${#scripts[@]} > 0)) || { finding "no scripts found"; finish; }

for script in "${scripts[@]}"; do
    bash -n "$script" 2>&1 || finding "$script does not parse"
done

# helps FOLDER SCRIPT: --help prints something, no error, and ends with 0.
helps()
{
    local folder=$1 script=$2 output

    output=$(cd "$folder" && timeout 60 bash "$script" --help 2>"$errors") &&
        [[ -n $output && ! -s $errors ]] ||
        finding "$script --help, in $folder: $(head -n 3 "$errors")"
}

# has_usage SCRIPT: it is called by its name, and no part of another.
has_usage()
{
    [[ $1 != */lib/* ]] && awk -v name="${1##*/}" '
        NR > 1 && !/^#/ { exit }
        { sub(/.*\//, "", $2) } # of "# bash FOLDER/NAME"
        { sub(/.*\//, "", $3) }
        /^#  / && ($2 == name || $2 == "bash" && $3 == name) { found = 1 }
        END { exit !found }' "$1" || grep -qE '^ *--help( \| -h)?\)' "$1"
}

errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
for script in "${scripts[@]}"; do
    has_usage "$script" || continue
    helps "$(dirname "$script")" "$(basename "$script")"
    helps / "$root/$script"
done
if command -v shellcheck >/dev/null; then
    shellcheck --external-sources --severity=warning --format=gcc \
        "${scripts[@]}" || found=1
fi
finish
