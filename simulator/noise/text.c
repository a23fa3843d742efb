/* Noise and arrival patterns as users write them, and files of recorded bursts.
 *
 * Numbers are read digit by digit into integers: "0.1ms" is exactly that many
 * picoseconds, and a fraction of a picosecond is refused, not rounded. A
 * message says the first error, with its place in the text or the line of the
 * file. Results are written on success only.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/noise/noise.h"

enum {
    SUBJECT_SHOWN_MAX = 160, /* characters of a text within a message */
    REST_SHOWN_MAX = 32,
    LINE_BYTES = 1024,
    BURSTS_MAX = 1 << 24 /* of a record */
};

/* A text that is being read, and the place for complaints. */
typedef struct reader {
    const char *kind;    /* "noise", "arrivals" or "noise record" */
    const char *subject; /* the text, or the name of the file */
    size_t line;         /* of the file; 0: no line in particular */
    const char *at;      /* the rest of the text */
    char *error;
    size_t error_bytes;
} reader_t;

__attribute__((format(printf, 3, 4))) static xylem_status_t
fail(const reader_t *reader, xylem_status_t status, const char *format, ...)
{
    char line[32] = "";
    va_list list;
    int used;

    if (reader->line != 0)
        snprintf(line, sizeof line, ", line %zu", reader->line);
    used = snprintf(reader->error, reader->error_bytes,
                    "%s \"%.*s\"%s: ", reader->kind, (int)SUBJECT_SHOWN_MAX,
                    reader->subject, line);
    if (used > 0 && (size_t)used < reader->error_bytes) {
        va_start(list, format);
        vsnprintf(reader->error + used, reader->error_bytes - (size_t)used,
                  format, list);
        va_end(list);
    }
    return status;
}

/* "expected WHAT at REST" */
static xylem_status_t fail_expected(const reader_t *reader, const char *what)
{
    if (reader->at[0] == '\0')
        return fail(reader, XYLEM_ERR_CONFIG, "expected %s at the end", what);
    return fail(reader, XYLEM_ERR_CONFIG, "expected %s at \"%.*s\"", what,
                (int)REST_SHOWN_MAX, reader->at);
}

/* ---- words ---- */

static int skip(reader_t *reader, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(reader->at, word, length) != 0)
        return 0;
    reader->at += length;
    return 1;
}

static xylem_status_t skip_expected(reader_t *reader, const char *word,
                                    const char *what)
{
    return skip(reader, word) ? XYLEM_OK : fail_expected(reader, what);
}

static xylem_status_t expect_end(const reader_t *reader)
{
    return reader->at[0] == '\0' ? XYLEM_OK : fail_expected(reader, "nothing");
}

/* ---- numbers ---- */

typedef struct unit {
    const char *name;
    unsigned exponent; /* the unit is 10^exponent of the finest */
} unit_t;

typedef struct quantity {
    const char *expected;
    const char *finest_text;
    const char *limit_text;
    uint64_t limit;
    const unit_t *units; /* until a name of NULL */
} quantity_t;

static const unit_t time_units[] = {
    {"s", 12}, {"ms", 9}, {"us", 6}, {"ns", 3}, {NULL, 0}};
static const unit_t rate_units[] = {{"Hz", 3}, {"kHz", 6}, {NULL, 0}};
static const unit_t record_units[] = {{"", 6}, {NULL, 0}};

static const quantity_t times = {"a time such as 0.5ms", "1 ps", "1000000s",
                                 1000000 * SIM_S, time_units};
static const quantity_t rates = {"a rate such as 10Hz", "0.001Hz", "1000kHz",
                                 1000000000, rate_units};
static const quantity_t record_times = {"a number of microseconds", "1 ps",
                                        "1000000 s", 1000000 * SIM_S,
                                        record_units};

/* mantissa / 10^places; places is the least that there is for the number */
typedef struct decimal {
    uint64_t mantissa;
    unsigned places;
    int is_large; /* too large for the mantissa */
} decimal_t;

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void decimal_append(decimal_t *decimal, unsigned digit)
{
    if (decimal->mantissa > (UINT64_MAX - digit) / 10)
        decimal->is_large = 1;
    else
        decimal->mantissa = decimal->mantissa * 10 + digit;
}

