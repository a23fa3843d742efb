#!/bin/bash
# No function has more than 70 lines, from the opening to the closing brace in
# the first column, and no room more than 8000 lines of source. A file is one
# thing, however long that is.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

mapfile -t files < <(project_files '*.c' '*.h' '*.cu')
((${#files[@]} > 0)) || { finding "no source files found"; finish; }
awk -v function_lines_max=70 '
    FNR == 1 { opened = 0 }
    /^\{/ { opened = FNR }
    /^\}/ && opened {
        if (FNR - opened + 1 > function_lines_max) {
            printf "%s:%d: a function of %d lines, at most %d\n", FILENAME,
                   opened, FNR - opened + 1, function_lines_max
            found = 1
        }
        opened = 0
    }
    END { exit found }
' "${files[@]}" || found=1

# A room is a folder, without the folders in it.
awk -v room_lines_max=8000 '
    {
        room = FILENAME
        sub(/\/[^\/]*$/, "", room)
        lines[room]++
    }
    END {
        for (room in lines)
            if (room !~ /^(tests|docs|examples)/ &&
                lines[room] > room_lines_max) {
                printf "%s: a room of %d lines, at most %d\n", room,
                       lines[room], room_lines_max
                found = 1
            }
        exit found
    }
' "${files[@]}" || found=1
finish
