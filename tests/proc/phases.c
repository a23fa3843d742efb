/* Ranks die one after the other, each in a phase of a collective that is
 * chosen, and those that are left go on:
 *
 *   phases FIRST STEP OPERATIONS FILE
 *
 * From case FIRST on, in steps, until two ranks are left. A case is a
 * collective, a length, a victim (root, leader of another node, leaf, one that
 * has said nothing yet) and a phase: before its call, after a tenth, a half and
 * nine tenths of the time that the call takes, or as soon as its own part is
 * over. The others get XYLEM_OK, with right data, or XYLEM_ERR_PROC_FAILED, in
 * this call or the next; shrink; and make so many verified operations, among
 * them in the next case. Each prints how long after the death it was answered.
 * FILE has the time of the death, which all ranks map. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "simulator/random.h"
#include "tests/proc/job.h"
#include "tests/support/call_case.h"

enum {
    BOUND_S = 120, /* of the process; the launcher sees SIGALRM */
    RANKS_MAX = 64,
    LEFT_AT_LEAST = 2,
    WARM_CALLS = 2,
    FIRST_US = 1000, /* of a call whose time is not known */
    NS_PER_US = 1000
};

typedef enum role { ROOT, LEADER, LEAF, SILENT, ROLES } role_t;
typedef enum phase { BEFORE, EARLY, MIDDLE, LATE, AFTER, PHASES } phase_t;

static const char *const role_names[ROLES] = {"root", "leader", "leaf",
                                              "silent"};
static const char *const phase_names[PHASES] = {"before", "early", "middle",
                                                "late", "after"};
static const uint64_t counts[] = {1, 1000, 30000}; /* elements of 8 bytes */
enum { COUNTS = sizeof counts / sizeof *counts };

typedef struct trial {
    uint32_t number;
    call_case_t c;
    role_t role;
    phase_t phase;
    uint32_t victim; /* rank of the team */
} trial_t;

static struct {
    job_t job;
    xylem_team_t *team;
    _Atomic uint64_t *died_ns;
    uint32_t operations, cases;
    atomic_int may_die; /* the executioner's */
    uint64_t dies_after_us;
} all;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- what is tried ---- */

static uint32_t node_of(uint32_t rank)
{
    xylem_place_t place;

    MUST(xylem_team_place(all.team, rank, &place));
    return place.node;
}

static uint32_t leader_for(uint32_t root)
{
    uint32_t rank, ranks = xylem_team_size(all.team);

    for (rank = 0; rank < ranks; rank++)
        if (node_of(rank) != node_of(root))
            return rank;
    return root == 0 ? 1 : 0; /* they are all on one */
}

static uint32_t victim_of(role_t role, uint32_t root)
{
    uint32_t ranks = xylem_team_size(all.team);

    switch (role) {
    case LEADER:
        return leader_for(root);
    case LEAF:
        return root == ranks - 1 ? ranks - 2 : ranks - 1;
    case SILENT:
        return root == ranks / 2 ? ranks - 1 : ranks / 2;
    case ROOT:
    case ROLES:
        break;
    }
    return root;
}

static trial_t trial_of(uint32_t number)
{
    uint32_t left = number / XYLEM_COLL_COUNT;
    uint64_t random = random_mix(number);
    trial_t trial = {.number = number,
                     .role = (role_t)(left % ROLES),
                     .phase = (phase_t)(left / ROLES % PHASES)};

    trial.c =
        call_case_random(&random, (xylem_coll_t)(number % XYLEM_COLL_COUNT),
                         xylem_team_size(all.team));
    trial.c.count = counts[left / ROLES / PHASES % COUNTS];
    trial.c.types = CALL_TYPES_PLAIN;
    trial.victim = victim_of(trial.role, trial.c.root);
    return trial;
}

/* ---- the victim ---- */

