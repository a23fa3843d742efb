#include "tests/support/told.h"

#include <string.h>

#include "runtime/faults/hangs.h"
#include "tests/support/check.h"

void told_init_of(told_t *told, uint32_t ranks, uint64_t seed,
                  int shares_memory)
{
    fabric_options_t options = {.seed = seed,
                                .eager_bytes_max = 60,
                                .delay_max = 20,
                                .reorder = 1,
                                .shares_memory = shares_memory,
                                .tells_failures = 1};

    memset(told, 0, sizeof *told);
    told->ranks = ranks;
    told->fabric = fabric_create(ranks, &options);
}

void told_init(told_t *told, uint64_t seed, int shares_memory)
{
    told_init_of(told, TOLD_RANKS, seed, shares_memory);
}

xylem_team_t *told_world(const told_t *told, uint32_t rank)
{
    return fabric_world(told->fabric, rank);
}

void told_start(told_t *told, uint32_t rank)
{
    CHECK_EQ(xylem_iallreduce(told_world(told, rank), told->words[rank],
                              told->sums[rank], TOLD_WORDS, XYLEM_UINT32,
                              XYLEM_SUM, &told->requests[rank]),
             XYLEM_OK);
}

void told_look(const told_t *told, uint32_t looks)
{
    uint32_t rank;

    fabric_run_dry(told->fabric);
    for (; looks > 0; looks--) {
        for (rank = 0; rank < told->ranks; rank++)
            xyl_hangs_look(fabric_context(told->fabric, rank));
        fabric_run_dry(told->fabric);
    }
}
