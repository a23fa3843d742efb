/* Switches from topology files: reading, refusals and their words. In the
 * simulator trees between nodes follow the switches: collectives are right, and
 * each segment of a broadcast enters each switch once, at every level. Counted
 * are the messages of a trace that carry data; a child tells its parent without
 * data that it has a piece. */
#include "runtime/job/switches.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "simulator/world.h"
#include "tests/support/check.h"

/* ---- reading ---- */

/* Parses a text that may have ' for ". */
static xylem_status_t parse(const char *text, xyl_switches_t **switches_out)
{
    char quoted[2048], *at;

    snprintf(quoted, sizeof quoted, "%s", text);
    for (at = quoted; *at != '\0'; at++)
        if (*at == '\'')
            *at = '"';
    return xyl_switches_parse("net.json", quoted, strlen(quoted), switches_out);
}

static void check_node(const xyl_switches_t *switches, const char *node,
                       int is_named, const uint32_t *wanted)
{
    uint32_t ids[XYL_SWITCH_LEVELS_MAX] = {0}, i;

    CHECK_EQ(xyl_switches_find(switches, node, ids), is_named);
    for (i = 0; i < xyl_switches_levels(switches); i++)
        CHECK_EQ(ids[i], wanted[i]);
}

static void test_example(void)
{
    static const uint32_t first[] = {2, 0}, second[] = {2, 1};
    static const uint32_t none[] = {XYL_SWITCH_NONE, XYL_SWITCH_NONE};
    xyl_switches_t *switches;

    CHECK_EQ(parse("{'switches': [{'name': 's0', 'nodes': ['n0', 'n1']},"
                   "{'name': 's1', 'nodes': ['n2', 'n3']},"
                   "{'name': 'top', 'switches': ['s0', 's1']}]}",
                   &switches),
             XYLEM_OK);
    CHECK_EQ(xyl_switches_levels(switches), 2);
    check_node(switches, "n0", 1, first);
    check_node(switches, "n1", 1, first);
    check_node(switches, "n2", 1, second);
    check_node(switches, "n3", 1, second);
    check_node(switches, "n", 0, none);
    check_node(switches, "", 0, none);
    xyl_switches_free(switches);
}

/* Nodes at any height, below a switch that has others below it, too. */
static void test_uneven(void)
{
    static const uint32_t deep[] = {0, 1, 2};
    static const uint32_t middle[] = {0, 1, XYL_SWITCH_NONE};
    static const uint32_t apart[] = {3, XYL_SWITCH_NONE, XYL_SWITCH_NONE};
    xyl_switches_t *switches;

    CHECK_EQ(parse("{'switches': [{'switches': ['b'], 'name': 'a'},"
                   "{'name': 'b', 'nodes': ['m'], 'switches': ['c']},"
                   "{'name': 'c', 'nodes': ['d']},"
                   "{'name': 'x', 'nodes': ['y']}, {'name': 'empty'}]}",
                   &switches),
             XYLEM_OK);
    CHECK_EQ(xyl_switches_levels(switches), 3);
    check_node(switches, "d", 1, deep);
    check_node(switches, "m", 1, middle);
    check_node(switches, "y", 1, apart);
    xyl_switches_free(switches);
}

static void test_hash(void)
{
    xyl_switches_t *a, *b, *c;

    CHECK_EQ(parse("{'switches': [{'name': 's'}]}", &a), XYLEM_OK);
    CHECK_EQ(parse("{'switches': [{'name': 's'}]}", &b), XYLEM_OK);
    CHECK_EQ(parse("{'switches': [{'name': 't'}]}", &c), XYLEM_OK);
    CHECK(xyl_switches_hash(a) == xyl_switches_hash(b));
    CHECK(xyl_switches_hash(a) != xyl_switches_hash(c));
    CHECK(xyl_switches_hash(a) != 0);
    xyl_switches_free(a);
    xyl_switches_free(b);
    xyl_switches_free(c);
}

