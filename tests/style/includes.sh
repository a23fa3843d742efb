#!/bin/bash
# Layers are folders, and the arrows between them point one way: bindings ->
# collectives -> {trees, progress} -> runtime/base. runtime/core assembles the
# parts and sees all of them; so does the simulator, which no part of the library
# knows. Its program and its calibration are made of parts of bench/, too.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

# Prints the folders that a file may include from; "any" for the outermost.
allowed_for()
{
    local library="runtime progress trees collectives include"

    case $1 in
    include/*) ;;
    runtime/base/*) echo "runtime/base include" ;;
    runtime/core/*) echo "$library" ;;
    runtime/*) echo "runtime progress include" ;;
    trees/*) echo "trees runtime/base include" ;;
    progress/*) echo "progress runtime/base include" ;;
    collectives/*) echo "$library" ;;
    bindings/*) echo "bindings $library" ;;
    launcher/*) echo "launcher bench/common" ;;
    simulator/program/* | simulator/calibrate/*) echo any ;;
    simulator/*) echo "simulator $library" ;;
    *) echo any ;;
    esac
}

check_include()
{
    local file=$1 line=$2 path=$3 folder

    case $path in
    include/* | runtime/* | progress/* | trees/* | collectives/*) ;;
    bindings/* | launcher/* | simulator/* | bench/* | tests/*) ;;
    *)
        finding "$file:$line: \"$path\" is not a path from the top folder"
        return
        ;;
    esac
    for folder in $(allowed_for "$file"); do
        [[ $folder == any || $path == "$folder"/* ]] && return
    done
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
    done < <(grep -nE "$directive<(($folders)/|xylem\.h)" "$file")
done < <(project_files '*.c' '*.h' '*.cu' | grep -E "^($folders)/")
((count > 0)) || finding "no includes found"
finish
