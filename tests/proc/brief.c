/* Mode brief: many short blocking calls that repeat, as they are run inside the
 * call. Others come in between: a long operation under way meanwhile, messages
 * over the net whose tags must fit on all ranks, a rank that is late, and a
 * second thread that does the same on a team of its own. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/proc/data.h"
#include "tests/proc/modes.h"

enum { SIZES = 4, BYTES_MAX = 600, LONG_COUNT = 30000, LATE_US = 300 };

typedef struct talk {
    pthread_t thread;
    job_t *job;
    xylem_team_t *team;
    uint32_t rank, ranks;
    uint64_t state;        /* of random numbers: alike on all ranks */
    uint64_t *send, *recv; /* [ranks * BYTES_MAX / 8] */
    uint32_t rounds;
} talk_t;

/* What a rank contributes. */
static uint64_t value_of(uint32_t rank, uint32_t round, size_t element)
{
    return rank * UINT64_C(1000003) + round * UINT64_C(101) + element;
}

static void fill(uint64_t *buf, size_t count, uint32_t rank, uint32_t round)
{
    size_t i;

    for (i = 0; i < count; i++)
        buf[i] = value_of(rank, round, i);
}

static void check(const talk_t *talk, const char *coll, uint32_t round,
                  size_t element, uint64_t is, uint64_t wanted)
{
    REQUIRE(is == wanted,
            "%s of round %u: element %zu on rank %u is %llu, "
            "wanted %llu",
            coll, round, element, talk->rank, (unsigned long long)is,
            (unsigned long long)wanted);
}

/* ---- the calls ---- */

static void call_bcast(talk_t *talk, uint32_t round, size_t count,
                       uint32_t root)
{
    size_t i;

    fill(talk->recv, count, talk->rank, round);
    MUST(xylem_bcast(talk->team, talk->recv, count, XYLEM_UINT64, root));
    for (i = 0; i < count; i++)
        check(talk, "bcast", round, i, talk->recv[i], value_of(root, round, i));
}

static uint64_t sum_of(const talk_t *talk, uint32_t round, size_t element)
{
    uint64_t sum = 0;
    uint32_t rank;

    for (rank = 0; rank < talk->ranks; rank++)
        sum += value_of(rank, round, element);
    return sum;
}

static void call_reduce(talk_t *talk, uint32_t round, size_t count,
                        uint32_t root, int to_all)
{
    size_t i;

    fill(talk->send, count, talk->rank, round);
    if (to_all)
        MUST(xylem_allreduce(talk->team, talk->send, talk->recv, count,
                             XYLEM_UINT64, XYLEM_SUM));
    else
        MUST(xylem_reduce(talk->team, talk->send, talk->recv, count,
                          XYLEM_UINT64, XYLEM_SUM, root));
    for (i = 0; i < count && (to_all || talk->rank == root); i++)
        check(talk, "reduction", round, i, talk->recv[i],
              sum_of(talk, round, i));
}

/* `to_all`: allgather, else alltoall, in which all blocks are alike. */
static void call_blocks(talk_t *talk, uint32_t round, size_t count, int to_all)
{
    size_t i, block;

    for (block = 0; block < talk->ranks; block++)
        fill(talk->send + block * count, count, talk->rank, round);
    if (to_all)
        MUST(xylem_allgather(talk->team, talk->send, talk->recv, count,
                             XYLEM_UINT64));
    else
        MUST(xylem_alltoall(talk->team, talk->send, talk->recv, count,
                            XYLEM_UINT64));
    for (block = 0; block < talk->ranks; block++)
        for (i = 0; i < count; i++)
            check(talk, "blocks", round, block * count + i,
                  talk->recv[block * count + i],
                  value_of((uint32_t)block, round, i));
}

/* Over the net: by tags. */
static void call_net(talk_t *talk, uint32_t round, uint32_t root)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .recv = talk->recv,
                              .count = 1,
                              .type = XYLEM_UINT64,
                              .root = root,
                              .algorithm = "knomial:2"};
    xylem_request_t *request;

    fill(talk->recv, 1, talk->rank, round);
    MUST(xylem_coll_start(talk->team, &args, &request));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
    check(talk, "bcast over the net", round, 0, talk->recv[0],
          value_of(root, round, 0));
}

static void call_one(talk_t *talk, uint32_t round)
{
    static const size_t counts[SIZES] = {0, 1, 12, BYTES_MAX / 8};
    size_t count = counts[job_random(&talk->state) % SIZES];
    uint32_t kind = job_random(&talk->state) % 8;
    uint32_t root = job_random(&talk->state) % 2 % talk->ranks;
    uint32_t late = job_random(&talk->state);

    if (late % 16 == 0 && late / 16 % talk->ranks == talk->rank)
        usleep(late / 256 % LATE_US);
    if (kind == 0)
        MUST(xylem_barrier(talk->team));
    else if (kind <= 2)
        call_bcast(talk, round, count, root);
    else if (kind <= 5)
        call_reduce(talk, round, count, root, kind == 5);
    else
        call_blocks(talk, round, count, kind == 6);
    if (late / 4096 % 32 == 0)
        call_net(talk, round, root);
}

/* ---- meanwhile ---- */

/* Some calls while a long broadcast is under way. */
static void call_meanwhile(talk_t *talk, uint32_t round)
{
    uint64_t *buf = job_memory(LONG_COUNT * sizeof *buf);
    xylem_request_t *request;
    uint32_t root = round % talk->ranks, i;

    fill(buf, LONG_COUNT, talk->rank, round);
    MUST(xylem_ibcast(talk->team, buf, LONG_COUNT, XYLEM_UINT64, root,
                      &request));
    for (i = 0; i < 4; i++)
        call_one(talk, round);
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
    for (i = 0; i < LONG_COUNT; i++)
        check(talk, "long bcast", round, i, buf[i], value_of(root, round, i));
    free(buf);
}

static void *talk_main(void *arg)
{
    talk_t *talk = arg;
    uint32_t round;

    for (round = 0; round < talk->rounds; round++) {
        call_one(talk, round);
        if (round % 40 == 39)
            call_meanwhile(talk, round);
    }
    return NULL;
}

static talk_t talk_begin(job_t *job, xylem_team_t *team, uint32_t number,
                         uint32_t rounds)
{
    size_t bytes = (size_t)job->ranks * BYTES_MAX;

    return (talk_t){.job = job,
                    .team = team,
                    .rank = xylem_team_rank(team),
                    .ranks = xylem_team_size(team),
                    .state = number,
                    .send = job_memory(bytes),
                    .recv = job_memory(bytes),
                    .rounds = rounds};
}

static void talk_end(talk_t *talk)
{
    free(talk->send);
    free(talk->recv);
}

void mode_brief(job_t *job, uint32_t number)
{
    xylem_team_t *second;
    talk_t talks[2];

    MUST(xylem_team_dup(job->world, &second));
    talks[0] = talk_begin(job, job->world, 1, number);
    talks[1] = talk_begin(job, second, 2, number / 4);
    (void)talk_main(&talks[0]); /* alone */
    REQUIRE(pthread_create(&talks[1].thread, NULL, talk_main, &talks[1]) == 0,
            "cannot start a thread");
    talks[0].rounds = number / 4;
    (void)talk_main(&talks[0]);
    pthread_join(talks[1].thread, NULL);
    talk_end(&talks[0]);
    talk_end(&talks[1]);
    MUST(xylem_team_destroy(second));
}
