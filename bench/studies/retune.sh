#!/bin/bash
# The measured part of the built-in table: tunes on this machine with each number
# of ranks that is asked for, prints the rules, and compares calls with and without
# them, in turns, in one run. For the simulated part see tune.sh --parts table.
# Or compares a table that there is with the built-in one.
#
#   bash bench/studies/retune.sh [options]        or, from the bundle:
#   bundle/run-in-bundle.sh retune.sh [options]
#
#   --table FILE    tune nothing, compare this one
#   --cluster N,P   on N nodes of P ranks: a cluster of namespaces, made by
#                   tests/cluster/run.sh, with TCP between its nodes
#   --np LIST       ranks (default: cores, twice as many)
#   --seconds S     for each number of ranks: half of it to tune, the rest to
#                   compare (default 100)
#   --colls LIST    default: all of which the library knows the sizes
#   --sizes LIST    default 8,64,512,4K,32K,256K,2M
#   --rounds R      of the comparison at most, and one at least (default 9)
#   --out FOLDER    of the tables and times; one that has times from before is refused
#                   (default: a new one, /tmp/xylem-retune.*)
#   --bin FOLDER    programs (default: the bundle's, else build/release)
set -u
export LC_ALL=C XYLEM_CONF=none
unset XYLEM_TUNING

usage()
{
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
np=$(nproc),$((2 * $(nproc))) seconds=100 sizes=8,64,512,4K,32K,256K,2M rounds=9
colls=barrier,bcast,reduce,allreduce,gather,scatter,allgather,allgatherv,alltoall
colls+=,reduce_scatter,reduce_scatter_block,scan,exscan
out='' bin='' given='' cluster=''

fail()
{
    echo "retune.sh: $1" >&2
    exit 1
}

# shellcheck source=bench/common/results.sh
. "$here/../common/results.sh"

while (($# > 0)); do
    case $1 in
    --help | -h) usage; exit 0 ;;
    --np | --seconds | --colls | --sizes | --rounds | --out | --bin | --cluster) ;;
    --table) set -- --given "${@:2}" ;;
    *) usage >&2; exit 2 ;;
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
[[ -n $out ]] || out=$(mktemp -d /tmp/xylem-retune.XXXXXX) || exit
mkdir -p "$out" || exit
for file in "$out"/{own,with,again}-*; do
    [[ ! -s $file ]] || results_refuse "$file" --out
done

# job RANKS SECONDS PROGRAM [OPTION...]: on this machine, or on the cluster.
job()
{
    if [[ -z $cluster ]]; then
        timeout "$2" "$run" -n "$1" "${@:3}"
    else
        nodes run -p "${cluster#*,}" -t "$2" "${@:3}"
    fi
}

nodes()
{
    local tests=$here/../tests
    [[ -d $tests/cluster ]] || tests=$here/../../tests
    bash "$tests/cluster/run.sh" "$@"
}

# measure RANKS TABLE FILE: a line "COLL BYTES US" for each size.
measure()
{
    XYLEM_TUNING=$2 job "$1" 60 "$bench" -c "$colls" --sizes "$sizes" \
        --seconds "$each" --lines 2>>"$out/errors" |
        sed -n 's/^xylem-result latency .*coll=\([a-z_]*\) .*bytes=\([0-9]*\) .*max_us=\([0-9.]*\) .*/\1 \2 \3/p' \
            >>"$3"
}

