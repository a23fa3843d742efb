/* Noise and arrivals of the simulator as texts, and files of recorded bursts:
 * reading, and messages about errors. Arrival patterns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/noise/noise.h"
#include "simulator/random.h"
#include "tests/support/check.h"

enum { ERROR_BYTES = 256 };

/* ---- texts ---- */

typedef struct reading {
    const char *text;
    sim_noise_t noise;
} reading_t;

#define ALL .last = UINT32_MAX

static const reading_t readings[] = {
    {"none", {.kind = SIM_NOISE_NONE, ALL}},
    {"none,rank=3", {.kind = SIM_NOISE_NONE, .first = 3, .last = 3}},
    {"uniform:10Hz,0-20ms",
     {.kind = SIM_NOISE_UNIFORM, .mhz = 10000, .max = 20 * SIM_MS, ALL}},
    {"uniform:0.001Hz,0-0.5ms",
     {.kind = SIM_NOISE_UNIFORM, .mhz = 1, .max = 500 * SIM_US, ALL}},
    {"uniform:10Hz,0-100ms",
     {.kind = SIM_NOISE_UNIFORM, .mhz = 10000, .max = 100 * SIM_MS, ALL}},
    {"uniform:10Hz,0-0ms",
     {.kind = SIM_NOISE_UNIFORM, .mhz = 10000, .max = 0, ALL}},
    {"periodic:1.5kHz,50us",
     {.kind = SIM_NOISE_PERIODIC, .mhz = 1500000, .max = 50 * SIM_US, ALL}},
    {"periodic:1000kHz,0.900us,rank=6",
     {.kind = SIM_NOISE_PERIODIC,
      .mhz = 1000000000,
      .max = 900 * SIM_NS,
      .first = 6,
      .last = 6}},
    {"sync:0010.50Hz,0.001ns,ranks=2-4",
     {.kind = SIM_NOISE_SYNCHRONOUS,
      .mhz = 10500,
      .max = 1,
      .first = 2,
      .last = 4}},
    {"poisson:10Hz,1.000000001ms,node=2",
     {.kind = SIM_NOISE_POISSON,
      .mhz = 10000,
      .max = 1000000001,
      .first = 16,
      .last = 23}},
    {"once:0.000000000001s@1000000s,ranks=4294967295-4294967295",
     {.kind = SIM_NOISE_ONCE,
      .max = 1,
      .at = 1000000 * SIM_S,
      .first = UINT32_MAX,
      .last = UINT32_MAX}},
    {"once:1ms@2.100000000000000000000000000000ms",
     {.kind = SIM_NOISE_ONCE, .max = SIM_MS, .at = 2100 * SIM_US, ALL}},
};

static void test_texts(void)
{
    char error[ERROR_BYTES];
    size_t i;

    for (i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        const sim_noise_t *wanted = &readings[i].noise;
        sim_noise_trace_t trace = {.count = 5};
        sim_noise_t got;
        memset(&got, 0xee, sizeof got);
        CHECK_EQ(sim_noise_parse(readings[i].text, 8, &got, &trace, error,
                                 sizeof error),
                 XYLEM_OK);
        CHECK_EQ(got.kind, wanted->kind);
        CHECK_EQ(got.mhz, wanted->mhz);
        CHECK_EQ(got.max, wanted->max);
        CHECK_EQ(got.at, wanted->at);
        CHECK_EQ(got.first, wanted->first);
        CHECK_EQ(got.last, wanted->last);
        CHECK_EQ(got.seed, 0);
        CHECK(got.trace == NULL);
        CHECK(trace.bursts == NULL && trace.count == 0);
        sim_noise_trace_free(&trace);
    }
}

/* A text, and a part of its error message. */
typedef struct refusal {
    const char *text;
    const char *said;
} refusal_t;

static void check_said(const char *text, const char *error, const char *said)
{
    int is_said = strstr(error, said) != NULL;

    if (!is_said)
        printf("# said of \"%s\": %s\n", text, error);
    CHECK(is_said);
}

