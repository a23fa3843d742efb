#!/bin/bash
# The shell scripts parse, shellcheck has nothing to say about them, and --help works
# from the folder of a script as from any other.
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
for script in "${scripts[@]}"; do
    grep -qE '^ *(-h \| )?--help( \| -h)?\)' "$script" || continue
    said=$(cd "$(dirname "$script")" &&
        timeout 20 bash "$(basename "$script")" --help 2>&1 >/dev/null &&
        bash "$(basename "$script")" --help 2>/dev/null | head -c 1) &&
        [[ ${#said} -eq 1 ]] || finding "$script --help, in its own folder: $said"
done
if command -v shellcheck >/dev/null; then
    shellcheck --external-sources --severity=warning --format=gcc \
        "${scripts[@]}" || found=1
fi
finish
