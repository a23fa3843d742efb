# shellcheck shell=bash
# shellcheck disable=SC2154 # sim, jobs, out, raw and quick are of figures.sh
# elasticity: how much depth absorbs how much noise; a model, checked.

run_elasticity()
{
    local seeds=32
    [[ $quick == no ]] || seeds=4
    run elasticity --elasticity --seeds $seeds
}

draw_elasticity()
{
    awk -F, '
        BEGIN {
            print "coll,call ms,depth,noise %,simulated,error,equal,formula," \
                  "error,model 8 seeds,model 2048 seeds,error,difference," \
                  "agrees"
        }
        FNR == 1 { next }
        NR == FNR {
            key = $1 "," $2 "," $3 "," $4
            few[key] = $5; many[key] = $6; error[key] = $7
            next
        }
        {
            key = $1 "," $2 "," $3 "," $4
            gap = $8 - many[key]
            both = sqrt($9 * $9 + error[key] * error[key])
            size = gap < 0 ? -gap : gap
            verdict = size <= 2 ? "2 points" : size <= 3 * both ? \
                      "sampling" : "no"
            printf "%s,%.1f,%.1f,%s,%.1f,%.1f,%s,%s,%s,%+.1f,%s\n", key, $5,
                   $6, $7, $8, $9, few[key], many[key], error[key], gap, verdict
        }' bench/studies/figures/elasticity.csv "$raw/elasticity.csv" \
        >"$out/elasticity.csv"
    heading elasticity "slowdown in per cent of a synthetic collective, 16
ranks, 400 calls, a rank at most so many calls ahead of the slowest; simulated,
and by a model that was written before and apart from the simulator"
    aligned <"$out/elasticity.csv"
    awk -F, '
        NR > 1 { cells++; equal += $7 == "yes"; near += $14 == "2 points" }
        NR > 1 { chance += $14 == "sampling" }
        END {
            printf "\n%d cells: %d agree within 2 points, %d more within 3 " \
                   "standard errors;\nin %d the simulation and the formula " \
                   "give the same times on the same bursts\n", cells, near,
                   chance, equal
            exit cells != near + chance || cells != equal
        }' "$out/elasticity.csv" || echo elasticity >>"$raw/disagrees"
    remark "Where calls wait for each other (depth 1 and 4) a single run's" \
        "slowdown varies by up to 120 points, so that means over any feasible" \
        "number of seeds differ by some points; on equal bursts nothing does."
}
