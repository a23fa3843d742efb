/* xylem-bench: latency and bandwidth of one collective, under a launcher or
 * alone as a job of one rank. */
#include "bench/measure/registry.h"
#include "bench/measure/tasks.h"
#include "bench/measure/worker.h"

int main(int argc, char **argv)
{
    struct bench_impl local;
    const struct bench_impl *const impls[] = {
        impl_event(),       rival_waitall(), rival_blocking(),
        impl_local(&local), impl_nccl(),     impl_nccl_windows()};
    const struct worker_program program = {
        .name = "xylem-bench",
        .summary =
            "Measures a collective: time per call on each rank (median over "
            "the calls;\nleast, mean and greatest over the ranks) and the "
            "bandwidth of the slowest rank, by\nthe larger of its buffers. "
            "Blocks are of one size in the v and w forms, too.\nRun it under "
            "a launcher, such as xylem-run -n 4, or alone as one rank.\n"
            "Implementations: xylem (the default); waitall and "
            "blocking drive the same\ntrees and network by waiting for all "
            "children, or for each child, and have bcast\nand reduce only; "
            "local is the floor, a loop as long as a call "
            "of xylem's, without\nother ranks; nccl is NCCL, with --mem cuda, "
            "nccl-windows the same "
            "with buffers in\nsymmetric windows.",
        .impls = impls,
        .impls_count = sizeof impls / sizeof impls[0],
        .algorithms_print = registry_print,
        .tasks = tasks_main};

    return worker_main(&program, argc, argv);
}
