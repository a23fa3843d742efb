/* One rank of a job that plays random cases of all collectives and all their
 * algorithms, and checks every byte:
 *
 *   calls sweep N     one after the other; blocking, nonblocking, persistent
 *   calls flight N    several at once on teams of other orders and sizes, some
 *                     with callbacks, some that free themselves
 *   calls tags N      several at once on one team, which each rank starts in an
 *                     order of its own, among calls in order
 *   calls threads N   threads with a team of their own each
 *   calls handover N  requests are freed and started again by another thread
 *                     than the one that is still in their callback
 *   calls farewell N  the same as the last thing before the context goes; needs
 *                     a progress thread
 *   calls roots N     as a user calls them: every collective from every root,
 *                     with 0 B, 8 B, 1 KiB, 64 KiB and 1 MiB, but at most N KiB
 *   calls late N      broadcasts that one rank joins when all others have
 *                     ended: each rank N times; needs nodes of several and
 *                     XYLEM_BYPASS_US
 *
 *   calls killed SEED  a rank kills itself at a random moment of random calls;
 *                     the others get a status, and say how many ms later. Run
 *                     it by xylem-run --no-kill, in a folder of its own
 *
 * With CALLS_MEMORY=cuda in the environment buffers lie in memory of GPUs,
 * which ranks take in turn; exit code 77 where there is none.
 * CALLS_MEMORY=some: each rank draws for each buffer whether it does; late:
 * those of the first N / 2 cases do not. CALLS_ALGORITHM: what all take that
 * have it.
 *
 * Else N is the number of cases, rounds, or cases per thread. All ranks draw
 * the same. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/measure/device.h"
#include "collectives/choose/registry.h"
#include "simulator/random.h"
#include "tests/proc/job.h"
#include "tests/proc/short_forms.h"
#include "tests/support/call_algorithm.h"
#include "tests/support/call_case.h"

static const char *asked; /* algorithm; NULL: any */

/* Of one team; the collectives come in turn. */
static call_case_t draw_case(uint64_t *random, uint32_t number, uint32_t ranks)
{
    call_case_t c = call_case_random(
        random, (xylem_coll_t)(number % XYLEM_COLL_COUNT), ranks);

    char why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named;

    if (random_below(random, 16) == 0)
        c.count *= 10; /* some hundred KiB */
    call_algorithm_draw(random, &c);
    if (asked != NULL && c.count != 0 && !c.is_ordered &&
        c.types == CALL_TYPES_PLAIN &&
        xyl_algorithm_parse(c.coll, asked, &named, why))
        snprintf(c.algorithm, sizeof c.algorithm, "%s", asked);
    return c;
}

static void check(const call_rank_t *call)
{
    char text[300];

    if (!call_rank_check(call, text, sizeof text))
        job_die(__FILE__, __LINE__, "%s", text);
}

static void run_persistent(xylem_team_t *team, call_rank_t *call)
{
    xylem_request_t *request;
    int start;

    MUST(xylem_coll_init(team, &call->args, &request));
    call_rank_drop_types(call);
    for (start = 0; start < 2; start++) {
        call_rank_fill(call);
        MUST(xylem_request_start(request));
        MUST(xylem_request_wait(request));
        check(call);
    }
    MUST(xylem_request_free(request));
}

static void run_nonblocking(xylem_team_t *team, call_rank_t *call, int is_short)
{
    xylem_request_t *request;

    if (is_short)
        MUST(short_form_nonblocking(team, &call->args, &request));
    else
        MUST(xylem_coll_start(team, &call->args, &request));
    call_rank_drop_types(call);
    MUST(xylem_request_wait(request));
    check(call);
    MUST(xylem_request_free(request));
}

static void look_on(void *arg)
{
    ++*(uint32_t *)arg;
}

/* The short forms that block, too, if they are told by arguments. */
static void run_waiting(xylem_team_t *team, call_rank_t *call)
{
    uint32_t looks = 0;

    MUST(xylem_coll_run(team, &call->args,
                        call->args.count % 2 == 0 ? look_on : NULL, &looks));
    check(call);
}

