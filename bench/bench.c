/* xylem-bench: latency and bandwidth of one collective, under a launcher or
 * alone as a job of one rank. */
#include "bench/worker.h"

int main(int argc, char **argv)
{
    const struct bench_impl *const impls[] = {impl_event(), rival_waitall(),
                                              rival_blocking()};
    const struct worker_program program = {
        .name = "xylem-bench",
        .summary =
            "Measures a collective: time per call on each rank (median over "
            "the calls;\nleast, mean and greatest over the ranks) and the "
            "bandwidth of the slowest rank.\nRun it under a launcher, such as "
            "xylem-run -n 4, or alone as one rank.\nImplementations: event "
            "(xylem, the default); waitall and blocking drive the same\ntrees "
            "and network by waiting for all children, or for each child.",
        .impls = impls,
        .impls_count = sizeof impls / sizeof impls[0]};

    return worker_main(&program, argc, argv);
}
