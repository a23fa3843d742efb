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
#include "runtime/base/log.h"
#include "runtime/base/quantity.h"

/* ---- the types ---- */

const xyl_config_type_t xyl_config_LEVEL = {
    .words = {{"none", XYL_LOG_NONE},
              {"error", XYL_LOG_ERROR},
              {"warn", XYL_LOG_WARN},
              {"info", XYL_LOG_INFO},
              {"debug", XYL_LOG_DEBUG}}};
const xyl_config_type_t xyl_config_VERBOSE = {
    .words = {{"off", 0}, {"select", 1}, {"on", 1}}};
const xyl_config_type_t xyl_config_BOOTSTRAP = {
    .words = {{"auto", XYL_BOOTSTRAP_AUTO},
              {"pmix", XYL_BOOTSTRAP_PMIX},
              {"single", XYL_BOOTSTRAP_SINGLE}}};
const xyl_config_type_t xyl_config_PROGRESS = {
    .words = {{"auto", XYL_PROGRESS_AUTO},
              {"caller", XYL_PROGRESS_CALLER},
              {"blocking", XYL_PROGRESS_BLOCKING},
              {"thread", XYL_PROGRESS_THREAD}}};
const xyl_config_type_t xyl_config_DIRECT = {
    .words = {{"auto", XYL_DIRECT_AUTO},
              {"on", XYL_DIRECT_ON},
              {"off", XYL_DIRECT_OFF}}};

const xyl_config_type_t xyl_config_SHM = {.words = {{"auto", XYL_SHM_AUTO},
                                                    {"off", XYL_SHM_OFF},
                                                    {"on", XYL_SHM_AUTO}}};
const xyl_config_type_t xyl_config_ARRIVALS = {
    .words = {{"auto", XYL_ARRIVALS_AUTO},
              {"synchronised", 1},
              {"random", 2},
              {"late", 4}}};

const xyl_config_type_t xyl_config_ORDER = {
    .words = {{"fixed", XYL_ORDER_FIXED},
              {"arrival", XYL_ORDER_ARRIVAL},
              {"reproducible", XYL_ORDER_REPRODUCIBLE}}};
const xyl_config_type_t xyl_config_CONNECT = {
    .words = {{"first", XYL_CONNECT_FIRST}, {"init", XYL_CONNECT_INIT}}};
const xyl_config_type_t xyl_config_BOOL = {.words = {{"off", 0}, {"on", 1}}};
const xyl_config_type_t xyl_config_COUNT = {.kind = XYL_CONFIG_COUNT,
                                            .most = UINT32_MAX};
/* A window is a word of bits, see collectives/stages/edge.h. */
const xyl_config_type_t xyl_config_WINDOW = {.kind = XYL_CONFIG_COUNT,
                                             .most = 64};
const xyl_config_type_t xyl_config_US = {
    .kind = XYL_CONFIG_TIME, .most = UINT32_MAX, .unit_ns = XYL_US};
const xyl_config_type_t xyl_config_MS = {
    .kind = XYL_CONFIG_TIME, .most = UINT32_MAX, .unit_ns = XYL_MS};
const xyl_config_type_t xyl_config_S = {
    .kind = XYL_CONFIG_TIME, .most = UINT32_MAX, .unit_ns = XYL_S};
const xyl_config_type_t xyl_config_CORE = {
    XYL_CONFIG_COUNT, CPU_SETSIZE - 1, {{"any", XYL_CONFIG_NO_CORE}}, 0};
/* A group of 0 ranks means off. */
const xyl_config_type_t xyl_config_GROUPS = {
    XYL_CONFIG_COUNT,
    UINT32_MAX,
    {{"off", 0}, {"auto", XYL_CONFIG_GROUPS_AUTO}},
    0};
const xyl_config_type_t xyl_config_BYTES = {.kind = XYL_CONFIG_BYTES,
                                            .most = UINT64_MAX >> 1};
/* Keeps a node's file of memory far below the largest size of a file. */
const xyl_config_type_t xyl_config_BUDGET = {.kind = XYL_CONFIG_BYTES,
                                             .most = UINT64_C(1) << 40};
