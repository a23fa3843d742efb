/* Collectives through the memory of a node, as real jobs do them, by threads of
 * one process: each has a context of its own, whose net carries nothing, and
 * its part of a node's memory. Once more with one mapping of that memory for
 * all threads, as the sanitizer of threads knows memory by its address. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/api/modules.h"
#include "progress/shm/node.h"
#include "runtime/assembly/context_create.h"
#include "simulator/random.h"
#include "tests/support/check.h"

enum {
    RANKS_MAX = 4,
    SEATS_MAX = 9, /* enough that the first seat tells when all have come */
    ROUNDS = 300,
    AT_ONCE = 3, /* operations of a round */
    REGION_BYTES = 4 << 20,
    COUNT_MAX = 20000, /* elements of 8 bytes */
    MANY = 700,        /* at once: more than a board remembers */
    MANY_COUNT = 600
};

static void must(int good)
{
    if (!good)
        abort();
}

/* ---- a net that carries nothing ---- */

static void net_send(xyl_net_t *net, uint32_t peer, uint64_t tag,
                     const void *buf, size_t bytes, xyl_event_t *event)
{
    (void)net, (void)peer, (void)tag, (void)buf, (void)bytes, (void)event;
    abort();
}

static void net_recv(xyl_net_t *net, uint64_t tag, void *buf, size_t bytes,
                     xyl_event_t *event)
{
    (void)net, (void)tag, (void)buf, (void)bytes, (void)event;
    abort();
}

static unsigned net_progress(xyl_net_t *net)
{
    (void)net;
    return 0;
}

static int net_is_flushed(xyl_net_t *net)
{
    (void)net;
    return 1;
}

static void net_destroy(xyl_net_t *net)
{
    (void)net;
}

static xylem_status_t net_create(const xyl_net_params_t *params,
                                 xyl_net_t **net_out);

static const xyl_net_ops_t net_ops = {.name = "nothing",
                                      .create = net_create,
                                      .send = net_send,
                                      .recv = net_recv,
                                      .progress = net_progress,
                                      .is_flushed = net_is_flushed,
                                      .destroy = net_destroy};

/* ---- one mapping for all ---- */

typedef struct one_mapping {
    xyl_shm_t shm; /* first */
    xyl_shm_t *own, *first;
    pthread_mutex_t *lock; /* of the first */
} one_mapping_t;

static one_mapping_t *mapping_of(xyl_shm_t *shm)
{
    return (one_mapping_t *)(void *)shm;
}

static void *first_attach(xyl_shm_t *shm, uint64_t key, size_t bytes)
{
    one_mapping_t *mapping = mapping_of(shm);
    void *memory;

    pthread_mutex_lock(mapping->lock);
    memory = mapping->first->ops->attach(mapping->first, key, bytes);
    pthread_mutex_unlock(mapping->lock);
    return memory;
}

static void first_detach(xyl_shm_t *shm, uint64_t key)
{
    one_mapping_t *mapping = mapping_of(shm);

    pthread_mutex_lock(mapping->lock);
    mapping->first->ops->detach(mapping->first, key);
    pthread_mutex_unlock(mapping->lock);
}

static void own_set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                    const uint32_t *readers, uint32_t count)
{
    xyl_shm_t *own = mapping_of(shm)->own;

    own->ops->set(own, flag, value, readers, count);
}

static int own_swap(xyl_shm_t *shm, _Atomic uint64_t *word, uint64_t *expected,
                    uint64_t value)
{
    xyl_shm_t *own = mapping_of(shm)->own;

    return own->ops->swap(own, word, expected, value);
}

static const xyl_shm_ops_t one_mapping_ops = {.name = "one mapping",
                                              .attach = first_attach,
                                              .detach = first_detach,
                                              .set = own_set,
                                              .swap = own_swap};

/* ---- ranks ---- */

