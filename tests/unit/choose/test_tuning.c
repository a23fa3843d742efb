/* Names of algorithms, and the reading of rules: names with their numbers,
 * XYLEM_ALGORITHMS, tables as files; the built-in table equals its file and
 * decides everywhere. Errors are refused in words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/choose/choose.h"
#include "collectives/choose/registry.h"
#include "collectives/choose/tuning.h"
#include "collectives/data/description.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"
#include "tests/support/schedules.h"

/* ---- names ---- */

typedef struct reading {
    xylem_coll_t coll;
    const char *text;
    const char *printed; /* NULL: refused */
} reading_t;

static const reading_t readings[] = {
    {XYLEM_COLL_BCAST, "auto", "auto"},
    {XYLEM_COLL_BCAST, "Chain", "chain"},
    {XYLEM_COLL_BCAST, "kchain", "kchain:4"},
    {XYLEM_COLL_BCAST, "kary:64", "kary:64"},
    {XYLEM_COLL_BCAST, "knomial", "knomial:4"},
    {XYLEM_COLL_BCAST, "binomial", "binomial"},
    {XYLEM_COLL_BCAST, "topology", "topology:1"},
    {XYLEM_COLL_BCAST, "han", "han"},
    {XYLEM_COLL_BCAST, "han:16", "han:16"},
    {XYLEM_COLL_GATHER, "knomial", "knomial:2"},
    {XYLEM_COLL_ALLTOALLW, "pairwise", "pairwise"},
    {XYLEM_COLL_BCAST, "topology:0", NULL},
    {XYLEM_COLL_BCAST, "knomial:1", NULL},
    {XYLEM_COLL_BCAST, "kary:65", NULL},
    {XYLEM_COLL_BCAST, "kary:", NULL},
    {XYLEM_COLL_BCAST, "kary:2x", NULL},
    {XYLEM_COLL_BCAST, "kary:+2", NULL},
    {XYLEM_COLL_BCAST, "flat:2", NULL},
    {XYLEM_COLL_BCAST, "binary:2", NULL},
    {XYLEM_COLL_BCAST, "han:17", NULL},
    {XYLEM_COLL_BCAST, "k", NULL},
    {XYLEM_COLL_BCAST, "", NULL},
    {XYLEM_COLL_BCAST, "han/binary", "han/binary"},
    {XYLEM_COLL_BCAST, "HAN:4/knomial:8", "han:4/knomial:8"},
    {XYLEM_COLL_BARRIER, "han/recursive_doubling", "han/recursive_doubling"},
    {XYLEM_COLL_BCAST, "han:between=binary", "han/binary"},
    {XYLEM_COLL_REDUCE, "han:within=node_pairs,between=binomial,leaders=4",
     "han:within=node_pairs,between=binomial,leaders=4"},
    {XYLEM_COLL_ALLREDUCE, "Han:Leaders=2,Within=node_groups:8",
     "han:within=node_groups:8,leaders=2"},
    {XYLEM_COLL_ALLREDUCE, "han:within=node_direct", "han:within=node_direct"},
    {XYLEM_COLL_BARRIER, "han:within=knomial:3", "han:within=knomial:3"},
    {XYLEM_COLL_BCAST, "han:within=UCX", "han:within=ucx"},
    {XYLEM_COLL_BCAST, "han:within=node", "han:within=node"},
    {XYLEM_COLL_BCAST, "han:Segment=16K,within_segment=64k",
     "han:within_segment=65536,segment=16384"},
    {XYLEM_COLL_REDUCE, "han:within_segment=1K,within=ucx,segment=64K",
     "han:within=ucx,within_segment=1024,segment=65536"},
    {XYLEM_COLL_BCAST, "han:segment=3K,between=chain",
     "han:between=chain,segment=3072"},
    {XYLEM_COLL_BCAST, "han:segment=48K,within_segment=32K", NULL},
    {XYLEM_COLL_BCAST, "han:segment=0", NULL},
    {XYLEM_COLL_BCAST, "han:within_segment=many", NULL},
    {XYLEM_COLL_BCAST, "han:within_segment=", NULL},
    {XYLEM_COLL_BCAST, "han:within=node_pairs", NULL},
    {XYLEM_COLL_REDUCE, "han:within=node_slices", NULL},
    {XYLEM_COLL_BCAST, "han:within=topology", NULL},
    {XYLEM_COLL_BCAST, "han:within=scatter_allgather", NULL},
    {XYLEM_COLL_BCAST, "han:within=", NULL},
    {XYLEM_COLL_BCAST, "han:leaders=17", NULL},
    {XYLEM_COLL_BCAST, "han:leaders=", NULL},
    {XYLEM_COLL_BCAST, "han:4,within=ucx", NULL},
    {XYLEM_COLL_BCAST, "han:within=ucx,", NULL},
    {XYLEM_COLL_BCAST, "han:between=binary/chain", NULL},
    {XYLEM_COLL_BCAST, "han:segments=4K", NULL},
    {XYLEM_COLL_BCAST, "kary:within=ucx", NULL},
    {XYLEM_COLL_GATHER, "han:within=ucx", NULL},
    {XYLEM_COLL_GATHER, "han:within=cuda_ipc", NULL},
    {XYLEM_COLL_ALLGATHER, "han:within=cuda_ipc", "han:within=cuda_ipc"},
    {XYLEM_COLL_ALLGATHER, "han:within=node_direct", NULL},
    {XYLEM_COLL_ALLGATHER, "han:leaders=2", NULL},
    {XYLEM_COLL_ALLGATHER, "cuda_ipc:within=cuda_ipc", NULL},
    {XYLEM_COLL_BCAST, "han/", NULL},
    {XYLEM_COLL_BCAST, "han/ring", NULL},
    {XYLEM_COLL_BCAST, "han/topology:2", NULL},
    {XYLEM_COLL_BCAST, "han/scatter_allgather", NULL},
    {XYLEM_COLL_BCAST, "han/node", NULL},
    {XYLEM_COLL_BCAST, "han/auto", NULL},
    {XYLEM_COLL_BCAST, "han/han/binary", NULL},
    {XYLEM_COLL_BCAST, "han/knomial:1", NULL},
    {XYLEM_COLL_BCAST, "chain/binary", NULL},
    {XYLEM_COLL_BCAST, "ring", NULL},
    {XYLEM_COLL_GATHER, "chain", NULL},
    {XYLEM_COLL_GATHER, "han:2", NULL},
};

