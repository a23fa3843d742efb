#!/bin/bash
# Layers are folders, those inside runtime/, progress/ and collectives/ too, and
# includes follow the arrows between them.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tests/style/arrows.sh
. tests/style/arrows.sh

check_include()
{
    local file=$1 line=$2 path=$3

    # Public headers are installed side by side.
    [[ $file == include/* && $path == xylem*.h ]] && return
    case $path in
    include/* | runtime/* | progress/* | trees/* | collectives/*) ;;
    bindings/* | launcher/* | simulator/* | bench/* | tests/*) ;;
    *)
        finding "$file:$line: \"$path\" is not a path from the top folder"
        return
        ;;
    esac
    may_use "$file" "$path" ||
        finding "$file:$line: ${file%/*} must not include \"$path\""
}

directive='^[[:space:]]*#[[:space:]]*include[[:space:]]*'
folders='include|runtime|progress|trees|collectives|bindings|launcher'
folders+='|simulator|bench|tests'

count=0
while IFS= read -r file; do
    while IFS=: read -r line text; do
        count=$((count + 1))
        path=${text#*\"}
        check_include "$file" "$line" "${path%%\"*}"
    done < <(grep -nE "$directive\"" "$file")
    while IFS=: read -r line text; do
        finding "$file:$line: the project's headers are included in quotes"
    done < <(grep -nE "$directive<(($folders)/|xylem[a-z_]*\.h)" "$file")
done < <(project_files '*.c' '*.h' '*.cu' | grep -E "^($folders)/")
((count > 0)) || finding "no includes found"
finish
