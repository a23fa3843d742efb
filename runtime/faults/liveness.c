#include "runtime/faults/liveness.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/holder.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "runtime/modules.h"

enum {
    END_LOOKS = 100,
    ENDING_WAIT_MS = 1000, /* at most, for the end of an ending process */
    LOOK_US = 1000,        /* between looks at a process */
    STAT_BYTES = 1024,
    STAT_STATE = 3, /* fields of /proc/PID/stat */
    STAT_START = 22
};

typedef struct watched {
    xylem_context_t *context;
    uint32_t rank;
    int fd; /* of the process; -1: none, /proc is polled */
    struct event *watch;
    uint64_t start; /* process_start of a polled process; 0: unknown */
} watched_t;

typedef struct liveness {
    xylem_context_t *context;
    xyl_timer_t looks; /* at processes without a descriptor */
    uint32_t count;    /* 0: this rank watches none */
    watched_t *peers;
} liveness_t;

XYL_STATE_OF_CONTEXT(liveness_t, liveness_of, XYL_MODULE_LIVENESS)

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
    xyl_failure_suspect(watched->context, watched->rank);
}

/* When the process started, in the system's ticks: two processes with the same
 * number differ in this. 0: there is no such process, or it has ended. */
static uint64_t process_start(int32_t pid)
{
    char path[64], text[STAT_BYTES], *at;
    unsigned long long start = 0;
    FILE *file;
    int field;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    at = fgets(text, sizeof text, file);
    fclose(file);
    at = at == NULL ? NULL : strrchr(text, ')'); /* behind the name */
    for (field = STAT_STATE; at != NULL && field <= STAT_START; field++) {
        at = strchr(at + 1, ' ');
        if (field == STAT_STATE && at != NULL && (at[1] == 'Z' || at[1] == 'X'))
            return 0;
    }
    if (at != NULL)
        start = strtoull(at + 1, NULL, 10);
    return start;
}

/* 1: the process is polled, and has ended since the last look. */
static int process_is_gone(const watched_t *watched)
{
    return watched->fd < 0 && watched->start != 0 &&
           process_start(watched->context->peers[watched->rank].pid) !=
               watched->start;
}

static void processes_look(xyl_timer_t *timer, uint64_t now_ns)
{
    liveness_t *liveness = XYL_HOLDER(liveness_t, looks, timer);
    xylem_context_t *context = liveness->context;
    uint32_t i;

    for (i = 0; i < liveness->count; i++) {
        watched_t *watched = &liveness->peers[i];
        if (process_is_gone(watched)) {
            watched->start = 0;
            xyl_failure_suspect(context, watched->rank);
        }
    }
    xyl_timer_start(&context->engine.timers, timer,
                    now_ns + context->config.liveness_ms * 1000000);
}

/* Polls a process for which the system gives no descriptor. */
static void process_look_at(xylem_context_t *context, watched_t *watched)
{
    liveness_t *liveness = liveness_of(context);

    watched->start = process_start(context->peers[watched->rank].pid);
    if (watched->start == 0 && process_start(getpid()) != 0)
        xyl_failure_suspect(context, watched->rank); /* the process has ended */
    else if (watched->start == 0)
        xyl_log(XYL_LOG_WARN, "cannot watch the process of rank %u: no /proc",
                watched->rank);
    else if (!liveness->looks.is_running)
        processes_look(&liveness->looks, xyl_clock_now(context->engine.clock));
}

static xylem_status_t process_watch(xylem_context_t *context, uint32_t rank,
                                    watched_t *watched)
{
    *watched = (watched_t){.context = context, .rank = rank, .fd = -1};
    watched->fd = process_open(context->peers[rank].pid);
    if (watched->fd < 0) {
        if (errno == ESRCH)
            xyl_failure_suspect(context, rank); /* ended before this look */
        else
            process_look_at(context, watched);
        return XYLEM_OK;
    }
    watched->watch =
        xyl_driver_watch(&context->driver, watched->fd, process_ended, watched);
    return watched->watch != NULL ? XYLEM_OK : XYLEM_ERR_NO_MEMORY;
}