static void test_names(void)
{
    char text[XYL_ALGORITHM_TEXT_BYTES], why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named, again;
    size_t i;

    for (i = 0; i < sizeof readings / sizeof *readings; i++) {
        const reading_t *reading = &readings[i];
        int is_read =
            xyl_algorithm_parse(reading->coll, reading->text, &named, why);
        CHECK_EQ(is_read, reading->printed != NULL);
        if (!is_read || reading->printed == NULL)
            continue;
        xyl_algorithm_print(&named, text);
        if (strcmp(text, reading->printed) != 0)
            check_failed(__FILE__, __LINE__, reading->text);
        CHECK(xyl_algorithm_parse(reading->coll, text, &again, why));
        xyl_algorithm_print(&again, text);
        CHECK(strcmp(text, reading->printed) == 0);
    }
}

/* A printed name is read as the same algorithm in each collective that has it;
 * names differ within a collective. */
static void test_registry(void)
{
    char text[XYL_ALGORITHM_TEXT_BYTES], why[XYL_ALGORITHM_WHY_BYTES];
    const xyl_algorithm_t *const *all;
    xyl_named_t named;
    xylem_coll_t coll;
    size_t i, count;

    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++) {
        const xyl_radix_t *radix = xyl_algorithm_radix(all[i]);
        CHECK(all[i]->colls != 0 && xyl_algorithm_help(all[i]) != NULL);
        for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
            if (!xyl_algorithm_does(all[i], coll))
                continue;
            named = (xyl_named_t){.algorithm = all[i], .radix = radix->most};
            xyl_algorithm_print(&named, text);
            CHECK(xyl_algorithm_parse(coll, text, &named, why));
            CHECK(named.algorithm == all[i] && named.radix == radix->most);
        }
    }
}

