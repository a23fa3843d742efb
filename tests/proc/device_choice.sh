#!/bin/bash
# Which algorithm a call on memory of GPUs takes, and why: by rules, by name and
# by settings, and what cannot run says why not; and the tables that xylem-tune
# makes for such memory. GPUs are those of a library that takes CUDA's place.
# Prints TAP. Arguments: xylem-tune, xylem-run, xylem-bench, that library.
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=tests/support/tap.sh
. "$tests/support/tap.sh"
settings_forget
tune=$(realpath "$1") run=$(realpath "$2") bench=$(realpath "$3")
XYLEM_CUDA_LIBRARY=$(realpath "$4")
export XYLEM_CUDA_LIBRARY XYLEM_VERBOSE=select XYLEM_TUNING=none
bound=60 nodes=1

# bench COLL BYTES [OPTION...]: 4 ranks, two on each GPU, on $nodes nodes
bench()
{
    attempt "$run" -n 4 --nodes "$nodes" "$bench" --check -i 8 -c "$1" --sizes "$2" --mem cuda "${@:3}"
}
# right [COMMAND...]: the results are right, and the command succeeds
# shellcheck disable=SC2120 # check passes the command
right()
{
    test "$code" -eq 0 && grep -q " 0$" "$out" && "${@:-true}"
}
# chosen TEXT: of the calls of the length that is measured
chosen()
{
    right && grep -q "select: .*: $1" "$err"
}

bench allreduce 64K
check "a rule takes direct copies, and says which" \
    chosen "cuda_ipc.*(rule [0-9]* of the built-in table: no copies to the host"
check "and what comes next" grep -q "cuda_ipc.*; then node_" "$err"
bench allreduce 512
check "shorter calls do not ask where buffers lie" chosen "node_"
check "and take nothing of GPUs" test "$(grep -c "cuda_" "$err")" -eq 0
XYLEM_CUDA_DIRECT=on bench allreduce 512
check "unless the user says it" chosen "cuda_ipc"

