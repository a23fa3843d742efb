#!/bin/bash
# No file has more than 600 lines, but for the public header, which is to be one
# file; and no function more than 70, from the opening to the closing brace in
# the first column.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

mapfile -t files < <(project_files '*.c' '*.h' '*.cu')
((${#files[@]} > 0)) || { finding "no source files found"; finish; }
awk -v file_lines_max=600 -v function_lines_max=70 '
    function file_end() {
        if (length_of_file > file_lines_max && name !~ /^include\//) {
            printf "%s: %d lines, at most %d\n", name, length_of_file,
                   file_lines_max
            found = 1
        }
    }
    FNR == 1 { file_end(); name = FILENAME; opened = 0 }
    { length_of_file = FNR }
    /^\{/ { opened = FNR }
    /^\}/ && opened {
        if (FNR - opened + 1 > function_lines_max) {
            printf "%s:%d: a function of %d lines, at most %d\n", FILENAME,
                   opened, FNR - opened + 1, function_lines_max
            found = 1
        }
        opened = 0
    }
    END { file_end(); exit found }
' "${files[@]}" || found=1
finish