/* ---- XYLEM_ALGORITHMS ---- */

static void check_refused(const char *text, const char *word)
{
    xyl_rule_t *rules;
    size_t count;

    CHECK_EQ(xyl_algorithms_parse(text, &rules, &count), XYLEM_ERR_CONFIG);
    if (strstr(xylem_last_error(), word) == NULL)
        check_failed(__FILE__, __LINE__, xylem_last_error());
}

static void test_algorithms(void)
{
    xyl_rule_t *rules;
    size_t count;

    CHECK_EQ(xyl_algorithms_parse("bcast=knomial:4,allreduce@0-4K="
                                  "recursive_doubling, Scan@8K-=linear,"
                                  "gather@-7=auto",
                                  &rules, &count),
             XYLEM_OK);
    CHECK_EQ(count, 4);
    CHECK_EQ(rules[0].colls, XYL_COLL_BIT(BCAST));
    CHECK(strcmp(rules[0].algorithm, "knomial") == 0);
    CHECK_EQ(rules[0].radix, 4);
    CHECK(rules[0].bytes_min == 0 && rules[0].bytes_max == UINT64_MAX);
    CHECK(rules[1].bytes_min == 0 && rules[1].bytes_max == 4096);
    CHECK(rules[2].bytes_min == 8192 && rules[2].bytes_max == UINT64_MAX);
    CHECK(rules[3].bytes_max == 7 && rules[3].algorithm == NULL);
    free(rules);
    xyl_log_level_set(XYL_LOG_NONE);
    check_refused("bcast", "COLLECTIVE=ALGORITHM");
    check_refused("cast=ring", "no such collective");
    check_refused("bcast=bush", "no such algorithm");
    check_refused("bcast=knomial:1", "2 ... 64");
    check_refused("bcast@4K=ring", "behind @");
    check_refused("bcast@8K-4K=chain", "behind @");
    check_refused("bcast@x-4K=chain", "behind @");
    check_refused("bcast=chain,", "COLLECTIVE=ALGORITHM");
    xyl_log_level_set(XYL_LOG_WARN);
}

/* ---- tables ---- */

static int is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int is_same_where(const xyl_rule_t *a, const xyl_rule_t *b)
{
    return a->colls == b->colls && a->teams == b->teams &&
           memcmp(&a->ranks, &b->ranks, sizeof a->ranks) == 0 &&
           memcmp(&a->nodes, &b->nodes, sizeof a->nodes) == 0 &&
           memcmp(&a->node_ranks, &b->node_ranks, sizeof a->node_ranks) == 0 &&
           a->power_of_two == b->power_of_two && a->bytes_min == b->bytes_min &&
           a->bytes_max == b->bytes_max && a->total_min == b->total_min &&
           a->total_max == b->total_max && a->pays_count == b->pays_count &&
           memcmp(a->pays, b->pays, a->pays_count * sizeof *a->pays) == 0;
}

static int is_same_what(const xyl_rule_t *a, const xyl_rule_t *b)
{
    return is_same_text(a->algorithm, b->algorithm) && a->radix == b->radix &&
           a->segment_bytes == b->segment_bytes &&
           a->send_window == b->send_window &&
           a->recv_window == b->recv_window &&
           is_same_text(a->between, b->between) &&
           a->between_radix == b->between_radix &&
           is_same_text(a->within, b->within) &&
           a->within_radix == b->within_radix &&
           a->within_segment_bytes == b->within_segment_bytes &&
           is_same_text(a->origin, b->origin);
}

