/* A request whose run goes on for others after the user was told of its end,
 * while the user starts it again or gives it up: the user's thread and the
 * progressing thread take turns by chance. Its memory is freed once, when
 * neither needs it, and no thread touches it afterwards. */
#include "progress/engine/engine.h"
#include "runtime/base/holder.h"
#include "runtime/core/context.h"
#include "runtime/core/detach.h"
#include "runtime/core/team.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"
#include "tests/support/turns.h"

enum { SCHEDULES = 10000, STEPS_MAX = 100000, RUNS_MAX = 3 };

static xylem_request_t *watched;
static uint32_t released;

/* Before each access to a word that both look at. */
static int step(const volatile void *word)
{
    const char *at = (const char *)word, *first = (const char *)watched;

    (void)turns_pass();
    if (released != 0 && at >= first && at < first + sizeof *watched)
        check_failed(__FILE__, __LINE__, "the request is looked at when gone");
    return 0;
}

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak_explicit
#ifdef __clang__
#define LOAD(word, order)            __c11_atomic_load(word, order)
#define STORE(word, value, order)    __c11_atomic_store(word, value, order)
#define EXCHANGE(word, value, order) __c11_atomic_exchange(word, value, order)
#define SWAP(word, old, value, well, ill)                                      \
    __c11_atomic_compare_exchange_strong(word, old, value, well, ill)
#else
#define LOAD(word, order)            __atomic_load_n(word, order)
#define STORE(word, value, order)    __atomic_store_n(word, value, order)
#define EXCHANGE(word, value, order) __atomic_exchange_n(word, value, order)
#define SWAP(word, old, value, well, ill)                                      \
    __atomic_compare_exchange_n(word, old, value, 0, well, ill)
#endif
#define atomic_load_explicit(word, order) (step(word), LOAD(word, order))
#define atomic_store_explicit(word, value, order)                              \
    (step(word), STORE(word, value, order))
#define atomic_exchange_explicit(word, value, order)                           \
    (step(word), EXCHANGE(word, value, order))
#define atomic_compare_exchange_strong_explicit(word, old, value, well, ill)   \
    (step(word), SWAP(word, old, value, well, ill))
#define atomic_compare_exchange_weak_explicit(word, old, value, well, ill)     \
    (step(word), SWAP(word, old, value, well, ill))
#include "runtime/core/detach.c"
#include "runtime/core/request.c"

/* ---- a run: the progressing thread ---- */

typedef struct schedule {
    int waits, has_callback, frees_in_callback, frees_itself, net_is_late;
    uint32_t runs;
} schedule_t;

static schedule_t schedule;
static xyl_event_t done, settled, back;
static uint32_t begun, told, given_up;
static int is_in_callback;

/* Pushes the event for one of the next turns. */
static void push(xyl_event_t *event)
{
    xyl_fifo_push(&watched->context->engine.later, event);
}

static int comes_later(xyl_event_t *event)
{
    if (turns_below(2) == 0)
        return 0;
    push(event);
    return 1;
}

static void run_start(xylem_request_t *request)
{
    begun++;
    request->posted = schedule.net_is_late ? 1 : 0;
    push(&done);
}

static void run_done(xyl_event_t *event)
{
    if (comes_later(event))
        return;
    push(&settled);
    xyl_request_detach(watched);
}

static void run_settled(xyl_event_t *event)
{
    int net_is_late = schedule.net_is_late;

    if (comes_later(event))
        return;
    if (net_is_late)
        push(&back);
    xyl_request_settle(watched);
}

static void net_is_back(xyl_event_t *event)
{
    if (!comes_later(event))
        xyl_request_event_back(watched);
}

/* The stand-in is still engaged. */
static xylem_request_t *no_stand_in(xylem_request_t *request)
{
    (void)request;
    return NULL;
}

static void run_release(xylem_request_t *request)
{
    CHECK(request == watched);
    CHECK_EQ(watched->rest, XYL_REST_NONE);
    CHECK_EQ(watched->posted, 0);
    released++;
}

static const xyl_request_ops_t ops = {
    .start = run_start, .stand_in = no_stand_in, .release = run_release};

