#!/bin/bash
# clang-tidy, as .clang-tidy says, finds nothing in the library and its
# programs. Argument: the build folder that has compile_commands.json.
# CHECK_TIDY=deep follows calls as far as the analyzer can, which takes about six
# times as long.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

build=${1:-build/debug}
command -v clang-tidy >/dev/null || skip "clang-tidy is not installed"
[[ -f $build/compile_commands.json ]] ||
    skip "no $build/compile_commands.json; build first"

# Only what is compiled there: other files depend on packages or devices that
# this machine does not have.
files=()
for folder in "${source_folders[@]}"; do
    [[ -d $folder ]] || continue
    while IFS= read -r file; do
        grep -q "\"file\": \".*\b$file\"" "$build/compile_commands.json" &&
            files+=("$file")
    done < <(project_files "$folder/*.c")
done
((${#files[@]} > 0)) || { finding "no source files found"; finish; }

depth=(--extra-arg=-Xclang --extra-arg=-analyzer-config
    --extra-arg=-Xclang --extra-arg=mode=shallow)
[[ ${CHECK_TIDY-} != deep ]] || depth=()

report=$(mktemp)
trap 'rm -f "$report"' EXIT
# The commands are gcc's, some of whose options clang does not know.
printf '%s\0' "${files[@]}" |
    xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet \
        --extra-arg=-Wno-unknown-warning-option \
        --extra-arg=-Wno-ignored-optimization-argument "${depth[@]}" \
        >"$report" 2>&1 || found=1
if ((found)); then
    # Without the steps that lead to each finding, which fill pages.
    grep -E '(error|warning): ' "$report" | sed "s|^.*\.\./\.\./||" | sort -u
    finding "for the steps that lead there: clang-tidy -p $build FILE"
fi
finish
