/* Writes the trace as JSON while the simulation runs; what a viewer needs to
 * know is that
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
#include "simulator/trace.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Up to here a JSON number is an exact integer for every reader. */
#define EXACT_MAX (UINT64_C(1) << 53)

struct sim_trace {
    FILE *file;
    uint32_t ranks, ranks_per_node;
    uint64_t events, events_max;
    uint64_t left_out; /* since recording stopped; 0: it has not */
};

/* ---- pieces of JSON ---- */

/* Plain text; what is not ASCII becomes '?'. */
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

static void write_time(FILE *file, const char *key, sim_time_t time)
{
    fprintf(file, ",\"%s\":%" PRIu64 ".%06" PRIu64, key, time / SIM_US,
            time % SIM_US);
}

static void write_place(sim_trace_t *trace, uint32_t rank)
{
    fprintf(trace->file, ",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64,
            (uint64_t)rank / trace->ranks_per_node + 1, (uint64_t)rank + 1);
}

/* ---- begin and end ---- */

/* `what` is "process" or "thread". */
static void write_name(sim_trace_t *trace, const char *what, uint32_t rank,
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

static void write_head(sim_trace_t *trace)
{
    uint32_t rank;

    /* A first event without a comma; it labels all of them. */
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
          "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1,\"tid\":1,"
          "\"args\":{\"labels\":\"simulated\"}}",
          trace->file);
    for (rank = 0; rank < trace->ranks; rank++) {
        if (rank % trace->ranks_per_node == 0)
            write_name(trace, "process", rank, "node",
                       rank / trace->ranks_per_node);
        write_name(trace, "thread", rank, "rank", rank);
    }
}

sim_trace_t *sim_trace_create(const char *path, uint32_t ranks,
                              uint32_t ranks_per_node, uint64_t events_max)
{
    sim_trace_t *trace = calloc(1, sizeof *trace);

    assert(ranks > 0 && ranks_per_node > 0);
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
    trace->ranks = ranks;
    trace->ranks_per_node = ranks_per_node;
    trace->events_max = events_max;
    write_head(trace);
    return trace;
}

int sim_trace_destroy(sim_trace_t *trace)
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

/* Whether `count` more events are recorded. Where they first are not, a mark
 * across all rows says so; from there on nothing is, so that what is there is
 * complete. */
static int event_begin(sim_trace_t *trace, uint64_t count, sim_time_t time)
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
        write_place(trace, 0);
        write_time(trace->file, "ts", time);
        putc('}', trace->file);
    }
    trace->left_out += count;
    return 0;
}

void sim_trace_span(sim_trace_t *trace, uint32_t rank, const char *name,
                    sim_time_t begin, sim_time_t end, uint64_t detail)
{
    const char *quote = detail > EXACT_MAX ? "\"" : "";

    assert(rank < trace->ranks && begin <= end);
    if (!event_begin(trace, 1, begin))
        return;
    fputs(",\n{\"ph\":\"X\",\"name\":", trace->file);
    write_text(trace->file, name);
    write_place(trace, rank);
    write_time(trace->file, "ts", begin);
    write_time(trace->file, "dur", end - begin);
    fprintf(trace->file, ",\"args\":{\"detail\":%s%" PRIu64 "%s}}", quote,
            detail, quote);
}

void sim_trace_mark(sim_trace_t *trace, uint32_t rank, const char *stage,
                    sim_time_t time, uint32_t sequence, uint64_t segment)
{
    assert(rank < trace->ranks && segment <= EXACT_MAX);
    if (!event_begin(trace, 1, time))
        return;
    fputs(",\n{\"ph\":\"i\",\"s\":\"t\",\"name\":", trace->file);
    write_text(trace->file, stage);
    write_place(trace, rank);
    write_time(trace->file, "ts", time);
    fprintf(trace->file,
            ",\"args\":{\"sequence\":%" PRIu32 ",\"segment\":%" PRIu64 "}}",
            sequence, segment);
}

/* An end of an arrow, to which more may be added. */
static void write_flow(sim_trace_t *trace, const char *head, uint64_t id,
                       uint32_t rank, sim_time_t time)
{
    fprintf(trace->file,
            ",\n{%s,\"cat\":\"message\",\"name\":\"message\","
            "\"id\":\"0x%" PRIx64 "\"",
            head, id);
    write_place(trace, rank);
    write_time(trace->file, "ts", time);
}

void sim_trace_message(sim_trace_t *trace, uint64_t id, uint32_t source,
                       sim_time_t sent, uint32_t destination,
                       sim_time_t received, size_t bytes)
{
    assert(source < trace->ranks && destination < trace->ranks);
    assert(sent <= received && bytes <= EXACT_MAX);
    if (!event_begin(trace, 2, sent))
        return;
    write_flow(trace, "\"ph\":\"s\"", id, source, sent);
    fprintf(trace->file, ",\"args\":{\"bytes\":%zu}}", bytes);
    /* "bp": the arrow ends at the piece around its end, not at the next. */
    write_flow(trace, "\"ph\":\"f\",\"bp\":\"e\"", id, destination, received);
    putc('}', trace->file);
}
