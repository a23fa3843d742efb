#!/bin/bash
# clang-tidy, as .clang-tidy says, finds nothing in the library and its
# programs. Argument: the build folder that has compile_commands.json.
# A file is looked at again when it, or a header of it, has changed beyond comments.
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

# The commands are gcc's, some of whose options clang does not know.
options="-p $build --quiet --extra-arg=-Wno-unknown-warning-option"
options+=" --extra-arg=-Wno-ignored-optimization-argument"
[[ ${CHECK_TIDY-} == deep ]] ||
    options+=" --extra-arg=-Xclang --extra-arg=-analyzer-config \
        --extra-arg=-Xclang --extra-arg=mode=shallow"

# A file in which nothing is found leaves an empty one here, by the hash of all
# that clang-tidy sees, and is not looked at again.
clean=$build/tidy-clean
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$clean"
python3 tests/style/tidy_keys.py "$build" "$options" "${files[@]}" \
    >"$work/keys" || { finding "it cannot be told what the files are"; finish; }
while read -r key file; do
    [[ -e $clean/$key ]] || printf '%s\0%s\0' "$clean/$key" "$file"
done <"$work/keys" >"$work/left"
export options
# shellcheck disable=SC2016 # for the shells that it starts
xargs -0 -r -n 2 -P "$(nproc)" sh -c 'clang-tidy $options "$2" && : >"$1"' sh \
    >"$work/report" 2>&1 <"$work/left" || found=1
# Of sources that are gone.
comm -23 <(ls "$clean") <(cut -d ' ' -f 1 "$work/keys" | sort) |
    (cd "$clean" && xargs -r rm -f)
if ((found)); then
    # Without the steps that lead to each finding, which fill pages.
    grep -E '(error|warning): ' "$work/report" | sed "s|^.*\.\./\.\./||" |
        sort -u
    finding "for the steps that lead there: clang-tidy -p $build FILE"
fi
finish
