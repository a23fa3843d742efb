#!/bin/bash
# The measured part of the built-in table: tunes on this machine with each number
# of ranks that is asked for, prints the rules, and compares calls with and without
# them, in turns, in one run. For the simulated part see tune.sh --parts table.
#
#   bash bench/studies/retune.sh [options]        or, from the bundle:
#   bundle/run-in-bundle.sh retune.sh [options]
#
#   --np LIST       ranks (default: cores, twice as many)
#   --seconds S     for each number of ranks: three quarters to tune, the rest to
#                   compare (default 100)
#   --colls LIST    default: barrier,bcast,reduce,allreduce,allgather,alltoall,gather,
#                   scatter,reduce_scatter_block,scan
#   --sizes LIST    default 8,64,512,4K,32K,256K,2M
#   --rounds R      of the comparison (default 3)
#   --out FOLDER    of the tables (default /tmp/xylem-retune)
#   --bin FOLDER    programs (default: the bundle's, else build/release)
set -u
export LC_ALL=C XYLEM_CONF=none
unset XYLEM_TUNING
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
np=$(nproc),$((2 * $(nproc))) seconds=100 sizes=8,64,512,4K,32K,256K,2M rounds=3
colls=barrier,bcast,reduce,allreduce,allgather,alltoall,gather,scatter,reduce_scatter_block,scan
out=/tmp/xylem-retune bin=''
while (($# > 0)); do
    case $1 in
    --np | --seconds | --colls | --sizes | --rounds | --out | --bin) ;;
    *)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
        exit 2
        ;;
    esac
    (($# >= 2)) || exit 2
    name=${1#--}
    printf -v "$name" %s "$2"
    shift 2
done

# The first folder that has a program: all in one, or where the build puts them.
program()
{
    local top folder
    for top in ${bin:+"$bin"} "$here" "$here/../../build/release"; do
        for folder in "$top" "$top/bench/tune" "$top/bench" \
            "$top/launcher"; do
            [[ -x $folder/$1 ]] && echo "$folder/$1" && return
        done
    done
    echo "retune.sh: there is no $1" >&2
    exit 1
}

tune=$(program xylem-tune) && bench=$(program xylem-bench) &&
    run=$(program xylem-run) || exit
mkdir -p "$out"

# measure RANKS TABLE FILE: a line "COLL BYTES US" for each size.
measure()
{
    XYLEM_TUNING=$2 timeout 60 "$run" -n "$1" "$bench" -c "$colls" \
        --sizes "$sizes" --seconds "$each" --lines 2>>"$out/errors" |
        sed -n 's/^xylem-result latency .*coll=\([a-z_]*\) .*bytes=\([0-9]*\) .*max_us=\([0-9.]*\) .*/\1 \2 \3/p' \
            >>"$3"
}

# Medians over rounds; sizes with a rule, and all.
compare()
{
    awk -v ranks="$1" '
        function median(list,  v, n, i, j, t) {
            n = split(list, v, " ")
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) {
                    t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
                }
            return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        }
        FNR == NR { own[$1 " " $2] = own[$1 " " $2] " " $3; next }
        { if (!(($1 " " $2) in tuned)) order[++n] = $1 " " $2
          tuned[$1 " " $2] = tuned[$1 " " $2] " " $3 }
        END {
            for (i = 1; i <= n; i++) {
                a = median(own[order[i]]); b = median(tuned[order[i]])
                if (a <= 0 || b <= 0)
                    continue
                sum += log(b / a); count++
                split(order[i], part, " ")
                of[part[1]] += log(b / a); counts[part[1]]++
                slower += b > 1.03 * a
                if (b / a > worst) { worst = b / a; where = order[i] }
                if (b < 0.97 * a || b > 1.03 * a)
                    printf "  %-28s %10.2f %10.2f us  %.3f\n", order[i], a, b, b / a
            }
            for (c in of)
                printf "  %-28s geometric mean %.3f\n", c, exp(of[c] / counts[c])
            if (count > 0)
                printf "%d ranks: with the tuned table calls take %.3f of the time " \
                    "(geometric mean of %d sizes); %d are more than 3 %% slower, " \
                    "the worst %.3f (%s)\n", ranks, exp(sum / count), count, slower,
                    worst, where
        }' "$2" "$3"
}

: >"$out/errors"
for ranks in ${np//,/ }; do
    table=$out/tuned-$ranks.json
    echo "== $ranks ranks on $(nproc) cores"
    timeout $((seconds + 30)) "$run" -n "$ranks" "$tune" -q -c "$colls" \
        --sizes "$sizes" --heuristics --seconds 0.005 \
        --minutes "$(awk "BEGIN { print $seconds * 0.75 / 60 }")" -o "$table" \
        2>>"$out/errors" || { tail -n 3 "$out/errors"; continue; }
    "$tune" show "$table" | cut -c1-150
    # A round is two runs of about 8 sizes of each collective.
    each=$(awk "BEGIN { s = $seconds * 0.25 / $rounds / 2 / (8 * split(\"$colls\", c, \",\"))
        print s < 0.002 ? 0.002 : s }")
    rm -f "$out/own-$ranks" "$out/with-$ranks"
    for ((round = 0; round < rounds; round++)); do
        measure "$ranks" none "$out/own-$ranks"
        measure "$ranks" "$table" "$out/with-$ranks"
    done
    compare "$ranks" "$out/own-$ranks" "$out/with-$ranks"
done
