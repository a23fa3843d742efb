#!/bin/bash
# Calls follow the arrows of the layers, as includes do: what an object uses is
# defined where its folder may look, whatever header declares it. And files do
# not call one another in a circle. Argument: the static library of all objects.
objects=$(realpath "$1")
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tests/style/arrows.sh
. tests/style/arrows.sh

# An object is named by the path of its source, with _ for /.
declare -A source_of=()
while IFS= read -r file; do
    source_of[${file//\//_}.o]=$file
done < <(project_files '*.c')

# Prints "object object symbol" for each use of what another object defines.
uses()
{
    nm -A --format=posix "$objects" 2>/dev/null | awk '
        { object = $1; sub(/.*[\[\/]/, "", object); sub(/\]:$/, "", object) }
        $3 == "U" { uses[object " " $2] = 1 }
        $3 ~ /^[A-TV-Z]$/ { definer[$2] = object }
        END {
            for (use in uses) {
                split(use, part, " ")
                if (part[2] in definer && definer[part[2]] != part[1])
                    print part[1], definer[part[2]], part[2]
            }
        }' | sort
}

count=0
while read -r from to name; do
    count=$((count + 1))
    from=${source_of[$from]-} to=${source_of[$to]-}
    [[ -n $from && -n $to ]] || continue
    may_use "$from" "$to" ||
        finding "$from: must not use $name of $to"
done < <(uses)
((count > 0)) || finding "$objects: no calls between objects found"

mapfile -t files < <(project_files '*.c' '*.h' '*.cu' |
    grep -E "^($(IFS='|'; echo "${source_folders[*]}"))/")
calls=$(awk -f tests/style/circles.awk pass=1 "${files[@]}" pass=2 \
    "${files[@]}" | sort)
grep -q '^call ' <<<"$calls" || finding "no calls between files found"
circles=$(awk '
    $1 == "circle" { all[$2] = all[$2] " " $3 }
    END { for (first in all) print substr(all[first], 2) }' <<<"$calls" | sort)
while read -r circle; do
    finding "these files call one another in a circle: $circle"
    awk -v circle=" $circle " '
        $1 == "call" && index(circle, " " $2 " ") && index(circle, " " $3 " ") {
            print "    " $2 " uses " $4 " of " $3
        }' <<<"$calls"
done < <([[ -z $circles ]] || printf '%s\n' "$circles")
finish