/* ---- the user ---- */

static void completed(void *arg, xylem_status_t status)
{
    (void)arg;
    CHECK_EQ(status, XYLEM_OK);
    told++;
    is_in_callback = 1;
    (void)turns_pass();
    is_in_callback = 0;
    if (schedule.frees_in_callback && begun == schedule.runs) {
        given_up++;
        CHECK_EQ(xylem_request_free(watched), XYLEM_OK);
    }
}

/* The rule of completion: once the callback has been called a test says so, and
 * start and free will; a wait, of which this is the end, lets it return. */
static int user_finds_it_over(uint32_t run)
{
    uint32_t told_before = told;
    xylem_status_t status;

    if (schedule.waits) {
        if (!request_is_idle(watched))
            return 0;
        CHECK(!is_in_callback);
    } else {
        status = xylem_request_test(watched);
        if (status == XYLEM_IN_PROGRESS) {
            CHECK(!schedule.has_callback || told_before < run);
            return 0;
        }
        CHECK_EQ(status, XYLEM_OK);
    }
    CHECK(!schedule.has_callback || told == run);
    return 1;
}

static void user(void)
{
    uint32_t run, steps;

    for (run = 1; run <= schedule.runs; run++) {
        for (steps = 0; begun < run && steps < STEPS_MAX; steps++)
            if (xyl_request_start(watched) == XYLEM_OK)
                break;
        if (schedule.frees_itself ||
            (schedule.frees_in_callback && run == schedule.runs))
            return;
        while (steps++ < STEPS_MAX && (begun < run || !user_finds_it_over(run)))
            (void)turns_pass();
        CHECK(steps < STEPS_MAX);
    }
    given_up++;
    CHECK_EQ(xylem_request_free(watched), XYLEM_OK);
}

static void act(uint32_t self)
{
    xylem_context_t *context = watched->context;
    uint32_t steps;

    if (self == 0) {
        user();
        return;
    }
    for (steps = 0; released == 0 && steps < STEPS_MAX; steps++) {
        (void)turns_pass();
        (void)xylem_progress(context);
    }
}

/* ---- schedules ---- */

static void run(xylem_team_t *team, uint64_t seed)
{
    uint32_t references = team->references;

    schedule = (schedule_t){.has_callback = seed % 4 != 0,
                            .frees_in_callback = seed % 4 == 2,
                            .frees_itself = seed % 4 == 3,
                            .net_is_late = seed / 4 % 3 == 0,
                            .waits = seed / 12 % 2 == 0,
                            .runs = 1};
    if (!schedule.frees_itself)
        schedule.runs += (uint32_t)(seed % RUNS_MAX);
    released = begun = told = given_up = 0;
    is_in_callback = 0;
    done = (xyl_event_t){.handle = run_done};
    settled = (xyl_event_t){.handle = run_settled};
    back = (xyl_event_t){.handle = net_is_back};
    watched = xyl_request_create(team, &ops, sizeof *watched);
    xyl_request_persist(watched);
    if (schedule.has_callback)
        watched->on_complete = completed;
    if (schedule.frees_itself)
        watched->flags = XYLEM_FLAG_AUTOFREE;
    turns_run(2, seed, act);
    CHECK_EQ(released, 1);
    CHECK_EQ(begun, schedule.runs);
    CHECK_EQ(told, schedule.has_callback ? schedule.runs : 0);
    CHECK_EQ(given_up, schedule.frees_itself ? 0 : 1);
    CHECK(LIST_EMPTY(&team->context->requests));
    CHECK_EQ(team->persistent, 0);
    CHECK_EQ(team->references, references);
}

static void test_schedules(void)
{
    fabric_options_t options = {.seed = 1};
    fabric_t *fabric = fabric_create(1, &options);
    uint64_t seed;

    for (seed = 1; seed <= check_cases(SCHEDULES) && check_failures() == 0;
         seed++)
        run(fabric_world(fabric, 0), seed);
    if (check_failures() != 0)
        printf("# seed %llu\n", (unsigned long long)(seed - 1));
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {{"schedules", test_schedules}};
CHECK_MAIN(cases)
