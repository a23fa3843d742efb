#!/bin/bash
# The public header compiles alone, as C and as C++, with every installed
# compiler, its initializers are clean in both, and it pulls in only the standard
# library.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

header=include/xylem.h
warnings=(-pedantic -Wall -Wextra -Wshadow -Wconversion -Werror)
compiled=0

# From standard input, so that the header is not the main file.
program="#include \"$header\"
xylem_bootstrap_t bootstrap = XYLEM_BOOTSTRAP_INIT;
xylem_context_params_t params = XYLEM_CONTEXT_PARAMS_INIT;
xylem_status_t start(xylem_team_t *team, const double *mine, double *sum);
xylem_status_t start(xylem_team_t *team, const double *mine, double *sum)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_request_t *request;
    args.coll = XYLEM_COLL_ALLREDUCE;
    args.send = mine;
    args.recv = sum;
    args.count = 1;
    args.type = XYLEM_FLOAT64;
    args.op = XYLEM_SUM;
    return xylem_coll_start(team, &args, &request);
}"

compile()
{
    local compiler=$1 language=$2 standard=$3

    command -v "$compiler" >/dev/null || return
    compiled=$((compiled + 1))
    "$compiler" -x "$language" "-std=$standard" "${warnings[@]}" \
        -fsyntax-only - <<<"$program" 2>&1 ||
        finding "$header is not clean $standard for $compiler"
}

for compiler in gcc clang; do
    compile "$compiler" c c11
    compile "$compiler" c gnu17
done
for compiler in g++ clang++; do
    compile "$compiler" c++ c++11
    compile "$compiler" c++ c++17
    compile "$compiler" c++ c++20
done

while IFS= read -r line; do
    [[ $line =~ \<(stddef|stdint|stdbool)\.h\> ]] ||
        finding "$header: $line: only the standard library's headers"
done < <(grep -E '^[[:space:]]*#[[:space:]]*include' "$header")
((compiled > 0 || found)) || skip "no compiler is installed"
finish
