#!/bin/bash
# No file names a path of one developer's machine, and none puts work off in a
# comment.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

mapfile -t files < <(project_files '*')
((${#files[@]} > 0)) || { finding "no files found"; finish; }

# Prints where an extended regular expression occurs in text files.
search()
{
    grep -nHIE -e "$1" -- "${files[@]}"
}

# Written in pieces, so that this file does not find itself.
if search '(^|[^A-Za-z0-9_.}])/(wo''rk|ro''ot|ho''me)/'; then
    finding "paths of one machine"
fi
if search '\b(TO''DO|FIX''ME|X''XX)\b'; then
    finding "work put off"
fi
finish
