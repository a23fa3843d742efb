#!/bin/bash
# Each xyl_NOUN_ belongs to one file: a function's name says where it is defined.
# And a function that returns nothing is not named like a question. names.txt
# lists the exceptions that there are: a noun and the files that share it, or
# the name of a function. The list may only become shorter.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

mapfile -t files < <(project_files 'runtime/*.[ch]' 'progress/*.[ch]' \
    'trees/*.[ch]' 'collectives/*.[ch]')
((${#files[@]} > 0)) || { finding "no source files found"; finish; }
listed=tests/style/names.txt
names=$(awk -f tests/style/circles.awk pass=1 "${files[@]}" | awk '
    $1 == "define" && match($3, /^xyl_[a-z0-9]+_/) {
        noun = substr($3, 1, RLENGTH)
        if (!((noun, $2) in seen)) {
            seen[noun, $2] = 1
            count[noun]++
            all[noun] = all[noun] " " $2
        }
    }
    END {
        for (noun in all)
            if (count[noun] > 1) {
                files = split(substr(all[noun], 2), file, " ")
                for (i = 1; i <= files; i++)
                    print noun, file[i]
            }
    }' | sort)
[[ -n $names ]] || finding "no names found"
questions=$(awk '
    /^(static )?(inline )?void / && match($0, /[a-z_]+\(/) {
        name = substr($0, RSTART, RLENGTH - 1)
        if (name ~ /(^|_)(is|has|are|may|was|must|can|have)_/)
            print name
    }' "${files[@]}" | sort -u)
while read -r name; do
    finding "$name: this noun belongs to another file, or this is no question"
done < <(comm -23 <(printf '%s\n%s\n' "$names" "$questions" | sort) "$listed")
while read -r name; do
    finding "$listed: this is no exception any more: $name"
done < <(comm -13 <(printf '%s\n%s\n' "$names" "$questions" | sort) "$listed")
finish