/* Digits, and more after a point; 0 when there is no such thing. */
static int decimal_read(const char **at, decimal_t *decimal_out)
{
    decimal_t decimal = {0};
    const char *next = *at;
    unsigned zeros = 0; /* that count if another digit follows */

    if (!is_digit(*next))
        return 0;
    for (; is_digit(*next); next++)
        decimal_append(&decimal, (unsigned)(*next - '0'));
    if (*next == '.' && !is_digit(next[1]))
        return 0;
    for (next += *next == '.'; is_digit(*next); next++) {
        zeros++;
        if (*next == '0')
            continue;
        for (decimal.places += zeros; zeros > 1 && !decimal.is_large; zeros--)
            decimal_append(&decimal, 0);
        decimal_append(&decimal, (unsigned)(*next - '0'));
        zeros = 0;
    }
    *at = next;
    *decimal_out = decimal;
    return 1;
}

/* The unit is all letters that follow. */
static const unit_t *unit_read(const char **at, const unit_t *units)
{
    size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    for (; units->name != NULL; units++)
        if (strlen(units->name) == length &&
            strncmp(units->name, *at, length) == 0) {
            *at += length;
            return units;
        }
    return NULL;
}

static xylem_status_t amount_read(reader_t *reader, const quantity_t *quantity,
                                  uint64_t *value_out)
{
    const char *at = reader->at;
    const unit_t *unit;
    decimal_t decimal;
    unsigned i;

    if (!decimal_read(&at, &decimal))
        return fail_expected(reader, quantity->expected);
    unit = unit_read(&at, quantity->units);
    if (unit == NULL)
        return fail_expected(reader, quantity->expected);
    if (decimal.places > unit->exponent)
        return fail(reader, XYLEM_ERR_CONFIG,
                    "\"%.*s\" is not a multiple of %s", (int)(at - reader->at),
                    reader->at, quantity->finest_text);
    for (i = decimal.places; i < unit->exponent && !decimal.is_large; i++)
        decimal_append(&decimal, 0);
    if (decimal.is_large || decimal.mantissa > quantity->limit)
        return fail(reader, XYLEM_ERR_CONFIG, "\"%.*s\" is more than %s",
                    (int)(at - reader->at), reader->at, quantity->limit_text);
    reader->at = at;
    *value_out = decimal.mantissa;
    return XYLEM_OK;
}

static xylem_status_t number_read(reader_t *reader, const char *what,
                                  uint32_t *value_out)
{
    const char *at = reader->at;
    uint64_t value = 0;

    if (!is_digit(*at))
        return fail_expected(reader, what);
    for (; is_digit(*at); at++) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > UINT32_MAX)
            return fail_expected(reader, what);
    }
    reader->at = at;
    *value_out = (uint32_t)value;
    return XYLEM_OK;
}

static xylem_status_t share_check(const reader_t *reader,
                                  const sim_noise_t *noise)
{
    if (sim_noise_share_ppm(noise) <= SIM_NOISE_SHARE_MAX_PPM)
        return XYLEM_OK;
    return fail(reader, XYLEM_ERR_CONFIG,
                "bursts take more than %d%% of the time",
                SIM_NOISE_SHARE_MAX_PPM / 10000);
}

/* ---- recorded bursts ---- */

static xylem_status_t bursts_append(reader_t *reader, sim_noise_trace_t *trace,
                                    sim_burst_t burst)
{
    sim_burst_t *bursts;
    size_t count = trace->count;

    if (count == BURSTS_MAX)
        return fail(reader, XYLEM_ERR_NO_RESOURCE, "more than %d bursts",
                    BURSTS_MAX);
    if ((count & (count - 1)) == 0) { /* all 2^n places are taken */
        bursts = realloc(trace->bursts,
                         (count == 0 ? 1 : 2 * count) * sizeof *bursts);
        if (bursts == NULL)
            return fail(reader, XYLEM_ERR_NO_MEMORY, "out of memory");
        trace->bursts = bursts;
    }
    trace->bursts[trace->count++] = burst;
    return XYLEM_OK;
}

static void skip_space(reader_t *reader)
{
    reader->at += strspn(reader->at, " \t");
}

