# Whether other programs, or other machines on the same host, take the processors'
# time while a script measures. Sourced.
# shellcheck shell=bash

# shellcheck disable=SC2034 # for those who source this
busy_percent=2 # of the time: a fifth of the noise that experiments inject

# Ticks of all processors: those that other machines took, and all.
ticks()
{
    awk '$1 == "cpu" { for (i = 2; i <= 9; i++) all += $i; print $9, all }' /proc/stat
}

# stolen BEFORE: the share that other machines took since then, per cent.
stolen()
{
    awk -v before="$1" -v now="$(ticks)" 'BEGIN {
        split(before, a); split(now, b)
        printf "%.1f", (b[2] > a[2] ? 100 * (b[1] - a[1]) / (b[2] - a[2]) : 0)
    }'
}

# loop_loses NOISE FOLDER: the share of the time, per cent, that a loop on each core
# which does nothing else loses to others, by the program xylem-noise. Where the
# program fails the share is 0.
loop_loses()
{
    rm -rf "$2"
    "$1" record --seconds 0.3 -o "$2" >/dev/null 2>&1
    if [[ ! -r $2/statistics.csv ]]; then
        echo 0.0
        return
    fi
    awk -F, 'NR > 1 { sum += $2; n++ } END { printf "%.1f", n ? sum / n : 0 }' \
        "$2/statistics.csv"
}

more_than()
{
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'
}
