/* The library's table of algorithms. Pure, except for printing; any thread. */
#include "bench/measure/registry.h"

#include <string.h>

#include "bench/measure/coll.h"
#include "collectives/choose/registry.h"

enum { NAME_WIDTH = 24 };

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
        {XYL_NEEDS_EVEN, "needs an even number of ranks"},
        {XYL_NEEDS_DEVICE, "needs buffers in memory of GPUs"},
        {XYL_NEEDS_FILLED_NODES, "needs ranks that fill node after node"},
        {XYL_TAKES_SEGMENTS, "takes --segment"},
    };
    const xyl_radix_t *radix = xyl_algorithm_radix(algorithm);
    size_t i;

    if (algorithm->kind == XYL_ALGORITHM_NODE)
        fputs("; needs ranks that share memory", out);
    for (i = 0; i < sizeof demands / sizeof demands[0]; i++)
        if ((algorithm->needs & demands[i].flag) != 0)
            fprintf(out, "; %s", demands[i].text);
    if (radix->most == 0)
        return;
    if (algorithm->kind == XYL_ALGORITHM_LANES)
        fprintf(out, "; K leaders of a node, %u ... %u, default by size",
                radix->least, radix->most);
    else if (radix->preset == 0 && algorithm->kind == XYL_ALGORITHM_NODE)
        fprintf(out, "; K ranks of a group, %u ... %u, default by caches",
                radix->least, radix->most);
    else
        fprintf(out, "; K %u ... %u, default %u", radix->least, radix->most,
                radix->preset);
}

static void algorithm_print(FILE *out, const xyl_algorithm_t *algorithm)
{
    name_print(out, algorithm->name, xyl_algorithm_radix(algorithm)->most != 0);
    if (algorithm->kind == XYL_ALGORITHM_TREE)
        fputs("tree: ", out);
    fputs(xyl_algorithm_help(algorithm), out);
    demands_print(out, algorithm);
    fputc('\n', out);
}

static void coll_print(FILE *out, xylem_coll_t coll)
{
    const xyl_algorithm_t *const *all;
    size_t count, i;

    fprintf(out, "%s%s\n", xyl_coll_traits(coll)->name,
            xyl_algorithm_of_kind(coll, XYL_ALGORITHM_TREE) != NULL
                ? " (trees take --segment and --window)"
                : "");
    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++)
        if (xyl_algorithm_does(all[i], coll))
            algorithm_print(out, all[i]);
}

void registry_print_trees(FILE *out)
{
    const xyl_algorithm_t *const *all;
    size_t count, i;

    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++)
        if (all[i]->kind == XYL_ALGORITHM_TREE)
            algorithm_print(out, all[i]);
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

int registry_is_tree(const char *algorithm, xylem_coll_t coll)
{
    char why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named;

    return algorithm != NULL &&
           xyl_algorithm_parse(coll, algorithm, &named, why) &&
           named.algorithm != NULL &&
           named.algorithm->kind == XYL_ALGORITHM_TREE;
}

const char *registry_refusal(const char *algorithm,
                             const struct bench_call *call, uint32_t ranks,
                             int shares_memory, char *why, size_t bytes)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->coll);
    size_t element_bytes = traits->reduces ? sizeof(float) : 1;
    const xyl_problem_t problem = {.coll = call->coll,
                                   .ranks = ranks,
                                   .root = call->root,
                                   .count = call->bytes / element_bytes,
                                   .element_bytes = element_bytes,
                                   .is_commutative = 1,
                                   .shares_memory = shares_memory,
                                   .on_device = shares_memory,
                                   .fills_nodes = 1}; /* the call tells */
    char wrong[XYL_ALGORITHM_WHY_BYTES];
    const char *missing;
    xyl_named_t named;

    if (!xyl_algorithm_parse(call->coll, algorithm, &named, wrong))
        snprintf(why, bytes, "%s; --algorithm list -c %s shows those of %s",
                 wrong, traits->name, traits->name);
    else if (named.algorithm != NULL &&
             !xyl_algorithm_fits(named.algorithm, &problem, &missing))
        snprintf(why, bytes, "this algorithm %s", missing);
    else
        return NULL;
    return why;
}
