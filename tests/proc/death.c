/* A rank is killed in the middle of its work and the others live on:
 *
 *   death VICTIM SEED cold|warm|idle|silent|full|combine
 *
 * warm: not before all ranks are connected with each other. idle: the victim
 * takes part in nothing and the others wait for it. silent: the same, and they
 * have not said anything to it before. full: in this case with
 * broadcasts alone, so that the others go on until there is no room for more.
 * combine: in the middle of a reduction, in the user's operation.
 *
 * The victim kills itself from a second thread at a random moment. The others
 * get XYLEM_OK or XYLEM_ERR_PROC_FAILED from everything they do, learn who has
 * died, use a team without the victim and end as usual. Each prints a line
 * when all was right. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum {
    BOUND_S = 100, /* of the whole process; the launcher sees SIGALRM */
    FLIGHTS = 3,
    COUNT_MAX = 100000,
    LIFE_US_MAX = 60000,
    SILENCE_US = 500000,
    ROUNDS_AFTER = 20,
    COMBINES_MAX = 60
};

static void *executioner(void *arg)
{
    uint64_t seed = *(const uint64_t *)arg;

    usleep(job_random(&seed) % LIFE_US_MAX);
    kill(getpid(), SIGKILL);
    return NULL;
}

typedef struct loop {
    job_t *job;
    uint64_t state; /* equal on all ranks */
    double *in, *out;
    xylem_op_t op;
    uint32_t victim;
    int fills;         /* mode full */
    int combines_left; /* of the victim, to its death; -1: it goes on */
    xylem_request_t *requests[FLIGHTS];
} loop_t;

/* The user's operation. */
static void add(void *result, const void *left, const void *right, size_t count,
                void *arg)
{
    loop_t *loop = arg;
    const double *a = left, *b = right;
    double *sum = result;
    size_t i;

    for (i = 0; i < count; i++) {
        sum[i] = a[i] + b[i];
        if (loop->combines_left == 0 && i == count / 2)
            kill(getpid(), SIGKILL);
    }
    if (loop->combines_left > 0)
        loop->combines_left--;
}

/* Nobody needs the victim for it, but its room. */
static xylem_status_t start_to_fill(loop_t *loop, uint32_t which)
{
    uint32_t ranks = loop->job->ranks;
    uint32_t root = 1 + job_random(&loop->state) % (ranks - 1);

    return xylem_ibcast(loop->job->world, loop->out + which * COUNT_MAX,
                        job_random(&loop->state) % COUNT_MAX, XYLEM_FLOAT64,
                        (loop->victim + root) % ranks, &loop->requests[which]);
}

static xylem_status_t start(loop_t *loop, uint32_t which)
{
    xylem_team_t *world = loop->job->world;
    uint32_t choice = job_random(&loop->state), ranks = loop->job->ranks;
    uint32_t root = choice / 30 % ranks;
    size_t count = job_random(&loop->state) % COUNT_MAX;
    double *out = loop->out + which * COUNT_MAX;
    xylem_request_t **request = &loop->requests[which];

    if (choice % 5 == 0)
        count %= 100;
    *request = NULL;
    switch (choice / 5 % 6) {
    case 0:
        return xylem_iallreduce(world, loop->in, out, count, XYLEM_FLOAT64,
                                loop->op, request);
    case 1:
        return xylem_ialltoall(world, loop->in, out, count / ranks,
                               XYLEM_FLOAT64, request);
    case 2:
        return choice % 5 == 0 ? xylem_ibarrier(world, request)
                               : xylem_ibcast(world, out, count, XYLEM_FLOAT64,
                                              root, request);
    case 3:
        return xylem_ibcast(world, out, count, XYLEM_FLOAT64, root, request);
    default:
        return xylem_ireduce(world, loop->in, out, count, XYLEM_FLOAT64,
                             loop->op, root, request);
    }
}

/* Several operations at once; XYLEM_OK, or what the death made of them. */
static xylem_status_t round_of_many(loop_t *loop)
{
    xylem_status_t worst = XYLEM_OK, status;
    uint32_t i;

    for (i = 0; i < FLIGHTS; i++) {
        status = loop->fills ? start_to_fill(loop, i) : start(loop, i);
        REQUIRE(status == XYLEM_OK || status == XYLEM_ERR_PROC_FAILED,
                "a start says %s", xylem_status_name(status));
        if (status != XYLEM_OK)
            worst = status;
    }
    for (i = 0; i < FLIGHTS; i++) {
        if (loop->requests[i] == NULL)
            continue;
        status = xylem_request_wait(loop->requests[i]);
        REQUIRE(status == XYLEM_OK || status == XYLEM_ERR_PROC_FAILED,
                "an operation says %s", xylem_status_name(status));
        if (status != XYLEM_OK)
            worst = status;
        MUST(xylem_request_free(loop->requests[i]));
    }
    return worst;
}

static void check_world(const loop_t *loop, uint32_t victim)
{
    xylem_team_t *team = loop->job->world, *child = NULL;
    uint32_t failed[8], count = 0;
    xylem_status_t status;

    MUST(xylem_team_failed(team, failed, 8, &count));
    REQUIRE(count == 1 && failed[0] == victim, "%u dead, the first rank %u",
            count, count != 0 ? failed[0] : UINT32_MAX);
    status = xylem_bcast(team, loop->out, 1, XYLEM_FLOAT64, 0);
    REQUIRE(status == XYLEM_ERR_PROC_FAILED, "a later broadcast says %s",
            xylem_status_name(status));
    REQUIRE(strstr(xylem_last_error(), "has died") != NULL,
            "nobody is called dead: '%s'", xylem_last_error());
    status = xylem_reduce(team, loop->in, loop->out, 1, XYLEM_FLOAT64,
                          XYLEM_SUM, victim);
    REQUIRE(status == XYLEM_ERR_PROC_FAILED, "a later reduction says %s",
            xylem_status_name(status));
    status = xylem_team_dup(team, &child);
    REQUIRE(status == XYLEM_ERR_PROC_FAILED && child == NULL,
            "a later dup says %s", xylem_status_name(status));
}

