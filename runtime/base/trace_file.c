/* Writes the trace as JSON, event by event. Its form for viewers:
 *
 *   a node is a process and a rank a thread, numbered from 1: viewers take the
 *   process and the thread 0 for the system's idle ones;
 *   times are microseconds; their six decimals are the picoseconds;
 *   a message is a pair of flow events ("s" and "f") with a common id, each
 *   within the piece of work that sent or received it.
 *
 * Events stand in the order of their being recorded; viewers sort them. A
 * failure to write is kept by the stream and reported at the end. One thread.
 */
#include "runtime/base/trace_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* JSON numbers up to this are exact integers for all readers. */
#define EXACT_MAX (UINT64_C(1) << 53)

static const uint64_t ps_per_us = 1000000;

struct xyl_trace {
    FILE *file;
    xyl_trace_rows_t rows;
    uint64_t events, events_max;
    uint64_t left_out; /* events since recording stopped; 0: it goes on */
};

/* ---- pieces of JSON ---- */

/* Writes plain text; a byte outside ASCII becomes '?'. */
static void write_text(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(file, "\\u%04x", (unsigned)c);
        else
            putc(c < 0x7f ? c : '?', file);
    }
    putc('"', file);
}

static void write_time(FILE *file, const char *key, uint64_t time)
{
    fprintf(file, ",\"%s\":%" PRIu64 ".%06" PRIu64, key, time / ps_per_us,
            time % ps_per_us);
}

static uint32_t node_of(const xyl_trace_t *trace, uint32_t rank)
{
    return trace->rows.node +
           (rank - trace->rows.first) / trace->rows.ranks_per_node;
}

static int has_rank(const xyl_trace_t *trace, uint32_t rank)
{
    return rank - trace->rows.first < trace->rows.ranks;
}

static void write_place(xyl_trace_t *trace, uint32_t rank)
{
    fprintf(trace->file, ",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64,
            (uint64_t)node_of(trace, rank) + 1, (uint64_t)rank + 1);
}

/* ---- begin and end ---- */

/* `what` is "process" or "thread". */
static void write_name(xyl_trace_t *trace, const char *what, uint32_t rank,
                       const char *name, uint32_t number)
{
    fprintf(trace->file, ",\n{\"ph\":\"M\",\"name\":\"%s_name\"", what);
    write_place(trace, rank);
    fprintf(trace->file, ",\"args\":{\"name\":\"%s %" PRIu32 "\"}}", name,
            number);
    fprintf(trace->file, ",\n{\"ph\":\"M\",\"name\":\"%s_sort_index\"", what);
    write_place(trace, rank);
    fprintf(trace->file, ",\"args\":{\"sort_index\":%" PRIu32 "}}", number);
}

static void write_head(xyl_trace_t *trace)
{
    const xyl_trace_rows_t *rows = &trace->rows;
    uint32_t i, rank;

    /* The first event has no comma before it. */
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
          "{\"ph\":\"M\",\"name\":\"process_labels\"",
          trace->file);
    write_place(trace, rows->first);
    fprintf(trace->file, ",\"args\":{\"labels\":\"%s\"}}", rows->label);
    for (i = 0; i < rows->ranks; i++) {
        rank = rows->first + i;
        if (i % rows->ranks_per_node == 0)
            write_name(trace, "process", rank, "node", node_of(trace, rank));
        write_name(trace, "thread", rank, "rank", rank);
    }
}

