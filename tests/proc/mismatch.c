/* Ranks of a team that call different things:
 *
 *   mismatch FIRST COUNT STEP
 *
 * Of all pairs of calls, every STEP-th of COUNT from FIRST on: one rank makes
 * the second call, the others the first. Whatever they wait for, they are told
 * (XYLEM_ERR_MISMATCH), in this call or in one of the next on the team; nothing
 * is written beyond a buffer; and a team that is made later goes on. In the
 * memory of a node nobody can tell where one of the calls has more numbers of
 * the board than the other, or none (XYLEM_ERR_TIMED_OUT by a limit); where
 * calls with arrays differ, nobody may wait. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum {
    BOUND_S = 400,
    LIMIT_S = 2,        /* of calls that hang; the world's have none */
    LONG_LIMIT_S = 100, /* where none hangs */
    ROOM = 1 << 20,
    GUARD = 4096,
    CALLS_MAX = 1000, /* that follow, until all are told */
    PATTERN = 0x5a,
    RANKS_MAX = 16
};

typedef struct kind {
    xylem_coll_t coll;
    size_t bytes;
    uint32_t root;
    xylem_op_t op;
} kind_t;

static const kind_t kinds[] = {
    {XYLEM_COLL_BARRIER, 0, 0, XYLEM_SUM},
    {XYLEM_COLL_BCAST, 8, 0, XYLEM_SUM},
    {XYLEM_COLL_BCAST, 8, 1, XYLEM_SUM},
    {XYLEM_COLL_BCAST, 1000, 0, XYLEM_SUM},
    {XYLEM_COLL_BCAST, 2000, 0, XYLEM_SUM},
    {XYLEM_COLL_BCAST, 96000, 0, XYLEM_SUM},
    {XYLEM_COLL_BCAST, 300000, 0, XYLEM_SUM},
    {XYLEM_COLL_REDUCE, 8, 0, XYLEM_SUM},
    {XYLEM_COLL_REDUCE, 8, 1, XYLEM_SUM},
    {XYLEM_COLL_REDUCE, 8, 0, XYLEM_MAX},
    {XYLEM_COLL_REDUCE, 200000, 0, XYLEM_SUM},
    {XYLEM_COLL_ALLREDUCE, 8, 0, XYLEM_SUM},
    {XYLEM_COLL_ALLREDUCE, 8, 0, XYLEM_MIN},
    {XYLEM_COLL_ALLREDUCE, 800, 0, XYLEM_SUM},
    {XYLEM_COLL_ALLREDUCE, 200000, 0, XYLEM_SUM},
    {XYLEM_COLL_GATHER, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_SCATTER, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_ALLGATHER, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_ALLGATHER, 8000, 0, XYLEM_SUM},
    {XYLEM_COLL_ALLTOALL, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_ALLTOALL, 8000, 0, XYLEM_SUM},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_SCAN, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_EXSCAN, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_REDUCE_SCATTER, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_GATHERV, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_SCATTERV, 64, 1, XYLEM_SUM},
    {XYLEM_COLL_ALLGATHERV, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_ALLTOALLV, 8000, 0, XYLEM_SUM},
    {XYLEM_COLL_ALLTOALLW, 64, 0, XYLEM_SUM},
    {XYLEM_COLL_NEIGHBOR_ALLGATHER, 64, 0, XYLEM_SUM},
};
enum { KINDS = sizeof kinds / sizeof *kinds, WITH_ARRAYS = 24 };

typedef struct scene {
    job_t *job;
    char *send, *recv; /* GUARD bytes, ROOM, GUARD bytes */
    uint64_t counts[RANKS_MAX], displs[RANKS_MAX], byte_displs[RANKS_MAX];
    xylem_type_t types[RANKS_MAX];
    uint32_t next, previous; /* neighbours in a ring */
} scene_t;

/* Blocks of those whose blocks may vary: all alike, one behind the other. */
static void set_blocks(scene_t *scene, const kind_t *kind)
{
    uint32_t i, ranks = scene->job->ranks;

    REQUIRE(ranks > 0 && ranks <= RANKS_MAX, "%u ranks", ranks);
    for (i = 0; i < ranks; i++) {
        scene->counts[i] = kind->bytes / sizeof(uint64_t);
        scene->displs[i] = i * scene->counts[i];
        scene->byte_displs[i] = i * kind->bytes;
        scene->types[i] = XYLEM_UINT64;
    }
    scene->next = (scene->job->rank + 1) % ranks;
    scene->previous = (scene->job->rank + ranks - 1) % ranks;
}

static int is_over_the_net(void)
{
    const char *is = getenv("XYLEM_SHM");

    return is != NULL && strcmp(is, "off") == 0;
}