# Whatever the registry has for such memory, in all its collectives.
listed=$("$bench" --algorithm list | awk '/^[a-z]/ { coll = $1 }
    /^  cuda_/ { sub(/:K$/, "", $1); colls[$1] = colls[$1] "," coll }
    END { for (name in colls) print name, substr(colls[name], 2) }' | sort)
check "there are several algorithms" test "$(wc -l <<<"$listed")" -ge 7
while read -r name colls; do
    bench "$colls" 8,20000 --algorithm "$name"
    check "$name is to be had by name" chosen "$name.*(asked for by the call)"
done <<<"$listed"
XYLEM_ALGORITHMS=allreduce=cuda_gsb bench allreduce 8
check "and by a setting, at any length" chosen "cuda_gsb.*(by setting)"
XYLEM_ALGORITHMS=allreduce@4K-1M=cuda_gsb bench allreduce 512,8K
check "or at some" chosen "cuda_gsb.*(by setting)"
check "and no others" chosen "node_"
XYLEM_ALGORITHMS=allreduce=cuda_gsb attempt "$run" -n 4 "$bench" --check -i 8 \
    -c allreduce --sizes 64K
check "what cannot run says why not" right \
    grep -q "not cuda_gsb, .*: it needs buffers in memory of GPUs" "$err"
attempt "$run" -n 2 --nodes 2 "$bench" -c bcast --sizes 4K --algorithm cuda_gsb
check "also where a call names it" \
    grep -q "cuda_gsb.*needs ranks on one node that share memory" "$err"
FAKE_CUDA_REACH=none bench allreduce 64K
check "a call that goes on mirrors instead says why" right \
    grep -q "goes on mirrors, in place of cuda_ipc: .*known to reach" "$err"

# Whether ranks take turns on a GPU rules may ask.
cat >"$work/turns" <<'END'
{"rules": [
  {"for": "allreduce", "pays": [{"when": ["device", "in turns"]}], "use": "cuda_static:3"},
  {"for": "allreduce", "pays": [{"when": ["device", "side by side"]}], "use": "cuda_btb"}]}
END
XYLEM_TUNING=$work/turns bench allreduce 64
check "processes that share a GPU take turns on it" chosen "cuda_static, radix 3.*of $work/turns"
FAKE_CUDA_MPS=1 XYLEM_TUNING=$work/turns bench allreduce 64
check "but not through MPS" chosen "cuda_btb.*of $work/turns"
FAKE_CUDA_DEVICES=4 XYLEM_TUNING=$work/turns bench allreduce 64
check "nor where each has its own" chosen "cuda_btb.*of $work/turns"

# Nodes that are presented on one machine share its GPUs.
nodes=2
levels="han, .* cuda_ipc on GPUs of this node"
bench allreduce 256K
check "ranks of several nodes on one GPU take turns" right \
    test "$(grep -c "$levels" "$err")" -eq 0
FAKE_CUDA_MPS=1 bench allreduce 256K
check "but not through MPS, so GPUs do the levels within nodes" chosen "$levels"
FAKE_CUDA_DEVICES=4 bench allreduce 256K
check "nor where each of the machine's ranks has a GPU" chosen "$levels"
FAKE_CUDA_MPS=1 attempt "$run" -n 2 --nodes 2 "$bench" --check -i 8 -c allreduce \
    --sizes 1M --mem cuda
check "a rank that is alone on its node has no levels" right \
    test "$(grep -c "$levels" "$err")" -eq 0
nodes=1

# The tuner.
table=$work/table.json
tunes=("$run" -n 4 "$tune" -q --mem cuda --sizes "4K,64K" --seconds 0.001
    --all --exhaustive -o "$table")
attempt "${tunes[@]}" -c allreduce,barrier
check "tunes in memory of GPUs" test "$code" -eq 0 -a \
    "$(grep -c '"for": "allreduce".*"device", "in turns"' "$table")" -ge 1
check "what it measures are algorithms of GPUs" test \
    "$(grep -cE "^allreduce .* cuda_(static(:[123])?|ipc|mirrors|gsb|btb|gsb_btb|dynamic) " \
        "$table.times")" -ge 20
check "and what the library takes" test "$(grep -vc " cuda_\|^#" "$table.times")" -eq \
    "$(grep -c " auto " "$table.times")"
check "the least size is where its rules begin" grep -q '"bytes": \["4K", ' "$table"
XYLEM_TUNING=$table bench allreduce 4K
check "programs choose by it" chosen "cuda_.*of $table: measured by xylem-tune"
FAKE_CUDA_MPS=1 XYLEM_TUNING=$table bench allreduce 4K
check "but not through MPS" chosen "cuda_.*of the built-in table"
FAKE_CUDA_MPS=1 attempt "${tunes[@]}" -c allreduce
check "where it measures anew" test "$code" -eq 0 -a \
    "$(grep -c "^# .* on GPUs " "$table.times")" -eq 2
check "and keeps the other rules" test \
    "$(grep -c '"in turns"' "$table"):$(grep -c '"side by side"' "$table")" != 0:0 -a \
    "$(grep -c '"in turns"' "$table")" -ge 1 -a "$(grep -c '"side by side"' "$table")" -ge 1
attempt "$run" -n 4 "$tune" -q --mem cuda -c reduce --sizes 64K --plans cuda_static \
    --all --seconds 0.001 -o "$work/shares"
check "makes static's table alone" grep -q '"use": "cuda_static' "$work/shares"
attempt "$tune" -m stampede2 --mem cuda -c bcast
check "refuses simulated GPUs" test "$code" -eq 2
attempt "$run" -n 4 --nodes 2 "$tune" -q --mem cuda -c bcast -o "$work/nodes"
check "and several nodes" grep -q "needs ranks on one node" "$err"
XYLEM_CUDA_DIRECT=off attempt "$run" -n 2 "$tune" -q --mem cuda -c bcast -o "$work/off"
check "and settings that take nothing of it" grep -q "CUDA_DIRECT=off takes mirrors" "$err"
finish