/* "length US" */
static xylem_status_t
record_length_read(reader_t *reader, sim_noise_trace_t *trace, int *has_length)
{
    sim_time_t length;
    xylem_status_t status;

    if (strspn(reader->at, " \t") == 0)
        return fail_expected(reader, "a space and the record's length");
    skip_space(reader);
    status = amount_read(reader, &record_times, &length);
    if (status != XYLEM_OK)
        return status;
    if (length < trace->length)
        return fail(reader, XYLEM_ERR_CONFIG,
                    "the record ends before its last burst does");
    trace->length = length;
    *has_length = 1;
    return XYLEM_OK;
}

/* "BEGIN_US LENGTH_US" */
static xylem_status_t burst_read(reader_t *reader, sim_noise_trace_t *trace)
{
    sim_burst_t burst;
    xylem_status_t status = amount_read(reader, &record_times, &burst.begin);

    if (status != XYLEM_OK)
        return status;
    if (strspn(reader->at, " \t") == 0)
        return fail_expected(reader, "a space and the burst's length");
    skip_space(reader);
    status = amount_read(reader, &record_times, &burst.length);
    if (status != XYLEM_OK)
        return status;
    if (burst.begin < trace->length)
        return fail(reader, XYLEM_ERR_CONFIG,
                    "the burst begins before the last one ends");
    trace->length = burst.begin + burst.length;
    /* A burst of no length takes nothing away. */
    return burst.length == 0 ? XYLEM_OK : bursts_append(reader, trace, burst);
}

static xylem_status_t line_read(reader_t *reader, sim_noise_trace_t *trace,
                                int *has_length)
{
    xylem_status_t status;

    skip_space(reader);
    if (reader->at[0] == '\0')
        return XYLEM_OK;
    if (*has_length)
        return fail(reader, XYLEM_ERR_CONFIG,
                    "\"length\" is the last line of a record");
    if (skip(reader, "length"))
        status = record_length_read(reader, trace, has_length);
    else
        status = burst_read(reader, trace);
    if (status != XYLEM_OK)
        return status;
    skip_space(reader);
    return expect_end(reader);
}

static xylem_status_t lines_read(reader_t *reader, FILE *file,
                                 sim_noise_trace_t *trace)
{
    xylem_status_t status = XYLEM_OK;
    char line[LINE_BYTES];
    int has_length = 0;

    while (status == XYLEM_OK && fgets(line, sizeof line, file) != NULL) {
        reader->line++;
        if (strchr(line, '\n') == NULL && !feof(file)) {
            status = fail(reader, XYLEM_ERR_CONFIG,
                          "longer than %d bytes, or no text", LINE_BYTES - 2);
            break;
        }
        line[strcspn(line, "#\r\n")] = '\0';
        reader->at = line;
        status = line_read(reader, trace, &has_length);
    }
    reader->at = "";
    return status;
}

/* Checks the record as a whole. */
static xylem_status_t record_check(const reader_t *reader,
                                   const sim_noise_trace_t *trace)
{
    sim_noise_t noise = {.kind = SIM_NOISE_TRACE, .trace = trace};

    if (trace->length == 0)
        return fail(reader, XYLEM_ERR_CONFIG, "no bursts");
    return share_check(reader, &noise);
}

xylem_status_t sim_noise_trace_load(const char *path,
                                    sim_noise_trace_t *trace_out, char *error,
                                    size_t error_bytes)
{
    reader_t reader = {"noise record", path, 0, "", error, error_bytes};
    sim_noise_trace_t trace = {0};
    xylem_status_t status;
    FILE *file = fopen(path, "r");

    if (file == NULL)
        return fail(&reader, XYLEM_ERR_CONFIG, "%s", strerror(errno));
    status = lines_read(&reader, file, &trace);
    if (status == XYLEM_OK) {
        reader.line = 0;
        status = ferror(file)
                     ? fail(&reader, XYLEM_ERR_CONFIG, "%s", strerror(errno))
                     : record_check(&reader, &trace);
    }
    fclose(file);
    if (status == XYLEM_OK)
        *trace_out = trace;
    else
        sim_noise_trace_free(&trace);
    return status;
}

void sim_noise_trace_free(sim_noise_trace_t *trace)
{
    free(trace->bursts);
    *trace = (sim_noise_trace_t){0};
}

/* ---- noise ---- */

