#!/bin/bash
# docs/algorithms.md has a row for every algorithm of the library's table, in
# its order, with what the algorithm demands and takes; and, in a table of its
# own, one for every collective in levels.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

table=collectives/schedules/table.c
document=docs/algorithms.md

# Prints a row of the table as "collective name: demands".
summary()
{
    local row=$1 coll name demands=()

    coll=${row#*XYLEM_COLL_}
    coll=${coll%%,*}
    name=${row#*\"}
    name=${name%%\"*}
    [[ $row == *XYL_NEEDS_COMMUTATIVE* ]] && demands+=("commutative")
    [[ $row == *XYL_NEEDS_POWER_OF_TWO* ]] && demands+=("power of two")
    [[ $row == *XYL_NEEDS_EVEN* ]] && demands+=("even")
    [[ $row == *XYL_NEEDS_ELEMENT_PER_RANK* ]] && demands+=("element per rank")
    if [[ $row =~ XYL_TAKES_RADIX.*,\ *([0-9]+),\ *([0-9]+)\ *\}$ ]]; then
        demands+=("radix ${BASH_REMATCH[1]} (to ${BASH_REMATCH[2]})")
    fi
    [[ $row == *XYL_TAKES_SEGMENTS* ]] && demands+=("segments")
    printf '%s %s:' "${coll,,}" "$name"
    ((${#demands[@]} == 0)) || printf ' %s,' "${demands[@]}"
    printf '\n'
}

# Rows are in braces and span lines.
rows()
{
    sed -n '/ table\[\] = {/,/^};/p' "$table" | tr '\n' ' ' |
        grep -oE '\{ *XYLEM_COLL_[^}]*\}'
}

# What knows nodes has no writer.
in_table()
{
    local row

    rows | grep -v '" *, *NULL' | while IFS= read -r row; do
        summary "$row"
    done
}

levels_in_table()
{
    local row

    rows | grep '"han"' | while IFS= read -r row; do
        row=${row#*XYLEM_COLL_}
        row=${row%%,*}
        echo "${row,,}"
        # Which has those of alltoallv.
        [[ $row != ALLTOALLV ]] || echo alltoallw
    done | sort
}

# Prints the document's rows in the same form; a dash stands for no demands.
in_document()
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

# A row of the table of levels may be for several.
levels_in_document()
{
    sed -n '/what `han` sends/,$ s/^| \([a-z_, ]*\) | .*/\1/p' "$document" |
        sed 's/, /\n/g' | sort
}

(($(in_table | wc -l) > 0)) || finding "no algorithms found in $table"
diff -u <(in_table) <(in_document) ||
    finding "$document does not agree with $table"
(($(levels_in_table | wc -l) > 0)) || finding "no levels found in $table"
diff -u <(levels_in_table) <(levels_in_document) ||
    finding "$document does not have the levels of $table"
finish