static void die(void)
{
    atomic_store(all.died_ns, now_ns());
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static void *executioner(void *arg)
{
    uint64_t end;

    while (!atomic_load(&all.may_die))
        sched_yield();
    end = now_ns() + all.dies_after_us * NS_PER_US;
    while (now_ns() < end)
        sched_yield();
    die();
    return arg;
}

static xylem_status_t call(const call_rank_t *of)
{
    xylem_request_t *request = NULL;
    xylem_status_t status = xylem_coll_start(all.team, &of->args, &request);

    if (status != XYLEM_OK)
        return status;
    status = xylem_request_wait(request);
    MUST(xylem_request_free(request));
    return status;
}

static _Noreturn void be_the_victim(const trial_t *trial, const call_rank_t *of,
                                    uint64_t usual_us)
{
    static const uint32_t tenths[PHASES] = {
        [EARLY] = 1, [MIDDLE] = 5, [LATE] = 9};
    pthread_t thread;

    if (trial->phase == BEFORE)
        die();
    all.dies_after_us = usual_us * tenths[trial->phase] / 10;
    REQUIRE(pthread_create(&thread, NULL, executioner, NULL) == 0,
            "cannot start a thread");
    if (trial->phase != AFTER)
        atomic_store(&all.may_die, 1);
    MUST(call(of));
    if (trial->phase == AFTER)
        die();
    for (;;)
        pause();
}

/* ---- the survivors ---- */

static void check(const call_rank_t *of)
{
    char text[300];

    if (!call_rank_check(of, text, sizeof text))
        job_die(__FILE__, __LINE__, "%s", text);
}

/* Until it is told; it may be so before, by `status`. */
static void survive(const trial_t *trial, const call_rank_t *of,
                    xylem_status_t status)
{
    uint64_t died, now;

    if (status == XYLEM_OK) {
        status = call(of);
        if (status == XYLEM_OK)
            check(of);
    }
    while (status == XYLEM_OK)
        status = xylem_barrier(all.team);
    now = now_ns();
    REQUIRE(status == XYLEM_ERR_PROC_FAILED, "case %u: it says %s: %s",
            trial->number, xylem_status_name(status), xylem_last_error());
    died = atomic_load(all.died_ns);
    printf("case %u: %s of %" PRIu64 " elements on %u, %s dies %s: answered "
           "after %.1f ms\n",
           trial->number, xylem_coll_name(trial->c.coll), trial->c.count,
           trial->c.ranks, role_names[trial->role], phase_names[trial->phase],
           died == 0 || now < died ? 0 : (double)(now - died) / 1e6);
    fflush(stdout);
}

static void one_verified(uint32_t i)
{
    uint32_t ranks = xylem_team_size(all.team),
             rank = xylem_team_rank(all.team), root = i % ranks;
    uint64_t value = rank == root ? i * UINT64_C(7) : 0, sum = 0, mine = rank;

    MUST(xylem_bcast(all.team, &value, 1, XYLEM_UINT64, root));
    REQUIRE(value == i * UINT64_C(7), "operation %u: %" PRIu64 " came", i,
            value);
    MUST(xylem_allreduce(all.team, &mine, &sum, 1, XYLEM_UINT64, XYLEM_SUM));
    REQUIRE(sum == (uint64_t)ranks * (ranks - 1) / 2,
            "operation %u: the sum is %" PRIu64, i, sum);
}

static void go_on(void)
{
    uint32_t before = xylem_team_size(all.team), i;
    xylem_team_t *living = NULL;
    xylem_status_t status;

    MUST(xylem_team_shrink(all.team, &living));
    if (all.team != all.job.world)
        MUST(xylem_team_destroy(all.team));
    all.team = living;
    REQUIRE(xylem_team_size(living) == before - 1, "%u ranks of %u are left",
            xylem_team_size(living), before);
    for (i = 0; i < all.operations; i += 2)
        one_verified(i);
    if (xylem_team_rank(living) == 0)
        atomic_store(all.died_ns, 0);
    /* The next victim may be through with it, and dead. */
    status = xylem_barrier(living);
    REQUIRE(status == XYLEM_OK || status == XYLEM_ERR_PROC_FAILED,
            "the barrier says %s", xylem_status_name(status));
    all.cases++;
}

/* ---- a case ---- */

/* The time of a call. The victim may be through with them, and dead, before
 * others are. */
static xylem_status_t warm_up(const trial_t *trial, call_rank_t *of,
                              uint64_t *usual_us_out)
{
    xylem_status_t status = XYLEM_OK;
    uint64_t begin;
    uint32_t i;

    *usual_us_out = FIRST_US;
    for (i = 0; trial->role != SILENT && i < WARM_CALLS; i++) {
        begin = now_ns();
        status = call(of);
        if (status != XYLEM_OK)
            return status;
        check(of);
        call_rank_fill(of);
        *usual_us_out = (now_ns() - begin) / NS_PER_US;
    }
    return status;
}

static void one_trial(uint32_t number)
{
    trial_t trial = trial_of(number);
    call_rank_t of;
    xylem_status_t status;
    uint64_t usual_us;

    call_rank_init(&of, &trial.c, xylem_team_rank(all.team), all.job.context);
    status = warm_up(&trial, &of, &usual_us);
    if (xylem_team_rank(all.team) == trial.victim)
        be_the_victim(&trial, &of, usual_us);
    survive(&trial, &of, status);
    go_on();
    call_rank_fini(&of);
}

static void map_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory = MAP_FAILED;

    REQUIRE(fd >= 0 && ftruncate(fd, sizeof(uint64_t)) == 0, "no file %s",
            path);
    memory =
        mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(memory != MAP_FAILED, "%s cannot be mapped", path);
    all.died_ns = memory;
    close(fd);
}

int main(int argc, char **argv)
{
    uint32_t number, step;

    REQUIRE(argc == 5, "usage: phases FIRST STEP OPERATIONS FILE");
    alarm(BOUND_S);
    number = (uint32_t)strtoul(argv[1], NULL, 10);
    step = (uint32_t)strtoul(argv[2], NULL, 10);
    all.operations = (uint32_t)strtoul(argv[3], NULL, 10);
    map_file(argv[4]);
    job_begin(&all.job);
    all.team = all.job.world;
    for (; xylem_team_size(all.team) > LEFT_AT_LEAST; number += step)
        one_trial(number);
    if (all.team != all.job.world)
        MUST(xylem_team_destroy(all.team));
    job_end(&all.job);
    printf("rank %u survived %u deaths\n", all.job.rank, all.cases);
    return EXIT_SUCCESS;
}
