#include "runtime/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/xylem.h"
#include "runtime/base/file.h"

enum { LINE_BYTES_MAX = 800 };

/* State of the process, not of a context; docs/architecture.md lists all such
 * state. */
static _Atomic int log_level = XYL_LOG_WARN;
static _Atomic uint32_t log_rank = UINT32_MAX;

/* The receiver of messages; fn NULL: standard error. */
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

static _Thread_local int thread_is_muted;

int xyl_log_mute(int is_muted)
{
    int before = thread_is_muted;

    thread_is_muted = is_muted;
    return before;
}

static int log_passes(xyl_log_level_t level)
{
    return !thread_is_muted &&
           (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

static const char *const level_names[] = {"note", "error", "warning", "info",
                                          "debug"};

/* "rank 3: "; on standard error (`is_alone`) with "xylem: " and the level. */
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

static void line_say(xyl_log_level_t level, const char *text)
{
    char line[LINE_BYTES_MAX];
    log_target_t to = target_now();
    size_t length = line_begin(line, level, to.fn == NULL);
    int bytes;

    bytes = snprintf(line + length, sizeof line - length - 1, "%s", text);
    if (to.fn != NULL) {
        to.fn(to.arg, level_names[level], line);
        return;
    }
    if (bytes > 0)
        length += (size_t)bytes;
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, length) < 0)
        return; /* there is no place to report this */
}

/* ---- lines that wait for the other ranks ---- */

typedef struct held_line {
    struct held_line *next;
    xyl_log_level_t level;
    char text[LINE_BYTES_MAX];
} held_line_t;

static _Thread_local struct {
    int is_on;
    int is_first;
    uint64_t hash;
    held_line_t *lines, **end;
} held;

/* 0: the line must be printed at once. */
static int line_hold(xyl_log_level_t level, const char *text)
{
    held_line_t *line;

    if (!held.is_on)
        return 0;
    if (held.hash == 0)
        held.hash = XYL_HASH_SEED;
    held.hash = xyl_hash(held.hash, text, strlen(text)) | 1;
    if (held.is_first)
        return 0;
    line = malloc(sizeof *line);
    if (line == NULL)
        return 0;
    line->next = NULL;
    line->level = level;
    memcpy(line->text, text, strlen(text) + 1);
    *held.end = line;
    held.end = &line->next;
    return 1;
}

void xyl_log_hold(int is_first)
{
    xyl_log_let_go();
    held.is_on = 1;
    held.is_first = is_first;
}

uint64_t xyl_log_held(void)
{
    return held.hash;
}

void xyl_log_tell(int is_said_elsewhere)
{
    held_line_t *line = held.lines, *next;

    held.lines = NULL;
    held.end = &held.lines;
    held.hash = 0;
    for (; line != NULL; line = next) {
        next = line->next;
        if (!is_said_elsewhere)
            line_say(line->level, line->text);
        free(line);
    }
}

void xyl_log_let_go(void)
{
    held.is_on = 0;
    xyl_log_tell(0);
}

void xyl_log(xyl_log_level_t level, const char *format, ...)
{
    char text[LINE_BYTES_MAX];
    va_list args;

    if (!log_passes(level))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!line_hold(level, text))
        line_say(level, text);
}