/* ---- errors ---- */

typedef struct wrong {
    const char *text;
    const char *error; /* after the file */
} wrong_t;

static const wrong_t wrongs[] = {
    {"", "line 1, column 0: "},
    {"{'switches': [\n{'name' 's'}]}", "line 2, column 11: "},
    {"{'switches': [], 'switches': []}", "line 1, column 27: duplicate"},
    {"{'switches': [{'name': 's', 'name': 's'}]}", "line 1, column 34: dupl"},
    {"[]", "wants an object"},
    {"{}", "switches: wants an array"},
    {"{'switches': []}", "switches: wants an array of at least one"},
    {"{'switches': {}}", "switches: wants an array"},
    {"{'switches': [{'name': 's'}], 'about': 1}", "about: there is no such"},
    {"{'switches': [{'name': 's'}, 1]}", "switches[1]: wants an object"},
    {"{'switches': [{}]}", "switches[0].name: wants a name"},
    {"{'switches': [{'name': ''}]}", "switches[0].name: wants a name"},
    {"{'switches': [{'name': 1}]}", "switches[0].name: wants a name"},
    {"{'switches': [{'name': 's', 'node\\n': []}]}",
     "switches[0].node?: there is no such key"},
    {"{'switches': [{'name': 's', 'nodes': 'n'}]}",
     "switches[0].nodes: wants an array"},
    {"{'switches': [{'name': 's', 'switches': {}}]}",
     "switches[0].switches: wants an array"},
    {"{'switches': [{'name': 's', 'nodes': ['a', 7]}]}",
     "switches[0].nodes[1]: wants a name"},
    {"{'switches': [{'name': 's', 'switches': ['']}]}",
     "switches[0].switches[0]: wants a name"},
    {"{'switches': [{'name': 's'}, {'name': 's'}]}",
     "switches[1].name: switches[0] is called s already"},
    {"{'switches': [{'name': 's', 'switches': ['t']}]}",
     "switches[0].switches[0]: there is no switch t"},
    {"{'switches': [{'name': 's', 'nodes': ['a', 'b', 'a']}]}",
     "switches[0].nodes[2]: node a is below switch s already"},
    {"{'switches': [{'name': 's', 'nodes': ['a']},"
     "{'name': 't', 'nodes': ['a']}]}",
     "switches[1].nodes[0]: node a is below switch s already"},
    {"{'switches': [{'name': 's'}, {'name': 't', 'switches': ['s']},"
     "{'name': 'u', 'switches': ['s']}]}",
     "switches[2].switches[0]: switch s is below t already"},
    {"{'switches': [{'name': 's', 'switches': ['s']}]}",
     "switches[0]: the switches above s go in a circle"},
    {"{'switches': [{'name': 'x'}, {'name': 's', 'switches': ['t']},"
     "{'name': 't', 'switches': ['s', 'x']}]}",
     "switches[0]: the switches above x go in a circle"},
    {"{'switches': [{'name': '1', 'switches': ['2']},"
     "{'name': '2', 'switches': ['3']}, {'name': '3', 'switches': ['4']},"
     "{'name': '4', 'switches': ['5']}, {'name': '5', 'switches': ['6']},"
     "{'name': '6', 'switches': ['7']}, {'name': '7', 'switches': ['8']},"
     "{'name': '8', 'switches': ['9']}, {'name': '9'}]}",
     "switches[8]: there are 9 levels from 9 up; at most 8"},
};

static void check_error(xylem_status_t status, const char *file,
                        const char *wanted)
{
    char start[512];

    snprintf(start, sizeof start, "XYLEM_TOPOLOGY: %s: %s", file, wanted);
    CHECK_EQ(status, XYLEM_ERR_CONFIG);
    CHECK(strncmp(xylem_last_error(), start, strlen(start)) == 0);
    CHECK(strchr(xylem_last_error(), '\n') == NULL);
    if (strncmp(xylem_last_error(), start, strlen(start)) != 0)
        printf("# %s\n# wanted %s\n", xylem_last_error(), start);
}