typedef struct job {
    uint32_t ranks;
    uint64_t seed;
    const char *budget; /* a setting */
    size_t region_bytes;
    xyl_peer_t peers[SEATS_MAX];
    xyl_shm_node_t *nodes[SEATS_MAX];
    one_mapping_t mappings[SEATS_MAX];
    pthread_mutex_t lock;
    xyl_net_t nets[SEATS_MAX];
    xylem_context_t *contexts[SEATS_MAX];
    _Atomic uint32_t come[ROUNDS * AT_ONCE]; /* to a barrier */
} job_t;

static xylem_status_t net_create(const xyl_net_params_t *params,
                                 xyl_net_t **net_out)
{
    *net_out = &((job_t *)params->arg)->nets[params->rank];
    **net_out = (xyl_net_t){.ops = &net_ops, .ready = params->ready};
    return XYLEM_OK;
}

static void nodes_join(job_t *job)
{
    const xyl_shm_node_params_t params = {job->region_bytes, SEATS_MAX};
    xyl_shm_member_t members[SEATS_MAX];
    uint32_t i;

    for (i = 0; i < job->ranks; i++) {
        job->nodes[i] = xyl_shm_node_create(&params);
        must(job->nodes[i] != NULL);
        xyl_shm_node_offer(job->nodes[i], &members[i]);
        members[i].rank = i;
    }
    for (i = 0; i < job->ranks; i++)
        must(xyl_shm_node_join(job->nodes[i], members, job->ranks, i) ==
             XYL_SHM_FINE);
}

static void context_create(job_t *job, uint32_t rank, int has_one_mapping)
{
    const char *const settings[] = {"LOG=none", job->budget, NULL};
    xyl_shm_t *own = xyl_shm_node_shm(job->nodes[rank]);
    xyl_context_parts_t parts = {.modules = &xyl_modules_of_collectives,
                                 .rank = rank,
                                 .ranks = job->ranks,
                                 .allocator = xyl_allocator_system(),
                                 .clock = xyl_clock_system(),
                                 .peers = job->peers,
                                 .net = &net_ops,
                                 .net_arg = job,
                                 .shm = own,
                                 .settings = settings};

    job->mappings[rank] = (one_mapping_t){{&one_mapping_ops, own->keys_max, 0},
                                          own,
                                          xyl_shm_node_shm(job->nodes[0]),
                                          &job->lock};
    if (has_one_mapping)
        parts.shm = &job->mappings[rank].shm;
    must(xyl_context_create_of_parts(&parts, &job->contexts[rank]) == XYLEM_OK);
}

/* ---- operations ---- */

typedef enum kind {
    KIND_BARRIER,
    KIND_BCAST,
    KIND_REDUCE,
    KIND_ALLREDUCE,
    KIND_ALLTOALL,
    KINDS
} kind_t;

/* Equal for all ranks. */
typedef struct call {
    kind_t kind;
    uint32_t number, root;
    uint32_t count; /* elements of the message, or of a block */
    int in_place, in_any_order;
    uint32_t segment_bytes; /* alltoall: 0, or in rounds */
} call_t;

typedef struct rank {
    job_t *job;
    uint32_t number;
    xylem_request_t *requests[AT_ONCE];
    uint64_t *send[AT_ONCE], *recv[AT_ONCE];
} rank_t;

static call_t draw_call(uint64_t *random, uint32_t number, uint32_t ranks)
{
    static const uint32_t counts[] = {0,   1,    13,   14,    15,   100,
                                      511, 1000, 5000, 20000, 2049, 600};
    call_t call = {.kind = (kind_t)random_below(random, KINDS),
                   .number = number,
                   .root = random_below(random, ranks),
                   .count = counts[random_below(random, 12)],
                   .in_place = random_below(random, 2) == 0,
                   .in_any_order = random_below(random, 2) == 0};

    if (call.kind != KIND_ALLTOALL)
        return call;
    call.count /= ranks;
    if (random_below(random, 2) == 0)
        call.segment_bytes = 128U << random_below(random, 4);
    return call;
}

