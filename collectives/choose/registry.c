#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "collectives/choose/registry.h"
#include "collectives/data/description.h"
#include "collectives/data/problem.h"
#include "runtime/base/config.h"

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

/* Writes `why`; its value is 0. */
#define refuse(why, ...)                                                       \
    (snprintf(why, XYL_ALGORITHM_WHY_BYTES, __VA_ARGS__), 0)

/* NULL: there is no such algorithm, or not for the collective; see `why`. */
static const xyl_algorithm_t *find_spelled(xylem_coll_t coll, const char *name,
                                           size_t length, char *why)
{
    const char *coll_name = xyl_coll_traits(coll)->name;
    int is_there = 0;
    size_t i;

    for (i = 0; i < COUNT; i++) {
        if (strncasecmp(all[i]->name, name, length) != 0 ||
            all[i]->name[length] != '\0')
            continue;
        if (xyl_algorithm_does(all[i], coll))
            return all[i];
        is_there = 1;
    }
    if (is_there)
        snprintf(why, XYL_ALGORITHM_WHY_BYTES,
                 "it is not for %s; xylem-bench -c %s --algorithm list names "
                 "those that are",
                 coll_name, coll_name);
    else
        snprintf(why, XYL_ALGORITHM_WHY_BYTES,
                 "there is no such algorithm; xylem-bench --algorithm list "
                 "names all");
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

/* Parses a number that the algorithm takes; 0: it does not take this one. */
static int parse_radix(const xyl_algorithm_t *algorithm, const char *text,
                       uint32_t *radix_out, char *why)
{
    const xyl_radix_t *radix = xyl_algorithm_radix(algorithm);
    unsigned long value = 0;
    char *end = NULL;

    if (radix->most == 0)
        return refuse(why, "%s takes no radix", algorithm->name);
    if (isdigit((unsigned char)*text))
        value = strtoul(text, &end, 10);
    if (end == NULL || (*end != '\0' && *end != '/') || value < radix->least ||
        value > radix->most)
        return refuse(why, "%s takes a radix of %u ... %u", algorithm->name,
                      radix->least, radix->most);
    *radix_out = (uint32_t)value;
    return 1;
}

xylem_coll_t xyl_registry_between(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_BARRIER ? XYLEM_COLL_ALLREDUCE : coll;
}

int xyl_algorithm_goes_between(xylem_coll_t coll,
                               const xyl_algorithm_t *algorithm)
{
    return xyl_algorithm_does(algorithm, xyl_registry_between(coll)) &&
           ((algorithm->kind == XYL_ALGORITHM_TREE &&
             algorithm->tree->parent != NULL) ||
            (algorithm->kind == XYL_ALGORITHM_SCHEDULE &&
             xyl_registry_between(coll) == XYLEM_COLL_ALLREDUCE));
}

/* "name" or "name:K", up to the end or a slash. */
static int parse_one(xylem_coll_t coll, const char *text,
                     const xyl_algorithm_t **algorithm_out, uint32_t *radix_out,
                     char *why)
{
    size_t length = strcspn(text, ":/");
    const xyl_algorithm_t *algorithm = find_spelled(coll, text, length, why);
    const xyl_radix_t *radix;

    *algorithm_out = algorithm;
    if (algorithm == NULL)
        return 0;
    radix = xyl_algorithm_radix(algorithm);
    *radix_out = radix->most == 0 ? 0 : radix->preset;
    return text[length] != ':' ||
           parse_radix(algorithm, text + length + 1, radix_out, why);
}

static int parse_between(xylem_coll_t coll, const char *text,
                         xyl_named_t *named_out, char *why)
{
    if (!parse_one(xyl_registry_between(coll), text, &named_out->between,
                   &named_out->between_radix, why))
        return 0;
    if (strchr(text, '/') == NULL &&
        xyl_algorithm_goes_between(coll, named_out->between))
        return 1;
    return refuse(why,
                  "between nodes goes a tree, or a schedule of an allreduce");
}

/* ---- the parts of levels ---- */

static int goes_within(const xyl_algorithm_t *algorithm)
{
    return algorithm->kind == XYL_ALGORITHM_NODE || algorithm->level != NULL ||
           (algorithm->kind == XYL_ALGORITHM_TREE &&
            algorithm->tree->parent != NULL);
}

/* 1: the levels of `coll` within nodes are collectives of the kind `level`. */
static int has_level(xylem_coll_t coll, xylem_coll_t level)
{
    return coll == level || coll == XYLEM_COLL_ALLREDUCE ||
           coll == XYLEM_COLL_BARRIER;
}

const char xyl_within_ucx[] = "ucx";

static int parse_within(xylem_coll_t coll, const char *text,
                        xyl_named_t *named_out, char *why)
{
    static const xylem_coll_t levels[] = {XYLEM_COLL_REDUCE, XYLEM_COLL_BCAST};
    const xyl_algorithm_t *algorithm;
    size_t i;

    if (named_out->algorithm->kind == XYL_ALGORITHM_LEVELS) {
        if ((named_out->algorithm->needs & XYL_NEEDS_DEVICE) != 0 ||
            !parse_one(coll, text, &algorithm, &named_out->within_radix, why) ||
            !xyl_entry_does_levels(algorithm, coll))
            return refuse(why, "within nodes goes cuda_ipc");
        named_out->within = algorithm->name;
        return 1;
    }
    named_out->within = xyl_within_ucx;
    if (strcasecmp(text, xyl_within_ucx) == 0)
        return 1;
    for (i = 0; i < 2; i++)
        if (has_level(coll, levels[i]) && strchr(text, '/') == NULL &&
            parse_one(levels[i], text, &algorithm, &named_out->within_radix,
                      why) &&
            goes_within(algorithm)) {
            named_out->within = algorithm->name;
            return 1;
        }
    return refuse(
        why,
        "within nodes goes an algorithm in their memory, cuda_ipc, a tree, or "
        "ucx");
}

static int parse_bytes(const char *text, size_t *bytes_out, char *why)
{
    uint64_t bytes;

    if (xyl_config_parse_bytes(text, &bytes) == XYLEM_OK && bytes != 0 &&
        bytes <= SIZE_MAX / 2) {
        *bytes_out = (size_t)bytes;
        return 1;
    }
    return refuse(why, "a segment has bytes, as 64K");
}

enum { LEADERS, BETWEEN, WITHIN, SEGMENT, WITHIN_SEGMENT, PARTS };

static const char *const parts[PARTS] = {
    "leaders=", "between=", "within=", "segment=", "within_segment="};

/* The part whose name begins the text; PARTS: none. */
static size_t part_of(const char *text)
{
    size_t i = 0;

    while (i < PARTS && strncasecmp(text, parts[i], strlen(parts[i])) != 0)
        i++;
    return i;
}

int xyl_algorithm_is_part(const char *text)
{
    return part_of(text) < PARTS;
}

int xyl_segments_meet(size_t segment_bytes, size_t within_segment_bytes)
{
    return segment_bytes == 0 || within_segment_bytes == 0 ||
           segment_bytes % within_segment_bytes == 0 ||
           within_segment_bytes % segment_bytes == 0;
}

static int parse_part(xylem_coll_t coll, size_t part, const char *value,
                      xyl_named_t *named_out, char *why)
{
    if (named_out->algorithm->kind != XYL_ALGORITHM_LANES && part != WITHIN)
        return refuse(why, "%s has no levels in segments",
                      named_out->algorithm->name);
    if (part == LEADERS)
        return parse_radix(named_out->algorithm, value, &named_out->radix, why);
    if (part == BETWEEN)
        return parse_between(coll, value, named_out, why);
    if (part == WITHIN)
        return parse_within(coll, value, named_out, why);
    return parse_bytes(value,
                       part == SEGMENT ? &named_out->segment_bytes
                                       : &named_out->within_segment_bytes,
                       why);
}

static int parse_parts(xylem_coll_t coll, const char *text,
                       xyl_named_t *named_out, char *why)
{
    char value[XYL_ALGORITHM_TEXT_BYTES];
    size_t length, part;

    for (;; text += length + 1) {
        length = strcspn(text, ",");
        part = part_of(text);
        if (part == PARTS || length >= sizeof value)
            return refuse(
                why, "its parts are leaders=, between=, within=, segment= and "
                     "within_segment=");
        snprintf(value, sizeof value, "%.*s", (int)length, text);
        if (!parse_part(coll, part, value + strlen(parts[part]), named_out,
                        why))
            return 0;
        if (text[length] == '\0')
            break;
    }
    if (xyl_segments_meet(named_out->segment_bytes,
                          named_out->within_segment_bytes))
        return 1;
    return refuse(why, "within_segment wants a multiple of segment, or a part "
                       "of it");
}

/* Parses "/between" or the parts behind the name. */
static int parse_levels(xylem_coll_t coll, const char *text, const char *slash,
                        xyl_named_t *named_out, char *why)
{
    if (named_out->algorithm->kind != XYL_ALGORITHM_LANES &&
        (named_out->algorithm->kind != XYL_ALGORITHM_LEVELS || slash != NULL))
        return refuse(why, "%s has no levels in segments",
                      named_out->algorithm->name);
    return slash != NULL
               ? parse_between(coll, slash + 1, named_out, why)
               : parse_parts(coll, strchr(text, ':') + 1, named_out, why);
}

int xyl_algorithm_parse(xylem_coll_t coll, const char *text,
                        xyl_named_t *named_out, char *why)
{
    const char *slash = strchr(text, '/');
    size_t length = strcspn(text, ":/");
    int has_parts = text[length] == ':' && strchr(text, '=') != NULL;
    char name[XYL_ALGORITHM_TEXT_BYTES];

    *named_out = (xyl_named_t){0};
    if (strcasecmp(text, "auto") == 0)
        return 1;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    return parse_one(coll, has_parts ? name : text, &named_out->algorithm,
                     &named_out->radix, why) &&
           ((slash == NULL && !has_parts) ||
            parse_levels(coll, text, has_parts ? NULL : slash, named_out, why));
}

/* Adds a part to the text: its name, with `number` as its radix unless that is
 * 0; or, without a name, its number. Adds nothing if it has neither. */
static void put_part(char *text, const char *before, const char *name,
                     size_t number)
{
    size_t length = strlen(text), room = XYL_ALGORITHM_TEXT_BYTES - length;

    if (name != NULL)
        snprintf(text + length, room, number != 0 ? "%s%s:%zu" : "%s%s", before,
                 name, number);
    else if (number != 0)
        snprintf(text + length, room, "%s%zu", before, number);
}

void xyl_algorithm_print(const xyl_named_t *named,
                         char text[XYL_ALGORITHM_TEXT_BYTES])
{
    const char *between = named->between != NULL ? named->between->name : NULL;
    const char *name =
        named->algorithm != NULL ? named->algorithm->name : "auto";

    text[0] = '\0';
    if (named->within == NULL && named->within_segment_bytes == 0 &&
        named->segment_bytes == 0) {
        put_part(text, "", name, named->radix);
        put_part(text, "/", between, named->between_radix);
        return;
    }
    put_part(text, "", name, 0);
    put_part(text, ",within=", named->within, named->within_radix);
    put_part(text, ",between=", between, named->between_radix);
    put_part(text, ",leaders=", NULL, named->radix);
    put_part(text, ",within_segment=", NULL, named->within_segment_bytes);
    put_part(text, ",segment=", NULL, named->segment_bytes);
    text[strlen(name)] = ':';
}

/* ---- needs ---- */

/* NULL: nothing is missing. */
static const char *what_is_missing(const xyl_algorithm_t *algorithm,
                                   const xyl_problem_t *problem)
{
    int is_of_levels = algorithm->kind == XYL_ALGORITHM_LANES ||
                       algorithm->kind == XYL_ALGORITHM_LEVELS;
    uint32_t needs = algorithm->needs;

    if (problem->has_tag &&
        (is_of_levels ||
         (algorithm->kind == XYL_ALGORITHM_NODE && !problem->tag_has_board)))
        return "goes by the order of calls, which a tag leaves open";
    if ((needs & XYL_NEEDS_COMMUTATIVE) != 0 && !problem->is_commutative)
        return "needs a commutative operation";
    if ((needs & XYL_NEEDS_EVEN) != 0 && problem->ranks % 2 != 0)
        return "needs an even number of ranks";
    if ((needs & XYL_NEEDS_DEVICE) != 0 && !problem->on_device)
        return problem->off_device != NULL ? problem->off_device
                                           : "needs buffers in memory of GPUs";
    if (algorithm->kind == XYL_ALGORITHM_NODE && !problem->shares_memory)
        return "needs ranks that share memory";
    if (is_of_levels && !problem->is_commutative && !problem->fills_nodes)
        return "needs ranks that fill node after node, or a commutative "
               "operation";
    if ((needs & XYL_NEEDS_FILLED_NODES) != 0 && !problem->fills_nodes)
        return "needs ranks that fill node after node";
    return algorithm->lacks != NULL && problem->node.limits != NULL
               ? algorithm->lacks(problem)
               : NULL;
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
