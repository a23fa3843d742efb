/* The choice of an algorithm. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "collectives/choose/select.h"
#include "collectives/data/description.h"
#include "collectives/levels/han.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

/* One row of a built-in table: the first row that fits is taken. `name` NULL:
 * tree stages. Bytes are those of the message, or of a rank's block. */
typedef struct rule {
    xylem_coll_t coll;
    uint32_t ranks_max;
    uint64_t bytes_max;
    const char *name;
    uint32_t radix;
    size_t segment_bytes;
} rule_t;

#define ANY_RANKS UINT32_MAX
#define ANY_BYTES UINT64_MAX
#define KIB       ((uint64_t)1 << 10)

/* Within a node. Measured with 2, 4, 8 and 16 ranks on 16 cores; see
 * docs/measurements.md. */
static const rule_t node_rules[] = {
    {XYLEM_COLL_BCAST, ANY_RANKS, ANY_BYTES, NULL, 0, 0},
    {XYLEM_COLL_REDUCE, ANY_RANKS, ANY_BYTES, NULL, 0, 0},
    {XYLEM_COLL_ALLREDUCE, 2, 16 * KIB, "recursive_doubling", 0, 0},
    {XYLEM_COLL_ALLREDUCE, 2, ANY_BYTES, NULL, 0, 0},
    {XYLEM_COLL_ALLREDUCE, 8, 4 * KIB, "recursive_doubling", 0, 0},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, 2 * KIB, "recursive_doubling", 0, 0},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, 64 * KIB, "rabenseifner", 0, 0},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, ANY_BYTES, "ring", 0, 8 * KIB},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, ANY_BYTES, NULL, 0, 0},
    {XYLEM_COLL_BARRIER, ANY_RANKS, ANY_BYTES, "recursive_doubling", 0, 0},
    {XYLEM_COLL_GATHER, 8, ANY_BYTES, "linear", 0, 0},
    {XYLEM_COLL_GATHER, ANY_RANKS, 1 * KIB, "knomial", 4, 0},
    {XYLEM_COLL_GATHER, ANY_RANKS, 8 * KIB, "linear", 0, 0},
    {XYLEM_COLL_GATHER, ANY_RANKS, ANY_BYTES, "knomial", 4, 0},
    {XYLEM_COLL_SCATTER, 8, ANY_BYTES, "linear", 0, 0},
    {XYLEM_COLL_SCATTER, ANY_RANKS, 64, "linear", 0, 0},
    {XYLEM_COLL_SCATTER, ANY_RANKS, 1 * KIB, "knomial", 4, 0},
    {XYLEM_COLL_SCATTER, ANY_RANKS, ANY_BYTES, "linear", 0, 0},
    {XYLEM_COLL_ALLGATHER, ANY_RANKS, 16 * KIB, "recursive_doubling", 0, 0},
    {XYLEM_COLL_ALLGATHER, ANY_RANKS, ANY_BYTES, "sparbit", 0, 0},
    {XYLEM_COLL_ALLGATHERV, ANY_RANKS, 16 * KIB, "recursive_doubling", 0, 0},
    {XYLEM_COLL_ALLGATHERV, ANY_RANKS, ANY_BYTES, "sparbit", 0, 0},
    {XYLEM_COLL_ALLTOALL, 4, ANY_BYTES, "pairwise", 0, 0},
    {XYLEM_COLL_ALLTOALL, ANY_RANKS, 256, "bruck", 4, 0},
    {XYLEM_COLL_ALLTOALL, ANY_RANKS, ANY_BYTES, "pairwise", 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, ANY_RANKS, 2 * KIB, "recursive_halving",
     0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, 8, 8 * KIB, "circulant", 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, ANY_RANKS, 8 * KIB, "pairwise", 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, ANY_RANKS, ANY_BYTES, "ring", 0, 8 * KIB},
    {XYLEM_COLL_REDUCE_SCATTER, ANY_RANKS, 2 * KIB, "recursive_halving", 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER, ANY_RANKS, 8 * KIB, "pairwise", 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER, ANY_RANKS, ANY_BYTES, "ring", 0, 8 * KIB},
    {XYLEM_COLL_SCAN, ANY_RANKS, 4 * KIB, "recursive_doubling", 0, 0},
    {XYLEM_COLL_SCAN, ANY_RANKS, ANY_BYTES, "linear", 0, 8 * KIB},
    {XYLEM_COLL_EXSCAN, ANY_RANKS, 8 * KIB, "recursive_doubling", 0, 0},
    {XYLEM_COLL_EXSCAN, ANY_RANKS, ANY_BYTES, "linear", 0, 8 * KIB},
    {XYLEM_COLL_COUNT, 0, 0, NULL, 0, 0},
};

