/* Tasks for a kernel that stays, when its blocks come and go: one of two blocks
 * and the host runs at a time; before each access to shared words chance
 * decides which. Each task runs once, and its sender gets its status. */
#include "tests/support/check.h"
#include "tests/support/turns.h"

static void step(void);
#define XYLEM_DEVICE_STEP_() step()
#define xylem_task_end       end_task
#define xyl_task_is_wanted   task_is_wanted
#include "collectives/tasks/resident.c"

enum { WORKERS = 2, TASKS = 9, FUNCTIONS = 2, SCHEDULES = 60, STATUS = 1000 };
enum { ARGS_WORDS = 31 };

static xylem_context_t *context;
static xylem_resident_t *resident;
static xylem_task_t tasks[TASKS];
/* Task i's arguments, of which it has its own number of words. */
static uint32_t numbers[TASKS][ARGS_WORDS];
static uint32_t ran[TASKS], ended[TASKS], over, is_gone;
static xylem_status_t statuses[TASKS];

/* Of test_phases: the host has a turn of its own in every `period` steps. */
static uint32_t period, steps, handed;

/* ---- in the place of the library ---- */

xylem_status_t task_is_wanted(const xylem_task_t *task)
{
    return task->index == 3 ? XYLEM_ERR_REVOKED : XYLEM_OK;
}

void end_task(xylem_task_t *task, xylem_status_t status)
{
    ended[task - tasks]++;
    statuses[task - tasks] = status;
    over++;
}

/* ---- a block: stays away at times, and forgets tasks then ---- */

/* Short ones, such as fill the lines, and long ones, in turn. */
static uint32_t words_of(uint32_t number)
{
    static const uint32_t words[] = {1, ARGS_WORDS, 4, 5, 3};

    return words[number % 5];
}

static int function(const xylem_device_task_t *task)
{
    uint32_t number, i, word;

    memcpy(&number, task->args, sizeof number);
    CHECK(number < TASKS && task->source == number + 5 &&
          task->index == number &&
          task->args_bytes == words_of(number) * sizeof number);
    for (i = 1; i < words_of(number); i++) {
        memcpy(&word, &task->args[i * sizeof word], sizeof word);
        CHECK_EQ(word, 100 * number + i);
    }
    (void)turns_pass();
    ran[number]++;
    return (int)(STATUS + number);
}

static const xylem_device_task_fn functions[FUNCTIONS - 1] = {function};

static void work(uint32_t self)
{
    int status;

    do {
        status = xylem_device_serve(&resident->queue, self, functions,
                                    FUNCTIONS - 1, turns_below(6));
    } while (status == XYLEM_ERR_TIMED_OUT && !is_gone);
    CHECK(status == XYLEM_OK || is_gone);
}

/* ---- the host ---- */

static int blocks_are_here(void)
{
    uint32_t w;

    for (w = 0; w < resident->queue.workers; w++)
        if (is_present(&resident->worker[w]))
            return 1;
    return 0;
}

static void host(void)
{
    uint32_t i;

    for (i = 0; i < TASKS; i++) {
        resident_hand_over(&resident->functions[i % 4 == 2], &tasks[i]);
        while (turns_below(3) != 0)
            (void)resident_poll(resident);
    }
    while (over < TASKS)
        (void)resident_poll(resident);
    resident_end(&(resident_errand_t){.resident = resident});
    do
        (void)resident_poll(resident);
    while (blocks_are_here());
    is_gone = 1; /* blocks that come late leave */
}

static void act(uint32_t self)
{
    if (self < WORKERS)
        work(self);
    else
        host();
}

static void check_all(void)
{
    uint32_t i;

    CHECK_EQ(over, TASKS);
    for (i = 0; i < TASKS; i++) {
        int is_wanted = i != 3, is_known = i % 4 != 2;
        CHECK_EQ(ended[i], 1);
        CHECK_EQ(ran[i], is_wanted && is_known);
        CHECK_EQ(statuses[i], !is_wanted  ? XYLEM_ERR_REVOKED
                              : !is_known ? XYLEM_ERR_INVALID_ARG
                                          : (xylem_status_t)(STATUS + i));
    }
}

