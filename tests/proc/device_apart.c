/* One rank of a job whose ranks find out whether some of them share a GPU:
 *
 *   device_apart apart|shared
 *
 * Rank after rank meets its first buffer there, and each makes many calls ahead
 * of the next one. All ranks of a node find the same for each call, and in the
 * end the truth. A further team of the same ranks finds it, too. */
#include <stdlib.h>
#include <string.h>

#include "bench/measure/device.h"
#include "collectives/device/way.h"
#include "tests/proc/job.h"

enum { BYTES = 1 << 20, CALLS = 2000, AHEAD = 300, TEAMS = 2 };

static job_t job;
static struct bench_device *device;

/* This rank has its buffer in memory of the host before the call `from`. */
static void memories_find(xylem_team_t *team, void *memory, uint32_t from,
                          uint8_t *found)
{
    static char host[64];
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    uint32_t call;

    args.coll = XYLEM_COLL_BCAST;
    args.count = BYTES;
    args.type = XYLEM_BYTE;
    for (call = 0; call < CALLS; call++) {
        args.recv = call < from ? host : memory;
        found[call] = (uint8_t)xyl_device_memory(team, &args);
    }
}

static int are_together(uint32_t rank, uint32_t other)
{
    const xyl_peer_t *peers = job.context->peers;

    return peers[rank].place.node == peers[other].place.node;
}

static void team_check(xylem_team_t *team, void *memory, uint8_t last)
{
    uint8_t found[CALLS] = {0}, *all = job_memory(job.ranks * sizeof found);
    uint32_t rank, call;

    for (rank = 0; rank < job.ranks; rank++) {
        if (rank == job.rank)
            memories_find(team, memory, rank * AHEAD, found);
        MUST(xylem_barrier(job.world));
    }
    MUST(xylem_allgather(job.world, found, all, CALLS, XYLEM_UINT8));
    for (rank = 0; rank < job.ranks; rank++)
        for (call = 0; call < CALLS && are_together(rank, job.rank); call++)
            REQUIRE(all[rank * CALLS + call] == found[call],
                    "rank %u finds memory %d for call %u, and this rank %d",
                    rank, all[rank * CALLS + call], call, found[call]);
    MUST(xylem_barrier(job.world));
    memories_find(team, memory, 0, found);
    REQUIRE(found[CALLS - 1] == last, "in the end memory is %d",
            found[CALLS - 1]);
    free(all);
}

int main(int argc, char **argv)
{
    const int is_apart = argc > 1 && strcmp(argv[1], "apart") == 0;
    xylem_team_t *team;
    void *memory = NULL;
    uint32_t i;

    job_begin(&job);
    if (device_open(job.rank, &device) != XYLEM_OK)
        return 77;
    MUST(device_take(device, BYTES, &memory));
    for (i = 0; i < TEAMS; i++) {
        MUST(xylem_team_dup(job.world, &team));
        team_check(team, memory,
                   is_apart ? XYL_MEMORY_GPUS_APART : XYL_MEMORY_GPUS);
        MUST(xylem_team_destroy(team));
    }
    device_give(device, memory);
    device_close(device);
    job_end(&job);
    return 0;
}