/* A reduction of floating-point numbers, as of others the order does not
 * matter. */
static int keeps_order(const call_t *call)
{
    return !call->in_any_order &&
           (call->kind == KIND_REDUCE || call->kind == KIND_ALLREDUCE);
}

/* Such that sums of floating-point numbers are exact. */
static uint64_t value_of(const call_t *call, uint32_t rank, uint32_t i)
{
    uint64_t value =
        random_mix((uint64_t)call->number << 40 | (uint64_t)rank << 32 | i);

    return keeps_order(call) ? value & 0xffffff : value;
}

/* The value's bits in memory. */
static uint64_t bits_of(const call_t *call, uint64_t value)
{
    double number = (double)value;

    if (keeps_order(call))
        memcpy(&value, &number, sizeof value);
    return value;
}

static uint32_t elements(const call_t *call, uint32_t ranks)
{
    return call->kind == KIND_ALLTOALL ? call->count * ranks : call->count;
}

/* 1: the call is in place on this rank, which has a result. */
static int is_in_place(const call_t *call, uint32_t rank)
{
    return call->in_place && (call->kind != KIND_REDUCE || rank == call->root);
}

static void fill(const call_t *call, const rank_t *rank, uint32_t slot)
{
    uint32_t i, count = elements(call, rank->job->ranks);
    int is_sent_from_recv =
        is_in_place(call, rank->number) ||
        (call->kind == KIND_BCAST && rank->number == call->root);

    for (i = 0; i < count; i++) {
        rank->send[slot][i] = bits_of(call, value_of(call, rank->number, i));
        rank->recv[slot][i] =
            is_sent_from_recv ? rank->send[slot][i] : UINT64_MAX;
    }
}

static void start(const call_t *call, rank_t *rank, uint32_t slot)
{
    static const xylem_coll_t colls[KINDS] = {
        XYLEM_COLL_BARRIER, XYLEM_COLL_BCAST, XYLEM_COLL_REDUCE,
        XYLEM_COLL_ALLREDUCE, XYLEM_COLL_ALLTOALL};
    xylem_team_t *team = xylem_context_world(rank->job->contexts[rank->number]);
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = colls[call->kind],
                              .segment_bytes = call->segment_bytes,
                              .algorithm = "node"};

    fill(call, rank, slot);
    if (call->kind == KIND_BARRIER) {
        atomic_fetch_add_explicit(&rank->job->come[call->number], 1,
                                  memory_order_relaxed);
    } else {
        args.count = call->count;
        args.type = keeps_order(call) ? XYLEM_FLOAT64 : XYLEM_UINT64;
        args.recv = rank->recv[slot];
        args.op = XYLEM_SUM;
        args.root = call->root;
        if (call->in_any_order && call->kind == KIND_REDUCE)
            args.flags = XYLEM_FLAG_ARRIVAL_ORDER;
    }
    if (call->kind >= KIND_REDUCE)
        args.send =
            is_in_place(call, rank->number) ? XYLEM_IN_PLACE : rank->send[slot];
    CHECK_EQ(xylem_coll_start(team, &args, &rank->requests[slot]), XYLEM_OK);
}

static uint64_t sum_of(const call_t *call, uint32_t ranks, uint32_t i)
{
    uint64_t sum = 0;
    uint32_t rank;

    for (rank = 0; rank < ranks; rank++)
        sum += value_of(call, rank, i);
    return bits_of(call, sum);
}

static uint64_t expected(const call_t *call, const rank_t *rank, uint32_t i)
{
    uint32_t ranks = rank->job->ranks;

    if (call->kind == KIND_BCAST)
        return value_of(call, call->root, i);
    if (call->kind == KIND_ALLTOALL)
        return value_of(call, i / call->count,
                        rank->number * call->count + i % call->count);
    if (call->kind == KIND_REDUCE && rank->number != call->root)
        return UINT64_MAX;
    return sum_of(call, ranks, i);
}