static xylem_status_t kind_read(reader_t *reader, sim_noise_t *noise)
{
    static const struct {
        const char *word;
        sim_noise_kind_t kind;
    } kinds[] = {
        {"uniform:", SIM_NOISE_UNIFORM},  {"periodic:", SIM_NOISE_PERIODIC},
        {"sync:", SIM_NOISE_SYNCHRONOUS}, {"poisson:", SIM_NOISE_POISSON},
        {"once:", SIM_NOISE_ONCE},        {"trace:", SIM_NOISE_TRACE},
        {"none", SIM_NOISE_NONE},
    };
    size_t i;

    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (skip(reader, kinds[i].word)) {
            noise->kind = kinds[i].kind;
            return XYLEM_OK;
        }
    return fail_expected(reader, "none, uniform:, periodic:, sync:, poisson:, "
                                 "once: or trace:");
}

/* "TIME@TIME" */
static xylem_status_t once_read(reader_t *reader, sim_noise_t *noise)
{
    xylem_status_t status = amount_read(reader, &times, &noise->max);

    if (status == XYLEM_OK)
        status = skip_expected(reader, "@", "\"@TIME\"");
    if (status == XYLEM_OK)
        status = amount_read(reader, &times, &noise->at);
    return status;
}

/* "RATE,TIME", or "RATE,0-TIME" for uniform lengths */
static xylem_status_t repeated_read(reader_t *reader, sim_noise_t *noise)
{
    int is_uniform = noise->kind == SIM_NOISE_UNIFORM;
    const char *rate = reader->at;
    xylem_status_t status = amount_read(reader, &rates, &noise->mhz);

    if (status == XYLEM_OK && noise->mhz == 0) {
        reader->at = rate;
        return fail_expected(reader, "a rate above 0Hz, or the noise \"none\"");
    }
    if (status == XYLEM_OK)
        status = is_uniform ? skip_expected(reader, ",0-", "\",0-TIME\"")
                            : skip_expected(reader, ",", "\",TIME\"");
    if (status == XYLEM_OK)
        status = amount_read(reader, &times, &noise->max);
    if (status != XYLEM_OK)
        return status;
    if (is_uniform && noise->max > 1000 * SIM_S / noise->mhz)
        return fail(reader, XYLEM_ERR_CONFIG,
                    "a burst can be longer than the time to the next");
    return share_check(reader, noise);
}

/* The place of ",rank=", ",ranks=" or ",node=" after a file's name, in which
 * there may be commas. */
static const char *file_name_end(const char *text)
{
    const char *comma = strrchr(text, ',');

    if (comma != NULL &&
        (strncmp(comma, ",rank=", 6) == 0 ||
         strncmp(comma, ",ranks=", 7) == 0 || strncmp(comma, ",node=", 6) == 0))
        return comma;
    return text + strlen(text);
}

static xylem_status_t node_read(reader_t *reader, uint32_t ranks_per_node,
                                sim_noise_t *noise)
{
    uint64_t first;
    uint32_t node;
    xylem_status_t status = number_read(reader, "a node", &node);

    if (status != XYLEM_OK)
        return status;
    first = (uint64_t)node * ranks_per_node;
    if (ranks_per_node == 0 || first + ranks_per_node - 1 > UINT32_MAX)
        return fail(reader, XYLEM_ERR_CONFIG, "there is no node %" PRIu32,
                    node);
    noise->first = (uint32_t)first;
    noise->last = (uint32_t)(first + ranks_per_node - 1);
    return XYLEM_OK;
}

static xylem_status_t ranks_read(reader_t *reader, uint32_t ranks_per_node,
                                 sim_noise_t *noise)
{
    xylem_status_t status = XYLEM_OK;

    noise->first = 0;
    noise->last = UINT32_MAX;
    if (skip(reader, ",rank=")) {
        status = number_read(reader, "a rank", &noise->first);
        noise->last = noise->first;
    } else if (skip(reader, ",ranks=")) {
        status = number_read(reader, "a rank", &noise->first);
        if (status == XYLEM_OK)
            status = skip_expected(reader, "-", "\"-\" and the last rank");
        if (status == XYLEM_OK)
            status = number_read(reader, "a rank", &noise->last);
        if (status == XYLEM_OK && noise->last < noise->first)
            status = fail(reader, XYLEM_ERR_CONFIG,
                          "the last rank comes before the first");
    } else if (skip(reader, ",node=")) {
        status = node_read(reader, ranks_per_node, noise);
    } else if (reader->at[0] != '\0') {
        status = fail_expected(reader, "\",rank=R\", \",ranks=A-B\" or "
                                       "\",node=N\"");
    }
    return status == XYLEM_OK ? expect_end(reader) : status;
}