/* A pipeline's time grows with the ranks, and at first hardly with bytes: the
 * more ranks, the longer a message that is worth one. Short segments fill it
 * sooner, longer ones cost less once it is full. Bytes are the most for rounds,
 * for segments of 1 KiB, and for those of 2 KiB. */
#define SCAN_RULES(coll, ranks, rounds_max, short_max, middle_max)             \
    {coll, ranks, rounds_max, "recursive_doubling", 0, 0},                     \
        {coll, ranks, short_max, "linear", 0, 1 * KIB},                        \
        {coll, ranks, middle_max, "linear", 0, 2 * KIB},                       \
    {                                                                          \
        coll, ranks, ANY_BYTES, "linear", 0, 4 * KIB                           \
    }

/* Across nodes. Simulated with 1,024 and 4,096 ranks, 32 on each node, by
 * bench/studies/choices.sh: the ranks of a node share its interface, so that
 * what sends far in every round soon loses to what goes from neighbour to
 * neighbour. */
static const rule_t net_rules[] = {
    {XYLEM_COLL_BCAST, ANY_RANKS, ANY_BYTES, NULL, 0, 0},
    /* rabenseifner ends one call of 16 to 128 KiB up to a fifth sooner, but all
     * of its ranks wait for all others. Up trees, calls one after the other
     * overlap, and a rank that is late delays its ancestors alone. Neither
     * parts nor on_segment may decide: ranks need not agree on them. */
    {XYLEM_COLL_REDUCE, ANY_RANKS, ANY_BYTES, NULL, 0, 0},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, 1 * KIB, "recursive_doubling", 0, 0},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, 1024 * KIB, "rabenseifner", 0, 0},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, ANY_BYTES, NULL, 0, 0},
    {XYLEM_COLL_BARRIER, ANY_RANKS, ANY_BYTES, "recursive_doubling", 0, 0},
    {XYLEM_COLL_GATHER, ANY_RANKS, ANY_BYTES, "knomial", 4, 0},
    /* 1,024 is a power of 4; 512 and 4,096 are powers of 8. */
    {XYLEM_COLL_SCATTER, 512, ANY_BYTES, "knomial", 8, 0},
    {XYLEM_COLL_SCATTER, 1024, ANY_BYTES, "knomial", 4, 0},
    {XYLEM_COLL_SCATTER, ANY_RANKS, ANY_BYTES, "knomial", 8, 0},
    {XYLEM_COLL_ALLGATHER, ANY_RANKS, 64, "bruck", 2, 0},
    {XYLEM_COLL_ALLGATHER, ANY_RANKS, ANY_BYTES, "neighbor_exchange", 0, 0},
    {XYLEM_COLL_ALLGATHER, ANY_RANKS, ANY_BYTES, "ring", 0, 0},
    {XYLEM_COLL_ALLGATHERV, ANY_RANKS, 64, "bruck", 2, 0},
    {XYLEM_COLL_ALLGATHERV, ANY_RANKS, ANY_BYTES, "neighbor_exchange", 0, 0},
    {XYLEM_COLL_ALLGATHERV, ANY_RANKS, ANY_BYTES, "ring", 0, 0},
    {XYLEM_COLL_ALLTOALL, 256, 16, "bruck", 4, 0},
    {XYLEM_COLL_ALLTOALL, 64, 128, "bruck", 8, 0},
    {XYLEM_COLL_ALLTOALL, 256, 128, "bruck", 16, 0},
    {XYLEM_COLL_ALLTOALL, 1024, 128, "bruck", 32, 0},
    {XYLEM_COLL_ALLTOALL, ANY_RANKS, 128, "bruck", 16, 0},
    {XYLEM_COLL_ALLTOALL, ANY_RANKS, ANY_BYTES, "pairwise", 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, ANY_RANKS, 128, "recursive_halving", 0,
     0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, ANY_RANKS, ANY_BYTES, "ring", 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER, ANY_RANKS, 128, "recursive_halving", 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER, ANY_RANKS, ANY_BYTES, "ring", 0, 0},
    SCAN_RULES(XYLEM_COLL_SCAN, 128, 4 * KIB, 128 * KIB, 512 * KIB),
    SCAN_RULES(XYLEM_COLL_SCAN, 512, 8 * KIB, 512 * KIB, 1024 * KIB),
    SCAN_RULES(XYLEM_COLL_SCAN, 1024, 16 * KIB, 1024 * KIB, 4096 * KIB),
    SCAN_RULES(XYLEM_COLL_SCAN, ANY_RANKS, 64 * KIB, 2048 * KIB, 8192 * KIB),
    SCAN_RULES(XYLEM_COLL_EXSCAN, 128, 4 * KIB, 128 * KIB, 512 * KIB),
    SCAN_RULES(XYLEM_COLL_EXSCAN, 512, 8 * KIB, 512 * KIB, 1024 * KIB),
    SCAN_RULES(XYLEM_COLL_EXSCAN, 1024, 16 * KIB, 1024 * KIB, 4096 * KIB),
    SCAN_RULES(XYLEM_COLL_EXSCAN, ANY_RANKS, 64 * KIB, 2048 * KIB, 8192 * KIB),
    {XYLEM_COLL_COUNT, 0, 0, NULL, 0, 0},
};