static void check(const call_t *call, const rank_t *rank, uint32_t slot)
{
    uint32_t i, wrong = 0, ranks = rank->job->ranks;

    if (call->kind == KIND_BARRIER) {
        CHECK_EQ(atomic_load_explicit(&rank->job->come[call->number],
                                      memory_order_relaxed),
                 ranks);
        return;
    }
    for (i = 0; i < elements(call, ranks); i++)
        wrong += rank->recv[slot][i] != expected(call, rank, i);
    if (wrong != 0)
        printf("# rank %u, call %u, kind %d, root %u, count %u\n", rank->number,
               call->number, (int)call->kind, call->root, call->count);
    CHECK_EQ(wrong, 0);
}

/* Other ranks may wait for the core that this one has. */
static void finish(const call_t *call, rank_t *rank, uint32_t slot)
{
    while (xylem_request_test(rank->requests[slot]) == XYLEM_IN_PROGRESS)
        sched_yield();
    CHECK_EQ(xylem_request_test(rank->requests[slot]), XYLEM_OK);
    CHECK_EQ(xylem_request_free(rank->requests[slot]), XYLEM_OK);
    check(call, rank, slot);
}

static void *run(void *arg)
{
    rank_t *rank = arg;
    uint64_t random = random_mix(rank->job->seed);
    call_t calls[AT_ONCE];
    uint32_t round, i, count;

    for (i = 0; i < AT_ONCE; i++) {
        rank->send[i] = malloc(COUNT_MAX * sizeof(uint64_t));
        rank->recv[i] = malloc(COUNT_MAX * sizeof(uint64_t));
        must(rank->send[i] != NULL && rank->recv[i] != NULL);
    }
    for (round = 0; round < ROUNDS; round++) {
        count = random_between(&random, 1, AT_ONCE);
        for (i = 0; i < count; i++) {
            calls[i] =
                draw_call(&random, round * AT_ONCE + i, rank->job->ranks);
            start(&calls[i], rank, i);
        }
        for (i = 0; i < count; i++)
            finish(&calls[i], rank, i);
    }
    for (i = 0; i < AT_ONCE; i++) {
        free(rank->send[i]);
        free(rank->recv[i]);
    }
    return NULL;
}

/* Broadcasts that are all started before the first has ended. */
static void *run_many(void *arg)
{
    rank_t *rank = arg;
    xylem_team_t *team = xylem_context_world(rank->job->contexts[rank->number]);
    uint64_t *all = malloc((size_t)MANY * MANY_COUNT * sizeof *all);
    xylem_request_t *requests[MANY];
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .count = MANY_COUNT,
                              .type = XYLEM_UINT64,
                              .algorithm = "node"};
    uint32_t i, wrong = 0;

    must(all != NULL);
    for (i = 0; i < MANY * MANY_COUNT; i++)
        all[i] = rank->number == i / MANY_COUNT % rank->job->ranks ? i : 0;
    for (i = 0; i < MANY; i++) {
        args.recv = all + (size_t)i * MANY_COUNT;
        args.root = i % rank->job->ranks;
        CHECK_EQ(xylem_coll_start(team, &args, &requests[i]), XYLEM_OK);
    }
    for (i = 0; i < MANY; i++) {
        while (xylem_request_test(requests[i]) == XYLEM_IN_PROGRESS)
            sched_yield();
        CHECK_EQ(xylem_request_test(requests[i]), XYLEM_OK);
        CHECK_EQ(xylem_request_free(requests[i]), XYLEM_OK);
    }
    for (i = 0; i < MANY * MANY_COUNT; i++)
        wrong += all[i] != i;
    CHECK_EQ(wrong, 0);
    free(all);
    return NULL;
}

/* ---- one that is held up ---- */

/* So long that one turn is not enough for a slice. */
enum { HELD_UP_RANKS = 3, HELD_UP_COUNT = 40000, TURNS_MAX = 4000000 };
enum { SHORT_COUNT = 700 }; /* each combines its slice in a turn */