/* The rows that the build has made equal those that the library reads. */
static void test_builtin(void)
{
    xyl_limits_t limits = {0};
    xyl_rule_t *rules = NULL;
    void *memory = NULL;
    char *text = NULL;
    size_t bytes = 0, count = 0, i;

    CHECK(xyl_file_read(TABLE_FILE, 1 << 20, &text, &bytes) == NULL);
    CHECK_EQ(xyl_table_parse(TABLE_FILE, text, bytes, &rules, &count, &limits,
                             &memory),
             XYLEM_OK);
    CHECK_EQ(count, xyl_rules_builtin.count);
    for (i = 0; i < count && i < xyl_rules_builtin.count; i++) {
        CHECK(is_same_where(&rules[i], &xyl_rules_builtin.rule[i]));
        CHECK(is_same_what(&rules[i], &xyl_rules_builtin.rule[i]));
    }
    CHECK(memcmp(&limits, &xyl_limits_builtin, sizeof limits) == 0);
    xyl_table_free(rules, memory);
    free(text);
}

/* "use" may name all that a call's text may: members beside it say the same. */
static void test_use_in_full(void)
{
    static const char *const texts[] = {
        "{\"rules\": [{\"for\": \"bcast\", \"use\": \"han:between=knomial:4,"
        "leaders=3,within=chain\", \"segment\": \"4K\", \"windows\": [4, 8]}]}",
        "{\"rules\": [{\"for\": \"bcast\", \"use\": \"han\", \"between\": "
        "\"knomial:4\", \"leaders\": 3, \"within\": \"chain\", \"segment\": "
        "\"4K\", \"windows\": [4, 8]}]}"};
    xyl_rule_t *rules[2] = {NULL, NULL};
    void *memory[2] = {NULL, NULL};
    xyl_limits_t limits;
    size_t count, i;

    for (i = 0; i < 2; i++)
        CHECK_EQ(xyl_table_parse("t.json", texts[i], strlen(texts[i]),
                                 &rules[i], &count, &limits, &memory[i]),
                 XYLEM_OK);
    CHECK(is_same_where(rules[0], rules[1]));
    CHECK(is_same_what(rules[0], rules[1]));
    CHECK_EQ(rules[0]->radix, 3);
    CHECK_EQ(rules[0]->segment_bytes, 4096);
    CHECK(is_same_text(rules[0]->between, "knomial"));
    CHECK_EQ(rules[0]->between_radix, 4);
    CHECK(is_same_text(rules[0]->within, "chain"));
    for (i = 0; i < 2; i++)
        xyl_table_free(rules[i], memory[i]);
}

/* Whatever the team and the operation, a rule of a schedule or a tree fits. */
static void test_always_decides(void)
{
    static const uint32_t teams[] = {XYL_TEAM_NODE, XYL_TEAM_NODES};
    xylem_coll_t coll;
    uint32_t team;
    size_t i;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (team = 0; team < 2; team++) {
            const xyl_query_t query = {.coll = coll,
                                       .team = teams[team],
                                       .ranks = 1000001,
                                       .nodes = 1000001,
                                       .node_ranks = 1,
                                       .bytes = UINT64_MAX,
                                       .total = UINT64_MAX};
            const xyl_problem_t problem = {.coll = coll, .ranks = 1000001};
            int is_found = 0;
            for (i = 0; i < xyl_rules_builtin.count; i++) {
                const xyl_rule_t *rule = &xyl_rules_builtin.rule[i];
                is_found |= xyl_rule_holds(rule, &query) &&
                            xyl_rule_pays(rule, &query) &&
                            xyl_algorithm_fits(
                                xyl_algorithm_find(coll, rule->algorithm),
                                &problem, NULL);
            }
            CHECK(is_found || !schedules_leave_choice(coll));
        }
}

typedef struct mistake {
    const char *text; /* ' stands for " */
    const char *word;
} mistake_t;