static const refusal_t refusals[] = {
    {"", "expected none, uniform:"},
    {"noise", "at \"noise\""},
    {"None", "expected none"},
    {"nonesuch", "\",rank=R\""},
    {"uniform", "expected none, uniform:"},
    {"uniform:", "a rate such as 10Hz at the end"},
    {"uniform:10,0-20ms", "a rate such as 10Hz at \"10,0-20ms\""},
    {"uniform:10 Hz,0-20ms", "a rate such as 10Hz"},
    {"uniform:10hz,0-20ms", "a rate such as 10Hz"},
    {"uniform:10MHz,0-20ms", "a rate such as 10Hz"},
    {"uniform:-10Hz,0-20ms", "a rate such as 10Hz"},
    {"uniform:.5Hz,0-20ms", "a rate such as 10Hz"},
    {"uniform:5.Hz,0-20ms", "a rate such as 10Hz"},
    {"uniform:1e1Hz,0-20ms", "a rate such as 10Hz"},
    {"uniform:0Hz,0-20ms", "a rate above 0Hz"},
    {"uniform:0.0001Hz,0-20ms", "\"0.0001Hz\" is not a multiple of 0.001Hz"},
    {"uniform:1000.001kHz,0-1ns", "\"1000.001kHz\" is more than 1000kHz"},
    {"uniform:99999999999999999999999Hz,0-1ns", "is more than 1000kHz"},
    {"uniform:10Hz", "\",0-TIME\" at the end"},
    {"uniform:10Hz,20ms", "\",0-TIME\" at \",20ms\""},
    {"uniform:10Hz,1-20ms", "\",0-TIME\""},
    {"uniform:10Hz,0-20", "a time such as 0.5ms at \"20\""},
    {"uniform:10Hz,0-20m", "a time such as 0.5ms"},
    {"uniform:10Hz,0-20mss", "a time such as 0.5ms"},
    {"uniform:10Hz,0-101ms", "longer than the time to the next"},
    {"uniform:10Hz,0-20ms,", "\",rank=R\""},
    {"uniform:10Hz,0-20ms,rank=", "a rank at the end"},
    {"uniform:10Hz,0-20ms,rank=x", "a rank at \"x\""},
    {"uniform:10Hz,0-20ms,rank=4294967296", "a rank at \"4294967296\""},
    {"uniform:10Hz,0-20ms,rank=1,rank=2", "nothing at \",rank=2\""},
    {"uniform:10Hz,0-20ms,ranks=1", "\"-\" and the last rank"},
    {"uniform:10Hz,0-20ms,ranks=1-", "a rank at the end"},
    {"uniform:10Hz,0-20ms,ranks=2-1", "comes before the first"},
    {"uniform:10Hz,0-20ms,node=536870912", "there is no node 536870912"},
    {"uniform:10Hz,0-20ms,node=", "a node at the end"},
    {"periodic:10Hz,0-20ms", "a time such as 0.5ms at \"0-20ms\""},
    {"periodic:10Hz,91ms", "more than 90% of the time"},
    {"periodic:10Hz,1000000.1s", "\"1000000.1s\" is more than 1000000s"},
    {"periodic:10Hz,0.0001ns", "\"0.0001ns\" is not a multiple of 1 ps"},
    {"periodic:10Hz,18446744073709551617s", "is more than 1000000s"},
    {"periodic:10Hz,0.00000000000000000000000001s", "not a multiple of 1 ps"},
    {"poisson:10Hz,1s", "more than 90% of the time"},
    {"sync:10Hz;1ms", "\",TIME\" at \";1ms\""},
    {"once:1ms", "\"@TIME\" at the end"},
    {"once:1ms@", "a time such as 0.5ms at the end"},
    {"once:1ms@2", "a time such as 0.5ms"},
    {"once:1ms@2ms ", "\",rank=R\""},
    {"trace:", "the name of a file"},
    {"trace:,rank=1", "the name of a file"},
    {"trace:/no/such/file", "/no/such/file\": No such file"},
    {"trace:/no/such/file,rank=x", "a rank at \"x\""},
};

