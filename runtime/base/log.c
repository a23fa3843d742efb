#include "runtime/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "include/xylem.h"

enum { LINE_BYTES_MAX = 800 };

/* State of the process, not of a context; docs/architecture.md lists all that
 * there is. */
static _Atomic int log_level = XYL_LOG_WARN;
static _Atomic uint32_t log_rank = UINT32_MAX;

/* Who gets the messages; fn NULL: standard error. */
typedef struct log_target {
    xylem_log_fn fn;
    void *arg;
} log_target_t;

static pthread_mutex_t target_lock = PTHREAD_MUTEX_INITIALIZER;
static log_target_t target;

void xylem_log_set(xylem_log_fn fn, void *arg)
{
    pthread_mutex_lock(&target_lock);
    target = (log_target_t){fn, arg};
    pthread_mutex_unlock(&target_lock);
}

static log_target_t target_now(void)
{
    log_target_t now;

    pthread_mutex_lock(&target_lock);
    now = target;
    pthread_mutex_unlock(&target_lock);
    return now;
}

void xyl_log_level_set(xyl_log_level_t level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

void xyl_log_rank_set(uint32_t rank)
{
    atomic_store_explicit(&log_rank, rank, memory_order_relaxed);
}

static int log_passes(xyl_log_level_t level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

static const char *const level_names[] = {"note", "error", "warning", "info",
                                          "debug"};

/* "rank 3: " and the level where the line goes to standard error. */
static size_t line_begin(char *line, xyl_log_level_t level, int is_alone)
{
    uint32_t rank = atomic_load_explicit(&log_rank, memory_order_relaxed);
    char who[24] = "";

    if (rank != UINT32_MAX)
        snprintf(who, sizeof who, "rank %u: ", rank);
    if (!is_alone)
        return (size_t)snprintf(line, LINE_BYTES_MAX, "%s", who);
    return (size_t)snprintf(line, LINE_BYTES_MAX, "xylem: %s%s: ", who,
                            level_names[level]);
}

void xyl_log(xyl_log_level_t level, const char *format, ...)
{
    char line[LINE_BYTES_MAX];
    log_target_t to;
    va_list args;
    size_t length;
    int text;

    if (!log_passes(level))
        return;
    to = target_now();
    length = line_begin(line, level, to.fn == NULL);
    va_start(args, format);
    text = vsnprintf(line + length, sizeof line - length - 1, format, args);
    va_end(args);
    if (to.fn != NULL) {
        to.fn(to.arg, level_names[level], line);
        return;
    }
    if (text > 0)
        length += (size_t)text;
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, length) < 0)
        return; /* nowhere left to complain */
}
