/* The log: lines that several ranks would say alike wait until the ranks have
 * compared them, and none of them is lost. */
#include "runtime/base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "include/xylem.h"
#include "tests/support/check.h"

static char said[1024];

static void hear(void *arg, const char *level, const char *text)
{
    size_t length = strlen(said);

    (void)arg;
    snprintf(said + length, sizeof said - length, "%s:%s;", level, text);
}

static void check_said(const char *wanted)
{
    CHECK(strcmp(said, wanted) == 0);
    if (strcmp(said, wanted) != 0)
        printf("# said: %s\n", said);
    said[0] = '\0';
}

static void test_wait(void)
{
    xyl_log_hold(0);
    xyl_log(XYL_LOG_WARN, "one");
    xyl_log(XYL_LOG_ERROR, "two");
    xyl_log(XYL_LOG_INFO, "not asked for");
    check_said("");
    xyl_log_tell(0);
    check_said("warning:one;error:two;");
    xyl_log(XYL_LOG_WARN, "three");
    xyl_log_tell(1);
    check_said("");
    xyl_log(XYL_LOG_WARN, "four");
    xyl_log_let_go();
    check_said("warning:four;");
    xyl_log(XYL_LOG_WARN, "five");
    check_said("warning:five;");
}

/* The first rank may never reach the exchange with the others. */
static void test_first(void)
{
    uint64_t of_first;

    xyl_log_hold(1);
    xyl_log(XYL_LOG_WARN, "one");
    check_said("warning:one;");
    of_first = xyl_log_held();
    xyl_log_tell(0);
    check_said("");
    CHECK_EQ(xyl_log_held(), 0);
    xyl_log_hold(0);
    CHECK_EQ(xyl_log_held(), 0);
    xyl_log(XYL_LOG_WARN, "one");
    CHECK(of_first != 0 && xyl_log_held() == of_first);
    xyl_log(XYL_LOG_WARN, "two");
    CHECK(xyl_log_held() != of_first);
    xyl_log_tell(1);
    xyl_log_let_go();
    check_said("");
}

/* A line names the rank if the rank is known when the line is printed. */
static void test_rank(void)
{
    xyl_log_hold(0);
    xyl_log(XYL_LOG_WARN, "one");
    xyl_log_rank_set(3);
    xyl_log_let_go();
    check_said("warning:rank 3: one;");
    xyl_log_rank_set(UINT32_MAX);
}

static void *other_thread(void *arg)
{
    (void)arg;
    xyl_log(XYL_LOG_WARN, "of another");
    return NULL;
}

static void test_threads(void)
{
    pthread_t thread;

    xyl_log_hold(0);
    CHECK_EQ(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_join(thread, NULL);
    check_said("warning:of another;");
    CHECK_EQ(xyl_log_held(), 0);
    xyl_log_let_go();
}

static void listen(void)
{
    xylem_log_set(hear, NULL);
    xyl_log_level_set(XYL_LOG_WARN);
}

static const check_case_t cases[] = {
    {"log: it is heard", listen},
    {"log: lines wait, and are told or dropped", test_wait},
    {"log: the first rank's do not wait", test_first},
    {"log: the rank is that of the telling", test_rank},
    {"log: other threads go on", test_threads},
};

CHECK_MAIN(cases)
