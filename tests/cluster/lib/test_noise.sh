# xylem-noise on four nodes of four: every collective under three kinds of
# noise, killed at some moments and gone on with; sourced by suite.sh.
# shellcheck shell=bash disable=SC2154 # run, here, bench, work, out, err, code

# campaign CSV [SECONDS]: what there is to measure; killed after so long.
campaign()
{
    timeout -s KILL "${2:-3000}" bash -c '"$@"' - "$bench/xylem-noise" -n 16 \
        --launcher "$launcher" -c all -s 1K --impl event --rounds 2 \
        --seconds 0.01 --warmup 1 --check --resume --csv "$1" \
        --noise 'uniform:10Hz,0-5ms;sync:20Hz,1ms;poisson:50Hz,200us' \
        >"$out" 2>"$err"
}

# rows CSV: how many numbers it has.
rows()
{
    grep -cE '^noise,event,[^,]*,[0-9]+,16,[12],' "$1" 2>>"$err"
}

# A table for each collective, each with three kinds of noise.
is_whole()
{
    campaign "$work/csv" || return 1
    cp "$out" "$work/report"
    local tables
    tables=$(grep -cE '^[a-z_]+( of .*)?, 16 ranks, ' "$out")
    echo "# $tables collectives, $(rows "$work/csv") measured"
    ((tables >= 17 && $(rows "$work/csv") == 8 * tables))
}

stays_the_same()
{
    campaign "$work/csv" && cmp -s "$out" "$work/report"
}

# killed_sometimes SECONDS...: what was measured by then is not lost.
killed_sometimes()
{
    local moment before=0 after

    for moment; do
        { campaign "$work/csv" "$moment" & wait $!; } 2>>"$err"
        bash "$run" stop >>"$err" 2>&1
        after=$(rows "$work/csv")
        echo "# killed after $moment s: ${after:-0} measured"
        ((${after:-0} >= before)) || return 1
        before=${after:-0}
    done
}

# noise_everywhere NAME LAUNCHER
noise_everywhere()
{
    local launcher=$2

    rm -f "$work"/csv*
    check "$1: killed at some moments" killed_sometimes \
        $((5 + RANDOM % 20)) $((20 + RANDOM % 40))
    check "$1: then complete, every collective" is_whole
    check "$1: and the same report, again" stays_the_same
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