/* A process that is killed while it writes to another's shared memory blocks
 * that for everybody; then operations fail after XYLEM_STALL_S. */
static int is_blocked(const job_t *job, xylem_status_t status)
{
    if (status == XYLEM_ERR_NET) {
        printf("rank %u: the dead left a queue blocked\n", job->rank);
        return 1;
    }
    REQUIRE(status == XYLEM_OK, "the survivors' team says %s",
            xylem_status_name(status));
    return 0;
}

/* The survivors' own team knows nothing of the death. */
static void check_survivors(const job_t *job, xylem_team_t *team)
{
    uint32_t size = xylem_team_size(team), count = 1, i;
    xylem_team_t *child = NULL;
    uint64_t one = 1, sum;

    for (i = 0; i < ROUNDS_AFTER; i++) {
        uint32_t root = i % size;
        sum = 0;
        if (is_blocked(job, xylem_reduce(team, &one, &sum, 1, XYLEM_UINT64,
                                         XYLEM_SUM, root)) ||
            is_blocked(job, xylem_bcast(team, &sum, 1, XYLEM_UINT64, root)))
            return;
        REQUIRE(sum == size, "the survivors count %llu of %u",
                (unsigned long long)sum, size);
    }
    MUST(xylem_team_failed(team, NULL, 0, &count));
    REQUIRE(count == 0, "a survivor is called dead");
    if (is_blocked(job, xylem_team_dup(team, &child)) ||
        is_blocked(job, xylem_bcast(child, &sum, 1, XYLEM_UINT64, 0)))
        return;
    MUST(xylem_team_destroy(child));
    MUST(xylem_team_destroy(team));
}

/* A message from every rank to every other. */
static void connect_all(const job_t *job)
{
    uint32_t value = 0;
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .recv = &value,
                              .count = 1,
                              .type = XYLEM_UINT32,
                              .algorithm = "flat"};
    xylem_request_t *request;

    for (args.root = 0; args.root < job->ranks; args.root++) {
        MUST(xylem_coll_start(job->world, &args, &request));
        MUST(xylem_request_wait(request));
        MUST(xylem_request_free(request));
    }
}

/* Returns on the victim only when all others are past what comes before. */
static void tell_victim(const job_t *job, uint32_t victim)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE,
                              .count = 1,
                              .type = XYLEM_UINT32,
                              .op = XYLEM_MAX,
                              .root = victim,
                              .algorithm = "flat"};
    xylem_request_t *request;
    xylem_status_t status;
    uint32_t mine = 0, most;

    args.send = &mine;
    args.recv = &most;
    MUST(xylem_coll_start(job->world, &args, &request));
    status = xylem_request_wait(request); /* it may die as soon as it knows */
    REQUIRE(status == XYLEM_OK || status == XYLEM_ERR_PROC_FAILED,
            "the last word to the victim says %s", xylem_status_name(status));
    MUST(xylem_request_free(request));
}

/* What is particular to the mode. */
static void mode_begin(loop_t *loop, const char *mode, uint64_t *seed)
{
    const job_t *job = loop->job;
    int is_combine = strcmp(mode, "combine") == 0;
    int is_silent = strcmp(mode, "silent") == 0;
    pthread_t thread;

    loop->op = XYLEM_SUM;
    loop->fills = strcmp(mode, "full") == 0;
    loop->combines_left = -1;
    if (is_combine)
        MUST(xylem_op_create(job->context, add, loop, XYLEM_OP_COMMUTATIVE,
                             &loop->op));
    if (strcmp(mode, "warm") == 0)
        connect_all(job);
    if (!is_silent)
        tell_victim(job, loop->victim);
    if (job->rank != loop->victim)
        return;
    if (is_combine) {
        loop->combines_left = (int)(*seed % COMBINES_MAX);
        return;
    }
    if (is_silent)
        usleep(SILENCE_US); /* the others get past what comes before */
    REQUIRE(pthread_create(&thread, NULL, executioner, seed) == 0,
            "cannot start a thread");
    while (loop->fills || is_silent || strcmp(mode, "idle") == 0)
        pause();
}

int main(int argc, char **argv)
{
    uint32_t victim, list[64], count = 0, i;
    xylem_team_t *others = NULL;
    uint64_t seed;
    loop_t loop;
    job_t job;

    REQUIRE(argc == 4,
            "usage: death VICTIM SEED cold|warm|idle|silent|full|combine");
    alarm(BOUND_S);
    job_begin(&job);
    victim = (uint32_t)strtoul(argv[1], NULL, 10) % job.ranks;
    seed = strtoul(argv[2], NULL, 10);
    for (i = 0; i < job.ranks && count < 64; i++)
        if (i != victim)
            list[count++] = i;
    MUST(xylem_team_subset(job.world, list, count, &others));
    loop = (loop_t){.job = &job,
                    .state = seed,
                    .in = job_memory(COUNT_MAX * sizeof(double)),
                    .out = job_memory(FLIGHTS * COUNT_MAX * sizeof(double)),
                    .victim = victim};
    mode_begin(&loop, argv[3], &seed);
    while (round_of_many(&loop) == XYLEM_OK)
        ;
    check_world(&loop, victim);
    check_survivors(&job, others);
    job_end(&job);
    free(loop.in);
    free(loop.out);
    printf("rank %u survived\n", job.rank);
    return EXIT_SUCCESS;
}