static void test_errors(void)
{
    xyl_switches_t *switches = NULL;
    size_t i;

    xyl_log_level_set(XYL_LOG_NONE);
    for (i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        check_error(parse(wrongs[i].text, &switches), "net.json",
                    wrongs[i].error);
    CHECK(switches == NULL);
    check_error(xyl_switches_read("/nowhere/net.json", &switches),
                "/nowhere/net.json", "No such file");
    check_error(xyl_switches_read("/", &switches), "/", "Is a directory");
}

/* ---- trees that follow them ---- */

enum {
    NODES = 12,
    PPN = 2,
    RANKS = NODES * PPN,
    LEVELS = 3,
    EVENTS_MAX = 10000000
};

/* Nodes far from each other are below one switch; the last three have none. */
static const char network[] =
    "{\"switches\": ["
    "{\"name\": \"s0\", \"nodes\": [\"node0\", \"node4\", \"node8\"]},"
    "{\"name\": \"s1\", \"nodes\": [\"node2\", \"node6\"]},"
    "{\"name\": \"s2\", \"nodes\": [\"node1\", \"node3\", \"node5\"]},"
    "{\"name\": \"a\", \"switches\": [\"s0\", \"s1\"]},"
    "{\"name\": \"b\", \"switches\": [\"s2\"], \"nodes\": [\"node7\"]},"
    "{\"name\": \"top\", \"switches\": [\"a\", \"b\"]}]}";
/* The same, as groups: outermost first, by node. */
static const uint32_t groups[LEVELS][NODES] = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1},
    {0, 1, 0, 1, 0, 1, 0, 1, 0, 2, 2, 2},
    {0, 1, 2, 1, 0, 1, 2, 3, 0, 4, 4, 4},
};
enum { GROUPS_MAX = 5 };

static const size_t segment = 4096, many = 40; /* of them */

/* One call of all ranks, each with its own data. */
typedef struct play {
    sim_world_t *world;
    xylem_coll_t coll;
    uint32_t root;
    uint32_t ppn; /* ranks on each node */
    size_t bytes;
    xylem_request_t *requests[RANKS];
    unsigned char *in[RANKS], *out[RANKS];
} play_t;

/* Ranks lie round the nodes. */
static uint32_t node_of(uint32_t rank)
{
    return rank % NODES;
}

static void start(void *arg, uint32_t rank)
{
    const play_t *play = arg;

    CHECK_EQ(xylem_request_start(play->requests[rank]), XYLEM_OK);
}

static void join(play_t *play, uint32_t rank)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = play->coll,
                              .count = play->bytes,
                              .type = XYLEM_UINT8,
                              .op = XYLEM_SUM,
                              .root = play->root,
                              .algorithm = NULL,
                              .segment_bytes = segment};
    size_t i;

    play->in[rank] = malloc(play->bytes);
    play->out[rank] = calloc(1, play->bytes);
    for (i = 0; i < play->bytes; i++)
        play->in[rank][i] =
            (unsigned char)(i * 7 + i / 251 + (size_t)rank * 31);
    args.send = play->in[rank];
    args.recv = play->out[rank];
    if (play->coll == XYLEM_COLL_BCAST) {
        args.send = NULL;
        if (rank == play->root)
            memcpy(play->out[rank], play->in[rank], play->bytes);
    }
    CHECK_EQ(xylem_coll_init(
                 xylem_context_world(sim_world_context(play->world, rank)),
                 &args, &play->requests[rank]),
             XYLEM_OK);
    sim_world_at(play->world, rank, 0, start, play);
}