static void test_refusals(void)
{
    size_t i;

    for (i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        char error[ERROR_BYTES] = "";
        sim_noise_trace_t trace = {.count = 5};
        sim_noise_t noise = {.mhz = 17};
        CHECK_EQ(sim_noise_parse(refusals[i].text, 8, &noise, &trace, error,
                                 sizeof error),
                 XYLEM_ERR_CONFIG);
        check_said(refusals[i].text, error, refusals[i].said);
        CHECK(noise.mhz == 17 && trace.count == 5);
    }
}

/* Any text is refused with words, or works. */
static void test_damaged(void)
{
    uint64_t random = 31;
    int round;

    for (round = 0; round < 20000; round++) {
        const char *from =
            readings[random_below(&random,
                                  sizeof readings / sizeof readings[0])]
                .text;
        char text[128], error[ERROR_BYTES] = "";
        uint32_t changes = random_between(&random, 1, 3);
        size_t length = (size_t)snprintf(text, sizeof text, "%s", from);
        sim_noise_cursor_t cursor;
        sim_noise_trace_t trace;
        sim_noise_t noise;
        while (changes-- > 0)
            text[random_below(&random, (uint32_t)length + 1)] =
                "0129.,:-@=msHzkunr\x80\n"[random_below(&random, 20)];
        text[length + (random_below(&random, 2) == 0)] = '\0';
        if (sim_noise_parse(text, 8, &noise, &trace, error, sizeof error) !=
            XYLEM_OK) {
            CHECK(strlen(error) > 10);
            continue;
        }
        sim_noise_cursor_init(&cursor, &noise, noise.first);
        CHECK(sim_noise_advance(&cursor, SIM_US, SIM_MS) >= SIM_US + SIM_MS);
        sim_noise_trace_free(&trace);
    }
}

static void test_short_errors(void)
{
    char long_text[2000], error[ERROR_BYTES];
    sim_noise_trace_t trace;
    sim_noise_t noise;
    size_t bytes;

    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    for (bytes = 0; bytes < sizeof error; bytes++) {
        char *words = malloc(bytes + 1); /* to be seen by a sanitizer */
        words[bytes] = '#';
        CHECK_EQ(sim_noise_parse(long_text, 8, &noise, &trace, words, bytes),
                 XYLEM_ERR_CONFIG);
        CHECK(words[bytes] == '#');
        CHECK(bytes == 0 || strlen(words) < bytes);
        free(words);
    }
    CHECK_EQ(sim_noise_parse("uniform:x", 8, &noise, &trace, NULL, 0),
             XYLEM_ERR_CONFIG);
    /* A long text leaves room for its error. */
    sim_noise_parse(long_text, 8, &noise, &trace, error, sizeof error);
    CHECK(strstr(error, "expected none") != NULL);
}

/* ---- files ---- */

static char path[64];

/* Writes a file and loads it. */
static xylem_status_t load(const char *content, size_t bytes,
                           sim_noise_trace_t *trace, char *error)
{
    int file;

    snprintf(path, sizeof path, "/tmp/xylem-noise,XXXXXX");
    file = mkstemp(path);
    CHECK(file >= 0);
    CHECK_EQ(write(file, content, bytes), bytes);
    close(file);
    return sim_noise_trace_load(path, trace, error, ERROR_BYTES);
}

