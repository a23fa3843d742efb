/* Traces of the simulator, read back as JSON: rows and their names, pieces of
 * work and how they nest, arrows, times to the picosecond, names that need
 * escapes, where recording stops, and files that cannot be written. */
#include "runtime/base/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/machine.h"
#include "simulator/random.h"
#include "tests/support/check.h"

enum { TEXT_BYTES = 1 << 22 };

static char path[64];

static xyl_trace_t *create(uint32_t ranks, uint32_t ranks_per_node,
                           uint64_t events_max)
{
    xyl_trace_t *trace;
    int file;

    snprintf(path, sizeof path, "/tmp/xylem-trace-XXXXXX");
    file = mkstemp(path);
    CHECK(file >= 0);
    close(file);
    trace =
        xyl_trace_create(path,
                         &(xyl_trace_rows_t){.label = "simulated",
                                             .ranks = ranks,
                                             .ranks_per_node = ranks_per_node},
                         events_max);
    CHECK(trace != NULL);
    return trace;
}

/* Ends the trace; returns the text of its file, to be freed. */
static char *text_of(xyl_trace_t *trace)
{
    char *text = malloc(TEXT_BYTES);
    FILE *file;
    size_t used;

    CHECK_EQ(xyl_trace_destroy(trace), 1);
    file = fopen(path, "r");
    used = fread(text, 1, TEXT_BYTES - 1, file);
    CHECK(used < TEXT_BYTES - 1);
    text[used] = '\0';
    fclose(file);
    unlink(path);
    return text;
}

/* The same as JSON, to be given back with json_decref. */
static json_t *document_of(xyl_trace_t *trace)
{
    char *text = text_of(trace);
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (document == NULL)
        printf("# line %d: %s\n", error.line, error.text);
    CHECK(document != NULL);
    free(text);
    return document;
}

/* ---- parts of an event ---- */

static const char *string_of(const json_t *object, const char *key)
{
    const char *string = json_string_value(json_object_get(object, key));

    return string == NULL ? "" : string;
}

static json_int_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* Picoseconds; exact for times up to hours. */
static sim_time_t time_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    CHECK(json_is_real(value));
    return (sim_time_t)llround(json_real_value(value) * 1e6);
}

static int is_kind(const json_t *event, const char *kind)
{
    return strcmp(string_of(event, "ph"), kind) == 0;
}

static const json_t *arguments_of(const json_t *event)
{
    return json_object_get(event, "args");
}

/* The nth event that is no metadata. */
static const json_t *event_at(const json_t *document, size_t nth)
{
    const json_t *events = json_object_get(document, "traceEvents");
    size_t i;

    for (i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (!is_kind(event, "M") && nth-- == 0)
            return event;
    }
    return NULL;
}

static size_t count_of(const json_t *document, const char *kind)
{
    const json_t *events = json_object_get(document, "traceEvents");
    size_t i, count = 0;

    for (i = 0; i < json_array_size(events); i++)
        count += (size_t)is_kind(json_array_get(events, i), kind);
    return count;
}

/* ---- rows ---- */

/* How many rows of `what` ("process_name") have this name and place. */
static int names_of(const json_t *document, const char *what, const char *name,
                    json_int_t pid, json_int_t tid)
{
    const json_t *events = json_object_get(document, "traceEvents");
    int found = 0;
    size_t i;

    for (i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        found += is_kind(event, "M") &&
                 strcmp(string_of(event, "name"), what) == 0 &&
                 strcmp(string_of(arguments_of(event), "name"), name) == 0 &&
                 integer_of(event, "pid") == pid &&
                 (tid == 0 || integer_of(event, "tid") == tid);
    }
    return found;
}

static void test_rows(void)
{
    json_t *document = document_of(create(5, 2, 100));
    char name[32];
    int i;

    CHECK(strcmp(string_of(document, "displayTimeUnit"), "ns") == 0);
    for (i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "node %d", i);
        CHECK_EQ(names_of(document, "process_name", name, i + 1, 0), 1);
    }
    for (i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "rank %d", i);
        CHECK_EQ(names_of(document, "thread_name", name, i / 2 + 1, i + 1), 1);
    }
    /* One label, and a name and a place in the order for each row. */
    CHECK_EQ(count_of(document, "M"), 1 + 2 * (3 + 5));
    CHECK_EQ(json_array_size(json_object_get(document, "traceEvents")), 17);
    json_decref(document);
}