# with_rules TABLE: a line "COLL BYTES" for each size that has a rule.
with_rules()
{
    sed -n 's/.*"for": "\([a-z_]*\)".*"us": \[\(.*\)\], "origin".*/\1 \2/p' "$1" |
        awk '{
            coll = $1
            while (match($0, /\["?[0-9]+[KMG]?"?,/)) {
                text = substr($0, RSTART + 1, RLENGTH - 2)
                $0 = substr($0, RSTART + RLENGTH)
                gsub(/"/, "", text)
                unit = text ~ /K/ ? 1024 : text ~ /M/ ? 1048576 : 1
                print coll, text * unit
            }
        }'
}

# compare RANKS RULES OWN TUNED AGAIN: medians over rounds.
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
        function count_in(what, ratio) {
            sum[what] += log(ratio); count[what]++
            slower[what] += ratio > 1.03
            if (ratio > worst[what])
                worst[what] = ratio
        }
        function say(what) {
            if (count[what] > 0)
                printf "  %-36s %.3f of the time (geometric mean of %d sizes), " \
                    "%d more than 3 %% slower, the worst %.3f\n", what,
                    exp(sum[what] / count[what]), count[what], slower[what], worst[what]
        }
        FILENAME == ARGV[1] { has_rule[$1 " " $2] = 1; next }
        FILENAME == ARGV[2] {
            if (!(($1 " " $2) in own))
                order[++n] = $1 " " $2
            own[$1 " " $2] = own[$1 " " $2] " " $3; next }
        FILENAME == ARGV[3] { tuned[$1 " " $2] = tuned[$1 " " $2] " " $3; next }
        { again[$1 " " $2] = again[$1 " " $2] " " $3 }
        END {
            printf "  %-28s %10s %10s %8s %8s\n", "sizes with a rule", "without", "with, us", "of it", "control"
            for (i = 1; i <= n; i++) {
                a = median(own[order[i]]); b = median(tuned[order[i]])
                c = median(again[order[i]])
                if (a <= 0 || b <= 0 || c <= 0)
                    continue
                kind = order[i] in has_rule ? "with a rule" : "without a rule"
                count_in(kind, b / a); count_in(kind " (control)", c / a)
                count_in("all", b / a); count_in("all (control)", c / a)
                if (order[i] in has_rule)
                    printf "  %-28s %10.2f %10.2f %8.3f %8.3f\n", order[i], a, b, b / a, c / a
            }
            printf "%d ranks, against the built-in table, which is its own control:\n", ranks
            say("with a rule"); say("with a rule (control)")
            say("without a rule"); say("without a rule (control)")
            say("all"); say("all (control)")
        }' "$2" "$3" "$4" "$5"
}

# all_sizes: the same lines, of all that are measured.
all_sizes()
{
    local coll
    for coll in ${colls//,/ }; do
        numfmt --from=iec ${sizes//,/ } | sed "s/^/$coll /"
    done
}

# tune_for RANKS TABLE
tune_for()
{
    job "$1" $((seconds + 30)) "$tune" -q -c "$colls" --sizes "$sizes" --heuristics \
        --seconds 0.005 --minutes "$(awk "BEGIN { print $seconds * 0.5 / 60 }")" -o "$2" \
        2>>"$out/errors" || { tail -n 3 "$out/errors"; return 1; }
    "$tune" show "$2" | cut -c1-150
}

: >"$out/errors"
if [[ -n $cluster ]]; then
    [[ $cluster =~ ^[1-9][0-9]*,[1-9][0-9]*$ ]] || exit 2
    np=$((${cluster%,*} * ${cluster#*,}))
    nodes up "${cluster%,*}" --owner $$ >/dev/null || exit
    trap 'nodes down >/dev/null' EXIT
    # Nodes do not see that all of them share the machine's cores.
    export XYLEM_PROGRESS=caller XYLEM_SPIN_US=1000
    ((np <= $(nproc))) || XYLEM_PROGRESS=blocking
fi
for ranks in ${np//,/ }; do
    table=$out/tuned-$ranks.json part=0.5
    echo "== $ranks ranks on $(nproc) cores${cluster:+, in $cluster}"
    if [[ -n $given ]]; then
        table=$(realpath "$given") part=1
        all_sizes >"$out/rules-$ranks"
    else
        tune_for "$ranks" "$table" || continue
        with_rules "$table" >"$out/rules-$ranks"
    fi
    # A round is three runs of about 7 sizes of each collective, of which a start
    # takes a second (three on a cluster); none begins that would not end in time.
    each=$(awk "BEGIN {
        s = ($seconds * $part / $rounds / 3 - ${cluster:+2 -} 1) / (8 * split(\"$colls\", c, \",\"))
        print (s < 0.002 ? 0.002 : s) }")
    began=$SECONDS took=0 limit=$((seconds / 2))
    [[ -z $given ]] || limit=$seconds
    for ((round = 0; round < rounds && (round == 0 ||
        SECONDS - began + took <= limit); round++)); do
        round_began=$SECONDS
        measure "$ranks" none "$out/own-$ranks"
        measure "$ranks" "$table" "$out/with-$ranks"
        measure "$ranks" none "$out/again-$ranks"
        took=$((SECONDS - round_began))
    done
    echo "$round rounds of $took s"
    compare "$ranks" "$out/rules-$ranks" "$out"/{own,with,again}-"$ranks"
done