static void set_up(uint32_t workers)
{
    xylem_resident_args_t args = {.struct_bytes = sizeof args,
                                  .workers = workers,
                                  .functions = FUNCTIONS};
    uint32_t i, w;

    memset(ran, 0, sizeof ran);
    memset(ended, 0, sizeof ended);
    over = is_gone = 0;
    for (i = 0; i < TASKS; i++) {
        numbers[i][0] = i;
        for (w = 1; w < ARGS_WORDS; w++)
            numbers[i][w] = 100 * i + w;
        tasks[i] = (xylem_task_t){.source = i + 5,
                                  .index = i,
                                  .args = numbers[i],
                                  .args_bytes = words_of(i) * sizeof(uint32_t)};
    }
    resident = resident_make(context, &args);
    CHECK(resident != NULL);
}

static void run_schedule(uint32_t schedule)
{
    uint32_t i;

    set_up(WORKERS);
    /* Numbers are to begin anew in the midst. */
    for (i = 0; i < WORKERS && schedule % 2 != 0; i++)
        resident->queue.boxes[i].said = UINT64_C(0xfffefffffe000000);
    turns_run(WORKERS + 1, schedule, act);
    check_all();
    resident_free(resident);
}

static void test_schedules(void)
{
    static xylem_context_t frame;
    uint32_t schedule;

    context = &frame;
    for (schedule = 0; schedule < check_cases(SCHEDULES); schedule++)
        run_schedule(schedule);
}

/* One block; all actions of the host happen between two of its steps. */
static void step(void)
{
    if (period == 0) {
        (void)turns_pass();
    } else if (++steps % period == 0) {
        uint32_t was = period;

        period = UINT32_MAX;
        if (handed < TASKS) {
            resident_hand_over(&resident->functions[handed % 4 == 2],
                               &tasks[handed]);
            handed++;
        }
        (void)resident_poll(resident);
        period = was;
    }
}

static void test_phases(void)
{
    uint32_t length, phase, rounds;

    for (length = 3; length < 40; length++)
        for (phase = 0; phase < length; phase++) {
            set_up(1);
            steps = phase;
            handed = 0;
            period = length;
            for (rounds = 0; over < TASKS && rounds < 1000; rounds++)
                (void)xylem_device_serve(&resident->queue, 0, functions,
                                         FUNCTIONS - 1, (phase + rounds) % 23);
            period = 0;
            check_all();
            resident_free(resident);
        }
}

/* A kernel that is gone without a word; refusals. */
static void test_lost(void)
{
    xylem_resident_args_t args = {.struct_bytes = sizeof args, .functions = 1};
    uint32_t i;

    over = 0;
    memset(ended, 0, sizeof ended);
    args.workers = 1;
    resident = resident_make(context, &args);
    CHECK(resident != NULL);
    (void)xylem_device_come_(&resident->queue.boxes[0]);
    for (i = 0; i < 2; i++) {
        tasks[i] = (xylem_task_t){.index = i};
        resident_hand_over(&resident->functions[0], &tasks[i]);
    }
    CHECK_EQ(resident_poll(resident), 1);
    CHECK_EQ(over, 0);
    CHECK(resident->worker[0].given.task == &tasks[0]);
    resident_end(
        &(resident_errand_t){.resident = resident, .lost = XYLEM_ERR_ABORTED});
    CHECK_EQ(over, 2);
    CHECK_EQ(statuses[0], XYLEM_ERR_ABORTED);
    CHECK_EQ(statuses[1], XYLEM_ERR_REVOKED);
    resident_hand_over(&resident->functions[0], &tasks[1]);
    CHECK_EQ(over, 3);
    CHECK(!blocks_are_here());
    resident_free(resident);
}

static const check_case_t cases[] = {{"schedules", test_schedules},
                                     {"phases", test_phases},
                                     {"lost", test_lost}};

CHECK_MAIN(cases)