uint64_t xyl_choose_setting(const xyl_config_t *config, xylem_coll_t coll)
{
    const uint64_t settings[XYLEM_COLL_COUNT] = {
        [XYLEM_COLL_BCAST] = config->bcast,
        [XYLEM_COLL_REDUCE] = config->reduce,
        [XYLEM_COLL_ALLREDUCE] = config->allreduce,
        [XYLEM_COLL_BARRIER] = config->barrier,
        [XYLEM_COLL_GATHER] = config->gather,
        [XYLEM_COLL_GATHERV] = config->gatherv,
        [XYLEM_COLL_SCATTER] = config->scatter,
        [XYLEM_COLL_SCATTERV] = config->scatterv,
        [XYLEM_COLL_ALLGATHER] = config->allgather,
        [XYLEM_COLL_ALLGATHERV] = config->allgatherv,
        [XYLEM_COLL_ALLTOALL] = config->alltoall,
        [XYLEM_COLL_ALLTOALLV] = config->alltoallv,
        [XYLEM_COLL_ALLTOALLW] = config->alltoallw,
        [XYLEM_COLL_REDUCE_SCATTER] = config->reduce_scatter,
        [XYLEM_COLL_REDUCE_SCATTER_BLOCK] = config->reduce_scatter_block,
        [XYLEM_COLL_SCAN] = config->scan,
        [XYLEM_COLL_EXSCAN] = config->exscan,
    };

    return settings[coll];
}

static int has_trees(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_BCAST || coll == XYLEM_COLL_REDUCE ||
           coll == XYLEM_COLL_ALLREDUCE;
}

/* alltoallw is written as alltoallv. */
static xylem_coll_t written_as(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_ALLTOALLW ? XYLEM_COLL_ALLTOALLV : coll;
}

static void set_radix(xyl_choice_t *choice, uint32_t radix)
{
    const xyl_algorithm_t *algorithm = choice->algorithm;

    if ((algorithm->flags & XYL_TAKES_RADIX) == 0)
        radix = 0;
    else if (radix == 0)
        radix = algorithm->radix_default;
    else if (radix > algorithm->radix_max)
        radix = algorithm->radix_max;
    choice->radix = radix;
}

