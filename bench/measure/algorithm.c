/* Names of trees. Pure. */
#include "bench/measure/algorithm.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_MAX = 64 };

static const struct algorithm algorithms[] = {
    {"auto", XYLEM_TREE_AUTO, 0, 0, "the library chooses"},
    {"flat", XYLEM_TREE_FLAT, 0, 0, "the root serves everybody"},
    {"chain", XYLEM_TREE_CHAIN, 0, 0, "one pipeline through all ranks"},
    {"kchain", XYLEM_TREE_KCHAIN, 4, 1, "K chains below the root"},
    {"binary", XYLEM_TREE_KARY, 2, 0, "two children each"},
    {"kary", XYLEM_TREE_KARY, 2, 1, "K children each"},
    {"binomial", XYLEM_TREE_KNOMIAL, 2, 0, "knomial:2"},
    {"knomial", XYLEM_TREE_KNOMIAL, 4, 2, "K-nomial"},
    {"inorder", XYLEM_TREE_INORDER, 0, 0, "binary, subtrees are rank ranges"},
    {"double", XYLEM_TREE_DOUBLE, 0, 0, "two binary trees, half each"},
    {"bine", XYLEM_TREE_BINE, 0, 0, "binomial negabinary"},
    {"topology", XYLEM_TREE_TOPOLOGY, 1, 1,
     "by node, socket, NUMA, L3, core, each K-nomial (1: a chain)"},
};

enum { ALGORITHMS_COUNT = sizeof algorithms / sizeof algorithms[0] };

const struct algorithm *algorithm_at(size_t index)
{
    return index < ALGORITHMS_COUNT ? &algorithms[index] : NULL;
}

/* A decimal number of min ... max followed by `stop`; returns what follows, or
 * NULL. */
static const char *number_parse(const char *text, uint32_t min, uint32_t max,
                                char stop, uint32_t *value_out)
{
    unsigned long value;
    char *end;

    if (*text < '0' || *text > '9')
        return NULL;
    value = strtoul(text, &end, 10);
    if (*end != stop || value < min || value > max)
        return NULL;
    *value_out = (uint32_t)value;
    return end + (stop != '\0');
}

int algorithm_parse(const char *text, struct bench_tuning *tuning)
{
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    size_t i;

    for (i = 0; i < ALGORITHMS_COUNT; i++) {
        const struct algorithm *algorithm = &algorithms[i];
        uint32_t radix = algorithm->radix;

        if (strlen(algorithm->name) != length ||
            strncmp(algorithm->name, text, length) != 0)
            continue;
        if (colon != NULL &&
            (algorithm->radix_min == 0 ||
             number_parse(colon + 1, algorithm->radix_min, ALGORITHM_RADIX_MAX,
                          '\0', &radix) == NULL))
            return 0;
        tuning->tree = algorithm->tree;
        tuning->radix = radix;
        return 1;
    }
    return 0;
}

int window_parse(const char *text, struct bench_tuning *tuning)
{
    uint32_t send;
    uint32_t recv;

    text = number_parse(text, 1, WINDOW_MAX, ',', &send);
    if (text == NULL ||
        number_parse(text, send, WINDOW_MAX, '\0', &recv) == NULL)
        return 0;
    tuning->send_window = send;
    tuning->recv_window = recv;
    return 1;
}

void algorithm_list(FILE *out)
{
    size_t i;

    for (i = 0; i < ALGORITHMS_COUNT; i++) {
        const struct algorithm *algorithm = &algorithms[i];

        fprintf(out, "%s%-*s %s\n", algorithm->name,
                12 - (int)strlen(algorithm->name),
                algorithm->radix_min > 0 ? ":K" : "", algorithm->help);
    }
}
