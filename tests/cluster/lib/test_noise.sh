# xylem-noise on four nodes of four: every collective under three kinds of
# noise, killed at random moments and gone on with; sourced by suite.sh.
# shellcheck shell=bash disable=SC2154 # run, here, bench, work, out, err, code

noise_levels=4 # without any, and three kinds
noise_rounds=3
noise_cases=18 # the collectives of `-c all`

# campaign CSV [SECONDS]: what there is to measure; killed after so long.
campaign()
{
    timeout -s KILL "${2:-3000}" bash -c '"$@"' - "$bench/xylem-noise" -n 16 \
        --launcher "$launcher" -c all -s 1K --impl xylem \
        --rounds $noise_rounds --seconds 0.01 --warmup 1 --check --resume \
        --csv "$1" \
        --noise 'uniform:10Hz,0-5ms;sync:20Hz,1ms;poisson:50Hz,200us' \
        >"$out" 2>"$err"
}

# rows CSV: what has been measured, of each round.
rows()
{
    grep -E '^noise,xylem,[^,]*,[0-9]+,16,[0-9]+,' "$1" 2>>"$err"
}

# A report without its numbers, which the next campaign does not have again.
shape()
{
    sed -E 's/[-+]?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/N/g; s/ +/ /g' "$1"
}

# is_complete CSV: a table for each case, with a number for each kind of noise,
# and with noise where there should be some.
is_complete()
{
    local tables measured medians
    tables=$(grep -cE '^[a-z_]+( of .*)?, 16 ranks, ' "$out")
    measured=$(rows "$1" | grep -c .)
    medians=$(grep -cE '^noise,xylem,.*,16,median,' "$1")
    echo "# $tables cases, $measured measured"
    ((tables == noise_cases && measured == noise_levels * noise_rounds * tables &&
        medians == noise_levels * tables)) &&
        ! grep -E '^xylem .*( -|failed)( |$)' "$out" >>"$err" &&
        rows "$1" | awk -F , '
            # Quoted, as they have commas, they are two cells.
            $7 == "none" { next }
            $12 > 0 { noisy++ }
            END { exit noisy < NR / 2 }' &&
        python3 -m json.tool "$1.json" >/dev/null 2>>"$err"
}

# Undisturbed; sets `tenths`, what it takes, in tenths of a second.
is_whole()
{
    local begin=${EPOCHREALTIME/[.,]/}

    campaign "$work/whole" || return 1
    tenths=$(((${EPOCHREALTIME/[.,]/} - begin) / 100000 + 1))
    shape "$out" >"$work/shape"
    echo "# it takes $((tenths / 10)).$((tenths % 10)) s"
    is_complete "$work/whole"
}

# Killed at moments by chance, the first before it can be complete: each time it
# goes on, and nothing that was measured by then is lost or another number later.
killed_sometimes()
{
    local moment

    : >"$work/before"
    for _ in 1 2; do
        moment=$((RANDOM % (tenths * 2 / 3 + 1) + 1))
        { campaign "$work/csv" $((moment / 10)).$((moment % 10)) & wait $!; } \
            2>>"$err"
        bash "$run" stop >>"$err" 2>&1
        rows "$work/csv" >"$work/after"
        echo "# killed after $((moment / 10)).$((moment % 10)) s:" \
            "$(grep -c . "$work/after") measured"
        ! grep -vxFf "$work/after" "$work/before" >>"$err" || return 1
        mv "$work/after" "$work/before"
    done
}

# Gone on with to the end: as complete as if it had not been killed.
becomes_whole()
{
    campaign "$work/csv" || return 1
    cp "$out" "$work/report"
    rows "$work/csv" >"$work/after"
    is_complete "$work/csv" &&
        ! grep -vxFf "$work/after" "$work/before" >>"$err" &&
        diff <(shape "$work/report") "$work/shape" >>"$err"
}

stays_the_same()
{
    campaign "$work/csv" && cmp "$out" "$work/report" >>"$err"
}

# noise_everywhere NAME LAUNCHER
noise_everywhere()
{
    local launcher=$2 tenths

    rm -f "$work"/csv* "$work"/whole*
    check "$1: complete, every collective" is_whole
    check "$1: killed at some moments" killed_sometimes
    check "$1: then the same report, complete" becomes_whole
    check "$1: and again" stays_the_same
}

test_noise()
{
    need_cluster 4
    noise_everywhere "mpirun, four nodes of four" "bash $run run -p 4 -t 600"
    attempt bash "$here/slurm.sh" up
    if ((code != 0)); then
        skip "srun, four nodes of four" "$(sed -n 's/^cluster: //p' "$err")"
        return
    fi
    noise_everywhere "srun, four nodes of four" \
        "bash $here/slurm.sh run -t 600 -N 4 --ntasks-per-node=4 --quiet"
}
