#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "collectives/choose/registry.h"
#include "collectives/data/problem.h"

/* ---- the list ---- */

enum {
    TREE_COLLS =
        XYL_COLL_BIT(BCAST) | XYL_COLL_BIT(REDUCE) | XYL_COLL_BIT(ALLREDUCE)
};

#define TREE_ENTRY(tree_name)                                                  \
    static const xyl_algorithm_t tree_##tree_name = {                          \
        .name = #tree_name,                                                    \
        .kind = XYL_ALGORITHM_TREE,                                            \
        .colls = TREE_COLLS,                                                   \
        .tree = &xyl_tree_##tree_name};
XYL_TREE_LIST(TREE_ENTRY)
#undef TREE_ENTRY

static const xyl_algorithm_t *const all[] = {
#define ADDRESS(name) &tree_##name,
    XYL_TREE_LIST(ADDRESS)
#undef ADDRESS
#define ADDRESS(name) &xyl_algorithm_##name,
        XYL_ALGORITHM_LIST(ADDRESS)
#undef ADDRESS
};
#define NUMBER(name) NUMBER_##name,
enum { XYL_TREE_LIST(NUMBER) XYL_ALGORITHM_LIST(NUMBER) COUNT };
#undef NUMBER

const xyl_algorithm_t *const *xyl_algorithms(size_t *count_out)
{
    *count_out = COUNT;
    return all;
}

const xyl_algorithm_t *xyl_algorithm_of_kind(xylem_coll_t coll,
                                             xyl_algorithm_kind_t kind)
{
    size_t i;

    for (i = 0; i < COUNT; i++)
        if (all[i]->kind == kind && xyl_algorithm_does(all[i], coll))
            return all[i];
    return NULL;
}

const xyl_radix_t *xyl_algorithm_radix(const xyl_algorithm_t *algorithm)
{
    return algorithm->kind == XYL_ALGORITHM_TREE ? &algorithm->tree->radix
                                                 : &algorithm->radix;
}

const char *xyl_algorithm_help(const xyl_algorithm_t *algorithm)
{
    return algorithm->kind == XYL_ALGORITHM_TREE ? algorithm->tree->help
                                                 : algorithm->help;
}

/* ---- names ---- */

static const xyl_algorithm_t *find_spelled(xylem_coll_t coll, const char *name,
                                           size_t length)
{
    size_t i;

    for (i = 0; i < COUNT; i++)
        if (xyl_algorithm_does(all[i], coll) &&
            strncasecmp(all[i]->name, name, length) == 0 &&
            all[i]->name[length] == '\0')
            return all[i];
    return NULL;
}

const xyl_algorithm_t *xyl_algorithm_find(xylem_coll_t coll, const char *name)
{
    size_t i;

    for (i = 0; i < COUNT; i++)
        if (xyl_algorithm_does(all[i], coll) && all[i]->name[0] == name[0] &&
            strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

/* A number that the algorithm takes; 0: it is none. */
static int parse_radix(const xyl_algorithm_t *algorithm, const char *text,
                       uint32_t *radix_out, char *why)
{
    const xyl_radix_t *radix = xyl_algorithm_radix(algorithm);
    unsigned long value = 0;
    char *end = NULL;

    if (radix->most == 0) {
        snprintf(why, XYL_ALGORITHM_WHY_BYTES, "%s takes no radix",
                 algorithm->name);
        return 0;
    }
    if (isdigit((unsigned char)*text))
        value = strtoul(text, &end, 10);
    if (end == NULL || *end != '\0' || value < radix->least ||
        value > radix->most) {
        snprintf(why, XYL_ALGORITHM_WHY_BYTES, "%s takes a radix of %u ... %u",
                 algorithm->name, radix->least, radix->most);
        return 0;
    }
    *radix_out = (uint32_t)value;
    return 1;
}

int xyl_algorithm_parse(xylem_coll_t coll, const char *text,
                        xyl_named_t *named_out, char *why)
{
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    const xyl_radix_t *radix;

    *named_out = (xyl_named_t){0};
    if (strcasecmp(text, "auto") == 0)
        return 1;
    named_out->algorithm = find_spelled(coll, text, length);
    if (named_out->algorithm == NULL) {
        snprintf(why, XYL_ALGORITHM_WHY_BYTES, "there is no such algorithm");
        return 0;
    }
    if (colon != NULL)
        return parse_radix(named_out->algorithm, colon + 1, &named_out->radix,
                           why);
    radix = xyl_algorithm_radix(named_out->algorithm);
    named_out->radix = radix->most == 0 ? 0 : radix->preset;
    return 1;
}

/* ---- needs ---- */

/* NULL: nothing. */
static const char *what_is_missing(const xyl_algorithm_t *algorithm,
                                   const xyl_problem_t *problem)
{
    int is_of_levels = algorithm->kind == XYL_ALGORITHM_LANES ||
                       algorithm->kind == XYL_ALGORITHM_LEVELS;
    uint32_t needs = algorithm->needs;

    if ((needs & XYL_NEEDS_COMMUTATIVE) != 0 && !problem->is_commutative)
        return "needs a commutative operation";
    if ((needs & XYL_NEEDS_EVEN) != 0 && problem->ranks % 2 != 0)
        return "needs an even number of ranks";
    if (algorithm->kind == XYL_ALGORITHM_NODE && !problem->shares_memory)
        return "needs ranks that share memory";
    if (is_of_levels && !problem->is_commutative && !problem->fills_nodes)
        return "needs ranks that fill node after node, or a commutative "
               "operation";
    if ((needs & XYL_NEEDS_FILLED_NODES) != 0 && !problem->fills_nodes)
        return "needs ranks that fill node after node";
    return NULL;
}

int xyl_algorithm_fits(const xyl_algorithm_t *algorithm,
                       const xyl_problem_t *problem, const char **why)
{
    const char *missing = algorithm == NULL
                              ? "is not one of its algorithms"
                              : what_is_missing(algorithm, problem);

    if (why != NULL)
        *why = missing;
    return missing == NULL;
}