static const refusal_t bad_files[] = {
    {"", "no bursts"},
    {"# nothing\n\n  \t\n", "no bursts"},
    {"length 0\n", "no bursts"},
    {"1 2\n3\n", "line 2: expected a space and the burst's length"},
    {"1\n", "line 1: expected a space"},
    {"1 \n", "a number of microseconds at the end"},
    {"1 2 3\n", "expected nothing at \"3\""},
    {"1,2\n", "expected a space and the burst's length at \",2\""},
    {"1 2us\n", "a number of microseconds at \"2us\""},
    {"-1 2\n", "a number of microseconds at \"-1 2\""},
    {"1 -2\n", "a number of microseconds at \"-2\""},
    {"1 0x10\n", "a number of microseconds"},
    {"1 nan\n", "a number of microseconds"},
    {"1e3 2\n", "a number of microseconds"},
    {"# c\n10 5\n14.999999 2\n", "line 3: the burst begins before"},
    {"10 5\n3 1\n", "line 2: the burst begins before"},
    {"0.0000001 5\n", "\"0.0000001\" is not a multiple of 1 ps"},
    {"1000000000001 5\n", "is more than 1000000 s"},
    {"99999999999999999999 5\n", "is more than 1000000 s"},
    {"10 5\nlength 14.9\n", "line 2: the record ends before"},
    {"10 5\nlength\n", "expected a space and the record's length"},
    {"10 5\nlength50\n", "expected a space and the record's length"},
    {"10 5\nlength x\n", "a number of microseconds at \"x\""},
    {"10 5\nlength 50 60\n", "expected nothing at \"60\""},
    {"10 5\nlength 50\n60 1\n", "\"length\" is the last line"},
    {"length 50\nlength 60\n", "\"length\" is the last line"},
    {"0 10\n", "more than 90% of the time"},
    {"0 91\nlength 100\n", "more than 90% of the time"},
    {"one line\n", "a number of microseconds at \"one line\""},
};

static void test_bad_files(void)
{
    char error[ERROR_BYTES], long_line[3000];
    sim_noise_trace_t trace = {.count = 5};
    size_t i;

    for (i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        const char *text = bad_files[i].text;
        CHECK_EQ(load(text, strlen(text), &trace, error), XYLEM_ERR_CONFIG);
        check_said(text, error, bad_files[i].said);
        check_said(text, error, path);
        unlink(path);
    }
    memset(long_line, '1', sizeof long_line);
    CHECK_EQ(load(long_line, sizeof long_line, &trace, error),
             XYLEM_ERR_CONFIG);
    CHECK(strstr(error, "line 1: longer than") != NULL);
    unlink(path);
    CHECK_EQ(load("1 2\0\n", 5, &trace, error), XYLEM_ERR_CONFIG);
    CHECK(strstr(error, "or no text") != NULL);
    unlink(path);
    CHECK_EQ(sim_noise_trace_load("/", &trace, error, sizeof error),
             XYLEM_ERR_CONFIG);
    CHECK(strstr(error, "directory") != NULL);
    CHECK_EQ(trace.count, 5);
}

static void test_files(void)
{
    static const char text[] = "# recorded\n"
                               "0.5 0.25 # first\r\n"
                               "\n"
                               "\t10 0\n"
                               "  10\t2.000001  \n"
                               "12.000001 1\n"
                               "length  100.5";
    char error[ERROR_BYTES] = "", name[128];
    sim_noise_trace_t trace;
    sim_noise_t noise;

    CHECK_EQ(load(text, sizeof text - 1, &trace, error), XYLEM_OK);
    CHECK_EQ(trace.count, 3); /* without the one of no length */
    CHECK_EQ(trace.length, 100500000);
    CHECK_EQ(trace.bursts[0].begin, 500000);
    CHECK_EQ(trace.bursts[0].length, 250000);
    CHECK_EQ(trace.bursts[1].begin, 10 * SIM_US);
    CHECK_EQ(trace.bursts[1].length, 2000001);
    CHECK_EQ(trace.bursts[2].begin, 12000001);
    sim_noise_trace_free(&trace);
    CHECK(trace.bursts == NULL && trace.count == 0);
    sim_noise_trace_free(&trace);
    /* The name of the file has a comma, too. */
    snprintf(name, sizeof name, "trace:%s,node=1", path);
    CHECK_EQ(sim_noise_parse(name, 4, &noise, &trace, error, sizeof error),
             XYLEM_OK);
    CHECK(noise.kind == SIM_NOISE_TRACE && noise.trace == &trace);
    CHECK_EQ(noise.first, 4);
    CHECK_EQ(noise.last, 7);
    CHECK_EQ(sim_noise_share_ppm(&noise), 32338);
    sim_noise_trace_free(&trace);
    snprintf(name, sizeof name, "trace:%s", path);
    CHECK_EQ(sim_noise_parse(name, 0, &noise, &trace, error, sizeof error),
             XYLEM_OK);
    CHECK(noise.first == 0 && noise.last == UINT32_MAX);
    sim_noise_trace_free(&trace);
    unlink(path);
}