static unsigned char wanted_at(const play_t *play, size_t i)
{
    unsigned char sum = 0;
    uint32_t rank;

    if (play->coll == XYLEM_COLL_BCAST)
        return play->in[play->root][i];
    for (rank = 0; rank < NODES * play->ppn; rank++)
        sum = (unsigned char)(sum + play->in[rank][i]);
    return sum;
}

static void leave(play_t *play)
{
    uint32_t rank, ranks = NODES * play->ppn;
    size_t i, wrong = 0;

    for (i = 0; i < play->bytes; i++)
        for (rank = 0; rank < ranks; rank++)
            wrong += (play->coll != XYLEM_COLL_REDUCE || rank == play->root) &&
                     play->out[rank][i] != wanted_at(play, i);
    CHECK_EQ(wrong, 0);
    for (rank = 0; rank < ranks; rank++) {
        CHECK_EQ(xylem_request_free(play->requests[rank]), XYLEM_OK);
        free(play->in[rank]);
        free(play->out[rank]);
    }
}

/* Writes a new file with `text`, and its path to `path`; unlink it. */
static void write_file(char *path, const char *text)
{
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");

    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
}

/* Plays it, on nodes with the file that the setting names. */
static void run(play_t *play, const char *topology, xyl_trace_t *trace)
{
    const char *settings[] = {"LOG=none", topology, NULL};
    xylem_place_t places[RANKS];
    sim_machine_t machine;
    sim_options_t options = {.machine = &machine,
                             .nodes = NODES,
                             .ranks_per_node = play->ppn,
                             .places = places,
                             .shares_memory = 1,
                             .payload = SIM_PAYLOAD_WATCHED,
                             .message_bytes = play->bytes,
                             .settings = settings,
                             .trace = trace};
    uint32_t rank, ranks = NODES * play->ppn;
    char error[256];

    for (rank = 0; rank < ranks; rank++)
        places[rank] = (xylem_place_t){node_of(rank), 0, 0, 0, rank};
    CHECK_EQ(sim_machine_load("cori", &machine, error, sizeof error), XYLEM_OK);
    CHECK_EQ(sim_world_create(&options, &play->world), XYLEM_OK);
    for (rank = 0; rank < ranks; rank++)
        join(play, rank);
    CHECK(sim_world_run(play->world, SIM_NEVER, EVENTS_MAX));
    leave(play);
    CHECK_EQ(sim_world_destroy(play->world), XYLEM_OK);
}

/* Messages that come into each group of a level from outside of it. */
typedef struct traffic {
    uint32_t entering[LEVELS][GROUPS_MAX];
    uint32_t between; /* nodes */
} traffic_t;

static void message_add(traffic_t *traffic, uint32_t from, uint32_t to)
{
    uint32_t level;

    traffic->between += from != to;
    for (level = 0; level < LEVELS; level++)
        if (groups[level][from] != groups[level][to])
            traffic->entering[level][groups[level][to]]++;
}

/* The begin of an arrow stands before its end. Messages of a reduce are counted
 * at their source. */
static void traffic_read(const json_t *events, int is_up, traffic_t *traffic)
{
    uint32_t from = 0;
    int has_data = 0;
    size_t i;

    *traffic = (traffic_t){.between = 0};
    for (i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *kind = json_string_value(json_object_get(event, "ph"));
        json_int_t rank = json_integer_value(json_object_get(event, "tid")) - 1;
        const json_t *args = json_object_get(event, "args");
        if (strcmp(kind, "s") == 0) {
            from = (uint32_t)rank;
            has_data = json_integer_value(json_object_get(args, "bytes")) != 0;
        } else if (strcmp(kind, "f") == 0 && has_data && is_up) {
            message_add(traffic, node_of((uint32_t)rank), node_of(from));
        } else if (strcmp(kind, "f") == 0 && has_data) {
            message_add(traffic, node_of(from), node_of((uint32_t)rank));
        }
    }
}