static const mistake_t mistakes[] = {
    {"", "is empty"},
    {" \n\t", "is empty"},
    {"{", "line 1"},
    {"{'rules': [], 'limts': {}}", "limts: there is no such key"},
    {"{'rules': [], 'machine': 3}", "machine: wants a text"},
    {"{'rules': [], 'arrivals': 'never'}", "arrivals: wants"},
    {"{'rules': [], 'machine': 'a\\u001b[31m'}", "control characters"},
    {"{'rules': [], 'a\\nxylem: all is well': 1}", "control characters"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'origin': '\\u009b2J'}]}",
     "control characters"},
    {"{'rules': [], 'origins': {'x': '\\u007F'}}", "control characters"},
    {"{'rules': [], 'comment': 'a\x7f'}", "control characters"},
    {"{'rules': [], 'comment': 'a\xc2\x85'}", "control characters"},
    {"[]", "rules"},
    {"{}", "rules"},
    {"{'rules': [3]}", "rules[0]"},
    {"{'rules': [{'for': 'bcast', 'use': 'chain'}]}", "windows"},
    {"{'rules': [{'for': 'bcast', 'use': 'han', 'between': 'chain', 'leaders': "
     "1, 'windows': [1, 2], 'segment': '3K', 'within_segment': '2K'}]}",
     "within_segment wants a multiple of segment, or a part of it"},
    {"{'rules': [{'for': 'bcast', 'use': 'han', 'within_segment': 0}]}",
     "a segment has bytes"},
    {"{'rules': [{'for': 'bcast', 'use': 'han', 'leaders': 17}]}", "1 ... 16"},
    {"{'rules': [{'for': 'bcast', 'use': 'han', 'leaders': 1.5}]}",
     "leaders: wants a number, or a text"},
    {"{'rules': [{'for': 'bcast', 'use': 'chain', 'leaders': 1}]}",
     "no levels"},
    {"{'rules': [{'for': 'cast', 'use': 'ring'}]}", "a collective"},
    {"{'rules': [{'for': ['scan', 1], 'use': 'linear'}]}", "a collective"},
    {"{'rules': [{'use': 'ring'}]}", "for"},
    {"{'rules': [{'for': 'scan'}]}", "use"},
    {"{'rules': [{'for': 'scan', 'use': 'ring'}]}", "not for scan"},
    {"{'rules': [{'for': 'scan', 'use': 'auto'}]}", "an algorithm"},
    {"{'rules': [{'for': 'all', 'use': 'rings'}]}", "no such algorithm"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'size': 1}]}", "size"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'bytes': -1}]}", "bytes"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'bytes': [2, 1]}]}", "least"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'ranks': 0}]}", "ranks"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'nodes': [3, 2]}]}", "nodes"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'node_ranks': []}]}",
     "node_ranks"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'segment': 0}]}", "bytes"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'windows': [4, 2]}]}",
     "N <= M"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'windows': [1, 65]}]}",
     "N <= M"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'team': 'two'}]}", "team"},
    {"{'rules': [{'for': 'scan', 'use': 'han', 'pays': []}]}", "pays"},
    {"{'rules': [{'for': 'scan', 'use': 'han', 'pays': [{'when': 'x'}]}]}",
     "pays"},
    {"{'rules': [{'for': 'bcast', 'use': 'han', 'segment': 1, 'windows': "
     "[1, 1]}]}",
     "leaders"},
    {"{'rules': [{'for': 'bcast', 'use': 'han', 'segment': 1, 'windows': "
     "[1, 1], 'leaders': 1, 'between': 'node'}]}",
     "a tree"},
    {"{'rules': [{'for': 'bcast', 'use': 'han/chain', 'segment': 1, "
     "'windows': [1, 1], 'leaders': 1, 'between': 'knomial'}]}",
     "takes no radix"},
    {"{'rules': [{'for': 'all', 'use': 'han', 'segment': 1, 'windows': "
     "[1, 1], 'leaders': 1, 'between': 'recursive_multiplying'}]}",
     "not for bcast"},
    {"{'rules': [{'for': 'scan', 'use': 'linear', 'origin': 3}]}", "origin"},
    {"{'rules': [{'for': 'scan', 'use': 'linear'}, {'for': 'scan'}]}",
     "rules[1]"},
    {"{'rules': [{'for': 'scan', 'for': 'scan'}]}", "duplicate"},
    {"{'limits': []}", "limits"},
    {"{'limits': {'scan': {'value': 1}}}", "no such limit"},
    {"{'limits': {'scan_piece': 64}}", "64 ... 1073741824"},
    {"{'limits': {'scan_piece': {'value': 63}}}", "64 ... 1073741824"},
    {"{'limits': {'scan_piece': {'value': '2G'}}}", "64 ... 1073741824"},
};

