/* A rank's whole life, in which the N-th of the calls that may fail does so on
 * one rank (failing.h):
 *
 *   nth RANK N [FUNCTION [BYTES]]
 *
 * of all calls, or of those of one function, that ask for so many bytes. N is
 * 0: none, and that rank prints how many there have been. Else each rank prints
 * a line per step with what the step has come to, which must be the same on
 * all; nth.sh compares them. What is refused is called again, as it has not
 * begun; a team that has failed is shrunk, and the next step is taken on the
 * team that comes of it; a context that cannot be created is created again, and
 * who cannot do that either gives up. N is "limits": none fails, but the system
 * may refuse what it has too little of, and what it refuses is not called
 * again. With NTH_SHRINK in the environment only calls from the step of
 * shrinking on count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/random.h"
#include "tests/proc/failing.h"
#include "tests/proc/job.h"
#include "tests/support/call_case.h"

enum {
    BOUND_S = 100, /* of the whole process; the launcher sees SIGALRM */
    CREATIONS_MAX = 2,
    /* One call may be refused because of the N-th, and no other. */
    REFUSALS_MAX = 1
};

typedef struct life {
    xylem_context_t *context;
    xylem_team_t *team; /* with all ranks */
    uint32_t rank, ranks;
    uint32_t refusals;
    int is_limited;
    int arm_late; /* before the step of shrinking, not at the beginning */
    int argc;     /* of main */
    char **argv;
    uint64_t nth; /* of this rank; 0: none */
    /* Of an operation that has failed: the net may still use its buffers. */
    call_rank_t kept;
    call_case_t kept_case;
    int keeps;
} life_t;

/* A call of the library. */
#define CALL(status, call)                                                     \
    do {                                                                       \
        failing_resume();                                                      \
        (status) = (call);                                                     \
        failing_pause();                                                       \
    } while (0)

static void tell(const life_t *life, const char *step, xylem_status_t status)
{
    printf("step %s rank %s %s\n", step, getenv("PMIX_RANK"),
           xylem_status_name(status));
    fflush(stdout);
    if (status != XYLEM_OK && getenv("NTH_WORDS") != NULL)
        fprintf(stderr, "rank %u %s: %s\n", life->rank, step,
                xylem_last_error());
}

/* Whether a call was refused and is made again. */
static int again(life_t *life, xylem_status_t status)
{
    if (status == XYLEM_OK || xylem_team_error(life->team, NULL) != XYLEM_OK)
        return 0;
    if (life->is_limited)
        return 0;
    REQUIRE(failing_name() != NULL, "refused without a reason: %s: %s",
            xylem_status_name(status), xylem_last_error());
    return life->refusals++ < REFUSALS_MAX;
}

/* ---- steps ---- */

static xylem_status_t request_end(xylem_request_t *request)
{
    xylem_status_t status;

    CALL(status, xylem_request_wait(request));
    MUST(xylem_request_free(request));
    return status;
}

static xylem_status_t start(life_t *life, xylem_team_t *team,
                            const xylem_coll_args_t *args)
{
    xylem_request_t *request;
    xylem_status_t status;

    do {
        CALL(status, xylem_coll_start(team, args, &request));
    } while (again(life, status));
    return status == XYLEM_OK ? request_end(request) : status;
}

static xylem_status_t meet(life_t *life, xylem_team_t *team)
{
    const xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                    .coll = XYLEM_COLL_BARRIER};

    return start(life, team, &args);
}

/* The end of a step: all agree on whether it has failed for any, and if so go
 * on with a team of their own. */
static void settle(life_t *life, const char *step, xylem_status_t outcome)
{
    uint32_t is_fine = outcome == XYLEM_OK;
    xylem_team_t *team = NULL;
    xylem_status_t status;

    do {
        CALL(status, xylem_team_agree(life->team, &is_fine));
    } while (again(life, status));
    REQUIRE(status == XYLEM_OK, "nobody agrees: %s", xylem_last_error());
    tell(life, step, is_fine ? XYLEM_OK : XYLEM_ERR_ABORTED);
    if (is_fine)
        return;
    MUST(xylem_team_shrink(life->team, &team));
    /* Who cannot create its context is gone. */
    REQUIRE(xylem_team_size(team) + 1 >= life->ranks, "%u of %u ranks are left",
            xylem_team_size(team), life->ranks);
    life->team = team;
    life->rank = xylem_team_rank(team);
    life->ranks = xylem_team_size(team);
}

static void call_end(life_t *life, const call_rank_t *call,
                     xylem_status_t status)
{
    call_rank_t copy = *call;

    if (status == XYLEM_OK || life->keeps) {
        call_rank_fini(&copy);
        return;
    }
    life->kept = copy;
    life->kept_case = *copy.c;
    life->kept.c = &life->kept_case;
    life->keeps = 1;
}