/* A value of XYL_CONFIG_TREE, by name. 0: the collective has no such thing. */
static int find(xylem_coll_t coll, uint64_t value, xyl_choice_t *choice)
{
    const char *name = xyl_config_algorithm_name(value);
    uint32_t radix = XYL_CONFIG_TREE_RADIX(value);

    *choice = (xyl_choice_t){0};
    if (has_trees(coll) && value >> 32 < XYL_CONFIG_SCHEDULE_FIRST) {
        choice->tree = XYL_CONFIG_TREE_SHAPE(value);
        choice->radix = radix;
        return 1;
    }
    if (name != NULL)
        choice->algorithm = xyl_algorithm_find(written_as(coll), name);
    if (choice->algorithm == NULL)
        return 0;
    set_radix(choice, radix);
    return 1;
}

/* The first that fits, of schedules. */
static void first_schedule(const xyl_problem_t *problem, xyl_choice_t *choice)
{
    size_t i, count;
    const xyl_algorithm_t *all = xyl_algorithms(&count);

    *choice = (xyl_choice_t){0};
    for (i = 0; i < count; i++)
        if (all[i].coll == written_as(problem->coll) && all[i].write != NULL &&
            xyl_algorithm_fits(&all[i], problem, NULL)) {
            choice->algorithm = &all[i];
            set_radix(choice, 0);
            return;
        }
}

static int rule_fits(const rule_t *rule, const xyl_problem_t *problem)
{
    uint64_t bytes = problem->count * problem->element_bytes;

    return rule->coll == problem->coll && problem->ranks <= rule->ranks_max &&
           bytes <= rule->bytes_max;
}

/* `rule` is the first of a table. */
static void by_table(const rule_t *rule, const xyl_problem_t *problem,
                     xyl_choice_t *choice)
{
    for (; rule->coll != XYLEM_COLL_COUNT; rule++) {
        *choice = (xyl_choice_t){0};
        if (!rule_fits(rule, problem))
            continue;
        if (rule->name == NULL)
            return;
        choice->algorithm =
            xyl_algorithm_find(written_as(rule->coll), rule->name);
        if (choice->algorithm == NULL ||
            !xyl_algorithm_fits(choice->algorithm, problem, NULL))
            continue;
        set_radix(choice, rule->radix);
        choice->segment_bytes = rule->segment_bytes;
        return;
    }
    first_schedule(problem, choice);
}

/* Through memory wherever it is shared. */
static int by_node(const xyl_problem_t *problem, xyl_choice_t *choice)
{
    *choice = (xyl_choice_t){
        .algorithm = xyl_algorithm_find(written_as(problem->coll), "node")};
    return choice->algorithm != NULL &&
           xyl_algorithm_fits(choice->algorithm, problem, NULL);
}

/* Level by level wherever nodes have several ranks. */
static int by_levels(xylem_team_t *team, const xyl_problem_t *problem,
                     xyl_choice_t *choice)
{
    *choice = (xyl_choice_t){
        .algorithm = xyl_algorithm_find(written_as(problem->coll), "han")};
    return choice->algorithm != NULL && xyl_han_is_worth(team, problem) &&
           xyl_algorithm_fits(choice->algorithm, problem, NULL);
}

static void explain(const xyl_problem_t *problem, const xyl_choice_t *choice,
                    const char *origin)
{
    if (choice->algorithm == NULL)
        return; /* xyl_select does */
    xyl_log(XYL_LOG_NONE,
            "select: %s of %" PRIu64 " bytes%s on %u ranks: %s, radix %u, "
            "segments of %zu bytes (%s)",
            xyl_coll_traits(problem->coll)->name,
            problem->count * problem->element_bytes,
            xyl_coll_traits(problem->coll)->recv_blocks ? " per rank" : "",
            problem->ranks, choice->algorithm->name, choice->radix,
            choice->segment_bytes, origin);
}