static void play(const job_t *job, xylem_team_t *team, const call_case_t *c,
                 uint32_t way)
{
    call_rank_t call;
    int is_short;

    call_rank_init(&call, c, xylem_team_rank(team), job->context);
    is_short = short_form_exists(&call.args);
    if (way == 0) {
        run_persistent(team, &call);
    } else if (way == 1 && is_short) {
        MUST(short_form_blocking(team, &call.args));
        check(&call);
    } else if (way == 4) {
        run_waiting(team, &call);
    } else {
        run_nonblocking(team, &call, way == 2 && is_short);
    }
    call_rank_fini(&call);
}

/* ---- sweep ---- */

typedef struct looks {
    xylem_team_t *team;
    xylem_request_t *request;
} looks_t;

static void look_and_call(void *arg)
{
    looks_t *looks = arg;

    if (looks->request == NULL)
        MUST(xylem_ibarrier(looks->team, &looks->request));
}

/* Rank 0 comes when the others have looked, and have called something else. */
static void looks(const job_t *job)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BARRIER};
    looks_t looks = {.request = NULL};

    if (job->ranks == 1)
        return;
    MUST(xylem_team_dup(job->world, &looks.team));
    if (job->rank == 0)
        MUST(xylem_barrier(looks.team));
    MUST(xylem_coll_run(job->world, &args,
                        job->rank == 0 ? NULL : look_and_call, &looks));
    if (job->rank != 0) {
        MUST(xylem_request_wait(looks.request));
        MUST(xylem_request_free(looks.request));
    }
    MUST(xylem_team_destroy(looks.team));
}

static void mode_sweep(job_t *job, uint32_t number)
{
    uint64_t random = random_mix(number);
    uint32_t i;

    for (i = 0; i < number; i++) {
        call_case_t c = draw_case(&random, i, job->ranks);
        if (i % 2 == 0) /* many of the short forms */
            c.algorithm[0] = '\0', c.segment_bytes = 0;
        play(job, job->world, &c, random_below(&random, 5));
    }
    looks(job);
}

/* ---- flight ---- */

enum { TEAMS = 3, EACH = 6, FLIGHTS = TEAMS * EACH };

typedef struct flight {
    call_case_t c;
    uint32_t tag, way;
    call_rank_t call;
    xylem_request_t *request;
    atomic_int is_over; /* with a progress thread, that one writes it */
} flight_t;

static void flight_done(void *arg, xylem_status_t status)
{
    flight_t *flight = arg;

    MUST(status);
    REQUIRE(!flight->is_over, "completed twice");
    check(&flight->call);
    flight->is_over = 1;
}

static void flight_start(job_t *job, xylem_team_t *team, flight_t *flight)
{
    call_rank_t *call = &flight->call;
    uint32_t way = flight->way;

    call_rank_init(call, &flight->c, xylem_team_rank(team), job->context);
    call->args.tag = flight->tag;
    flight->is_over = 0;
    flight->request = NULL;
    if (way > 0) {
        call->args.on_complete = flight_done;
        call->args.arg = flight;
    }
    if (way > 1)
        call->args.flags = XYLEM_FLAG_AUTOFREE;
    MUST(
        xylem_coll_start(team, &call->args, way > 1 ? NULL : &flight->request));
    call_rank_drop_types(call);
}

static void flight_land(job_t *job, flight_t *flight)
{
    if (flight->request != NULL) {
        MUST(xylem_request_wait(flight->request));
        check(&flight->call);
        MUST(xylem_request_free(flight->request));
    }
    while (flight->request == NULL && !flight->is_over)
        xylem_progress(job->context);
    call_rank_fini(&flight->call);
}

