#!/bin/bash
# The public headers compile alone, as C and as C++, with every installed
# compiler, their initializers are clean in both, and they pull in only the
# standard library. That of devices does so in kernels, too, where nvcc is.
# shellcheck source=tests/style/common.sh
. "$(dirname "$0")/common.sh"

header=include/xylem.h
device=include/xylem_device.h
headers=(include/*.h)
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
    xylem_trigger_args_t trigger = XYLEM_TRIGGER_ARGS_INIT;
    xylem_proxy_args_t proxy = XYLEM_PROXY_ARGS_INIT;
    xylem_task_entry_t entry = XYLEM_TASK_ENTRY_INIT;
    xylem_tasks_params_t tasks = XYLEM_TASKS_PARAMS_INIT;
    xylem_task_args_t task = XYLEM_TASK_ARGS_INIT;
    xylem_request_t *request;
    args.coll = XYLEM_COLL_ALLREDUCE;
    args.send = mine;
    args.recv = sum;
    args.count = 1;
    args.type = XYLEM_FLOAT64;
    args.op = XYLEM_SUM;
    xylem_kernel_args_t kernel = XYLEM_KERNEL_ARGS_INIT;
    xylem_resident_args_t resident = XYLEM_RESIDENT_ARGS_INIT;
    if (trigger.struct_bytes + proxy.struct_bytes + entry.struct_bytes +
            tasks.struct_bytes + task.struct_bytes + kernel.struct_bytes +
            resident.struct_bytes == 0)
        return XYLEM_ERR_INTERNAL;
    return xylem_coll_start(team, &args, &request);
}"
on_host="#include \"$device\"
int use(const xylem_device_queue_t *queue, const uint64_t *word);
int use(const xylem_device_queue_t *queue, const uint64_t *word)
{
    return xylem_device_block_run(queue, 1, word, 1, 0);
}"
in_kernel="#include \"$device\"
__global__ void use(xylem_device_queue_t queue, xylem_device_counter_t *counter,
                    const uint64_t *word, int *status)
{
    int got =
        xylem_device_block_count(&queue, counter, 1, gridDim.x, 1, 0, 100);
    if (got == XYLEM_OK)
        got = xylem_device_warp_post(&queue, 1, 2, 3, 100);
    if (got == XYLEM_OK)
        got = xylem_device_warp_wait(word, 1, 100);
    if (got == XYLEM_OK)
        got = xylem_device_block_run(&queue, 2, word, 2, 100);
    status[blockIdx.x] = got;
}
__device__ int twice(const xylem_device_task_t *task)
{
    return task->args[0] * 2;
}
__device__ const xylem_device_task_fn table[] = {twice};
__global__ void stays(xylem_device_resident_t queue, int *status)
{
    status[blockIdx.x] = xylem_device_serve(&queue, blockIdx.x, table, 1, 100);
}
__global__ void letter(xylem_device_peers_t peers, uint64_t *data, int *status)
{
    xylem_device_channel_t channel =
        xylem_device_channel_to(&peers, 1, 4096, 256, 2);
    int got = xylem_device_channel_block_put(&channel, data, 256, 1, 100);
    if (got == XYLEM_OK)
        got = xylem_device_channel_block_get(&channel, data, 256, 1, 100);
    status[blockIdx.x] = got;
}"

compile()
{
    local compiler=$1 language=$2 standard=$3 alone

    command -v "$compiler" >/dev/null || return
    compiled=$((compiled + 1))
    for alone in "${headers[@]}"; do
        "$compiler" -x "$language" "-std=$standard" "${warnings[@]}" \
            -fsyntax-only - <<<"#include \"$alone\"" 2>&1 ||
            finding "$alone alone is not clean $standard for $compiler"
    done
    "$compiler" -x "$language" "-std=$standard" "${warnings[@]}" \
        -fsyntax-only - <<<"$program" 2>&1 ||
        finding "$header is not clean $standard for $compiler"
    "$compiler" -x "$language" "-std=$standard" "${warnings[@]}" \
        -fsyntax-only - <<<"$on_host" 2>&1 ||
        finding "$device is not clean $standard for $compiler"
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

PATH+=:/usr/local/cuda/bin
if command -v nvcc >/dev/null; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cat >"$work/kernel.cu" <<<"$in_kernel"
    nvcc -std=c++17 -gencode=arch=compute_80,code=sm_80 \
        "-gencode=arch=compute_90,code=[sm_90,compute_90]" -I. -Werror \
        all-warnings -Xcompiler=-Wall -c -o "$work/kernel.o" \
        "$work/kernel.cu" 2>&1 ||
        finding "$device does not compile in a kernel"
fi

while IFS= read -r line; do
    [[ $line =~ \<(stddef|stdint|stdbool)\.h\>|\"xylem[a-z_]*\.h\" ]] ||
        finding "$line: only the standard library's headers"
done < <(grep -HE '^[[:space:]]*#[[:space:]]*include' "${headers[@]}")
((compiled > 0 || found)) || skip "no compiler is installed"
finish
