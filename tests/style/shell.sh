#!/bin/bash
# The shell scripts parse, and shellcheck has nothing to say about them.
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
if command -v shellcheck >/dev/null; then
    shellcheck --external-sources --severity=warning --format=gcc \
        "${scripts[@]}" || found=1
fi
finish
