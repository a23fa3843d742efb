/* The library's own choices: the rows of test_decisions.txt, selected by hand.
 *
 *     test_decisions --print                        all rows, as it is now
 *     test_decisions --print 1x48 reduce 1M apart   one row more
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/choose.h"
#include "collectives/data/call.h"
#include "collectives/data/description.h"
#include "runtime/base/config.h"
#include "tests/support/check.h"
#include "tests/support/shape.h"

enum { WORDS_MAX = 8, TEXT_BYTES = 256, RANKS_MAX = 4096 };

/* ---- a row ---- */

typedef struct row {
    shape_t shape;
    xylem_coll_t coll;
    uint64_t bytes;
    xylem_op_t op;
    xylem_type_t type;
    int is_ordered;
    uint32_t flags;
    uint32_t tag;
    xyl_way_t way;
    uint64_t direct; /* XYLEM_CUDA_DIRECT */
} row_t;

static int find_coll(const char *name, xylem_coll_t *coll_out)
{
    xylem_coll_t coll;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        if (strcmp(xyl_coll_traits(coll)->name, name) == 0) {
            *coll_out = coll;
            return 1;
        }
    return 0;
}

/* Reads a special condition of a call. */
static int read_condition(const char *word, row_t *row)
{
    if (strcmp(word, "apart") == 0)
        row->shape.is_apart = 1;
    else if (strcmp(word, "integers") == 0)
        row->type = XYLEM_INT64;
    else if (strcmp(word, "ordered") == 0)
        row->is_ordered = 1;
    else if (strcmp(word, "arrival") == 0)
        row->flags |= XYLEM_FLAG_ARRIVAL_ORDER;
    else if (strcmp(word, "reproducible") == 0)
        row->flags |= XYLEM_FLAG_ARRIVAL_ORDER | XYLEM_FLAG_REPRODUCIBLE;
    else if (strcmp(word, "tag") == 0)
        row->tag = 1;
    else if (strcmp(word, "gpus") == 0)
        row->way.memory = XYL_MEMORY_GPUS;
    else if (strcmp(word, "direct") == 0)
        row->direct = XYL_DIRECT_ON;
    else if (strcmp(word, "parts") == 0)
        row->flags |= XYLEM_FLAG_PARTS;
    else
        return 0;
    return 1;
}

/* 0: these words are no row. */
static int read_row(char *const *words, uint32_t count, row_t *row_out)
{
    row_t row = {.op = XYLEM_SUM};
    char end;
    uint32_t i;

    if (count < 3 ||
        sscanf(words[0], "%" SCNu32 "x%" SCNu32 "%c", &row.shape.nodes,
               &row.shape.seats, &end) != 2 ||
        row.shape.nodes == 0 || row.shape.nodes > RANKS_MAX ||
        row.shape.seats == 0 || row.shape.seats > RANKS_MAX / row.shape.nodes ||
        !find_coll(words[1], &row.coll) ||
        xyl_config_parse_bytes(words[2], &row.bytes) != XYLEM_OK)
        return 0;
    row.type = xyl_coll_traits(row.coll)->reduces ? XYLEM_FLOAT64 : XYLEM_BYTE;
    for (i = 3; i < count; i++)
        if (!read_condition(words[i], &row))
            return 0;
    *row_out = row;
    return 1;
}

/* ---- a decision ---- */

static void add_bytes(char *text, const char *what, uint64_t bytes)
{
    static const char units[] = " KMG";
    uint32_t unit = 0;

    for (; bytes != 0 && bytes % 1024 == 0 && unit < 3; unit++)
        bytes /= 1024;
    text += strlen(text);
    snprintf(text, TEXT_BYTES / 4, "%s%" PRIu64, what, bytes);
    if (unit != 0)
        snprintf(text + strlen(text), 2, "%c", units[unit]);
}

static void add_name(char *text, const char *name, uint32_t radix)
{
    text += strlen(text);
    if (radix != 0)
        snprintf(text, XYL_ALGORITHM_TEXT_BYTES, "%s:%" PRIu32, name, radix);
    else
        snprintf(text, XYL_ALGORITHM_TEXT_BYTES, "%s", name);
}

static void add_frame(char *text, const xyl_plan_t *frame)
{
    add_bytes(text, ", segments ", frame->segment_bytes);
    snprintf(text + strlen(text), TEXT_BYTES / 4,
             ", windows %" PRIu32 " %" PRIu32, frame->send_window,
             frame->recv_window);
}

