#!/bin/bash
# Programs that are compiled against the public header work with later releases:
# the types and functions of the header, as the library has them, are those that
# tests/style/xylem.abi records, and its constants have the values in
# tests/style/xylem.constants. Arguments: libxylem.so with debug information;
# --renew records what there is, which docs/interface.md says when to do.
shared=$(realpath "$1")
renew=${2-}
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

record=tests/style/xylem

# What the library has of the header's types and functions, without names of
# files and parameters.
write_abi()
{
    abidw --headers-dir include --drop-private-types \
        --exported-interfaces-only --no-corpus-path --no-comp-dir-path \
        --no-show-locs --no-elf-needed --no-parameter-names \
        --type-id-style hash --out-file "$1" "$shared" ||
        finding "abidw fails"
}

# Constants that no function's type leads to: types, operations, flags. Those
# of enumerations with a name are in the other record.
write_constants()
{
    local names name

    mapfile -t names < <(sed '/^typedef enum .* {$/,/^}/d' \
        include/xylem.h include/xylem_task.h include/xylem_trigger.h |
        grep -oE '^(    |#define )XYLEM_[A-Z0-9_]+( +[^ \\(]|,)' |
        grep -oE 'XYLEM_[A-Z0-9_]+' |
        grep -vE '_(COUNT|INIT|MAJOR|MINOR|PATCH|RECV|PLACE)$')
    {
        printf '#include <%s>\n' inttypes.h stdio.h
        printf '#include "include/xylem.h"\nint main(void)\n{\n'
        for name in "${names[@]}"; do
            printf '    printf("%s %%" PRId64 "\\n", (int64_t)%s);\n' \
                "$name" "$name"
        done
        printf '}\n'
    } >"$work/constants.c"
    if ! "${CC:-cc}" -I. -o "$work/constants" "$work/constants.c" ||
        ! "$work/constants" >"$1"; then
        finding "the constants cannot be listed"
    fi
}

command -v abidiff >/dev/null || skip "abidiff is not installed"
readelf -S "$shared" | grep -q '\.debug_info' ||
    skip "$shared has no debug information"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [[ $renew == --renew ]]; then
    write_abi "$record.abi"
    write_constants "$record.constants"
    finish
fi

[[ $(head -n 1 "$record.abi") == *"elf-amd-x86_64"* &&
    $(uname -m) == x86_64 ]] || skip "the record is of another architecture"
write_abi "$work/abi"
write_constants "$work/values"
abidiff --harmless "$record.abi" "$work/abi" || found=1
diff "$record.constants" "$work/values" || found=1
((!found)) ||
    finding "the interface is not the recorded one; see docs/interface.md, and" \
        "if it may change so: bash tests/style/abi.sh $1 --renew"
finish