static void test_many_rows(void)
{
    xyl_trace_t *trace = create(5000, 48, 100);
    json_t *document;

    xyl_trace_span(trace, 4999, "last", 1, 2, 0);
    document = document_of(trace);
    CHECK_EQ(count_of(document, "M"), 1 + 2 * (105 + 5000));
    CHECK_EQ(integer_of(event_at(document, 0), "pid"), 4999 / 48 + 1);
    CHECK_EQ(integer_of(event_at(document, 0), "tid"), 5000);
    json_decref(document);
}

/* ---- events ---- */

static void test_marks(void)
{
    xyl_trace_t *trace = create(4, 2, 100);
    const json_t *event;
    json_t *document;

    xyl_trace_mark(trace, 2, "down", 1500001, 7, 1023);
    document = document_of(trace);
    event = event_at(document, 0);
    CHECK(is_kind(event, "i"));
    CHECK(strcmp(string_of(event, "s"), "t") == 0);
    CHECK(strcmp(string_of(event, "name"), "down") == 0);
    CHECK_EQ(integer_of(event, "pid"), 2);
    CHECK_EQ(integer_of(event, "tid"), 3);
    CHECK_EQ(time_of(event, "ts"), 1500001);
    CHECK_EQ(integer_of(arguments_of(event), "sequence"), 7);
    CHECK_EQ(integer_of(arguments_of(event), "segment"), 1023);
    json_decref(document);
}

/* One rank of a job: its row, its clock, operations that overlap. */
static void test_one_rank(void)
{
    static const xyl_trace_rows_t rows = {.label = "measured",
                                          .first = 70,
                                          .ranks = 1,
                                          .node = 4,
                                          .ranks_per_node = 1};
    xyl_trace_t *trace = create(1, 1, 100);
    const json_t *events, *clock;
    json_t *document;

    CHECK_EQ(xyl_trace_destroy(trace), 1);
    trace = xyl_trace_create(path, &rows, 5);
    CHECK(trace != NULL);
    xyl_trace_clock(trace, 70, "n4", UINT64_MAX, 1);
    xyl_trace_operation(trace, 0xab, 70, "bcast", 1, 5000000, 64);
    xyl_trace_operation(trace, 0xac, 70, "reduce", 2, 6000000, 8);
    xyl_trace_operation(trace, 0xad, 70, "too many", 3, 7000000, 8);
    document = document_of(trace);
    events = json_object_get(document, "traceEvents");
    CHECK_EQ(count_of(document, "M"), 1 + 2 * 2 + 1);
    clock = json_array_get(events, 5);
    CHECK(strcmp(string_of(clock, "name"), "clock") == 0);
    CHECK(strcmp(string_of(arguments_of(clock), "monotonic_ns"),
                 "18446744073709551615") == 0);
    CHECK_EQ(count_of(document, "b"), 2);
    CHECK_EQ(count_of(document, "e"), 2);
    CHECK_EQ(integer_of(event_at(document, 0), "pid"), 5);
    CHECK_EQ(integer_of(event_at(document, 0), "tid"), 71);
    CHECK_EQ(integer_of(arguments_of(event_at(document, 0)), "bytes"), 64);
    CHECK_EQ(time_of(event_at(document, 1), "ts"), 5000000);
    CHECK(strcmp(string_of(event_at(document, 1), "id"), "0xab") == 0);
    json_decref(document);
}