typedef struct held_up {
    uint32_t ranks, count;
    double send[SEATS_MAX][HELD_UP_COUNT];
    double recv[SEATS_MAX][HELD_UP_COUNT];
    xylem_request_t *requests[SEATS_MAX];
} held_up_t;

static void sum_start(job_t *job, uint32_t rank, held_up_t *scene)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLREDUCE,
                              .send = scene->send[rank],
                              .recv = scene->recv[rank],
                              .count = scene->count,
                              .type = XYLEM_FLOAT64,
                              .op = XYLEM_SUM,
                              .algorithm = "node"};
    uint32_t i;

    for (i = 0; i < scene->count; i++)
        scene->send[rank][i] = rank + i;
    CHECK_EQ(xylem_coll_start(xylem_context_world(job->contexts[rank]), &args,
                              &scene->requests[rank]),
             XYLEM_OK);
}

/* Turns until all requests but one rank's have ended; TURNS_MAX: they have
 * not. */
static uint32_t sums_finish(held_up_t *scene, uint32_t but)
{
    uint32_t rank, turns;

    for (turns = 0; turns < TURNS_MAX; turns++) {
        int are_done = 1;
        for (rank = 0; rank < scene->ranks; rank++)
            are_done &= rank == but ||
                        xylem_request_test(scene->requests[rank]) == XYLEM_OK;
        if (are_done)
            break;
    }
    return turns;
}

static void sums_check(const held_up_t *scene, uint32_t but)
{
    const uint32_t ranks = scene->ranks;
    uint32_t rank, i;

    for (rank = 0; rank < ranks; rank++)
        for (i = 0; i < scene->count && rank != but; i++)
            must(scene->recv[rank][i] ==
                 (double)ranks * i + ranks * (ranks - 1) / 2);
}

/* The held-up rank goes on, and all is freed. */
static void sums_end(held_up_t *scene)
{
    uint32_t rank;

    CHECK(sums_finish(scene, scene->ranks) < TURNS_MAX);
    sums_check(scene, scene->ranks);
    for (rank = 0; rank < scene->ranks; rank++)
        CHECK_EQ(xylem_request_free(scene->requests[rank]), XYLEM_OK);
}

/* The first rank comes last and has so many turns, in which it publishes its
 * input and claims a slice, and no further turn until the others have the
 * result: they do not need it again if it had published everything. Returns how
 * long they took. */
static uint32_t job_of_one_held_up(job_t *job, held_up_t *scene, uint32_t turns)
{
    uint32_t rank, i, taken;

    for (rank = 1; rank < HELD_UP_RANKS; rank++)
        sum_start(job, rank, scene);
    for (i = 0; i < 100; i++)
        for (rank = 1; rank < HELD_UP_RANKS; rank++)
            CHECK_EQ(xylem_request_test(scene->requests[rank]),
                     XYLEM_IN_PROGRESS);
    sum_start(job, 0, scene);
    for (i = 0; i < turns; i++)
        CHECK_EQ(xylem_request_test(scene->requests[0]), XYLEM_IN_PROGRESS);
    taken = sums_finish(scene, 0);
    if (taken < TURNS_MAX)
        sums_check(scene, 0);
    sums_end(scene);
    return taken;
}

/* ---- jobs ---- */

static void job_create(job_t *job, uint32_t ranks, int has_one_mapping)
{
    uint32_t i;

    job->ranks = ranks;
    job->seed = ranks * 2 + (uint32_t)has_one_mapping;
    pthread_mutex_init(&job->lock, NULL);
    if (job->budget == NULL) { /* so small that ranks wait for windows */
        job->budget = "NOISE_BUDGET=256K";
        job->region_bytes = REGION_BYTES;
    }
    for (i = 0; i < ranks; i++)
        job->peers[i] = (xyl_peer_t){.place = {.core = i}, .is_local = 1};
    nodes_join(job);
    for (i = 0; i < ranks; i++)
        context_create(job, i, has_one_mapping);
}

