/* What selection decides, over a grid of collectives, worlds, lengths and
 * operations, is what test_decisions.txt has recorded: which algorithm, tree,
 * segments, windows, leaders. A change of a decision must show there.
 *
 *     test_decisions --print >tests/unit/choose/test_decisions.txt
 *
 * records anew. A line is a decision from so many bytes on; worlds that decide
 * alike share the lines of a collective. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/api/arguments.h"
#include "collectives/choose/choose.h"
#include "collectives/choose/tuning.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"
#include "tests/support/schedules.h"

/* ---- worlds ---- */

typedef struct world {
    const char *name;
    uint32_t nodes, seats;
    int in_turn, shares_memory, has_switches;
} world_t;

/* Versions of clang-format differ about it. */
/* clang-format off */
#define WORLD(nodes, seats, kind, in_turn, shares, switches)                   \
    {#nodes "x" #seats kind, nodes, seats, in_turn, shares, switches}
/* clang-format on */
#define BARE(nodes)         WORLD(nodes, 1, "", 0, 1, 0)
#define FULL(nodes, seats)  WORLD(nodes, seats, "", 0, 1, 0)
#define ROUND(nodes, seats) WORLD(nodes, seats, "-round", 1, 1, 0)
#define APART(nodes, seats) WORLD(nodes, seats, "-apart", 0, 0, 0)
#define BELOW(nodes, seats) WORLD(nodes, seats, "-below", 0, 1, 1)

static const world_t worlds[] = {
    BARE(1),       BARE(2),     BARE(3),     BARE(16),     BARE(64),
    BARE(65),      BARE(128),   BARE(129),   BARE(256),    BARE(257),
    BARE(512),     BARE(513),   BARE(1024),  BARE(1025),   FULL(1, 2),
    FULL(1, 4),    FULL(1, 9),  FULL(1, 32), FULL(2, 2),   FULL(4, 4),
    FULL(4, 5),    FULL(3, 8),  FULL(5, 4),  FULL(8, 8),   FULL(16, 32),
    FULL(33, 16),  ROUND(4, 4), ROUND(8, 8), APART(1, 2),  APART(1, 3),
    APART(1, 4),   APART(1, 5), APART(1, 8), APART(1, 16), APART(1, 17),
    APART(16, 32), BELOW(8, 1), BELOW(8, 8),
};

enum { WORLDS = sizeof worlds / sizeof *worlds, RANKS_MAX = 1025 };

static xylem_place_t places[RANKS_MAX];

/* Two switches, with four nodes below each. */
static void switches_write(char *path)
{
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");

    if (file == NULL ||
        fputs("{\"switches\": [{\"name\": \"a\", \"nodes\": [\"node0\", "
              "\"node1\", \"node2\", \"node3\"]}, {\"name\": \"b\", "
              "\"nodes\": [\"node4\", \"node5\", \"node6\", \"node7\"]}]}",
              file) < 0 ||
        fclose(file) != 0)
        abort();
}

static fabric_t *world_create(const world_t *world)
{
    char topology[] = "TOPOLOGY=/tmp/xylem-decisions-XXXXXX";
    const char *settings[] = {world->has_switches ? topology : NULL, NULL};
    char *path = strchr(topology, '/');
    const fabric_options_t options = {.seed = 1,
                                      .places = places,
                                      .shares_memory = world->shares_memory,
                                      .settings = settings};
    uint32_t i, ranks = world->nodes * world->seats;
    fabric_t *fabric;

    if (world->has_switches)
        switches_write(path);

    for (i = 0; i < ranks; i++)
        places[i] = (xylem_place_t){
            world->in_turn ? i % world->nodes : i / world->seats, 0, 0, 0, i};
    fabric = fabric_create(ranks, &options);
    if (world->has_switches)
        unlink(path);
    return fabric;
}

/* ---- texts ---- */

typedef struct text {
    char *bytes;
    size_t length, capacity;
} text_t;

static void add(text_t *text, const char *format, ...)
{
    va_list args;
    int length;

    if (text->capacity - text->length < 512) {
        text->capacity = 2 * text->capacity + 1024;
        text->bytes = realloc(text->bytes, text->capacity);
        if (text->bytes == NULL)
            abort();
    }
    va_start(args, format);
    length = vsnprintf(text->bytes + text->length,
                       text->capacity - text->length, format, args);
    va_end(args);
    text->length += (size_t)length;
}

/* ---- one decision ---- */

/* A tree by the name that says most. */
static void add_tree(text_t *text, const xyl_tree_t *tree, uint32_t radix)
{
    if ((tree == &xyl_tree_knomial || tree == &xyl_tree_kary) && radix == 2)
        tree = tree == &xyl_tree_kary ? &xyl_tree_binary : &xyl_tree_binomial;
    if (tree->radix.most != 0)
        add(text, " %s:%u", tree->name, radix);
    else
        add(text, " %s", tree->name);
}

static void add_frame(text_t *text, const xyl_plan_t *plan)
{
    add(text, " segments %zu windows %u %u%s", plan->segment_bytes,
        plan->send_window, plan->recv_window,
        plan->arrival_order ? " as they come" : "");
}

static void add_levels(text_t *text, const xyl_choice_t *choice)
{
    if (choice->exchange != NULL)
        add(text, " %s", choice->exchange->name);
    else
        add_tree(text, choice->frame.tree, choice->frame.radix);
    add_frame(text, &choice->frame);
    add(text, " leaders %u halves %u roots %u lanes %u within", choice->leaders,
        choice->halves, choice->roots, choice->frame.lanes);
    add_tree(text, choice->node_tree.tree, choice->node_tree.radix);
}

static void decide(text_t *text, xylem_team_t *team,
                   const xylem_coll_args_t *args, int is_commutative)
{
    xyl_choice_t choice;

    if (xyl_choose(team, args, is_commutative, &choice) != XYLEM_OK) {
        add(text, "refused");
    } else if (choice.algorithm->kind == XYL_ALGORITHM_TREE) {
        add(text, "tree");
        add_tree(text, choice.frame.tree, choice.frame.radix);
        add_frame(text, &choice.frame);
    } else {
        add(text, "%s", choice.algorithm->name);
        if (choice.radix != 0)
            add(text, ":%u", choice.radix);
        if (choice.segment_bytes != 0)
            add(text, " segments %zu", choice.segment_bytes);
        if (choice.algorithm->kind == XYL_ALGORITHM_LANES)
            add_levels(text, &choice);
    }
}

/* ---- a row of decisions: a collective in a world, by lengths ---- */

typedef struct row {
    xylem_coll_t coll;
    int is_commutative;
    const char *algorithm; /* NULL: the library's choice */
    uint32_t root;
    uint32_t flags;
    size_t segment_bytes;
    uint32_t send_window, recv_window;
} row_t;

static uint64_t counts[RANKS_MAX];

static void add_row(text_t *text, xylem_team_t *team, const row_t *row)
{
    int reduces = xyl_coll_traits(row->coll)->reduces;
    uint64_t unit = reduces ? sizeof(double) : 1, bytes;
    text_t before = {.length = 0}, now = {.length = 0};
    uint32_t shift, more, i;

    for (shift = 0; shift <= 25; shift++)
        for (more = 0; more < 2; more++) {
            xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                      .coll = row->coll,
                                      .type =
                                          reduces ? XYLEM_FLOAT64 : XYLEM_BYTE,
                                      .op = XYLEM_SUM,
                                      .root = row->root % xylem_team_size(team),
                                      .flags = row->flags,
                                      .segment_bytes = row->segment_bytes,
                                      .send_window = row->send_window,
                                      .recv_window = row->recv_window,
                                      .recv_counts = counts,
                                      .algorithm = row->algorithm};
            bytes =
                shift == 0 ? more * unit : (UINT64_C(1) << shift) + more * unit;
            args.count = row->coll == XYLEM_COLL_BARRIER ? 0 : bytes / unit;
            for (i = 0; i < xylem_team_size(team); i++)
                counts[i] = args.count;
            now.length = 0;
            decide(&now, team, &args, row->is_commutative);
            if (before.bytes == NULL || strcmp(before.bytes, now.bytes) != 0)
                add(text, "  %8" PRIu64 " %s\n", bytes, now.bytes);
            before.length = 0;
            add(&before, "%s", now.bytes);
        }
    free(before.bytes);
    free(now.bytes);
}

