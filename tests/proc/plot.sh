#!/bin/bash
# xylem-plot on files of xylem-sim and of xylem-noise's form: tests/proc/plot.py,
# with a python3 that has matplotlib and pandas. Arguments: xylem-sim.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for python in python3 /usr/bin/python3; do
    if "$python" -c 'import matplotlib, pandas' 2>"$work/err"; then
        MPLCONFIGDIR=$work PYTHONDONTWRITEBYTECODE=1 \
            PYTHONPATH=$here/../../bench/plot \
            "$python" "$here/plot.py" "$1" "$work"
        exit
    fi
done
echo "1..0 # SKIP no python3 with matplotlib and pandas"