static void quote(const char *text, char *quoted, size_t bytes)
{
    char *at;

    snprintf(quoted, bytes, "%s", text);
    for (at = quoted; *at != '\0'; at++)
        if (*at == '\'')
            *at = '"';
}

static void test_mistakes(void)
{
    char text[512];
    xyl_limits_t limits;
    xyl_rule_t *rules;
    void *memory;
    size_t count, i;

    xyl_log_level_set(XYL_LOG_NONE);
    for (i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        quote(mistakes[i].text, text, sizeof text);
        CHECK_EQ(xyl_table_parse("t.json", text, strlen(text), &rules, &count,
                                 &limits, &memory),
                 XYLEM_ERR_CONFIG);
        if (strstr(xylem_last_error(), mistakes[i].word) == NULL ||
            strncmp(xylem_last_error(), "t.json: ", 8) != 0)
            check_failed(__FILE__, __LINE__, xylem_last_error());
    }
    xyl_log_level_set(XYL_LOG_WARN);
}

/* A damaged file (changed bytes, a missing end) is either read or refused. */
/* Characters that look like control characters, and are none. */
static void test_plain(void)
{
    static const char text[] =
        "{\"rules\": [], \"comment\": \"\\\\n \\\" \\/ \\u00e4 \\u0020 "
        "\\u0070 \xc2\xa0 \xc3\x84 \\\\u0007\"}";
    xyl_limits_t limits;
    xyl_rule_t *rules = NULL;
    void *memory = NULL;
    size_t count;

    CHECK_EQ(xyl_table_parse("t.json", text, strlen(text), &rules, &count,
                             &limits, &memory),
             XYLEM_OK);
    xyl_table_free(rules, memory);
}

static void test_damaged(void)
{
    uint64_t random = random_mix(7);
    unsigned damaged = 0, i, k;
    xyl_limits_t limits;
    xyl_rule_t *rules;
    char *text, *copy;
    void *memory;
    size_t bytes, count, length;

    xyl_log_level_set(XYL_LOG_NONE);
    CHECK(xyl_file_read(TABLE_FILE, 1 << 20, &text, &bytes) == NULL);
    copy = malloc(bytes);
    for (i = 0; i < (unsigned)check_cases(400); i++) {
        memcpy(copy, text, bytes);
        length = i % 4 == 0 ? random_below(&random, (uint32_t)bytes) : bytes;
        for (k = random_below(&random, 4); k > 0; k--)
            copy[random_below(&random, (uint32_t)bytes)] =
                "0-9]}{[,:\"K\0x"[random_below(&random, 13)];
        if (xyl_table_parse("t.json", copy, length, &rules, &count, &limits,
                            &memory) == XYLEM_OK)
            xyl_table_free(rules, memory);
        else
            damaged++;
    }
    CHECK(damaged > 0);
    free(copy);
    free(text);
    xyl_log_level_set(XYL_LOG_WARN);
}

/* ---- contexts ---- */

/* "name:radix" of a barrier, or of a bcast of `bytes`; "none" if the context
 * cannot be made. */
static const char *chosen_with(const char *const *settings, size_t bytes)
{
    static char text[XYL_ALGORITHM_TEXT_BYTES];
    const fabric_options_t options = {.seed = 1, .settings = settings};
    fabric_t *fabric = fabric_create(3, &options);
    const xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                    .coll = XYLEM_COLL_BCAST,
                                    .count = bytes,
                                    .type = XYLEM_BYTE};
    xyl_choice_t choice;
    xyl_named_t named;

    if (fabric == NULL)
        return "none";
    CHECK_EQ(
        xyl_choose(fabric_world(fabric, 0), &args, (xyl_way_t){0}, 1, &choice),
        XYLEM_OK);
    named = (xyl_named_t){.algorithm = choice.algorithm, .radix = choice.radix};
    xyl_algorithm_print(&named, text);
    fabric_destroy(fabric);
    return text;
}

