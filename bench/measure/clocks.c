/* Offsets of clocks. One thread. */
#include "bench/measure/clocks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure/noise.h"

enum { ROUNDS = 20, BROADCASTS_MAX = 4000 }; /* of all ranks together */

/* One question and its answer. Only the numbers of rank 0 and of rank `other`
 * mean something. */
static xylem_status_t ask(const struct bench_impl *impl, void *state,
                          uint32_t other, struct clock_offset *offset_out)
{
    uint64_t asked_ns = noise_now_ns(), answer_ns = 0, ended_ns;
    uint32_t question = other;
    xylem_status_t status = impl->bcast(state, &question, sizeof question, 0);

    if (status != XYLEM_OK)
        return status;
    answer_ns = noise_now_ns();
    status = impl->bcast(state, &answer_ns, sizeof answer_ns, other);
    ended_ns = noise_now_ns();
    *offset_out =
        (struct clock_offset){.ahead_ns = (double)answer_ns - (double)asked_ns -
                                          (double)(ended_ns - asked_ns) / 2,
                              .error_ns = (double)(ended_ns - asked_ns) / 2};
    return status;
}

static xylem_status_t ask_often(const struct bench_impl *impl, void *state,
                                uint32_t other, unsigned rounds,
                                struct clock_offset *best)
{
    xylem_status_t status = ask(impl, state, other, best);
    struct clock_offset found;
    unsigned i;

    for (i = 1; i < rounds && status == XYLEM_OK; i++) {
        status = ask(impl, state, other, &found);
        if (status == XYLEM_OK && found.error_ns < best->error_ns)
            *best = found;
    }
    if (fabs(best->ahead_ns) <= best->error_ns)
        best->ahead_ns = 0;
    return status;
}

xylem_status_t clocks_align(const struct bench_impl *impl, void *state,
                            struct clock_offset *mine_out)
{
    uint32_t ranks = impl->size(state), rank = impl->rank(state), i;
    unsigned rounds = BROADCASTS_MAX / 2 / ranks;
    struct clock_offset *all = calloc(ranks, sizeof *all);
    xylem_status_t status = XYLEM_OK;

    if (all == NULL) {
        fputs("no memory for the clocks\n", stderr);
        return XYLEM_ERR_NO_MEMORY;
    }
    rounds = rounds > ROUNDS ? ROUNDS : rounds < 2 ? 2 : rounds;
    for (i = 1; i < ranks && status == XYLEM_OK; i++)
        status = ask_often(impl, state, i, rounds, &all[i]);
    if (status == XYLEM_OK)
        status = impl->bcast(state, all, ranks * sizeof *all, 0);
    *mine_out = all[rank];
    free(all);
    return status;
}