const xyl_config_type_t xyl_config_PATH = {
    XYL_CONFIG_TEXT, 0, {{"none", 0}}, 0};
const xyl_config_type_t xyl_config_TEXT = {
    XYL_CONFIG_TEXT, 0, {{"auto", 0}}, 0};
/* The value of "none" is 1, which is the address of no text. */
const xyl_config_type_t xyl_config_SELECTION = {
    XYL_CONFIG_TEXT, 0, {{"auto", 0}, {"all", 0}, {"none", 1}}, 0};

/* ---- reading ---- */

/* A row is a word of a type, and then its synonyms in other programs. */
static const char *const synonyms[][XYL_CONFIG_WORDS_MAX] = {
    {"off", "none", "no", "false", "0"},
    {"on", "yes", "true", "1"},
    {"warn", "warning"},
    {"synchronised", "synchronized"}};

static int is_in(const char *const *words, const char *text)
{
    unsigned i;

    for (i = 0; i < XYL_CONFIG_WORDS_MAX && words[i] != NULL; i++)
        if (strcasecmp(words[i], text) == 0)
            return 1;
    return 0;
}

int xyl_config_is_same(const char *word, const char *text)
{
    size_t i;

    if (strcasecmp(word, text) == 0)
        return 1;
    for (i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (is_in(synonyms[i], text))
            return is_in(synonyms[i], word);
    return 0;
}

static xylem_status_t number_parse(const xyl_config_type_t *type,
                                   const char *text, uint64_t *value_out)
{
    uint64_t value, ns;
    char *end;

    if (!isdigit((unsigned char)*text))
        return XYLEM_ERR_CONFIG;
    if (type->kind == XYL_CONFIG_BYTES) {
        if (!xyl_bytes_read(text, &value))
            return XYLEM_ERR_CONFIG;
    } else if (type->kind == XYL_CONFIG_TIME) {
        if (!xyl_time_read(text, type->unit_ns, &ns) || ns % type->unit_ns != 0)
            return XYLEM_ERR_CONFIG;
        value = ns / type->unit_ns;
    } else {
        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno != 0 || *end != '\0')
            return XYLEM_ERR_CONFIG;
    }
    if (value > type->most)
        return XYLEM_ERR_CONFIG;
    *value_out = value;
    return XYLEM_OK;
}

xylem_status_t xyl_config_parse(const xyl_config_type_t *type, const char *text,
                                uint64_t *value_out)
{
    unsigned i;

    for (i = 0; i < XYL_CONFIG_WORDS_MAX && type->words[i].text != NULL; i++)
        if (xyl_config_is_same(type->words[i].text, text)) {
            *value_out = type->words[i].value;
            return XYLEM_OK;
        }
    if (type->kind == XYL_CONFIG_WORD || *text == '\0')
        return XYLEM_ERR_CONFIG;
    if (type->kind != XYL_CONFIG_TEXT)
        return number_parse(type, text, value_out);
    *value_out = (uintptr_t)text;
    return XYLEM_OK;
}

xylem_status_t xyl_config_parse_bytes(const char *text, uint64_t *value_out)
{
    return xyl_config_parse(&xyl_config_BYTES, text, value_out);
}

/* ---- writing ---- */

size_t xyl_config_print(const xyl_config_type_t *type, uint64_t value,
                        char *text, size_t bytes)
{
    static const char units[] = "KMGT";
    const char *from = NULL;
    unsigned i, unit = 0;

    for (i = 0; i < XYL_CONFIG_WORDS_MAX && from == NULL; i++)
        if (type->words[i].text != NULL && type->words[i].value == value)
            from = type->words[i].text;
    if (from == NULL && type->kind == XYL_CONFIG_TEXT)
        from = (const char *)(uintptr_t)value;
    if (from != NULL)
        return (size_t)snprintf(text, bytes, "%s", from);
    while (type->kind == XYL_CONFIG_BYTES && value != 0 && value % 1024 == 0 &&
           units[unit] != '\0') {
        value /= 1024;
        unit++;
    }
    return (size_t)snprintf(text, bytes, "%" PRIu64 "%.*s", value, unit != 0,
                            &units[unit - (unit != 0)]);
}