static void flights(job_t *job, xylem_team_t **teams, uint64_t *randoms)
{
    flight_t *all = job_memory(FLIGHTS * sizeof *all);
    uint32_t i, team;

    for (i = 0; i < FLIGHTS; i++) {
        /* Ranks need an order within a team only. */
        team = (i + job->rank) % TEAMS;
        all[i].c = draw_case(&randoms[team],
                             random_below(&randoms[team], XYLEM_COLL_COUNT),
                             xylem_team_size(teams[team]));
        all[i].way = random_below(&randoms[team], 3);
        flight_start(job, teams[team], &all[i]);
    }
    for (i = FLIGHTS; i-- > 0;)
        flight_land(job, &all[i]);
    free(all);
}

static void mode_flight(job_t *job, uint32_t number)
{
    xylem_team_t *teams[TEAMS];
    uint64_t randoms[TEAMS] = {1, 2, 3};
    uint32_t round, i;

    MUST(xylem_team_dup(job->world, &teams[0]));
    MUST(xylem_team_split(job->world, 0, job->ranks - job->rank, &teams[1]));
    MUST(xylem_team_split(job->world, job->rank % 2, 0, &teams[2]));
    for (round = 0; round < number; round++)
        flights(job, teams, randoms);
    for (i = 0; i < TEAMS; i++)
        MUST(xylem_team_destroy(teams[i]));
}

/* ---- tags ---- */

enum { TAGGED = 8, IN_ORDER = 4 };

/* The first are in order, the others wherever they come to lie. */
static void shuffle(uint32_t *order, uint64_t *random)
{
    uint32_t i, j, next = 0;

    for (i = 0; i < TAGGED + IN_ORDER; i++)
        order[i] = i;
    for (i = TAGGED + IN_ORDER; i > 1; i--) {
        uint32_t last = order[i - 1];
        j = random_below(random, i);
        order[i - 1] = order[j];
        order[j] = last;
    }
    for (i = 0; i < TAGGED + IN_ORDER; i++)
        if (order[i] < IN_ORDER)
            order[i] = next++;
}

static void mode_tags(job_t *job, uint32_t number)
{
    flight_t *all = job_memory((TAGGED + IN_ORDER) * sizeof *all);
    uint64_t random = random_mix(number), own = random_mix(job->rank);
    uint32_t round, i, order[TAGGED + IN_ORDER];

    for (round = 0; round < number; round++) {
        for (i = 0; i < TAGGED + IN_ORDER; i++) {
            all[i].c = draw_case(
                &random, random_below(&random, XYLEM_COLL_COUNT), job->ranks);
            all[i].way = random_below(&random, 3);
            all[i].tag = 0;
            if (i < IN_ORDER)
                continue;
            all[i].c.algorithm[0] = '\0'; /* some keep to the order */
            all[i].tag = 1 + (round + i * 8191) % XYLEM_TAG_MAX;
        }
        shuffle(order, &own);
        for (i = 0; i < TAGGED + IN_ORDER; i++)
            flight_start(job, job->world, &all[order[i]]);
        for (i = 0; i < TAGGED + IN_ORDER; i++)
            flight_land(job, &all[order[i]]);
    }
    free(all);
}

/* ---- threads ---- */

enum { THREADS = 3 };

typedef struct worker {
    pthread_t thread;
    job_t *job;
    xylem_team_t *team;
    uint32_t number, cases;
} worker_t;

static void *worker_main(void *arg)
{
    const worker_t *worker = arg;
    uint64_t random = random_mix(worker->number + 100);
    uint32_t i;

    for (i = 0; i < worker->cases; i++) {
        call_case_t c = draw_case(&random, i + 5 * worker->number,
                                  xylem_team_size(worker->team));
        play(worker->job, worker->team, &c, random_below(&random, 4));
    }
    return NULL;
}

