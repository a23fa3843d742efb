/* Which processes of this machine live, as the net asks before a first message.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/liveness.h"
#include "runtime/faults/notice.h"
#include "runtime/modules.h"
#include "tests/support/check.h"

enum { RANKS = 2, PEER = 1, LIVENESS_MS = 100 };

static pid_t process_that_has_ended(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    CHECK(pid > 0);
    CHECK(waitpid(pid, NULL, 0) == pid); /* nothing of the process is left */
    return pid;
}

static xylem_context_t *context_with(xyl_peer_t *peers, pid_t pid)
{
    static const xyl_module_t *const all[XYL_MODULES_OF_RUNTIME] = {
        [XYL_MODULE_NOTICES] = &xyl_notices_module,
        [XYL_MODULE_FAILURES] = &xyl_failures_module,
        [XYL_MODULE_LIVENESS] = &xyl_liveness_module};
    static const xyl_modules_t modules = {XYL_MODULES_OF_RUNTIME, all, NULL};
    xylem_context_t *context = calloc(
        1, xyl_modules_bytes(&modules, XYL_OWNER_CONTEXT, sizeof *context));

    if (context == NULL)
        abort();
    context->modules = &modules;
    xyl_modules_attach(&modules, XYL_OWNER_CONTEXT, context, sizeof *context,
                       context->attached);
    peers[PEER] = (xyl_peer_t){.pid = pid, .is_local = 1};
    context->ranks = RANKS;
    context->peers = peers;
    context->config.liveness_ms = LIVENESS_MS;
    xyl_fifo_init(&context->engine.ready);
    CHECK_EQ(xyl_modules_context_begins(context), XYLEM_OK);
    return context;
}

static void test_gone_before(void)
{
    xyl_peer_t peers[RANKS] = {{.pid = 0}};
    xylem_context_t *context = context_with(peers, process_that_has_ended());
    xylem_team_t team = {.size = RANKS};

    CHECK_EQ(xyl_liveness_start(context), XYLEM_OK);
    CHECK(peers[PEER].is_suspected);
    CHECK_EQ(xyl_liveness_peer_lives(context, PEER), 0);
    CHECK_EQ(xyl_liveness_explain(context, &team, XYLEM_ERR_NET),
             XYLEM_ERR_PROC_FAILED);
    xyl_liveness_stop(context);
    free(context);
}

/* Others have said so, and this rank does not look (XYLEM_LIVENESS_MS=0). */
static void test_said_to_be_dead(void)
{
    xyl_peer_t peers[RANKS] = {{.pid = 0}};
    xylem_context_t *context = context_with(peers, getpid());

    context->config.liveness_ms = 0;
    CHECK_EQ(xyl_liveness_start(context), XYLEM_OK);
    CHECK_EQ(xyl_liveness_peer_lives(context, PEER), 1);
    xyl_failure_suspect(context, PEER);
    CHECK_EQ(xyl_liveness_peer_lives(context, PEER), 0);
    xyl_liveness_stop(context);
    free(context);
}

/* Without a descriptor, the rank looks at /proc. */
static void test_error_is_explained(int by_descriptor)
{
    static const xyl_driver_params_t params = {.mode = XYL_DRIVER_CALLER,
                                               .watches = 1};
    xyl_peer_t peers[RANKS] = {{.pid = 0}};
    pid_t pid = fork();
    xylem_team_t team = {.size = RANKS};
    xylem_context_t *context;

    if (pid == 0) {
        alarm(60); /* if the test ends before it kills this process */
        pause();
        _exit(0);
    }
    if (pid < 0)
        abort();
    context = context_with(peers, pid);
    xyl_engine_init(&context->engine, xyl_clock_system());
    CHECK_EQ(xyl_driver_start(&context->driver, &context->engine, &params),
             XYLEM_OK);
    CHECK_EQ(xyl_liveness_start(context), XYLEM_OK);
    if (!by_descriptor)
        xyl_liveness_spare_descriptors(context);
    CHECK_EQ(xyl_liveness_explain(context, &team, XYLEM_ERR_NET),
             XYLEM_ERR_NET);
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(waitpid(pid, NULL, 0) == pid);
    CHECK_EQ(xyl_liveness_explain(context, &team, XYLEM_ERR_NET),
             XYLEM_ERR_PROC_FAILED);
    CHECK(peers[PEER].is_suspected);
    xyl_liveness_stop(context);
    xyl_driver_stop(&context->driver);
    free(context);
}

static void test_explained_by_descriptor(void)
{
    test_error_is_explained(1);
}

static void test_explained_by_proc(void)
{
    test_error_is_explained(0);
}

static const check_case_t cases[] = {
    {"liveness: a process that had ended before it was watched",
     test_gone_before},
    {"liveness: a process that others have seen dead", test_said_to_be_dead},
    {"liveness: a death that a descriptor tells explains an error",
     test_explained_by_descriptor},
    {"liveness: a death that /proc tells explains an error",
     test_explained_by_proc},
};

CHECK_MAIN(cases)