static void test_large_file(void)
{
    enum { LINES = 10000, BYTES = 24 };
    char *text = malloc((size_t)LINES * BYTES), error[ERROR_BYTES];
    sim_noise_trace_t trace;
    size_t used = 0, i;

    for (i = 0; i < LINES; i++)
        used += (size_t)snprintf(text + used, BYTES, "%zu.5 0.%zu\n", i * 2,
                                 1 + i % 9);
    CHECK_EQ(load(text, used, &trace, error), XYLEM_OK);
    CHECK_EQ(trace.count, LINES);
    for (i = 0; i < trace.count; i++) {
        CHECK_EQ(trace.bursts[i].begin, i * 2 * SIM_US + SIM_US / 2);
        CHECK_EQ(trace.bursts[i].length, (1 + i % 9) * SIM_US / 10);
    }
    sim_noise_trace_free(&trace);
    unlink(path);
    free(text);
}

/* ---- arrivals ---- */

static sim_arrivals_t arrivals_of(const char *text)
{
    char error[ERROR_BYTES] = "";
    sim_arrivals_t arrivals = {0};

    CHECK_EQ(sim_arrivals_parse(text, &arrivals, error, sizeof error),
             XYLEM_OK);
    return arrivals;
}

static void test_arrivals(void)
{
    sim_arrivals_t together = arrivals_of("together");
    sim_arrivals_t one = arrivals_of("one-late:1ms,rank=6");
    sim_arrivals_t all = arrivals_of("all-late-but:1.5us,rank=0");
    sim_arrivals_t sorted = arrivals_of("sorted:1000000s");
    uint32_t rank;

    for (rank = 0; rank < 9; rank++) {
        CHECK_EQ(sim_arrivals_time(&together, rank, 9), 0);
        CHECK_EQ(sim_arrivals_time(&one, rank, 9), rank == 6 ? SIM_MS : 0);
        CHECK_EQ(sim_arrivals_time(&all, rank, 9), rank == 0 ? 0 : 1500000);
        CHECK_EQ(sim_arrivals_time(&sorted, rank, 9), 125000 * SIM_S * rank);
    }
    CHECK_EQ(sim_arrivals_time(&sorted, 0, 1), 0);
    CHECK_EQ(sim_arrivals_time(&sorted, UINT32_MAX - 1, UINT32_MAX),
             1000000 * SIM_S); /* no overflow */
    sorted.max = 10;
    CHECK_EQ(sim_arrivals_time(&sorted, 1, 4), 3);
    CHECK_EQ(sim_arrivals_time(&sorted, 2, 4), 6);
    CHECK_EQ(sim_arrivals_time(&sorted, 3, 4), 10);
}

static void check_even(const uint32_t *parts, uint32_t count, uint32_t least,
                       uint32_t most)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        CHECK(parts[i] >= least && parts[i] <= most);
}

static void test_random_arrivals(void)
{
    sim_arrivals_t arrivals = arrivals_of("random:1ms");
    uint32_t parts[10] = {0}, rank, seen[4] = {0};

    for (rank = 0; rank < 10000; rank++) {
        sim_time_t time = sim_arrivals_time(&arrivals, rank, 10000);
        CHECK(time <= SIM_MS);
        parts[time * 10 / (SIM_MS + 1)]++;
        CHECK_EQ(sim_arrivals_time(&arrivals, rank, 10000), time);
    }
    check_even(parts, 10, 880, 1120);
    arrivals.max = 3; /* both ends are reached */
    for (rank = 0; rank < 10000; rank++)
        seen[sim_arrivals_time(&arrivals, rank, 10000)]++;
    check_even(seen, 4, 2350, 2650);
    arrivals.max = 0;
    CHECK_EQ(sim_arrivals_time(&arrivals, 3, 10), 0);
}

