#include "runtime/base/config_types.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/config.h"

/* ---- words: the value is the index of the word ---- */

static xylem_status_t parse_word(const char *const *words, const char *text,
                                 uint64_t *value_out)
{
    uint64_t i;

    for (i = 0; words[i] != NULL; i++)
        if (strcasecmp(words[i], text) == 0) {
            *value_out = i;
            return XYLEM_OK;
        }
    return XYLEM_ERR_CONFIG;
}

static void print_text(char *text, const char *from)
{
    snprintf(text, XYL_CONFIG_TEXT_BYTES, "%s", from);
}

#define WORD_TYPE(type, ...)                                                   \
    static const char *const words_##type[] = {__VA_ARGS__, NULL};             \
    xylem_status_t xyl_config_parse_##type(const char *text,                   \
                                           uint64_t *value_out)                \
    {                                                                          \
        return parse_word(words_##type, text, value_out);                      \
    }                                                                          \
    void xyl_config_print_##type(uint64_t value, char *text)                   \
    {                                                                          \
        print_text(text, words_##type[value]);                                 \
    }

WORD_TYPE(LEVEL, "none", "error", "warn", "info", "debug")
WORD_TYPE(VERBOSE, "off", "select")
WORD_TYPE(BOOTSTRAP, "auto", "pmix", "single")
WORD_TYPE(PROGRESS, "auto", "caller", "blocking", "thread")
WORD_TYPE(SHM, "auto", "off")
WORD_TYPE(ORDER, "fixed", "arrival")

/* ---- numbers ---- */

/* A decimal number; *end_out is what follows it. */
static xylem_status_t parse_number(const char *text, uint64_t *value_out,
                                   const char **end_out)
{
    char *end;

    if (!isdigit((unsigned char)*text))
        return XYLEM_ERR_CONFIG;
    errno = 0;
    *value_out = strtoull(text, &end, 10);
    *end_out = end;
    return errno == 0 ? XYLEM_OK : XYLEM_ERR_CONFIG;
}

xylem_status_t xyl_config_parse_COUNT(const char *text, uint64_t *value_out)
{
    const char *end;
    uint64_t value;

    if (parse_number(text, &value, &end) != XYLEM_OK || *end != '\0' ||
        value > UINT32_MAX)
        return XYLEM_ERR_CONFIG;
    *value_out = value;
    return XYLEM_OK;
}

void xyl_config_print_COUNT(uint64_t value, char *text)
{
    snprintf(text, XYL_CONFIG_TEXT_BYTES, "%" PRIu64, value);
}

xylem_status_t xyl_config_parse_CORE(const char *text, uint64_t *value_out)
{
    uint64_t core;

    if (strcasecmp(text, "any") == 0) {
        *value_out = XYL_CONFIG_NO_CORE;
        return XYLEM_OK;
    }
    if (xyl_config_parse_COUNT(text, &core) != XYLEM_OK || core >= CPU_SETSIZE)
        return XYLEM_ERR_CONFIG;
    *value_out = core;
    return XYLEM_OK;
}

void xyl_config_print_CORE(uint64_t value, char *text)
{
    if (value == XYL_CONFIG_NO_CORE)
        print_text(text, "any");
    else
        xyl_config_print_COUNT(value, text);
}

/* A group of none is none. */
xylem_status_t xyl_config_parse_GROUPS(const char *text, uint64_t *value_out)
{
    static const char *const words[] = {"off", "auto", NULL};
    uint64_t word;

    if (parse_word(words, text, &word) != XYLEM_OK)
        return xyl_config_parse_COUNT(text, value_out);
    *value_out = word == 0 ? 0 : XYL_CONFIG_GROUPS_AUTO;
    return XYLEM_OK;
}

void xyl_config_print_GROUPS(uint64_t value, char *text)
{
    if (value == 0 || value == XYL_CONFIG_GROUPS_AUTO)
        print_text(text, value == 0 ? "off" : "auto");
    else
        xyl_config_print_COUNT(value, text);
}

xylem_status_t xyl_config_parse_BYTES(const char *text, uint64_t *value_out)
{
    static const char units[] = "KMGT";
    const char *end, *unit;
    unsigned shift = 0;
    uint64_t value;

    if (parse_number(text, &value, &end) != XYLEM_OK)
        return XYLEM_ERR_CONFIG;
    if (*end != '\0') {
        unit = strchr(units, toupper((unsigned char)*end));
        if (unit == NULL)
            return XYLEM_ERR_CONFIG;
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
    }
    if (*end != '\0' || value > (UINT64_MAX >> 1) >> shift)
        return XYLEM_ERR_CONFIG;
    *value_out = value << shift;
    return XYLEM_OK;
}

void xyl_config_print_BYTES(uint64_t value, char *text)
{
    static const char units[] = {'\0', 'K', 'M', 'G', 'T'};
    unsigned unit = 0;

    while (value != 0 && value % 1024 == 0 && unit + 1 < sizeof units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, XYL_CONFIG_TEXT_BYTES, "%" PRIu64 "%.1s", value,
             &units[unit]);
}

xylem_status_t xyl_config_parse_bytes(const char *text, uint64_t *value_out)
{
    return xyl_config_parse_BYTES(text, value_out);
}

/* ---- files: the value is the address of the text, which is borrowed ---- */

xylem_status_t xyl_config_parse_PATH(const char *text, uint64_t *value_out)
{
    if (*text == '\0')
        return XYLEM_ERR_CONFIG;
    *value_out = strcasecmp(text, "none") == 0 ? 0 : (uintptr_t)text;
    return XYLEM_OK;
}

void xyl_config_print_PATH(uint64_t value, char *text)
{
    print_text(text, value != 0 ? (const char *)(uintptr_t)value : "none");
}

xylem_status_t xyl_config_parse_NET(const char *text, uint64_t *value_out)
{
    if (*text == '\0')
        return XYLEM_ERR_CONFIG;
    *value_out = strcasecmp(text, "auto") == 0 ? 0 : (uintptr_t)text;
    return XYLEM_OK;
}

void xyl_config_print_NET(uint64_t value, char *text)
{
    print_text(text, value != 0 ? (const char *)(uintptr_t)value : "auto");
}

/* ---- algorithms: trees and schedules ---- */

typedef struct tree_word {
    const char *word;
    xylem_tree_t tree;
    uint32_t radix;  /* when none is given; 0: the shape has none */
    int takes_radix; /* "word:K" */
} tree_word_t;

static const tree_word_t tree_words[] = {
    {"auto", XYLEM_TREE_AUTO, 0, 0},
    {"flat", XYLEM_TREE_FLAT, 0, 0},
    {"chain", XYLEM_TREE_CHAIN, 0, 0},
    {"kchain", XYLEM_TREE_KCHAIN, 4, 1},
    {"binary", XYLEM_TREE_KARY, 2, 0},
    {"kary", XYLEM_TREE_KARY, 2, 1},
    {"binomial", XYLEM_TREE_KNOMIAL, 2, 0},
    {"knomial", XYLEM_TREE_KNOMIAL, 4, 1},
    {"inorder", XYLEM_TREE_INORDER, 0, 0},
    {"double", XYLEM_TREE_DOUBLE, 0, 0},
    {"bine", XYLEM_TREE_BINE, 0, 0},
    {"topology", XYLEM_TREE_TOPOLOGY, 1, 1}, /* 1: chains */
};
enum { TREE_WORD_COUNT = sizeof tree_words / sizeof tree_words[0] };

/* The names of schedules; collectives/schedules/table.c says which collective
 * has which. */
static const char *const schedule_words[] = {
    "bruck",
    "circulant",
    "dissemination",
    "double_ring",
    "han",
    "linear",
    "neighbor_exchange",
    "node",
    "pairwise",
    "rabenseifner",
    "recursive_doubling",
    "recursive_halving",
    "recursive_multiplying",
    "ring",
    "scatter_allgather",
    "scatter_ring",
    "sparbit",
};
enum { SCHEDULE_WORD_COUNT = sizeof schedule_words / sizeof *schedule_words };

static int is_word(const char *word, const char *text, size_t length)
{
    return strncasecmp(word, text, length) == 0 && word[length] == '\0';
}

static xylem_status_t parse_radix(const char *text, uint64_t radix_min,
                                  uint64_t *radix_out)
{
    const char *end;

    if (parse_number(text, radix_out, &end) != XYLEM_OK || *end != '\0' ||
        *radix_out < radix_min || *radix_out > 64)
        return XYLEM_ERR_CONFIG;
    return XYLEM_OK;
}

xylem_status_t xyl_config_parse_ALGORITHM(const char *text, uint64_t *value_out)
{
    const char *colon = strchr(text, ':');
    size_t i, length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    uint64_t radix = 0, least;

    for (i = 0; i < TREE_WORD_COUNT; i++) {
        const tree_word_t *word = &tree_words[i];
        if (!is_word(word->word, text, length))
            continue;
        radix = word->radix;
        if (colon != NULL &&
            (!word->takes_radix ||
             parse_radix(colon + 1, word->tree == XYLEM_TREE_KNOMIAL ? 2 : 1,
                         &radix) != XYLEM_OK))
            return XYLEM_ERR_CONFIG;
        *value_out = XYL_CONFIG_TREE(word->tree, radix);
        return XYLEM_OK;
    }
    for (i = 0; i < SCHEDULE_WORD_COUNT; i++) {
        if (!is_word(schedule_words[i], text, length))
            continue;
        /* Levels may have one leader; no other radix is 1. */
        least = is_word("han", text, length) ? 1 : 2;
        if (colon != NULL && parse_radix(colon + 1, least, &radix) != XYLEM_OK)
            return XYLEM_ERR_CONFIG;
        *value_out = XYL_CONFIG_TREE(XYL_CONFIG_SCHEDULE_FIRST + i, radix);
        return XYLEM_OK;
    }
    return XYLEM_ERR_CONFIG;
}

const char *xyl_config_algorithm_name(uint64_t value)
{
    uint64_t code = value >> 32;
    size_t i;

    if (code >= XYL_CONFIG_SCHEDULE_FIRST)
        return schedule_words[code - XYL_CONFIG_SCHEDULE_FIRST];
    for (i = 1; i < TREE_WORD_COUNT; i++)
        if (tree_words[i].tree == (xylem_tree_t)code &&
            (tree_words[i].takes_radix || tree_words[i].radix == 0))
            return tree_words[i].word;
    return NULL;
}

static void print_schedule(uint64_t value, char *text)
{
    uint32_t radix = XYL_CONFIG_TREE_RADIX(value);

    if (radix == 0)
        print_text(text, xyl_config_algorithm_name(value));
    else
        snprintf(text, XYL_CONFIG_TEXT_BYTES, "%s:%u",
                 xyl_config_algorithm_name(value), radix);
}

void xyl_config_print_ALGORITHM(uint64_t value, char *text)
{
    uint32_t radix = XYL_CONFIG_TREE_RADIX(value);
    size_t i;

    if (value >> 32 >= XYL_CONFIG_SCHEDULE_FIRST) {
        print_schedule(value, text);
        return;
    }
    for (i = 0; i < TREE_WORD_COUNT; i++) {
        if (tree_words[i].tree != XYL_CONFIG_TREE_SHAPE(value))
            continue;
        if (!tree_words[i].takes_radix && tree_words[i].radix != 0 &&
            tree_words[i].radix != radix)
            continue;
        if (tree_words[i].takes_radix && radix != 0)
            snprintf(text, XYL_CONFIG_TEXT_BYTES, "%s:%u", tree_words[i].word,
                     radix);
        else
            print_text(text, tree_words[i].word);
        return;
    }
    print_text(text, "?");
}

xylem_status_t xyl_config_parse_algorithm(const char *text, uint64_t *value_out)
{
    return xyl_config_parse_ALGORITHM(text, value_out);
}

void xyl_config_print_algorithm(uint64_t value, char *text)
{
    xyl_config_print_ALGORITHM(value, text);
}