static void step_collective(life_t *life, const char *step,
                            const call_case_t *c)
{
    call_rank_t call;
    char text[300];
    xylem_status_t status;

    call_rank_init(&call, c, life->rank, life->context);
    status = start(life, life->team, &call.args);
    if (status == XYLEM_OK)
        REQUIRE(call_rank_check(&call, text, sizeof text), "%s", text);
    if (status == XYLEM_OK)
        status = meet(life, life->team);
    call_end(life, &call, status);
    settle(life, step, status);
}

static void step_persistent(life_t *life, const call_case_t *c)
{
    xylem_request_t *request = NULL;
    xylem_status_t status;
    call_rank_t call;
    int i;

    call_rank_init(&call, c, life->rank, life->context);
    do {
        CALL(status, xylem_coll_init(life->team, &call.args, &request));
    } while (again(life, status));
    for (i = 0; i < 3 && status == XYLEM_OK; i++) {
        call_rank_fill(&call);
        do {
            CALL(status, xylem_request_start(request));
        } while (again(life, status));
        if (status == XYLEM_OK)
            CALL(status, xylem_request_wait(request));
    }
    MUST(xylem_request_free(request));
    call_end(life, &call, status);
    if (status == XYLEM_OK)
        status = meet(life, life->team);
    settle(life, "persistent", status);
}

static void step_split(life_t *life, const char *step, uint32_t color)
{
    xylem_request_t *request;
    xylem_team_t *team = NULL;
    xylem_status_t status;

    do {
        CALL(status, xylem_team_isplit(life->team, color, 0, &team, &request));
    } while (again(life, status));
    if (status == XYLEM_OK)
        status = request_end(request);
    if (status == XYLEM_OK)
        status = meet(life, team);
    if (team != NULL)
        CALL(status,
             (xylem_team_destroy(team) == XYLEM_OK ? status
                                                   : XYLEM_ERR_INVALID_HANDLE));
    settle(life, step, status);
}

/* ---- remote tasks, triggers and shrinking ---- */

static xylem_status_t task_run(void *arg, const xylem_task_t *task)
{
    (void)arg;
    REQUIRE(task->payload_bytes != 0 && *(const char *)task->payload == 3,
            "a task with a wrong payload");
    return XYLEM_OK;
}

/* What the receiver had no memory for is sent again, too. */
static xylem_status_t task_call(const life_t *life, xylem_tasks_t *tasks,
                                size_t bytes)
{
    static char payload[20000] = {3};
    uint32_t to = (life->rank + 1) % life->ranks, i;
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;

    for (i = 0; i <= REFUSALS_MAX && status == XYLEM_ERR_NO_MEMORY; i++)
        CALL(status, xylem_task_call(tasks, to, 0, NULL, 0, payload, bytes));
    return status;
}

static void step_tasks(life_t *life)
{
    xylem_task_entry_t entry = XYLEM_TASK_ENTRY_INIT;
    xylem_tasks_params_t params = XYLEM_TASKS_PARAMS_INIT;
    xylem_tasks_t *tasks = NULL;
    xylem_request_t *request;
    xylem_status_t status, closed = XYLEM_OK;

    entry.run = task_run;
    entry.payload_max = SIZE_MAX;
    params.entries = &entry;
    params.entry_count = 1;
    do {
        CALL(status, xylem_tasks_iopen(life->team, &params, &tasks, &request));
    } while (again(life, status));
    if (status == XYLEM_OK)
        status = request_end(request);
    if (status == XYLEM_OK)
        status = task_call(life, tasks, 10);
    if (status == XYLEM_OK)
        status = task_call(life, tasks, 20000);
    if (tasks != NULL)
        do {
            CALL(closed, xylem_tasks_close(tasks));
        } while (closed == XYLEM_ERR_NO_MEMORY && again(life, closed));
    settle(life, "tasks", status == XYLEM_OK ? closed : status);
}

/* A trigger starts a barrier, which its word tells the end of. */
static xylem_status_t trigger_round(const life_t *life,
                                    xylem_trigger_t *trigger,
                                    const uint64_t *word)
{
    xylem_status_t status;

    CALL(status, xylem_trigger_count(trigger, 0, 1));
    while (status == XYLEM_OK &&
           XYLEM_WORD_TIMES(__atomic_load_n(word, __ATOMIC_ACQUIRE)) == 0) {
        failing_resume();
        (void)xylem_progress(life->context);
        failing_pause();
        status = xylem_trigger_status(trigger);
    }
    return status;
}

static void step_trigger(life_t *life)
{
    const xylem_coll_args_t barrier = {.struct_bytes = sizeof barrier,
                                       .coll = XYLEM_COLL_BARRIER};
    xylem_trigger_args_t args = XYLEM_TRIGGER_ARGS_INIT;
    _Alignas(8) uint64_t word = 0;
    xylem_trigger_t *trigger = NULL;
    xylem_request_t *request = NULL;
    xylem_status_t status;

    do {
        CALL(status, xylem_coll_init(life->team, &barrier, &request));
    } while (again(life, status));
    args.action = XYLEM_TRIGGER_START;
    args.request = request;
    args.word = &word;
    if (status == XYLEM_OK)
        do {
            CALL(status, xylem_trigger_create(life->context, &args, &trigger));
        } while (again(life, status));
    if (status == XYLEM_OK)
        status = trigger_round(life, trigger, &word);
    MUST(xylem_trigger_destroy(trigger));
    if (status != XYLEM_OK) /* it may have been started, and be under way */
        (void)xylem_request_wait(request);
    MUST(xylem_request_free(request));
    settle(life, "trigger", status);
}