static void test_events(void)
{
    xyl_trace_t *trace = create(4, 2, 100);
    const json_t *event;
    json_t *document;

    xyl_trace_span(trace, 3, "combine", 1500000, 2750001, 42);
    xyl_trace_message(trace, 0xabc, 0, 5, 2, SIM_S, 4096);
    xyl_trace_span(trace, 0, "nothing", 7, 7, 0);
    document = document_of(trace);

    event = event_at(document, 0);
    CHECK(is_kind(event, "X"));
    CHECK(strcmp(string_of(event, "name"), "combine") == 0);
    CHECK_EQ(integer_of(event, "pid"), 2);
    CHECK_EQ(integer_of(event, "tid"), 4);
    CHECK_EQ(time_of(event, "ts"), 1500000);
    CHECK_EQ(time_of(event, "dur"), 1250001);
    CHECK_EQ(integer_of(arguments_of(event), "detail"), 42);

    event = event_at(document, 1);
    CHECK(is_kind(event, "s"));
    CHECK(strcmp(string_of(event, "id"), "0xabc") == 0);
    CHECK_EQ(integer_of(event, "tid"), 1);
    CHECK_EQ(time_of(event, "ts"), 5);
    CHECK_EQ(integer_of(arguments_of(event), "bytes"), 4096);
    CHECK(strcmp(string_of(event, "name"),
                 string_of(event_at(document, 2), "name")) == 0);
    CHECK(strcmp(string_of(event, "cat"),
                 string_of(event_at(document, 2), "cat")) == 0);

    event = event_at(document, 2);
    CHECK(is_kind(event, "f"));
    CHECK(strcmp(string_of(event, "id"), "0xabc") == 0);
    CHECK(strcmp(string_of(event, "bp"), "e") == 0);
    CHECK_EQ(integer_of(event, "pid"), 2);
    CHECK_EQ(integer_of(event, "tid"), 3);
    CHECK_EQ(time_of(event, "ts"), SIM_S);

    CHECK_EQ(time_of(event_at(document, 3), "dur"), 0);
    CHECK(event_at(document, 4) == NULL);
    json_decref(document);
}

/* Numbers with more digits than floating point can hold. */
static void test_digits(void)
{
    xyl_trace_t *trace = create(1, 1, 100);
    char *text;

    xyl_trace_span(trace, 0, "x", 0, SIM_NEVER, UINT64_C(1) << 53);
    xyl_trace_span(trace, 0, "x", SIM_NEVER - 1, SIM_NEVER, UINT64_MAX);
    xyl_trace_message(trace, UINT64_MAX, 0, 1234567, 0, 1000000000000000001, 0);
    text = text_of(trace);
    CHECK(strstr(text, "\"ts\":0.000000,\"dur\":18446744073709.551615,"
                       "\"args\":{\"detail\":9007199254740992}") != NULL);
    CHECK(strstr(text,
                 "\"ts\":18446744073709.551614,\"dur\":0.000001,"
                 "\"args\":{\"detail\":\"18446744073709551615\"}") != NULL);
    CHECK(strstr(text, "\"ts\":1.234567,\"args\":{\"bytes\":0}}") != NULL);
    CHECK(strstr(text, "\"ts\":1000000000000.000001}") != NULL);
    CHECK(strstr(text, "\"id\":\"0xffffffffffffffff\"") != NULL);
    free(text);
}

static void test_escapes(void)
{
    static const struct {
        const char *name;
        const char *read;
    } names[] = {
        {"", ""},
        {"reduce \"sum\"", "reduce \"sum\""},
        {"C:\\temp\\", "C:\\temp\\"},
        {"a\nb\tc\r\x01\x1f\x7f", "a\nb\tc\r\x01\x1f\x7f"},
        {"\",\"ph\":\"M", "\",\"ph\":\"M"},
        {"100% %s %n", "100% %s %n"},
        {"5 \xc2\xb5s \xff", "5 ??s ?"},
    };
    enum { NAMES = sizeof names / sizeof names[0] };
    xyl_trace_t *trace = create(1, 1, 100);
    json_t *document;
    size_t i;

    for (i = 0; i < NAMES; i++)
        xyl_trace_span(trace, 0, names[i].name, i, i + 1, 0);
    document = document_of(trace);
    CHECK_EQ(count_of(document, "X"), NAMES);
    for (i = 0; i < NAMES; i++)
        CHECK(strcmp(string_of(event_at(document, i), "name"), names[i].read) ==
              0);
    json_decref(document);
}