/* The same on every machine. */
static void test_golden_arrivals(void)
{
    sim_arrivals_t arrivals = {SIM_ARRIVAL_RANDOM, SIM_S, 0, 2020};
    uint64_t sum = 0;
    uint32_t rank;

    for (rank = 0; rank < 100; rank++)
        sum = random_mix(sum ^ sim_arrivals_time(&arrivals, rank, 100));
    CHECK(sum == UINT64_C(0x849520008d2705d7));
    arrivals.seed++;
    CHECK(sim_arrivals_time(&arrivals, 7, 100) != 0);
}

static const refusal_t bad_arrivals[] = {
    {"", "expected together, one-late:"},
    {"togetherness", "nothing at \"ness\""},
    {"one-late", "expected together, one-late:"},
    {"one-late:1ms", "\",rank=R\" at the end"},
    {"one-late:,rank=1", "a time such as 0.5ms at \",rank=1\""},
    {"one-late:1ms,rank=", "a rank at the end"},
    {"one-late:1ms,rank=-1", "a rank at \"-1\""},
    {"all-late-but:1ms,rank=1 ", "nothing at \" \""},
    {"sorted:1", "a time such as 0.5ms at \"1\""},
    {"sorted:1ms,rank=1", "nothing at \",rank=1\""},
    {"random:2000000s", "more than 1000000s"},
};

static void test_bad_arrivals(void)
{
    size_t i;

    for (i = 0; i < sizeof bad_arrivals / sizeof bad_arrivals[0]; i++) {
        sim_arrivals_t arrivals = {.max = 17};
        char error[ERROR_BYTES] = "";
        CHECK_EQ(sim_arrivals_parse(bad_arrivals[i].text, &arrivals, error,
                                    sizeof error),
                 XYLEM_ERR_CONFIG);
        check_said(bad_arrivals[i].text, error, bad_arrivals[i].said);
        CHECK_EQ(arrivals.max, 17);
    }
}

/* Noise in legends. */
static void test_words(void)
{
    static const char *const words[][2] = {
        {"none", "no noise"},
        {"uniform:10Hz,0-20ms", "0 to 20 ms, 10 per second"},
        {"periodic:1.5kHz,50us", "50 us, 1500 per second"},
        {"sync:10Hz,1ms,ranks=2-4",
         "1 ms at once, 10 per second, ranks 2 to 4"},
        {"poisson:10Hz,1500us,node=2",
         "1.5 ms, 10 per second by chance, ranks 16 to 23"},
        {"once:2s@2ms,rank=6", "once 2 s, rank 6"}};
    static const sim_noise_t record = {.kind = SIM_NOISE_TRACE};
    sim_noise_trace_t trace;
    sim_noise_t noise;
    char error[ERROR_BYTES], said[ERROR_BYTES];
    size_t i;

    for (i = 0; i < sizeof words / sizeof words[0]; i++) {
        CHECK_EQ(sim_noise_parse(words[i][0], 8, &noise, &trace, error,
                                 sizeof error),
                 XYLEM_OK);
        sim_noise_words(&noise, words[i][0], said, sizeof said);
        CHECK(strcmp(said, words[i][1]) == 0);
    }
    sim_noise_words(&record, "trace:a/b.txt", said, sizeof said);
    CHECK(strcmp(said, "record b.txt") == 0);
}

static const check_case_t cases[] = {
    {"texts", test_texts},
    {"texts that are refused", test_refusals},
    {"words of legends", test_words},
    {"damaged texts", test_damaged},
    {"room for errors", test_short_errors},
    {"files", test_files},
    {"files that are refused", test_bad_files},
    {"a large file", test_large_file},
    {"arrivals", test_arrivals},
    {"random arrivals", test_random_arrivals},
    {"the same arrivals on every machine", test_golden_arrivals},
    {"arrivals that are refused", test_bad_arrivals},
};

CHECK_MAIN(cases)