/* ---- all ---- */

enum { ROWS_MAX = 128 };

static row_t rows[ROWS_MAX];
static uint32_t row_count;

static void add_rows(row_t row)
{
    row.is_commutative = 1;
    rows[row_count++] = row;
    if (!xyl_coll_traits(row.coll)->reduces)
        return;
    row.is_commutative = 0;
    rows[row_count++] = row;
}

static void find_rows(void)
{
    static const char *const trees[] = {"chain", "knomial:3", "inorder",
                                        "double", "topology:2"};
    xylem_coll_t coll;
    size_t i;

    row_count = 0;
    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        if (schedules_leave_choice(coll))
            add_rows((row_t){.coll = coll});
    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        if (schedules_leave_choice(coll))
            add_rows((row_t){.coll = coll, .algorithm = "han"});
    for (coll = XYLEM_COLL_BCAST; coll <= XYLEM_COLL_ALLREDUCE; coll++) {
        for (i = 0; i < sizeof trees / sizeof *trees; i++)
            add_rows((row_t){.coll = coll, .algorithm = trees[i]});
        add_rows((row_t){.coll = coll, .algorithm = "han:3", .root = 1});
        add_rows((row_t){.coll = coll,
                         .algorithm = "knomial",
                         .root = 3,
                         .segment_bytes = 4096,
                         .send_window = 9});
        add_rows((row_t){.coll = coll,
                         .segment_bytes = 512,
                         .recv_window = 3,
                         .flags = XYLEM_FLAG_ARRIVAL_ORDER});
    }
    add_rows((row_t){.coll = XYLEM_COLL_ALLREDUCE, .algorithm = "ring"});
    add_rows((row_t){.coll = XYLEM_COLL_ALLTOALL, .algorithm = "bruck"});
    add_rows((row_t){.coll = XYLEM_COLL_ALLTOALLW, .algorithm = "linear"});
    add_rows((row_t){.coll = XYLEM_COLL_SCAN, .segment_bytes = 256});
}

