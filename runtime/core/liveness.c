#include "runtime/core/liveness.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/failure.h"
#include "runtime/core/team.h"

enum { END_WAIT_MS = 100 };

typedef struct watched {
    xylem_context_t *context;
    uint32_t rank;
    int fd; /* of the process; -1: not watched */
    struct event *watch;
} watched_t;

struct xyl_liveness {
    uint32_t count;
    watched_t peers[];
};

static int process_open(int32_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void process_ended(int fd, short what, void *arg)
{
    watched_t *watched = arg;

    (void)fd;
    (void)what;
    xyl_driver_unwatch(watched->watch);
    watched->watch = NULL;
    xyl_context_suspect(watched->context, watched->rank);
}

static xylem_status_t process_watch(xylem_context_t *context, uint32_t rank,
                                    watched_t *watched)
{
    *watched = (watched_t){.context = context, .rank = rank, .fd = -1};
    watched->fd = process_open(context->peers[rank].pid);
    if (watched->fd < 0) {
        if (errno == ESRCH)
            xyl_context_suspect(context, rank); /* gone before we looked */
        else
            xyl_log(XYL_LOG_INFO, "cannot watch the process of rank %u: %s",
                    rank, strerror(errno));
        return XYLEM_OK;
    }
    watched->watch =
        xyl_driver_watch(&context->driver, watched->fd, process_ended, watched);
    return watched->watch != NULL ? XYLEM_OK : XYLEM_ERR_NO_MEMORY;
}

xylem_status_t xyl_liveness_start(xylem_context_t *context)
{
    struct xyl_liveness *liveness;
    xylem_status_t status = XYLEM_OK;
    uint32_t rank, local = 0;

    for (rank = 0; rank < context->ranks; rank++)
        local += rank != context->rank && context->peers[rank].is_local;
    if (local == 0 || context->config.liveness_ms == 0)
        return XYLEM_OK;
    liveness = calloc(1, sizeof *liveness + local * sizeof liveness->peers[0]);
    if (liveness == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to watch peers");
    context->liveness = liveness;
    for (rank = 0; rank < context->ranks && status == XYLEM_OK; rank++)
        if (rank != context->rank && context->peers[rank].is_local)
            status = process_watch(context, rank,
                                   &liveness->peers[liveness->count++]);
    if (status != XYLEM_OK)
        return xyl_fail(status, "no memory to watch peers");
    return XYLEM_OK;
}

void xyl_liveness_stop(xylem_context_t *context)
{
    struct xyl_liveness *liveness = context->liveness;
    uint32_t i;

    if (liveness == NULL)
        return;
    for (i = 0; i < liveness->count; i++) {
        xyl_driver_unwatch(liveness->peers[i].watch);
        if (liveness->peers[i].fd >= 0)
            close(liveness->peers[i].fd);
    }
    free(liveness);
    context->liveness = NULL;
}

xylem_status_t xyl_liveness_explain(xylem_context_t *context,
                                    const xylem_team_t *team,
                                    xylem_status_t status)
{
    struct xyl_liveness *liveness = context->liveness;
    xylem_status_t explained = status;
    struct pollfd *ends;
    uint32_t i;

    if (liveness == NULL)
        return status;
    ends = calloc(liveness->count, sizeof *ends);
    if (ends == NULL)
        return status;
    for (i = 0; i < liveness->count; i++) {
        ends[i] = (struct pollfd){liveness->peers[i].fd, POLLIN, 0};
        if (!xyl_team_contains(team, liveness->peers[i].rank))
            ends[i].fd = -1; /* is not looked at */
    }
    if (poll(ends, liveness->count, END_WAIT_MS) > 0)
        for (i = 0; i < liveness->count; i++)
            if (ends[i].revents != 0) {
                xyl_context_suspect(context, liveness->peers[i].rank);
                explained = XYLEM_ERR_PROC_FAILED;
            }
    free(ends);
    return explained;
}
