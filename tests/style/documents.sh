#!/bin/bash
# Documents are true of the tree: links lead somewhere, files that a document
# names exist, pictures are what their scripts draw, every folder of the top says
# what lives in it and in its rooms, and what is meant to be read stays short.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

mapfile -t documents < <(project_files '*.md')
((${#documents[@]} > 0)) || { finding "no documents found"; finish; }

# Prints the anchors of a document's headings, as they are made on the web.
anchors()
{
    sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' |
        sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Links: [text](path#anchor), but for addresses of the web.
check_links()
{
    local document=$1 line link path target anchor

    while IFS=: read -r line link; do
        link=${link#*](}
        link=${link%)}
        path=${link%%#*}
        target=$document
        [[ -z $path ]] || target=$(realpath -m --relative-to=. \
            "$(dirname "$document")/$path")
        if [[ ! -e $target ]]; then
            finding "$document:$line: there is no $link"
            continue
        fi
        [[ $link == *'#'* ]] || continue
        anchor=${link#*#}
        anchors "$target" | grep -qx -- "$anchor" ||
            finding "$document:$line: $target has no heading #$anchor"
    done < <(grep -noE '\]\([^)]+\)' "$document" | grep -vE '\(https?:')
}

# Files in `quotes` that begin with a folder of this tree. A star or capitals
# stand for something.
check_names()
{
    local document=$1 folders=$2 line name

    while IFS=: read -r line name; do
        name=${name//\`/}
        [[ $name =~ [A-Z*{] || -e $name ]] ||
            finding "$document:$line: there is no $name"
    done < <(grep -noE "\`($folders)/[^\` ]*\`" "$document")
}

mapfile -t tops < <(project_files '*' | sed -n 's,^\([a-z]*\)/.*,\1,p' | sort -u)
folders=$(IFS='|' && echo "${tops[*]}")
for document in "${documents[@]}"; do
    check_links "$document"
    check_names "$document" "$folders"
done
for top in "${tops[@]}"; do
    [[ -f $top/README.md ]] || { finding "$top has no README.md"; continue; }
    while IFS= read -r room; do
        grep -q "$room/" "$top/README.md" ||
            finding "$top/README.md does not say what lives in $room/"
    done < <(project_files "$top/*" | sed -n "s,^$top/\([^/]*\)/.*,\1,p" |
        sort -u)
done

# at_most FILE NUMBER UNIT: unit is an option of wc.
at_most()
{
    local count
    count=$(wc "$3" <"$1")
    ((count <= $2)) || finding "$1: $count by wc $3, at most $2"
}
at_most docs/measurements.md 250 -l
at_most docs/architecture.md 2500 -w

if command -v python3 >/dev/null; then
    python3 docs/noise.py | cmp -s - docs/noise.svg || finding \
        "docs/noise.svg is not what python3 docs/noise.py prints"
fi
finish