/* Loads the file whose name lies between `name` and `end`. */
static xylem_status_t named_trace_load(const reader_t *reader, const char *name,
                                       const char *end,
                                       sim_noise_trace_t *trace_out)
{
    char *path;
    xylem_status_t status;

    if (name == end)
        return fail(reader, XYLEM_ERR_CONFIG, "expected the name of a file");
    path = strndup(name, (size_t)(end - name));
    if (path == NULL)
        return fail(reader, XYLEM_ERR_NO_MEMORY, "out of memory");
    status = sim_noise_trace_load(path, trace_out, reader->error,
                                  reader->error_bytes);
    free(path);
    return status;
}

xylem_status_t sim_noise_parse(const char *text, uint32_t ranks_per_node,
                               sim_noise_t *noise_out,
                               sim_noise_trace_t *trace_out, char *error,
                               size_t error_bytes)
{
    reader_t reader = {"noise", text, 0, text, error, error_bytes};
    sim_noise_trace_t trace = {0};
    sim_noise_t noise = {0};
    const char *arguments;
    xylem_status_t status = kind_read(&reader, &noise);

    if (status != XYLEM_OK)
        return status;
    arguments = reader.at;
    if (noise.kind == SIM_NOISE_TRACE)
        reader.at = file_name_end(arguments);
    else if (noise.kind == SIM_NOISE_ONCE)
        status = once_read(&reader, &noise);
    else if (noise.kind != SIM_NOISE_NONE)
        status = repeated_read(&reader, &noise);
    if (status == XYLEM_OK)
        status = ranks_read(&reader, ranks_per_node, &noise);
    if (status == XYLEM_OK && noise.kind == SIM_NOISE_TRACE)
        status = named_trace_load(&reader, arguments, file_name_end(arguments),
                                  &trace);
    if (status != XYLEM_OK)
        return status;
    if (noise.kind == SIM_NOISE_TRACE)
        noise.trace = trace_out;
    *trace_out = trace;
    *noise_out = noise;
    return XYLEM_OK;
}

/* ---- arrivals ---- */

xylem_status_t sim_arrivals_parse(const char *text, sim_arrivals_t *out,
                                  char *error, size_t error_bytes)
{
    static const struct {
        const char *word;
        sim_arrival_t pattern;
        int has_max, has_rank;
    } patterns[] = {
        {"together", SIM_ARRIVAL_TOGETHER, 0, 0},
        {"one-late:", SIM_ARRIVAL_ONE_LATE, 1, 1},
        {"all-late-but:", SIM_ARRIVAL_ALL_LATE_BUT, 1, 1},
        {"sorted:", SIM_ARRIVAL_SORTED, 1, 0},
        {"random:", SIM_ARRIVAL_RANDOM, 1, 0},
    };
    enum { COUNT = sizeof patterns / sizeof patterns[0] };
    reader_t reader = {"arrivals", text, 0, text, error, error_bytes};
    xylem_status_t status = XYLEM_OK;
    sim_arrivals_t arrivals = {0};
    size_t i = 0;

    while (i < COUNT && !skip(&reader, patterns[i].word))
        i++;
    if (i == COUNT)
        return fail_expected(&reader, "together, one-late:, all-late-but:, "
                                      "sorted: or random:");
    arrivals.pattern = patterns[i].pattern;
    if (patterns[i].has_max)
        status = amount_read(&reader, &times, &arrivals.max);
    if (status == XYLEM_OK && patterns[i].has_rank)
        status = skip_expected(&reader, ",rank=", "\",rank=R\"");
    if (status == XYLEM_OK && patterns[i].has_rank)
        status = number_read(&reader, "a rank", &arrivals.rank);
    if (status == XYLEM_OK)
        status = expect_end(&reader);
    if (status == XYLEM_OK)
        *out = arrivals;
    return status;
}