static void add_choice(char *text, const xyl_choice_t *choice)
{
    const xyl_plan_t *frame = &choice->frame;

    switch ((int)choice->algorithm->kind) {
    case XYL_ALGORITHM_TREE:
        add_name(text, frame->tree->name, frame->radix);
        add_frame(text, frame);
        break;
    case XYL_ALGORITHM_LANES:
        add_name(text, choice->algorithm->name, choice->leaders);
        snprintf(text + strlen(text), 2, "/");
        add_name(text,
                 choice->exchange != NULL ? choice->exchange->name
                                          : frame->tree->name,
                 frame->radix);
        add_frame(text, frame);
        break;
    default:
        add_name(text, choice->algorithm->name, choice->radix);
        if (choice->segment_bytes != 0)
            add_bytes(text, ", segments ", choice->segment_bytes);
    }
}

static void decide(xylem_team_t *team, const row_t *row, char *text)
{
    static uint64_t counts[RANKS_MAX];
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = row->coll,
                              .type = row->type,
                              .op = row->op,
                              .flags = row->flags,
                              .tag = row->tag,
                              .recv_counts = counts};
    xyl_choice_t choice;
    uint32_t rank;

    args.count = row->bytes / xylem_type_bytes(row->type);
    for (rank = 0; rank < xylem_team_size(team); rank++)
        counts[rank] = args.count;
    text[0] = '\0';
    team->context->config.cuda_direct = row->direct;
    if (xyl_choose(team, &args, row->way, !row->is_ordered, &choice) ==
        XYLEM_OK)
        add_choice(text, &choice);
    else
        snprintf(text, TEXT_BYTES, "refused");
}

/* Rows in a row are of the same team, mostly. */
static xylem_team_t *team_of(const shape_t *shape)
{
    static fabric_t *fabric;
    static shape_t last;

    if (shape != NULL && memcmp(shape, &last, sizeof last) == 0)
        return fabric_world(fabric, 0);
    fabric_destroy(fabric);
    fabric = NULL;
    last = (shape_t){.nodes = 0};
    if (shape == NULL)
        return NULL;
    fabric = shape_create(shape, NULL);
    last = *shape;
    return fabric_world(fabric, 0);
}

/* ---- the file ---- */

/* Splits the line in place; returns the number of words. */
static uint32_t split(char *line, char *words[WORDS_MAX])
{
    uint32_t count = 0;
    char *next = NULL, *word = strtok_r(line, " ", &next);

    for (; word != NULL && count < WORDS_MAX; word = strtok_r(NULL, " ", &next))
        words[count++] = word;
    return count;
}

/* The line as it should be; 0: it is no row, and stays as it is. */
static int line_rewrite(const char *line, char *text)
{
    char head[TEXT_BYTES], decision[TEXT_BYTES], *words[WORDS_MAX];
    size_t length = strcspn(line, ":");
    row_t row;

    if (line[0] == '#' || line[0] == '\0')
        return 0;
    while (length > 0 && line[length - 1] == ' ')
        length--;
    snprintf(head, sizeof head, "%.*s", (int)length, line);
    snprintf(text, TEXT_BYTES, "no row can be read in this line");
    if (read_row(words, split(head, words), &row)) {
        decide(team_of(&row.shape), &row, decision);
        snprintf(text, TEXT_BYTES, "%-45.*s: %.200s", (int)length, line,
                 decision);
    }
    return 1;
}

static void each_line(void (*visit)(unsigned number, const char *line,
                                    const char *wanted))
{
    FILE *file = fopen(DECISIONS_FILE, "r");
    char line[TEXT_BYTES], text[TEXT_BYTES];
    unsigned number = 0;

    CHECK(file != NULL);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        visit(++number, line, line_rewrite(line, text) ? text : line);
    }
    if (file != NULL)
        fclose(file);
    (void)team_of(NULL);
}

static void line_check(unsigned number, const char *line, const char *wanted)
{
    char what[3 * TEXT_BYTES];

    if (strcmp(line, wanted) == 0)
        return;
    snprintf(what, sizeof what, "there is \"%s\", and decided is \"%s\"", line,
             wanted);
    check_failed(DECISIONS_FILE, (int)number, what);
}

static void test_as_written(void)
{
    each_line(line_check);
}

static void line_print(unsigned number, const char *line, const char *wanted)
{
    (void)number;
    (void)line;
    puts(wanted);
}

static int print(int count, char **words)
{
    char line[TEXT_BYTES] = "", text[TEXT_BYTES];
    int i;

    if (count == 0)
        each_line(line_print);
    for (i = 0; i < count; i++)
        snprintf(line + strlen(line), sizeof line - strlen(line), "%s ",
                 words[i]);
    if (count != 0)
        puts(line_rewrite(line, text) ? text : line);
    (void)team_of(NULL);
    return 0;
}

static const check_case_t cases[] = {
    {"decisions: as they are written", test_as_written},
};

int main(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "--print") == 0
               ? print(argc - 2, argv + 2)
               : check_run(cases, sizeof cases / sizeof *cases, argc, argv);
}