xyl_trace_t *xyl_trace_create(const char *path, const xyl_trace_rows_t *rows,
                              uint64_t events_max)
{
    xyl_trace_t *trace = calloc(1, sizeof *trace);

    assert(rows->ranks > 0 && rows->ranks_per_node > 0);
    if (trace == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    trace->file = fopen(path, "w");
    if (trace->file == NULL) {
        int error = errno;
        free(trace);
        errno = error;
        return NULL;
    }
    trace->rows = *rows;
    trace->events_max = events_max;
    write_head(trace);
    return trace;
}

int xyl_trace_destroy(xyl_trace_t *trace)
{
    int is_written;

    if (trace == NULL)
        return 1;
    fprintf(trace->file,
            "\n],\"otherData\":{\"recorded\":\"%" PRIu64
            "\",\"left out\":\"%" PRIu64 "\"}}\n",
            trace->events, trace->left_out);
    is_written = !ferror(trace->file);
    is_written &= fclose(trace->file) == 0;
    free(trace);
    return is_written;
}

/* ---- events ---- */

/* 1: `count` more events are recorded. 0: recording has stopped, for all later
 * events too, so that the record is complete up to its end. A mark across all
 * rows shows this end. */
static int event_begin(xyl_trace_t *trace, uint64_t count, uint64_t time)
{
    if (trace->left_out == 0 && count <= trace->events_max - trace->events) {
        trace->events += count;
        return 1;
    }
    if (trace->left_out == 0) {
        fprintf(trace->file,
                ",\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"recording stops after "
                "%" PRIu64 " events\"",
                trace->events);
        write_place(trace, trace->rows.first);
        write_time(trace->file, "ts", time);
        putc('}', trace->file);
    }
    trace->left_out += count;
    return 0;
}

static void write_named(xyl_trace_t *trace, const char *kind, const char *name,
                        uint32_t rank, uint64_t time)
{
    fprintf(trace->file, ",\n{%s,\"name\":", kind);
    write_text(trace->file, name);
    write_place(trace, rank);
    write_time(trace->file, "ts", time);
}

void xyl_trace_span(xyl_trace_t *trace, uint32_t rank, const char *name,
                    uint64_t begin, uint64_t end, uint64_t detail)
{
    const char *quote = detail > EXACT_MAX ? "\"" : "";

    assert(has_rank(trace, rank) && begin <= end);
    if (!event_begin(trace, 1, begin))
        return;
    write_named(trace, "\"ph\":\"X\"", name, rank, begin);
    write_time(trace->file, "dur", end - begin);
    fprintf(trace->file, ",\"args\":{\"detail\":%s%" PRIu64 "%s}}", quote,
            detail, quote);
}

/* Writes the begin or the end of an operation. */
static void write_end(xyl_trace_t *trace, const char *kind, uint64_t id,
                      uint32_t rank, const char *name, uint64_t time)
{
    fprintf(trace->file,
            ",\n{\"ph\":\"%s\",\"cat\":\"operation\",\"id\":\"0x%" PRIx64
            "\",\"name\":",
            kind, id);
    write_text(trace->file, name);
    write_place(trace, rank);
    write_time(trace->file, "ts", time);
}

void xyl_trace_operation(xyl_trace_t *trace, uint64_t id, uint32_t rank,
                         const char *name, uint64_t begin, uint64_t end,
                         uint64_t bytes)
{
    assert(has_rank(trace, rank) && begin <= end && bytes <= EXACT_MAX);
    if (!event_begin(trace, 2, begin))
        return;
    write_end(trace, "b", id, rank, name, begin);
    fprintf(trace->file, ",\"args\":{\"bytes\":%" PRIu64 "}}", bytes);
    write_end(trace, "e", id, rank, name, end);
    putc('}', trace->file);
}

/* Writes the times as texts, because they have more digits than a double. */
void xyl_trace_clock(xyl_trace_t *trace, uint32_t rank, const char *host,
                     uint64_t monotonic_ns, uint64_t realtime_ns)
{
    fputs(",\n{\"ph\":\"M\",\"name\":\"clock\"", trace->file);
    write_place(trace, rank);
    fputs(",\"args\":{\"host\":", trace->file);
    write_text(trace->file, host);
    fprintf(trace->file,
            ",\"monotonic_ns\":\"%" PRIu64 "\",\"realtime_ns\":\"%" PRIu64
            "\"}}",
            monotonic_ns, realtime_ns);
}

void xyl_trace_mark(xyl_trace_t *trace, uint32_t rank, const char *stage,
                    uint64_t time, uint32_t sequence, uint64_t segment)
{
    assert(has_rank(trace, rank) && segment <= EXACT_MAX);
    if (!event_begin(trace, 1, time))
        return;
    write_named(trace, "\"ph\":\"i\",\"s\":\"t\"", stage, rank, time);
    fprintf(trace->file,
            ",\"args\":{\"sequence\":%" PRIu32 ",\"segment\":%" PRIu64 "}}",
            sequence, segment);
}

/* Writes one end of an arrow, without the closing brace. */
static void write_flow(xyl_trace_t *trace, const char *head, uint64_t id,
                       uint32_t rank, uint64_t time)
{
    fprintf(trace->file,
            ",\n{%s,\"cat\":\"message\",\"name\":\"message\","
            "\"id\":\"0x%" PRIx64 "\"",
            head, id);
    write_place(trace, rank);
    write_time(trace->file, "ts", time);
}

void xyl_trace_message(xyl_trace_t *trace, uint64_t id, uint32_t source,
                       uint64_t sent, uint32_t destination, uint64_t received,
                       size_t bytes)
{
    assert(has_rank(trace, source) && has_rank(trace, destination));
    assert(sent <= received && bytes <= EXACT_MAX);
    if (!event_begin(trace, 2, sent))
        return;
    write_flow(trace, "\"ph\":\"s\"", id, source, sent);
    fprintf(trace->file, ",\"args\":{\"bytes\":%zu}}", bytes);
    /* "bp": the arrow ends at the piece around its end, not at the next. */
    write_flow(trace, "\"ph\":\"f\",\"bp\":\"e\"", id, destination, received);
    putc('}', trace->file);
}