static void check_chosen(const char *algorithms, const char *tuning,
                         size_t bytes, const char *wanted)
{
    const char *const settings[] = {algorithms, tuning, NULL};
    const char *chosen = chosen_with(settings, bytes);

    if (strcmp(chosen, wanted) != 0)
        check_failed(__FILE__, __LINE__, chosen);
}

static void check_limit(const char *tuning, uint64_t wanted)
{
    const char *const settings[] = {tuning, NULL};
    const fabric_options_t options = {.seed = 1, .settings = settings};
    fabric_t *fabric = fabric_create(1, &options);

    CHECK_EQ(xyl_limits_of(fabric_context(fabric, 0))->scan_piece, wanted);
    fabric_destroy(fabric);
}

static void table_write(char *path, const char *text)
{
    char quoted[512];
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");

    quote(text, quoted, sizeof quoted);
    if (file == NULL || fputs(quoted, file) < 0 || fclose(file) != 0)
        abort();
}

static void test_precedence(void)
{
    char tuning[] = "TUNING=/tmp/xylem-tuning-XXXXXX";
    char broken[] = "TUNING=/tmp/xylem-tuning-XXXXXX";
    char limits[] = "TUNING=/tmp/xylem-tuning-XXXXXX";

    table_write(strchr(tuning, '/'),
                "{'rules': [{'for': 'all', 'use': 'bruck:4'}, {'for': 'bcast', "
                "'bytes': ['1K', '1M'], 'use': "
                "'kary:5', 'segment': '2K', 'windows': [1, 2]}]}");
    table_write(strchr(limits, '/'),
                "{'limits': {'scan_piece': {'value': 77}}}");
    table_write(strchr(broken, '/'),
                "{'limits': {'scan_piece': {'value': 77}}, 'rules': "
                "[{'for': 'bcast'}]}");
    check_chosen("ALGORITHMS=auto", "TUNING=none", 2048, "kary:4");
    check_chosen("ALGORITHMS=auto", tuning, 2048, "kary:5");
    check_chosen("ALGORITHMS=auto", tuning, 512, "kary:4");
    check_chosen("ALGORITHMS=bcast=chain", tuning, 2048, "chain");
    check_chosen("ALGORITHMS=bcast@-1K=chain,bcast=flat", tuning, 2048, "flat");
    check_chosen("ALGORITHMS=bcast=auto,bcast=flat", tuning, 2048, "kary:5");
    check_chosen("ALGORITHMS=reduce=chain", tuning, 2048, "kary:5");
    check_chosen("ALGORITHMS=reduce=han:leaders=2,within=ucx,bcast=chain",
                 tuning, 2048, "chain");
    check_chosen("ALGORITHMS=auto", broken, 2048, "kary:4");
    check_limit(limits, 77);
    check_limit(broken, xyl_limits_builtin.scan_piece);
    check_chosen("ALGORITHMS=auto", "TUNING=/no/such/file", 2048, "kary:4");
    unlink(strchr(tuning, '/'));
    unlink(strchr(broken, '/'));
    unlink(strchr(limits, '/'));
}

/* ---- what goes within nodes ---- */

/* The choice for a reduce on two nodes of two ranks, which share memory. */
static xyl_choice_t chosen_of_nodes(const char *tuning, const char *named)
{
    static const xylem_place_t places[] = {
        {.node = 0}, {.node = 0}, {.node = 1}, {.node = 1}};
    const char *const settings[] = {tuning, NULL};
    const fabric_options_t options = {
        .seed = 1, .places = places, .shares_memory = 1, .settings = settings};
    fabric_t *fabric = fabric_create(4, &options);
    const xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                    .coll = XYLEM_COLL_REDUCE,
                                    .count = 100,
                                    .type = XYLEM_FLOAT64,
                                    .op = XYLEM_SUM,
                                    .algorithm = named};
    xyl_choice_t choice;

    CHECK_EQ(
        xyl_choose(fabric_world(fabric, 0), &args, (xyl_way_t){0}, 1, &choice),
        XYLEM_OK);
    fabric_destroy(fabric);
    return choice;
}