/* What worlds have in common. */
typedef struct group {
    text_t lines, worlds;
} group_t;

static group_t groups[ROWS_MAX][WORLDS];

static void file_lines(uint32_t row, const char *world, text_t *lines)
{
    uint32_t i = 0;

    while (groups[row][i].lines.bytes != NULL &&
           strcmp(groups[row][i].lines.bytes, lines->bytes) != 0)
        i++;
    add(&groups[row][i].worlds, " %s", world);
    if (groups[row][i].lines.bytes == NULL)
        groups[row][i].lines = *lines;
    else
        free(lines->bytes);
}

static void decide_world(const world_t *world)
{
    fabric_t *fabric = world_create(world);
    uint32_t i;

    for (i = 0; i < row_count; i++) {
        text_t lines = {.length = 0};
        add_row(&lines, fabric_world(fabric, 0), &rows[i]);
        file_lines(i, world->name, &lines);
    }
    fabric_destroy(fabric);
}

static void add_head(text_t *text, const row_t *row)
{
    add(text, "%s", xyl_coll_traits(row->coll)->name);
    if (row->algorithm != NULL)
        add(text, ", %s", row->algorithm);
    if (row->root != 0)
        add(text, ", root %u", row->root);
    if (row->flags != 0)
        add(text, ", in any order");
    if (row->segment_bytes != 0)
        add(text, ", segments %zu", row->segment_bytes);
    if (row->send_window != 0 || row->recv_window != 0)
        add(text, ", windows %u %u", row->send_window, row->recv_window);
    if (!row->is_commutative)
        add(text, ", does not commute");
    add(text, ":");
}