static void mode_threads(job_t *job, uint32_t number)
{
    worker_t workers[THREADS];
    uint32_t i;

    for (i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.job = job, .number = i, .cases = number};
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

/* ---- handover ---- */

enum { PATIENCE_MS = 100000, STAY_MS = 20, STAY_MAX = 2000 };

typedef struct handover {
    xylem_request_t *request;
    uint32_t sent, sum;
    atomic_int is_told;
    atomic_int is_taken; /* the callback may return */
    atomic_int returned; /* callbacks that have */
} handover_t;

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Stays until the other thread has done what it wants, but not for ever: one
 * turn of sched_yield takes a slice of each process that shares the core. */
static void handover_done(void *arg, xylem_status_t status)
{
    handover_t *handover = arg;
    double end = now_ms() + STAY_MS;
    uint32_t i;

    MUST(status);
    handover->is_told = 1;
    for (i = 0; i < STAY_MAX && !handover->is_taken && now_ms() < end; i++)
        sched_yield();
    handover->returned++;
}

static void await(const atomic_int *count, int wanted, const char *else_what)
{
    double end = now_ms() + PATIENCE_MS;

    while (*count < wanted && now_ms() < end)
        sched_yield();
    REQUIRE(*count >= wanted, "%s", else_what);
}

static void await_told(handover_t *handover, uint32_t sum)
{
    await(&handover->is_told, 1, "the callback is not called");
    REQUIRE(handover->sum == sum, "%u instead of %u", handover->sum, sum);
    handover->is_told = 0;
}

static void handover_args(xylem_coll_args_t *args, handover_t *handover)
{
    *args = (xylem_coll_args_t){.struct_bytes = sizeof *args,
                                .coll = XYLEM_COLL_ALLREDUCE,
                                .type = XYLEM_UINT32,
                                .op = XYLEM_SUM,
                                .count = 1,
                                .send = &handover->sent,
                                .recv = &handover->sum,
                                .on_complete = handover_done,
                                .arg = handover};
}

/* The callback is left before the handover's memory goes. */
static void free_once(job_t *job)
{
    handover_t handover = {.sent = 1};
    xylem_coll_args_t args;

    handover_args(&args, &handover);
    MUST(xylem_coll_start(job->world, &args, &handover.request));
    await_told(&handover, job->ranks);
    MUST(xylem_request_free(handover.request));
    handover.is_taken = 1;
    await(&handover.returned, 1, "the callback does not return");
    MUST(xylem_barrier(job->world));
}

/* The team, too, can go at once. */
static void start_again(job_t *job)
{
    handover_t handover = {.sent = 1};
    xylem_coll_args_t args;
    xylem_team_t *team;

    MUST(xylem_team_dup(job->world, &team));
    handover_args(&args, &handover);
    MUST(xylem_coll_init(team, &args, &handover.request));
    MUST(xylem_request_start(handover.request));
    await_told(&handover, job->ranks);
    handover.sent = 2;
    MUST(xylem_request_start(handover.request));
    handover.is_taken = 1;
    await_told(&handover, 2 * job->ranks);
    handover.is_taken = 0;
    MUST(xylem_request_free(handover.request));
    MUST(xylem_team_destroy(team));
    handover.is_taken = 1;
    await(&handover.returned, 2, "a callback does not return");
    MUST(xylem_barrier(job->world));
}

typedef struct mover {
    xylem_context_t *context;
    atomic_int stop;
} mover_t;

static void *mover_main(void *arg)
{
    mover_t *mover = arg;

    while (!mover->stop)
        if (xylem_progress(mover->context) == 0)
            sched_yield();
    return NULL;
}

static void mode_handover(job_t *job, uint32_t number)
{
    mover_t mover = {.context = job->context};
    pthread_t thread;
    uint32_t i;

    REQUIRE(pthread_create(&thread, NULL, mover_main, &mover) == 0,
            "cannot start a thread");
    for (i = 0; i < number; i++) {
        free_once(job);
        start_again(job);
    }
    mover.stop = 1;
    pthread_join(thread, NULL);
}

/* The context goes while the progress thread is in the callback. */
static void mode_farewell(job_t *job, uint32_t number)
{
    handover_t *handover = job_memory(sizeof *handover);
    xylem_coll_args_t args;

    handover->sent = number;
    handover_args(&args, handover);
    MUST(xylem_coll_start(job->world, &args, &handover->request));
    await_told(handover, number * job->ranks);
    MUST(xylem_request_free(handover->request));
    job_end(job);
    free(handover);
    job->context = NULL;
}

/* ---- roots ---- */

/* In place, and in an order that matters, by turns. */
static void play_roots(job_t *job, xylem_coll_t coll, uint64_t count)
{
    uint32_t roots = xyl_coll_traits(coll)->has_root ? job->ranks : 1, root;

    for (root = 0; root < roots; root++) {
        call_case_t c = {.coll = coll,
                         .ranks = job->ranks,
                         .root = root,
                         .count = count,
                         .in_place = xyl_coll_traits(coll)->takes_in_place !=
                                         XYL_SIDE_NOBODY &&
                                     root % 3 == 1,
                         .is_ordered =
                             xyl_coll_traits(coll)->reduces && root % 2 == 1,
                         .salt = count + root};
        play(job, job->world, &c, 1 + (root + (uint32_t)coll) % 3);
    }
}

static void mode_roots(job_t *job, uint32_t number)
{
    static const uint64_t counts[] = {0, 1, 128, 8192, 131072}; /* of 8 bytes */
    uint32_t coll;
    size_t i;

    for (i = 0; i < sizeof counts / sizeof *counts; i++)
        for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
            if (counts[i] * 8 <= number * UINT64_C(1024) &&
                (coll != XYLEM_COLL_BARRIER || i == 0))
                play_roots(job, (xylem_coll_t)coll, counts[i]);
}

/* ---- late ---- */

/* The late rank comes when all others have ended: if they waited for it, nobody
 * would go on. */
static void play_late(job_t *job, xylem_team_t *others, const call_case_t *c,
                      uint32_t late)
{
    if (job->rank == late)
        MUST(xylem_barrier(others));
    play(job, job->world, c, 1);
    if (job->rank != late)
        MUST(xylem_barrier(others));
}

static void mode_late(job_t *job, uint32_t number)
{
    static const char *const algorithms[] = {"han:1", "han:2", "han"};
    uint32_t i, late;
    xylem_team_t *others;

    MUST(xylem_team_dup(job->world, &others));
    for (i = 0; i < number * job->ranks; i++) {
        call_case_t c = {.coll = XYLEM_COLL_BCAST,
                         .ranks = job->ranks,
                         .root = i / job->ranks % job->ranks,
                         .count = UINT64_C(1) << i % 18,
                         .salt = i};
        snprintf(c.algorithm, sizeof c.algorithm, "%s", algorithms[i % 3]);
        late = i % job->ranks;
        if (late != c.root)
            play_late(job, others, &c, late);
    }
    MUST(xylem_team_destroy(others));
}

/* ---- killed ---- */

enum { LIFE_US_MIN = 20000, LIFE_US_MAX = 120000, KILLED_CASES = 100000 };

static const char deaths_file[] = "calls-killed-at";

static void *executioner(void *arg)
{
    double at;
    FILE *file;

    usleep(*(const unsigned *)arg);
    file = fopen(deaths_file, "w");
    at = now_ms();
    if (file != NULL) {
        fwrite(&at, sizeof at, 1, file);
        fclose(file);
    }
    kill(getpid(), SIGKILL);
    return NULL;
}

static void tell_survival(const job_t *job, xylem_status_t status)
{
    double at = 0;
    FILE *file = fopen(deaths_file, "r");

    REQUIRE(status == XYLEM_ERR_PROC_FAILED, "a call says %s",
            xylem_status_name(status));
    REQUIRE(file != NULL && fread(&at, sizeof at, 1, file) == 1,
            "nobody has died");
    printf("rank %u survived: status after %.1f ms\n", job->rank,
           now_ms() - at);
    fclose(file);
}

static xylem_status_t play_to_death(const job_t *job, const call_case_t *c)
{
    xylem_status_t status;
    xylem_request_t *request;
    call_rank_t call;

    call_rank_init(&call, c, job->rank, job->context);
    status = xylem_coll_start(job->world, &call.args, &request);
    call_rank_drop_types(&call);
    if (status == XYLEM_OK) {
        status = xylem_request_wait(request);
        xylem_request_free(request);
    }
    call_rank_fini(&call);
    return status;
}

static void mode_killed(job_t *job, uint32_t number)
{
    uint64_t random = random_mix(number);
    uint32_t victim = (uint32_t)random_below(&random, job->ranks), i;
    unsigned life_us = LIFE_US_MIN + (unsigned)random_below(
                                         &random, LIFE_US_MAX - LIFE_US_MIN);
    xylem_status_t status = XYLEM_OK;
    pthread_t thread;

    MUST(xylem_barrier(job->world));
    if (job->rank == victim)
        REQUIRE(pthread_create(&thread, NULL, executioner, &life_us) == 0,
                "no thread");
    for (i = 0; i < KILLED_CASES && status == XYLEM_OK; i++) {
        call_case_t c = draw_case(&random, i, job->ranks);
        status = play_to_death(job, &c);
    }
    tell_survival(job, status);
}

static const struct mode {
    const char *name;
    void (*run)(job_t *job, uint32_t number);
} modes[] = {
    {"sweep", mode_sweep},       {"flight", mode_flight},
    {"threads", mode_threads},   {"handover", mode_handover},
    {"farewell", mode_farewell}, {"roots", mode_roots},
    {"late", mode_late},         {"tags", mode_tags},
    {"killed", mode_killed},
};

/* ---- memory of a GPU ---- */

static struct bench_device *device;
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t draws;    /* of a rank; 0: all buffers are a GPU's */
static uint64_t from_on;  /* the first buffer that may be one */
static uint64_t takes;    /* buffers so far */
static void *hosts[4096]; /* buffers that are none */

static void *host_take(size_t bytes)
{
    void *memory = malloc(bytes == 0 ? 1 : bytes);
    size_t i = 0;

    REQUIRE(memory != NULL, "no memory");
    while (hosts[i] != NULL)
        i++;
    hosts[i] = memory;
    return memory;
}

static void *device_memory_take(size_t bytes)
{
    void *memory;
    int is_host;

    pthread_mutex_lock(&device_lock);
    is_host =
        ++takes <= from_on || (draws != 0 && random_below(&draws, 4) == 0);
    memory = is_host ? host_take(bytes) : NULL;
    pthread_mutex_unlock(&device_lock);
    if (!is_host)
        MUST(device_take(device, bytes, &memory));
    return memory;
}

static void device_memory_give(void *memory)
{
    size_t i;

    pthread_mutex_lock(&device_lock);
    for (i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (memory != NULL && hosts[i] == memory)
            break;
    if (i < sizeof hosts / sizeof *hosts)
        hosts[i] = NULL;
    pthread_mutex_unlock(&device_lock);
    if (i < sizeof hosts / sizeof *hosts)
        free(memory);
    else
        device_give(device, memory);
}

static void device_memory_copy(void *to, const void *from, size_t bytes)
{
    pthread_mutex_lock(&device_lock);
    MUST(device_copy(device, to, from, bytes));
    pthread_mutex_unlock(&device_lock);
}

static void use_device(uint32_t rank, const char *which, uint64_t number)
{
    static const call_memory_t memory = {device_memory_take, device_memory_give,
                                         device_memory_copy};

    if (device_open(rank, &device) != XYLEM_OK)
        exit(77);
    if (strcmp(which, "some") == 0)
        draws = rank + 1;
    if (strcmp(which, "late") == 0)
        from_on = number + rank; /* two or more of each case */
    call_memory = &memory;
}

int main(int argc, char **argv)
{
    const char *memory = getenv("CALLS_MEMORY");
    job_t job;
    size_t i;

    REQUIRE(argc == 3, "usage: calls MODE NUMBER");
    for (i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            break;
    REQUIRE(i < sizeof modes / sizeof modes[0], "there is no mode %s", argv[1]);
    job_begin(&job);
    asked = getenv("CALLS_ALGORITHM");
    if (memory != NULL)
        use_device(job.rank, memory, strtoul(argv[2], NULL, 10));
    modes[i].run(&job, (uint32_t)strtoul(argv[2], NULL, 10));
    device_close(device);
    job_end(&job);
    return EXIT_SUCCESS;
}
