/* Modes with much under way at once: persistent requests that start many
 * times, several operations in flight on several teams, and two threads with a
 * team of their own each. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/proc/data.h"
#include "tests/proc/modes.h"

/* ---- one operation with its buffers ---- */

typedef struct transfer {
    const data_kind_t *kind;
    xylem_team_t *team;
    size_t count;
    uint32_t root;
    uint32_t seed;
    int is_reduce;
    char *send, *recv;
    xylem_request_t *request;
} transfer_t;

static void transfer_begin(transfer_t *transfer)
{
    size_t bytes = transfer->count * transfer->kind->bytes;

    transfer->send = job_memory(bytes);
    transfer->recv = job_memory(bytes);
}

static void transfer_end(transfer_t *transfer)
{
    MUST(xylem_request_free(transfer->request));
    free(transfer->send);
    free(transfer->recv);
}

static void transfer_fill(transfer_t *transfer, uint32_t seed)
{
    uint32_t rank = xylem_team_rank(transfer->team);

    transfer->seed = seed;
    if (transfer->is_reduce)
        data_write(transfer->kind, transfer->send, transfer->count, rank, seed);
    else if (rank == transfer->root)
        data_write(transfer->kind, transfer->recv, transfer->count, rank, seed);
}

static void transfer_check(const transfer_t *transfer)
{
    uint32_t rank = xylem_team_rank(transfer->team);
    size_t right = transfer->count;

    if (!transfer->is_reduce)
        right = data_check(transfer->kind, transfer->recv, transfer->count,
                           transfer->root, transfer->seed);
    else if (rank == transfer->root)
        right =
            data_check_reduced(transfer->kind, transfer->recv, transfer->count,
                               xylem_team_size(transfer->team), transfer->seed);
    REQUIRE(right == transfer->count,
            "%s of %zu %s, root %u, seed %u: element %zu is wrong",
            transfer->is_reduce ? "reduce" : "bcast", transfer->count,
            transfer->kind->name, transfer->root, transfer->seed, right);
}

static void transfer_start(transfer_t *transfer)
{
    const data_kind_t *kind = transfer->kind;

    if (transfer->is_reduce)
        MUST(xylem_ireduce(transfer->team, transfer->send, transfer->recv,
                           transfer->count, kind->type, kind->op,
                           transfer->root, &transfer->request));
    else
        MUST(xylem_ibcast(transfer->team, transfer->recv, transfer->count,
                          kind->type, transfer->root, &transfer->request));
}

/* Kind 0, 1, 2: predefined operations. */
static transfer_t transfer_of(xylem_team_t *team, uint32_t number, size_t count)
{
    return (transfer_t){.kind = data_kind(number % 3),
                        .team = team,
                        .count = count,
                        .root = number % xylem_team_size(team),
                        .is_reduce = number % 2 != 0};
}

/* ---- mode persistent ---- */

enum { PERSISTENT_REQUESTS = 4 };

static void persistent_plan(transfer_t *transfer)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = transfer->is_reduce ? XYLEM_COLL_REDUCE
                                                          : XYLEM_COLL_BCAST,
                              .send = transfer->send,
                              .recv = transfer->recv,
                              .count = transfer->count,
                              .type = transfer->kind->type,
                              .op = transfer->kind->op,
                              .root = transfer->root,
                              .segment_bytes = 2000};

    transfer_begin(transfer);
    args.send = transfer->send;
    args.recv = transfer->recv;
    MUST(xylem_coll_init(transfer->team, &args, &transfer->request));
}

void mode_persistent(job_t *job, uint32_t number)
{
    transfer_t transfers[PERSISTENT_REQUESTS];
    uint32_t start, i;

    for (i = 0; i < PERSISTENT_REQUESTS; i++) {
        transfers[i] = transfer_of(job->world, i, 1 + 700 * (size_t)i);
        persistent_plan(&transfers[i]);
    }
    for (start = 0; start < number; start++) {
        for (i = 0; i < PERSISTENT_REQUESTS; i++) {
            transfer_fill(&transfers[i], start);
            MUST(xylem_request_start(transfers[i].request));
        }
        for (i = 0; i < PERSISTENT_REQUESTS; i++) {
            MUST(xylem_request_wait(transfers[i].request));
            transfer_check(&transfers[i]);
        }
    }
    for (i = 0; i < PERSISTENT_REQUESTS; i++)
        transfer_end(&transfers[i]);
}