static xylem_coll_args_t args_of(scene_t *scene, const kind_t *kind)
{
    int is_w = kind->coll == XYLEM_COLL_ALLTOALLW;
    const uint64_t *displs = is_w ? scene->byte_displs : scene->displs;

    set_blocks(scene, kind);
    return (xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                               .send_counts = scene->counts,
                               .recv_counts = scene->counts,
                               .send_displs = displs,
                               .recv_displs = displs,
                               .send_types = is_w ? scene->types : NULL,
                               .recv_types = is_w ? scene->types : NULL,
                               .destinations = &scene->next,
                               .sources = &scene->previous,
                               .destination_count = 1,
                               .source_count = 1,
                               .coll = kind->coll,
                               .send = scene->send + GUARD,
                               .recv = scene->recv + GUARD,
                               .count = kind->bytes / sizeof(uint64_t),
                               .type = XYLEM_UINT64,
                               .op = kind->op,
                               .limit_s =
                                   is_over_the_net() ? LONG_LIMIT_S : LIMIT_S,
                               .root = kind->root % scene->job->ranks};
}

/* Bytes that the call may write, from the beginning of the buffer on. */
static size_t written_by(const scene_t *scene, const kind_t *kind)
{
    switch ((int)kind->coll) {
    case XYLEM_COLL_GATHER:
    case XYLEM_COLL_ALLGATHER:
    case XYLEM_COLL_ALLTOALL:
    case XYLEM_COLL_GATHERV:
    case XYLEM_COLL_ALLGATHERV:
    case XYLEM_COLL_ALLTOALLV:
    case XYLEM_COLL_ALLTOALLW:
        return kind->bytes * scene->job->ranks;
    default:
        return kind->bytes;
    }
}

static void check_guards(const scene_t *scene, size_t written)
{
    size_t i;

    for (i = 0; i < GUARD; i++)
        REQUIRE(scene->recv[i] == PATTERN, "written before the buffer");
    for (i = GUARD + written; i < 2 * (size_t)GUARD + ROOM; i++)
        REQUIRE(scene->recv[i] == PATTERN, "written %zu bytes behind it",
                i - GUARD - written);
}

static void check_told(xylem_status_t status, const char *when)
{
    REQUIRE(status == XYLEM_ERR_MISMATCH ||
                (!is_over_the_net() && (status == XYLEM_ERR_TRUNCATED ||
                                        status == XYLEM_ERR_TIMED_OUT)),
            "%s: %s: %s", when, xylem_status_name(status), xylem_last_error());
}

static xylem_status_t call(xylem_team_t *team, const xylem_coll_args_t *args)
{
    xylem_request_t *request;
    xylem_status_t status;

    MUST(xylem_coll_start(team, args, &request));
    status = xylem_request_wait(request);
    MUST(xylem_request_free(request));
    return status;
}

static void one_pair(scene_t *scene, uint32_t first, uint32_t second)
{
    uint32_t odd = (first + 3 * second) % scene->job->ranks;
    const kind_t *kind = &kinds[scene->job->rank == odd ? second : first];
    xylem_coll_args_t args = args_of(scene, kind);
    xylem_team_t *team;
    xylem_status_t status;
    uint32_t calls = 0;

    memset(scene->recv, PATTERN, 2 * (size_t)GUARD + ROOM);
    MUST(xylem_team_dup(scene->job->world, &team));
    status = call(team, &args);
    if (status != XYLEM_OK)
        check_told(status, "the call");
    args = args_of(scene, &kinds[0]);
    do { /* whoever was done before the others noticed hears of it */
        status = call(team, &args);
    } while (status == XYLEM_OK && ++calls < CALLS_MAX);
    if (status != XYLEM_OK || is_over_the_net() ||
        (first < WITH_ARRAYS && second < WITH_ARRAYS)) {
        check_told(status, "the next call");
        check_told(xylem_team_error(team, NULL), "the team");
    }
    REQUIRE(status != XYLEM_ERR_MISMATCH ||
                strstr(xylem_last_error(), " calls ") != NULL ||
                strstr(xylem_last_error(), "different calls") != NULL,
            "no words: %s", xylem_last_error());
    check_guards(scene, written_by(scene, kind));
    MUST(xylem_team_destroy(team));
}

static void check_after(const scene_t *scene)
{
    uint64_t one = 1, sum = 0;

    MUST(xylem_allreduce(scene->job->world, &one, &sum, 1, XYLEM_UINT64,
                         XYLEM_SUM));
    REQUIRE(sum == scene->job->ranks, "the sum is %llu",
            (unsigned long long)sum);
}

int main(int argc, char **argv)
{
    scene_t scene;
    job_t job;
    uint32_t pair, end, step;

    REQUIRE(argc == 4, "usage: mismatch FIRST COUNT STEP");
    alarm(BOUND_S);
    job_begin(&job);
    scene = (scene_t){.job = &job,
                      .send = job_memory(2 * GUARD + ROOM),
                      .recv = job_memory(2 * GUARD + ROOM)};
    memset(scene.send, 0, 2 * GUARD + ROOM);
    pair = (uint32_t)strtoul(argv[1], NULL, 10);
    end = pair + (uint32_t)strtoul(argv[2], NULL, 10);
    step = (uint32_t)strtoul(argv[3], NULL, 10);
    for (; pair < end && pair < KINDS * KINDS; pair += step)
        if (pair / KINDS != pair % KINDS) {
            one_pair(&scene, pair / KINDS, pair % KINDS);
            check_after(&scene);
        }
    free(scene.send);
    free(scene.recv);
    job_end(&job);
    return EXIT_SUCCESS;
}