static void add_lines(text_t *text, const text_t *lines)
{
    const char *at, *end;

    for (at = lines->bytes; *at != '\0'; at = end + 1) {
        end = strchr(at, '\n');
        add(text, "%.*s\n", (int)(end - at), at);
    }
}

static void decide_all(text_t *text)
{
    uint32_t i, j;

    find_rows();
    for (i = 0; i < WORLDS; i++)
        decide_world(&worlds[i]);
    for (i = 0; i < row_count; i++)
        for (j = 0; j < WORLDS && groups[i][j].lines.bytes != NULL; j++) {
            add_head(text, &rows[i]);
            add(text, "%s\n", groups[i][j].worlds.bytes);
            add_lines(text, &groups[i][j].lines);
            free(groups[i][j].lines.bytes);
            free(groups[i][j].worlds.bytes);
            groups[i][j] = (group_t){.lines = {.length = 0}};
        }
}

/* ---- comparing ---- */

static void compare(const text_t *text)
{
    FILE *file = fopen(DECISIONS_FILE, "r");
    const char *at = text->bytes;
    char line[512], what[1200], head[512] = "";
    unsigned number = 0;

    CHECK(file != NULL);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        number++;
        if (line[0] != ' ')
            snprintf(head, sizeof head, "%s", line);
        if (strncmp(at, line, strlen(line)) == 0) {
            at += strlen(line);
            continue;
        }
        snprintf(what, sizeof what, "line %u, of %swanted: %sgot:    %.*s",
                 number, head, line, (int)strcspn(at, "\n"), at);
        check_failed(DECISIONS_FILE, (int)number, what);
        break;
    }
    if (check_failures() == 0)
        CHECK_EQ(*at, '\0');
    if (file != NULL)
        fclose(file);
}

static void test_as_recorded(void)
{
    text_t text = {.length = 0};

    decide_all(&text);
    compare(&text);
    free(text.bytes);
}

/* ---- the order of ranks ---- */

/* Segments of trees for operations that commute are no measure of those that do
 * not: rules for the former are for them alone. */
static void test_rank_order_has_rules_of_its_own(void)
{
    static const world_t world = FULL(8, 8);
    fabric_t *fabric = world_create(&world);
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE,
                              .type = XYLEM_FLOAT64,
                              .op = XYLEM_SUM};
    xyl_choice_t choice;

    for (args.count = 1 << 15; args.count <= 1 << 19; args.count *= 2) {
        CHECK_EQ(xyl_choose(fabric_world(fabric, 0), &args, 1, &choice),
                 XYLEM_OK);
        CHECK_EQ(choice.algorithm->kind, XYL_ALGORITHM_LANES);
        CHECK_EQ(xyl_choose(fabric_world(fabric, 0), &args, 0, &choice),
                 XYLEM_OK);
        CHECK_EQ(choice.algorithm->kind, XYL_ALGORITHM_TREE);
        CHECK(choice.frame.tree == &xyl_tree_inorder);
    }
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"as_recorded", test_as_recorded},
    {"rank_order_has_rules_of_its_own", test_rank_order_has_rules_of_its_own},
};

int main(int argc, char **argv)
{
    text_t text = {.length = 0};

    if (argc < 2 || strcmp(argv[1], "--print") != 0)
        return check_run(cases, sizeof cases / sizeof *cases, argc, argv);
    decide_all(&text);
    fputs(text.bytes, stdout);
    free(text.bytes);
    return 0;
}