/* From now on calls are counted. */
static void arm(const life_t *life)
{
    char **argv = life->argv;

    failing_arm(life->nth, life->argc > 3 ? argv[3] : NULL,
                life->argc > 4 ? strtoull(argv[4], NULL, 10) : 0,
                getenv("NTH_WORDS") != NULL);
}

static void step_shrink(life_t *life)
{
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;
    xylem_team_t *team;
    uint32_t i;

    if (life->arm_late)
        arm(life);
    for (i = 0; i <= REFUSALS_MAX && status == XYLEM_ERR_NO_MEMORY; i++)
        CALL(status, xylem_team_shrink(life->team, &team));
    REQUIRE(status == XYLEM_OK, "cannot shrink: %s", xylem_last_error());
    REQUIRE(xylem_team_size(team) == life->ranks, "%u of %u ranks are left",
            xylem_team_size(team), life->ranks);
    life->team = team;
    settle(life, "shrink", meet(life, team));
}

static void step_alloc(life_t *life)
{
    enum { BYTES = 3 << 20 };
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .count = BYTES,
                              .type = XYLEM_BYTE};
    void *memory = NULL;
    xylem_status_t status;

    do {
        CALL(status, xylem_alloc(life->context, BYTES, &memory));
    } while (again(life, status));
    MUST(status);
    memset(memory, life->rank == 0, BYTES);
    args.recv = memory;
    status = start(life, life->team, &args);
    if (status == XYLEM_OK)
        REQUIRE(memchr(memory, 0, BYTES) == NULL, "wrong data");
    if (status == XYLEM_OK)
        status = meet(life, life->team);
    if (status == XYLEM_OK) /* else the net may still use it */
        CALL(status, xylem_free(life->context, memory));
    settle(life, "alloc", status);
}

/* ---- a life ---- */

static void birth(life_t *life)
{
    xylem_status_t status;
    char step[32];
    int i;

    for (i = 0; i < CREATIONS_MAX; i++) {
        snprintf(step, sizeof step, "create%d", i);
        CALL(status, xylem_context_create(NULL, &life->context));
        tell(life, step, status == XYLEM_OK ? XYLEM_OK : XYLEM_ERR_BOOTSTRAP);
        if (status == XYLEM_OK)
            break;
    }
    if (status != XYLEM_OK) {
        printf("step gives up\n");
        exit(EXIT_SUCCESS); /* all ranks have been told */
    }
    life->team = xylem_context_world(life->context);
    life->ranks = xylem_team_size(life->team);
    REQUIRE(xylem_team_rank(life->team) == life->rank, "another rank");
}

static void live(life_t *life)
{
    uint64_t random = random_mix(7);
    uint32_t coll;

    step_split(life, "dup", 0);
    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
        call_case_t c =
            call_case_random(&random, (xylem_coll_t)coll, life->ranks);
        step_collective(life, xylem_coll_name((xylem_coll_t)coll), &c);
    }
    {
        call_case_t c = {.coll = XYLEM_COLL_ALLREDUCE,
                         .ranks = life->ranks,
                         .count = 100000};
        step_collective(life, "long", &c);
        step_persistent(life, &c);
    }
    step_split(life, "split", life->rank % 2);
    step_alloc(life);
    step_tasks(life);
    step_trigger(life);
    step_shrink(life);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("PMIX_RANK");
    xylem_status_t status;
    uint64_t nth;
    life_t life = {0};
    uint32_t own, victim;

    REQUIRE(argc >= 3 && argc <= 5 && rank != NULL,
            "usage: nth RANK N [FUNCTION [BYTES]], as a rank");
    alarm(BOUND_S);
    victim = (uint32_t)strtoul(argv[1], NULL, 10);
    nth = strtoull(argv[2], NULL, 10);
    life.is_limited = strcmp(argv[2], "limits") == 0;
    own = life.rank = (uint32_t)strtoul(rank, NULL, 10);
    job_rank_set(life.rank);
    life.nth = own == victim ? nth : 0;
    life.argc = argc;
    life.argv = argv;
    life.arm_late = getenv("NTH_SHRINK") != NULL;
    if (!life.arm_late)
        arm(&life);
    birth(&life);
    live(&life);
    if (life.keeps)
        call_rank_fini(&life.kept);
    CALL(status, xylem_context_destroy(life.context));
    tell(&life, "destroy", status);
    if (own == victim && nth == 0)
        printf("calls %llu\n", (unsigned long long)failing_calls());
    else if (own == victim)
        printf("failed %s\n",
               failing_name() != NULL ? failing_name() : "nothing");
    return EXIT_SUCCESS;
}