/* ---- a whole run ---- */

enum { RANKS = 6, PIECES = 60, DEPTH_MAX = 2 };

/* Pieces one after another with two shorter ones in each, and a message from
 * within each piece into the next rank's piece of the same time. */
static void run_record(xyl_trace_t *trace, uint64_t seed)
{
    sim_time_t time = 0;
    uint64_t random = seed, id = 0;
    uint32_t piece, rank;

    for (piece = 0; piece < PIECES; piece++) {
        sim_time_t length = 10 + random_below(&random, 1000000);
        for (rank = 0; rank < RANKS; rank++) {
            sim_time_t half = time + length / 2;
            xyl_trace_span(trace, rank, "outer", time, time + length, piece);
            xyl_trace_span(trace, rank, "first", time, half, piece);
            xyl_trace_span(trace, rank, "second", half, time + length, piece);
            xyl_trace_message(trace, id++, rank, time + 1, (rank + 1) % RANKS,
                              time + 1 + random_below(&random, 9), length);
        }
        time += length + random_below(&random, 100);
    }
}

/* Pieces of a row lie within each other or apart, in the order of their
 * recording; the stack holds the ends of those that are open. */
static void check_nesting(const json_t *document, uint32_t rank)
{
    sim_time_t ends[DEPTH_MAX] = {0};
    size_t i, depth = 0, pieces = 0;
    const json_t *events = json_object_get(document, "traceEvents");

    for (i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        sim_time_t begin, end;
        if (!is_kind(event, "X") || integer_of(event, "tid") != rank + 1)
            continue;
        begin = time_of(event, "ts");
        end = begin + time_of(event, "dur");
        while (depth > 0 && ends[depth - 1] <= begin)
            depth--;
        CHECK(depth < DEPTH_MAX);
        CHECK(depth == 0 || end <= ends[depth - 1]);
        CHECK_EQ(depth, pieces % 3 != 0);
        ends[depth % DEPTH_MAX] = end;
        depth += depth < DEPTH_MAX;
        pieces++;
    }
    CHECK_EQ(pieces, 3 * PIECES);
}

static void test_run(void)
{
    xyl_trace_t *trace = create(RANKS, 4, UINT64_MAX);
    json_t *document;
    uint32_t rank;
    size_t i;

    run_record(trace, 5);
    document = document_of(trace);
    for (rank = 0; rank < RANKS; rank++)
        check_nesting(document, rank);
    CHECK_EQ(count_of(document, "i"), 0);
    CHECK_EQ(count_of(document, "s"), RANKS * PIECES);
    CHECK_EQ(count_of(document, "f"), RANKS * PIECES);
    /* Both ends of an arrow, after the pieces that it belongs to. */
    for (i = 0; i < (size_t)RANKS * PIECES; i++) {
        const json_t *piece = event_at(document, i * 5);
        const json_t *tail = event_at(document, i * 5 + 3);
        const json_t *head = event_at(document, i * 5 + 4);
        sim_time_t begin = time_of(piece, "ts");
        sim_time_t end = begin + time_of(piece, "dur");
        CHECK(is_kind(tail, "s") && is_kind(head, "f"));
        CHECK_EQ(integer_of(tail, "tid"), integer_of(piece, "tid"));
        CHECK_EQ(strtoull(string_of(tail, "id"), NULL, 16), i);
        CHECK_EQ(strtoull(string_of(head, "id"), NULL, 16), i);
        CHECK(time_of(tail, "ts") > begin && time_of(tail, "ts") < end);
        CHECK(time_of(head, "ts") >= time_of(tail, "ts"));
        CHECK(time_of(head, "ts") <= end);
    }
    json_decref(document);
}

static void test_equal(void)
{
    xyl_trace_t *trace = create(RANKS, 4, 1000);
    char *first, *second;

    run_record(trace, 5);
    first = text_of(trace);
    trace = create(RANKS, 4, 1000);
    run_record(trace, 5);
    second = text_of(trace);
    CHECK(strcmp(first, second) == 0);
    free(first);
    free(second);
}

