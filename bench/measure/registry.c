/* The library's table of algorithms. Pure but for printing; any thread. */
#include "bench/measure/registry.h"

#include <string.h>

#include "bench/measure/algorithm.h"
#include "bench/measure/coll.h"
#include "collectives/schedules/algorithm.h"
#include "runtime/base/config.h"

enum { NAME_WIDTH = 24 };

/* Those of alltoallv do alltoallw. */
static xylem_coll_t written_as(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_ALLTOALLW ? XYLEM_COLL_ALLTOALLV : coll;
}

/* ---- printing ---- */

static void name_print(FILE *out, const char *name, int takes_radix)
{
    fprintf(out, "  %s%-*s", name, NAME_WIDTH - (int)strlen(name),
            takes_radix ? ":K" : "");
}

static void demands_print(FILE *out, const xyl_algorithm_t *algorithm)
{
    static const struct {
        uint32_t flag;
        const char *text;
    } demands[] = {
        {XYL_NEEDS_COMMUTATIVE, "needs a commutative operation"},
        {XYL_NEEDS_POWER_OF_TWO, "needs a power of two of ranks"},
        {XYL_NEEDS_EVEN, "needs an even number of ranks"},
        {XYL_NEEDS_ELEMENT_PER_RANK, "needs an element per rank"},
        {XYL_NEEDS_NODE, "needs ranks that share memory"},
        {XYL_NEEDS_FILLED_NODES, "needs ranks that fill node after node"},
        {XYL_TAKES_SEGMENTS, "takes --segment"},
    };
    size_t i;

    for (i = 0; i < sizeof demands / sizeof demands[0]; i++)
        if ((algorithm->flags & demands[i].flag) != 0)
            fprintf(out, "; %s", demands[i].text);
    if ((algorithm->flags & XYL_TAKES_RADIX) == 0)
        return;
    if ((algorithm->flags & XYL_NEEDS_LEVELS) != 0)
        fprintf(out, "; K leaders of a node, 1 ... %u, default by size",
                algorithm->radix_max);
    else
        fprintf(out, "; K 2 ... %u, default %u", algorithm->radix_max,
                algorithm->radix_default);
}

static void trees_print(FILE *out)
{
    const struct algorithm *tree;
    size_t i;

    /* From 1: the first is no tree, but the library's choice. */
    for (i = 1; (tree = algorithm_at(i)) != NULL; i++) {
        name_print(out, tree->name, tree->radix_min > 0);
        fprintf(out, "tree: %s", tree->help);
        if (tree->radix_min > 0)
            fprintf(out, "; K %u ... %u, default %u", tree->radix_min,
                    ALGORITHM_RADIX_MAX, tree->radix);
        fputc('\n', out);
    }
}

static void coll_print(FILE *out, xylem_coll_t coll)
{
    const xyl_algorithm_t *all;
    size_t count, i;

    fprintf(out, "%s%s\n", xyl_coll_traits(coll)->name,
            coll_has_trees(coll) ? " (trees take --segment and --window)" : "");
    if (coll_has_trees(coll))
        trees_print(out);
    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++) {
        if (all[i].coll != written_as(coll))
            continue;
        name_print(out, all[i].name, (all[i].flags & XYL_TAKES_RADIX) != 0);
        fputs(all[i].help, out);
        demands_print(out, &all[i]);
        fputc('\n', out);
    }
}

void registry_print(FILE *out, xylem_coll_t coll)
{
    unsigned i;

    if (coll != XYLEM_COLL_COUNT) {
        coll_print(out, coll);
        return;
    }
    for (i = 0; i < XYLEM_COLL_COUNT; i++)
        coll_print(out, (xylem_coll_t)i);
}

/* ---- refusing ---- */

static const xyl_algorithm_t *find(const char *text, xylem_coll_t coll)
{
    const char *name;
    uint64_t value;

    if (xyl_config_parse_algorithm(text, &value) != XYLEM_OK)
        return NULL;
    name = xyl_config_algorithm_name(value);
    return name == NULL ? NULL : xyl_algorithm_find(written_as(coll), name);
}

const char *registry_refusal(const char *algorithm,
                             const struct bench_call *call, uint32_t ranks,
                             int shares_memory, char *why, size_t bytes)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->coll);
    const xyl_algorithm_t *found = find(algorithm, call->coll);
    size_t element_bytes = traits->reduces ? sizeof(float) : 1;
    const xyl_problem_t problem = {.coll = call->coll,
                                   .ranks = ranks,
                                   .root = call->root,
                                   .count = call->bytes / element_bytes,
                                   .element_bytes = element_bytes,
                                   .is_commutative = 1,
                                   .shares_memory = shares_memory,
                                   .fills_nodes = 1}; /* the call tells */
    const char *missing;

    if (found == NULL)
        snprintf(why, bytes,
                 "there is no such algorithm; --algorithm list -c %s shows "
                 "those of %s",
                 traits->name, traits->name);
    else if (strchr(algorithm, ':') != NULL &&
             (found->flags & XYL_TAKES_RADIX) == 0)
        snprintf(why, bytes, "this algorithm takes no radix");
    else if (!xyl_algorithm_fits(found, &problem, &missing))
        snprintf(why, bytes, "this algorithm %s", missing);
    else
        return NULL;
    return why;
}
