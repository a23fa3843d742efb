# Files of rows in scripts, by the rule of the programs (results.h): no run takes
# away what a file has from before. Sourced by scripts that have a function `fail`.
# shellcheck shell=bash

# results_refuse FILE [OPTION]: the script fails since the file has something.
results_refuse()
{
    fail "$1 has results of before; it is left as it is: name another${2:+ ($2)}"
}

# results_begin FILE TITLES: a file to which rows can be added. The script fails
# if the file has rows or other titles.
results_begin()
{
    [[ ! -s $1 || $(<"$1") == "$2" ]] || results_refuse "$1" --csv
    mkdir -p "$(dirname "$1")" && echo "$2" >"$1" || fail "cannot write $1"
}

# results_name FILE: the name, or that with the first number that no file has,
# FILE-2.csv for FILE.csv: where a script writes if it was told no name.
results_name()
{
    local name=$1 number=2

    while [[ -s $name ]]; do
        name=${1%.csv}-$((number++)).csv
    done
    echo "$name"
}