static void run_and_count(play_t *play, int follows, traffic_t *traffic)
{
    char path[] = "/tmp/xylem-switches-XXXXXX";
    char net[] = "/tmp/xylem-network-XXXXXX", setting[64];
    xyl_trace_t *trace;
    json_t *document;

    write_file(path, "");
    write_file(net, network);
    snprintf(setting, sizeof setting, "TOPOLOGY=%s", follows ? net : "none");
    trace = xyl_trace_create(path,
                             &(xyl_trace_rows_t){.label = "simulated",
                                                 .ranks = NODES * play->ppn,
                                                 .ranks_per_node = play->ppn},
                             UINT64_MAX);
    CHECK(trace != NULL);
    run(play, setting, trace);
    CHECK_EQ(xyl_trace_destroy(trace), 1);
    document = json_load_file(path, 0, NULL);
    CHECK(document != NULL);
    traffic_read(json_object_get(document, "traceEvents"),
                 play->coll == XYLEM_COLL_REDUCE, traffic);
    json_decref(document);
    unlink(path);
    unlink(net);
}

static void check_crossings(const play_t *play, const traffic_t *traffic)
{
    uint32_t segments = (uint32_t)((play->bytes + segment - 1) / segment);
    uint32_t level, node, at = node_of(play->root);

    CHECK_EQ(traffic->between, segments * (NODES - 1));
    for (level = 0; level < LEVELS; level++)
        for (node = 0; node < NODES; node++)
            CHECK_EQ(traffic->entering[level][groups[level][node]],
                     groups[level][node] == groups[level][at] ? 0 : segments);
}

/* Short and long, with one rank on each node and with several: all that the
 * library chooses follows the switches. */
static void test_bcast_crosses_once(void)
{
    const size_t lengths[] = {1, segment, 10 * segment, many * segment - 100};
    traffic_t traffic;
    uint32_t ppn, root;
    size_t i;

    for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (ppn = 1; ppn <= PPN; ppn++)
            for (root = 0; root < NODES * ppn; root += 5) {
                play_t play = {.coll = XYLEM_COLL_BCAST,
                               .root = root,
                               .ppn = ppn,
                               .bytes = lengths[i]};
                run_and_count(&play, 1, &traffic);
                check_crossings(&play, &traffic);
            }
}

/* Without the file they would cross more often: the test can tell. */
static void test_without_file(void)
{
    play_t play = {.coll = XYLEM_COLL_BCAST, .ppn = PPN, .bytes = 1};
    traffic_t traffic;
    uint32_t group, count = 0;

    run_and_count(&play, 0, &traffic);
    CHECK_EQ(traffic.between, NODES - 1);
    for (group = 0; group < GROUPS_MAX; group++)
        count += traffic.entering[LEVELS - 1][group];
    CHECK(count > GROUPS_MAX - 1);
}

/* Up the trees as down; short allreduces are an exchange. */
static void test_reduce_and_allreduce(void)
{
    const size_t lengths[] = {1, 10 * segment, many * segment};
    traffic_t traffic;
    uint32_t ppn, root;
    size_t i;

    for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (ppn = 1; ppn <= PPN; ppn++)
            for (root = 0; root < NODES; root += 5) {
                play_t play = {.coll = root == 0 ? XYLEM_COLL_ALLREDUCE
                                                 : XYLEM_COLL_REDUCE,
                               .root = root,
                               .ppn = ppn,
                               .bytes = lengths[i]};
                run_and_count(&play, 1, &traffic);
                if (play.coll == XYLEM_COLL_REDUCE)
                    check_crossings(&play, &traffic);
            }
}

static const check_case_t cases[] = {
    {"example", test_example},
    {"uneven", test_uneven},
    {"hash", test_hash},
    {"errors", test_errors},
    {"bcast_crosses_once", test_bcast_crosses_once},
    {"without_file", test_without_file},
    {"reduce_and_allreduce", test_reduce_and_allreduce},
};
CHECK_MAIN(cases)