/* ---- the end ---- */

static void check_stop(uint64_t events_max, size_t spans, size_t messages,
                       const char *left_out)
{
    xyl_trace_t *trace = create(2, 2, events_max);
    json_t *document, *other;
    const json_t *mark;
    char recorded[32];

    xyl_trace_span(trace, 0, "one", 10, 20, 0);
    xyl_trace_message(trace, 1, 0, 15, 1, 25, 8); /* two events */
    xyl_trace_span(trace, 1, "two", 25, 30, 0);
    document = document_of(trace);
    other = json_object_get(document, "otherData");
    CHECK_EQ(count_of(document, "X"), spans);
    CHECK_EQ(count_of(document, "s"), messages);
    CHECK_EQ(count_of(document, "f"), messages);
    snprintf(recorded, sizeof recorded, "%zu", spans + 2 * messages);
    CHECK(strcmp(string_of(other, "recorded"), recorded) == 0);
    CHECK(strcmp(string_of(other, "left out"), left_out) == 0);
    mark = event_at(document, spans + 2 * messages);
    CHECK((mark == NULL) == (strcmp(left_out, "0") == 0));
    if (mark != NULL) {
        CHECK(is_kind(mark, "i"));
        CHECK(strcmp(string_of(mark, "s"), "g") == 0);
        CHECK(strstr(string_of(mark, "name"), "recording stops") != NULL);
        CHECK(strstr(string_of(mark, "name"), recorded) != NULL);
        CHECK_EQ(time_of(mark, "ts"), spans == 0 ? 10 : messages ? 25 : 15);
    }
    json_decref(document);
}

static void test_stop(void)
{
    check_stop(0, 0, 0, "4");
    check_stop(1, 1, 0, "3");
    check_stop(2, 1, 0, "3"); /* no half arrow, and nothing after it */
    check_stop(3, 1, 1, "1");
    check_stop(4, 2, 1, "0");
    check_stop(UINT64_MAX, 2, 1, "0");
}

static void test_failures(void)
{
    xyl_trace_t *trace;

    errno = 0;
    CHECK(xyl_trace_create("/no/such/folder/trace",
                           &(xyl_trace_rows_t){.label = "simulated",
                                               .ranks = 1,
                                               .ranks_per_node = 1},
                           1) == NULL);
    CHECK_EQ(errno, ENOENT);
    CHECK(xyl_trace_create("/",
                           &(xyl_trace_rows_t){.label = "simulated",
                                               .ranks = 1,
                                               .ranks_per_node = 1},
                           1) == NULL);
    CHECK_EQ(errno, EISDIR);
    CHECK_EQ(xyl_trace_destroy(NULL), 1);
    if (access("/dev/full", W_OK) != 0) {
        check_skip("there is no /dev/full");
        return;
    }
    trace = xyl_trace_create("/dev/full",
                             &(xyl_trace_rows_t){.label = "simulated",
                                                 .ranks = 1,
                                                 .ranks_per_node = 1},
                             10); /* fails at the end */
    CHECK(trace != NULL);
    CHECK_EQ(xyl_trace_destroy(trace), 0);
    trace = xyl_trace_create("/dev/full",
                             &(xyl_trace_rows_t){.label = "simulated",
                                                 .ranks = 1000,
                                                 .ranks_per_node = 1},
                             UINT64_MAX); /* before */
    CHECK(trace != NULL);
    xyl_trace_span(trace, 0, "lost", 0, 1, 0);
    CHECK_EQ(xyl_trace_destroy(trace), 0);
}

static const check_case_t cases[] = {
    {"rows", test_rows},
    {"many rows", test_many_rows},
    {"marks", test_marks},
    {"events", test_events},
    {"one rank of a job", test_one_rank},
    {"digits", test_digits},
    {"names", test_escapes},
    {"a run: nesting and order", test_run},
    {"equal runs give equal files", test_equal},
    {"recording stops", test_stop},
    {"files that cannot be written", test_failures},
};

CHECK_MAIN(cases)