/* What the call itself asks for. */
static xylem_status_t by_call(const xylem_coll_args_t *args,
                              const xyl_problem_t *problem,
                              xyl_choice_t *choice)
{
    const char *name = xyl_coll_traits(args->coll)->name, *why;
    uint64_t value;

    if (args->algorithm == NULL) {
        if (!has_trees(args->coll))
            return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                            "%s has no trees; name an algorithm", name);
        *choice = (xyl_choice_t){.tree = args->tree, .radix = args->radix};
        return XYLEM_OK;
    }
    if (xyl_config_parse_algorithm(args->algorithm, &value) != XYLEM_OK ||
        value >> 32 == XYLEM_TREE_AUTO || !find(args->coll, value, choice))
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s has no algorithm '%s'; docs/algorithms.md lists "
                        "them",
                        name, args->algorithm);
    if (choice->algorithm != NULL &&
        !xyl_algorithm_fits(choice->algorithm, problem, &why))
        return xyl_fail(XYLEM_ERR_INVALID_ARG, "%s: algorithm %s %s", name,
                        args->algorithm, why);
    return XYLEM_OK;
}

/* A setting is for all calls of a program: one that does not fit a call is
 * passed over. 0: there is none, or it does not fit. */
static int by_setting(const xyl_problem_t *problem, uint64_t setting,
                      xyl_choice_t *choice)
{
    return setting >> 32 != XYLEM_TREE_AUTO &&
           find(problem->coll, setting, choice) &&
           (choice->algorithm == NULL ||
            xyl_algorithm_fits(choice->algorithm, problem, NULL));
}

/* Where blocks vary: the mean of those that all ranks know alike, in bytes,
 * because ranks may describe them by different types; 0 where they know none. A
 * rank's own count would lead ranks apart. */
static uint64_t common_bytes(const xylem_team_t *team,
                             const xylem_coll_args_t *args)
{
    uint64_t sum = 0;
    uint32_t i;

    assert(team->size > 0);
    if (args->coll != XYLEM_COLL_ALLGATHERV &&
        args->coll != XYLEM_COLL_REDUCE_SCATTER)
        return 0;
    for (i = 0; i < team->size; i++)
        sum += args->recv_counts[i];
    return sum *
           xylem_type_bytes(args->recv_count != 0 ? args->recv_type
                                                  : args->type) /
           team->size;
}

xylem_status_t xyl_choose(xylem_team_t *team, const xylem_coll_args_t *args,
                          int is_commutative, xyl_choice_t *choice_out)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    const xyl_config_t *config = &team->context->config;
    uint64_t setting = xyl_choose_setting(config, args->coll);
    const char *origin = "by the built-in table";
    xyl_problem_t problem;
    xyl_choice_t choice;
    xylem_status_t status;

    xyl_problem_outline(team, args, is_commutative, &problem);
    if (traits->send_varies || traits->recv_varies) {
        problem.count = common_bytes(team, args);
        problem.element_bytes = 1;
    }
    if (args->algorithm != NULL || args->tree != XYLEM_TREE_AUTO) {
        origin = "asked for by the call";
        status = by_call(args, &problem, &choice);
        if (status != XYLEM_OK)
            return status;
    } else if (by_setting(&problem, setting, &choice)) {
        origin = "by setting";
    } else if (!by_node(&problem, &choice) &&
               !by_levels(team, &problem, &choice)) {
        by_table(team->is_one_node ? node_rules : net_rules, &problem, &choice);
    }
    if (choice.algorithm == NULL && !has_trees(args->coll))
        return xyl_fail(XYLEM_ERR_UNSUPPORTED, "%s: no algorithm fits",
                        xyl_coll_traits(args->coll)->name);
    if (args->segment_bytes != 0)
        choice.segment_bytes = args->segment_bytes;
    else if (config->segment_bytes != 0)
        choice.segment_bytes = config->segment_bytes;
    if (config->verbose != 0)
        explain(&problem, &choice, origin);
    *choice_out = choice;
    return XYLEM_OK;
}