xylem_status_t xyl_liveness_start(xylem_context_t *context)
{
    liveness_t *liveness = liveness_of(context);
    xylem_status_t status = XYLEM_OK;
    uint32_t rank, local = 0;

    for (rank = 0; rank < context->ranks; rank++)
        local += rank != context->rank && context->peers[rank].is_local;
    if (local == 0 || context->config.liveness_ms == 0)
        return XYLEM_OK;
    liveness->peers = calloc(local, sizeof *liveness->peers);
    if (liveness->peers == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to watch peers");
    liveness->context = context;
    liveness->looks.fire = processes_look;
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
    liveness_t *liveness = liveness_of(context);
    uint32_t i;

    if (liveness->peers == NULL)
        return;
    xyl_timer_stop(&context->engine.timers, &liveness->looks);
    for (i = 0; i < liveness->count; i++) {
        xyl_driver_unwatch(liveness->peers[i].watch);
        if (liveness->peers[i].fd >= 0)
            close(liveness->peers[i].fd);
    }
    free(liveness->peers);
    liveness->peers = NULL;
    liveness->count = 0;
}

void xyl_liveness_spare_descriptors(xylem_context_t *context)
{
    liveness_t *liveness = liveness_of(context);
    uint32_t i;

    for (i = 0; i < liveness->count; i++) {
        watched_t *watched = &liveness->peers[i];
        if (watched->fd < 0)
            continue;
        xyl_driver_unwatch(watched->watch);
        watched->watch = NULL;
        close(watched->fd);
        watched->fd = -1;
        process_look_at(context, watched);
    }
}

static int process_has_ended(const watched_t *watched, int wait_ms)
{
    struct pollfd end = {watched->fd, POLLIN, 0};
    int32_t pid = watched->context->peers[watched->rank].pid;
    int looks = wait_ms * 1000 / LOOK_US;

    if (watched->fd >= 0)
        return poll(&end, 1, wait_ms) > 0;
    if (watched->start == 0)
        return 0; /* unknown */
    while (process_start(pid) == watched->start && looks-- > 0)
        usleep(LOOK_US);
    return looks >= 0;
}

/* 1: the process has ended, or its rank is suspected already. */
static int is_dead(const watched_t *watched)
{
    return watched->context->peers[watched->rank].is_suspected ||
           process_has_ended(watched, 0);
}

xylem_status_t xyl_liveness_explain(xylem_context_t *context,
                                    const xylem_team_t *team,
                                    xylem_status_t status)
{
    liveness_t *liveness = liveness_of(context);
    uint32_t i, looks = liveness->count == 0 ? 0 : END_LOOKS;
    int has_died = 0;

    while (looks-- > 0 && !has_died) {
        for (i = 0; i < liveness->count; i++)
            if (xyl_team_contains(team, liveness->peers[i].rank) &&
                is_dead(&liveness->peers[i])) {
                xyl_failure_suspect(context, liveness->peers[i].rank);
                has_died = 1;
            }
        if (!has_died)
            usleep(LOOK_US);
    }
    return has_died ? XYLEM_ERR_PROC_FAILED : status;
}

/* 1: the process's first thread has left its memory; the memory is freed after
 * that, and then the process ends. */
static int process_is_ending(int32_t pid)
{
    char path[64], target[1];

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink(path, target, sizeof target) < 0 && errno == ENOENT &&
           readlink("/proc/self/exe", target, sizeof target) > 0;
}

int xyl_liveness_peer_lives(void *arg, uint32_t peer)
{
    xylem_context_t *context = arg;
    liveness_t *liveness = liveness_of(context);
    const watched_t *watched = NULL;
    uint32_t i;

    if (context->peers[peer].is_suspected)
        return 0;
    for (i = 0; i < liveness->count; i++)
        if (liveness->peers[i].rank == peer)
            watched = &liveness->peers[i];
    if (watched == NULL || (!process_has_ended(watched, 0) &&
                            !(process_is_ending(context->peers[peer].pid) &&
                              process_has_ended(watched, ENDING_WAIT_MS))))
        return 1;
    xyl_failure_suspect(context, peer);
    return 0;
}

const xyl_module_t xyl_liveness_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(liveness_t)},
};
