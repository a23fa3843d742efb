/* The table of executors: which one is asked for which buffer, and which work
 * is done in the call. test_seeds --late tests stages with later work. */
#include "progress/exec/exec.h"

#include "tests/support/check.h"

enum { BYTES = 64 };

static char near_by[BYTES], far_away[BYTES], other[BYTES];

/* An executor for one buffer, whose work ends when the test says so. */
typedef struct slow_exec {
    xyl_exec_t exec; /* first */
    const void *memory;
    xyl_work_t *under_way;
} slow_exec_t;

static unsigned started, canceled;

static xylem_status_t slow_init(xyl_exec_t *exec, void *arg)
{
    ((slow_exec_t *)(void *)exec)->memory = arg;
    return XYLEM_OK;
}

static int slow_takes(const xyl_exec_t *exec, const void *buffer)
{
    return buffer == ((const slow_exec_t *)(const void *)exec)->memory;
}

static void slow_start(xyl_exec_t *exec, xyl_work_t *work)
{
    slow_exec_t *slow = (slow_exec_t *)(void *)exec;

    started++;
    work->next = slow->under_way;
    slow->under_way = work;
}

static void slow_cancel(xyl_exec_t *exec, const void *owner)
{
    (void)exec;
    (void)owner;
    canceled++;
}

static void slow_end(slow_exec_t *slow)
{
    xyl_work_t *work = slow->under_way;

    slow->under_way = work->next;
    work->by_host(&slow->exec, work);
    xyl_fifo_push(slow->exec.ready, &work->event);
}

static const xyl_exec_ops_t slow_ops = {
    .name = "slow",
    .bytes = sizeof(slow_exec_t),
    .init = slow_init,
    .takes = slow_takes,
    .start = slow_start,
    .cancel = slow_cancel,
};

static void sum(void *result, const void *left, const void *right, size_t count)
{
    const char *a = left, *b = right;
    char *to = result;
    size_t i;

    for (i = 0; i < count; i++)
        to[i] = (char)(a[i] + b[i]);
}

static void test_who_is_asked(void)
{
    const xyl_exec_registration_t extra = {&slow_ops, far_away};
    const xyl_exec_registration_t none = {NULL, NULL};
    xyl_execs_t execs;
    xyl_fifo_t ready;

    xyl_fifo_init(&ready);
    CHECK_EQ(xyl_execs_init(&execs, &none, NULL, NULL, &ready), XYLEM_OK);
    CHECK(xyl_exec_of(&execs, far_away)->ops == &xyl_exec_host);
    CHECK(xyl_exec_of(&execs, NULL)->ops == &xyl_exec_host);
    CHECK(xyl_exec_of(&execs, near_by)->is_plain);
    xyl_execs_fini(&execs);
    CHECK_EQ(xyl_execs_init(&execs, &extra, NULL, NULL, &ready), XYLEM_OK);
    CHECK(xyl_exec_of(&execs, far_away)->ops == &slow_ops);
    CHECK(xyl_exec_of(&execs, near_by)->ops == &xyl_exec_host);
    xyl_execs_cancel(&execs, near_by);
    CHECK_EQ(canceled, 1);
    xyl_execs_fini(&execs);
}

static void test_in_the_call(void)
{
    const xyl_exec_registration_t none = {NULL, NULL};
    const xyl_combiner_t combiner = {.kernel = sum};
    xyl_execs_t execs;
    xyl_fifo_t ready;
    xyl_exec_t *host;

    xyl_fifo_init(&ready);
    CHECK_EQ(xyl_execs_init(&execs, &none, NULL, NULL, &ready), XYLEM_OK);
    host = xyl_exec_of(&execs, near_by);
    memset(near_by, 3, BYTES);
    CHECK_EQ(xyl_exec_copy(host, NULL, other, near_by, BYTES), 1);
    CHECK_EQ(
        xyl_exec_reduce(host, NULL, &combiner, other, other, near_by, BYTES),
        1);
    CHECK_EQ(other[0], 6);
    CHECK_EQ(other[BYTES - 1], 6);
    CHECK(xyl_fifo_is_empty(&ready));
    xyl_execs_fini(&execs);
}

static void test_later(void)
{
    const xyl_exec_registration_t extra = {&slow_ops, far_away};
    const xyl_combiner_t combiner = {.kernel = sum};
    xyl_work_t copy = {.owner = near_by}, reduce = {.owner = near_by};
    xyl_execs_t execs;
    xyl_fifo_t ready;
    slow_exec_t *slow;

    xyl_fifo_init(&ready);
    CHECK_EQ(xyl_execs_init(&execs, &extra, NULL, NULL, &ready), XYLEM_OK);
    slow = (slow_exec_t *)(void *)xyl_exec_of(&execs, far_away);
    memset(near_by, 5, BYTES);
    memset(far_away, 0, BYTES);
    memset(other, 1, BYTES);
    started = 0;
    CHECK_EQ(xyl_exec_copy(&slow->exec, &copy, far_away, near_by, BYTES), 0);
    CHECK_EQ(xyl_exec_reduce(&slow->exec, &reduce, &combiner, other, other,
                             near_by, BYTES),
             0);
    CHECK_EQ(started, 2);
    CHECK(xyl_fifo_is_empty(&ready));
    CHECK_EQ(far_away[0], 0);
    slow_end(slow); /* the work that was begun last */
    CHECK(xyl_fifo_pop(&ready) == &reduce.event);
    CHECK_EQ(other[BYTES - 1], 6);
    CHECK_EQ(far_away[0], 0);
    slow_end(slow);
    CHECK(xyl_fifo_pop(&ready) == &copy.event);
    CHECK_EQ(far_away[BYTES - 1], 5);
    xyl_execs_fini(&execs);
}

static const check_case_t cases[] = {
    {"which executor is for a buffer", test_who_is_asked},
    {"the processor works in the call", test_in_the_call},
    {"others end later, in any order", test_later},
};

CHECK_MAIN(cases)