static void test_within(void)
{
    static const char rule[] =
        "{'rules': [{'for': ['reduce', 'allreduce'], 'use': 'han', 'between': "
        "'flat', 'leaders': 1, 'segment': '2K', 'windows': [1, 2], 'within': "
        "'%s'}]}";
    char tuning[] = "TUNING=/tmp/xylem-tuning-XXXXXX";
    char broken[] = "TUNING=/tmp/xylem-tuning-XXXXXX";
    char text[256];
    xyl_choice_t choice;

    snprintf(text, sizeof text, rule, "node_groups:2");
    table_write(strchr(tuning, '/'), text);
    snprintf(text, sizeof text, rule, "node_slices");
    table_write(strchr(broken, '/'), text);
    choice = chosen_of_nodes(tuning, NULL);
    CHECK(choice.within_up != NULL && choice.within_down != NULL &&
          strcmp(choice.within_up->name, "node_groups") == 0);
    CHECK(choice.within_radix == 2 && !choice.is_by_messages);
    choice = chosen_of_nodes(tuning, "han:within=node_pairs");
    CHECK(choice.within_up != NULL && choice.within_down == NULL &&
          strcmp(choice.within_up->name, "node_pairs") == 0);
    choice = chosen_of_nodes(tuning, "han:within=ucx");
    CHECK(choice.within_up == NULL && choice.is_by_messages);
    choice = chosen_of_nodes(tuning, "han:within=chain");
    CHECK(choice.is_by_messages &&
          strcmp(choice.node_tree.tree->name, "chain") == 0);
    choice = chosen_of_nodes(tuning, "han:within=node");
    CHECK(choice.within_up == NULL && choice.within_down == NULL &&
          !choice.is_by_messages);
    choice = chosen_of_nodes(broken, "han");
    CHECK(choice.within_up == NULL && !choice.is_by_messages);
    unlink(strchr(tuning, '/'));
    unlink(strchr(broken, '/'));
}

static void check_segments(const char *tuning, const char *named,
                           size_t segment_bytes, uint32_t within,
                           uint32_t between)
{
    const xyl_choice_t choice = chosen_of_nodes(tuning, named);

    CHECK_EQ(choice.frame.segment_bytes, segment_bytes);
    CHECK_EQ(choice.within_grain, within);
    CHECK_EQ(choice.between_grain, between);
}

/* The shorter segments are whole elements, the longer ones a multiple. */
static void test_segments(void)
{
    static const char rule[] =
        "{'rules': [{'for': 'reduce', 'use': 'han', 'between': 'flat', "
        "'leaders': 1, 'segment': '2K', 'windows': [1, 2], 'within_segment': "
        "'8K'}]}";
    char tuning[] = "TUNING=/tmp/xylem-tuning-XXXXXX";

    table_write(strchr(tuning, '/'), rule);
    check_segments(tuning, NULL, 2048, 4, 1);
    check_segments(tuning, "han:segment=16K", 8192, 1, 2);
    check_segments(tuning, "han:within_segment=1K", 1024, 1, 2);
    check_segments(tuning, "han:within_segment=2K", 2048, 1, 1);
    check_segments(tuning, "han:within_segment=1000,segment=4000", 1000, 1, 4);
    check_segments(tuning, "han:within_segment=1", 8, 1, 256);
    check_segments(tuning, "han:within_segment=7000", 2048, 3, 1);
    check_segments("ALGORITHMS=reduce=han:segment=1K,within_segment=64K", NULL,
                   1024, 64, 1);
    unlink(strchr(tuning, '/'));
}

static const check_case_t cases[] = {
    {"names", test_names},
    {"registry", test_registry},
    {"algorithms", test_algorithms},
    {"builtin", test_builtin},
    {"use in full", test_use_in_full},
    {"always_decides", test_always_decides},
    {"mistakes", test_mistakes},
    {"plain", test_plain},
    {"damaged", test_damaged},
    {"precedence", test_precedence},
    {"within", test_within},
    {"segments of levels", test_segments},
};
CHECK_MAIN(cases)