/* ---- mode flight ---- */

enum {
    FLIGHT_TEAMS = 3,
    FLIGHT_EACH = 5,
    FLIGHTS = FLIGHT_TEAMS * FLIGHT_EACH
};

/* Tests them in turn, so that they may finish in any order. */
static void flight_land(transfer_t *transfers)
{
    int is_done[FLIGHTS] = {0};
    uint32_t left = FLIGHTS, i;

    while (left > 0)
        for (i = 0; i < FLIGHTS; i++) {
            xylem_status_t status;
            if (is_done[i])
                continue;
            status = xylem_request_test(transfers[i].request);
            if (status == XYLEM_IN_PROGRESS)
                continue;
            MUST(status);
            is_done[i] = 1;
            left--;
        }
}

void mode_flight(job_t *job, uint32_t number)
{
    xylem_team_t *teams[FLIGHT_TEAMS];
    transfer_t transfers[FLIGHTS];
    uint32_t round, i;

    for (i = 0; i < FLIGHT_TEAMS; i++)
        MUST(xylem_team_dup(job->world, &teams[i]));
    for (round = 0; round < number; round++) {
        for (i = 0; i < FLIGHTS; i++) {
            /* Ranks need an order within a team only. */
            uint32_t team = (i + job->rank) % FLIGHT_TEAMS;
            uint32_t nth = i / FLIGHT_TEAMS;
            transfers[i] = transfer_of(teams[team], nth + team,
                                       (nth * 9001 + round * 100) % 20000);
            transfer_begin(&transfers[i]);
            transfer_fill(&transfers[i], round * 100 + nth * 7 + team);
            transfer_start(&transfers[i]);
        }
        if (round % 2 == 0)
            flight_land(transfers);
        for (i = FLIGHTS; i-- > 0;) {
            MUST(xylem_request_wait(transfers[i].request));
            transfer_check(&transfers[i]);
            transfer_end(&transfers[i]);
        }
    }
    for (i = 0; i < FLIGHT_TEAMS; i++)
        MUST(xylem_team_destroy(teams[i]));
}

/* ---- mode threads ---- */

enum { THREADS = 2 };

typedef struct worker {
    pthread_t thread;
    xylem_team_t *team;
    uint32_t number;
    uint32_t rounds;
} worker_t;

static void worker_round(const worker_t *worker, uint32_t round)
{
    static const size_t counts[] = {1, 100, 3000, 40000};
    transfer_t transfer =
        transfer_of(worker->team, round + worker->number, counts[round % 4]);

    transfer_begin(&transfer);
    transfer_fill(&transfer, round * 2 + worker->number);
    if (round % 3 == 0) {
        transfer_start(&transfer);
        MUST(xylem_request_wait(transfer.request));
    } else if (transfer.is_reduce) {
        MUST(xylem_reduce(transfer.team, transfer.send, transfer.recv,
                          transfer.count, transfer.kind->type,
                          transfer.kind->op, transfer.root));
    } else {
        MUST(xylem_bcast(transfer.team, transfer.recv, transfer.count,
                         transfer.kind->type, transfer.root));
    }
    transfer_check(&transfer);
    transfer_end(&transfer);
}

static void *worker_main(void *arg)
{
    worker_t *worker = arg;
    uint32_t round;

    for (round = 0; round < worker->rounds; round++)
        worker_round(worker, round);
    return NULL;
}

void mode_threads(job_t *job, uint32_t number)
{
    worker_t workers[THREADS];
    uint32_t i;

    for (i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.number = i, .rounds = number};
        MUST(xylem_team_dup(job->world, &workers[i].team));
    }
    for (i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&workers[i].thread, NULL, worker_main,
                               &workers[i]) == 0,
                "cannot start a thread");
    for (i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        MUST(xylem_team_destroy(workers[i].team));
    }
}