static void job_destroy(job_t *job)
{
    uint32_t i;

    for (i = 0; i < job->ranks; i++)
        CHECK_EQ(xylem_context_destroy(job->contexts[i]), XYLEM_OK);
    for (i = 0; i < job->ranks; i++)
        xyl_shm_node_destroy(job->nodes[i]);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

static void job_run(uint32_t ranks, int has_one_mapping, void *(*fn)(void *arg))
{
    job_t *job = calloc(1, sizeof *job);
    pthread_t threads[RANKS_MAX];
    rank_t all[RANKS_MAX];
    uint32_t i;

    must(job != NULL);
    job_create(job, ranks, has_one_mapping);
    for (i = 0; i < ranks; i++) {
        all[i] = (rank_t){.job = job, .number = i};
        must(pthread_create(&threads[i], NULL, fn, &all[i]) == 0);
    }
    for (i = 0; i < ranks; i++)
        pthread_join(threads[i], NULL);
    job_destroy(job);
}

/* One rank publishes its input first, and then has no turn until the others
 * have the result. */
static void job_of_one_published(uint32_t ranks, uint32_t held_up)
{
    job_t *job = calloc(1, sizeof *job);
    held_up_t *scene = malloc(sizeof *scene);
    uint32_t rank;

    must(job != NULL && scene != NULL);
    scene->ranks = ranks;
    scene->count = SHORT_COUNT;
    job->budget = "NOISE_BUDGET=16M";
    job->region_bytes = 64 << 20;
    job_create(job, ranks, 0);
    sum_start(job, held_up, scene);
    CHECK_EQ(xylem_request_test(scene->requests[held_up]), XYLEM_IN_PROGRESS);
    for (rank = 0; rank < ranks; rank++)
        if (rank != held_up)
            sum_start(job, rank, scene);
    CHECK(sums_finish(scene, held_up) < TURNS_MAX);
    sums_check(scene, held_up);
    sums_end(scene);
    job_destroy(job);
    free(scene);
}

static void test_one_held_up(void)
{
    job_t *job = calloc(1, sizeof *job);
    held_up_t *scene = malloc(sizeof *scene);
    uint32_t turns;

    must(job != NULL && scene != NULL);
    scene->ranks = HELD_UP_RANKS;
    scene->count = HELD_UP_COUNT;
    job->budget = "NOISE_BUDGET=16M";
    job->region_bytes = 64 << 20;
    job_create(job, HELD_UP_RANKS, 0);
    for (turns = 0; turns < 8; turns++)
        CHECK(job_of_one_held_up(job, scene, turns) < TURNS_MAX);
    job_destroy(job);
    free(scene);
}

/* With a few ranks, and with so many that the first tells when all have come.
 */
static void test_one_published(void)
{
    job_of_one_published(HELD_UP_RANKS, 0);
    job_of_one_published(HELD_UP_RANKS, HELD_UP_RANKS - 1);
    job_of_one_published(SEATS_MAX, 0);
    job_of_one_published(SEATS_MAX, 4);
}

static void test_own_mappings(void)
{
    uint32_t ranks;

    for (ranks = 2; ranks <= RANKS_MAX; ranks++)
        job_run(ranks, 0, run);
}

static void test_one_mapping(void)
{
    uint32_t ranks;

    for (ranks = 2; ranks <= RANKS_MAX; ranks++)
        job_run(ranks, 1, run);
}

static void test_many_at_once(void)
{
    job_run(2, 1, run_many);
    job_run(RANKS_MAX, 0, run_many);
}

static const check_case_t cases[] = {
    {"own_mappings", test_own_mappings}, {"one_mapping", test_one_mapping},
    {"one_held_up", test_one_held_up},   {"one_published", test_one_published},
    {"many_at_once", test_many_at_once},
};
CHECK_MAIN(cases)
