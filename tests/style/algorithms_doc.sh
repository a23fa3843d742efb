#!/bin/bash
# docs/algorithms.md has a row for every schedule of the registry, in its order,
# with what the algorithm demands and takes; one for every tree; one for every
# algorithm in the memory of a node, or of GPUs; and one for every collective in
# levels. Argument: xylem-bench.
bench=$(realpath "$1")
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

document=docs/algorithms.md

# The registry, as "collective name|help; demands ...".
listed()
{
    "$bench" --algorithm list | awk '
        /^[a-z]/ { coll = $1 }
        /^  /    { name = $1; sub(/:K$/, "", name); sub(/^ *[^ ]+ */, "")
                   print coll " " name "|" $0 }'
}

# What stands behind the help, in the words of the document.
demands()
{
    awk -F'; ' '{
        text = ""
        for (i = 2; i <= NF; i++) {
            word = $i
            if (word ~ /commutative/) word = "commutative"
            else if (word ~ /even number/) word = "even"
            else if (word == "takes --segment") word = "segments"
            else if (word ~ /^K /) {
                match(word, /default [0-9]+/)
                preset = substr(word, RSTART + 8, RLENGTH - 8)
                match(word, /\.\.\. [0-9]+/)
                word = "radix " preset " (to " \
                    substr(word, RSTART + 4, RLENGTH - 4) ")"
            } else continue
            if (word ~ /^radix/ && text ~ / segments,$/) {
                sub(/ segments,$/, "", text); text = text " " word ", segments,"
            } else text = text " " word ","
        }
        split($1, head, "|")
        print head[1] ":" text
    }'
}

# What knows nodes has no writer; alltoallw has those of alltoallv.
schedules_listed()
{
    listed | grep -v '|tree: \| node|\| node_\| han|\| cuda_\|^alltoallw ' | demands
}

trees_listed()
{
    listed | sed -n 's/^bcast \([a-z]*\)|tree: .*/\1/p'
}

levels_listed()
{
    listed | sed -n 's/^\([a-z_]*\) han|.*/\1/p' | sort
}

# A line for each algorithm in the memory of a node, or of GPUs, with its
# collectives.
programs_listed()
{
    listed | sed -nE 's/^([a-z_]*) ((node|cuda)_[a-z_]*)\|.*/\2 \1/p' | sort
}

# "All" are those that have `node` by the registry.
programs_in_document()
{
    local name colls coll

    sed -nE 's/^\| `((node|cuda)_[a-z_]*)` \| ([a-z_, ]*) \| .*/\1 \3/p' "$document" |
        while read -r name colls; do
            [[ $colls != all ]] ||
                colls=$(listed | sed -n 's/^\([a-z_]*\) node|.*/\1/p')
            for coll in ${colls//,/ }; do
                echo "$name $coll"
            done
        done | sort
}

# Prints the document's rows in the same form; a dash stands for no demands.
schedules_in_document()
{
    local coll name demands

    while IFS='|' read -r _ coll name _ demands _; do
        [[ $name == ' `'*'` ' ]] || continue
        name=${name//[\` ]/}
        demands=${demands# }
        demands=${demands% }
        [[ $demands == - ]] && demands=
        printf '%s %s:%s\n' "${coll// /}" "$name" "${demands:+ $demands,}"
    done <"$document"
}

trees_in_document()
{
    sed -n 's/^| `\([a-z]*\)` | .*/\1/p' "$document"
}

# A row of the table of levels may be for several.
levels_in_document()
{
    sed -n '/what `han` sends/,$ s/^| \([a-z_, ]*\) | .*/\1/p' "$document" |
        sed 's/, /\n/g' | sort
}

# The lists of a kind, and that there is something in them.
compare()
{
    (($("$1_listed" | wc -l) > 0)) || finding "no $1 are listed"
    diff -u <("$1_listed") <("$1_in_document") ||
        finding "$document does not agree with the $1 of the registry"
}

compare schedules
compare trees
compare programs
compare levels
finish
