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
WORD_TYPE(CONNECT, "first", "init")

/* ---- on and off ---- */

xylem_status_t xyl_config_parse_BOOL(const char *text, uint64_t *value_out)
{
    static const char *const words[] = {"off", "on",    "0",    "1", "no",
                                        "yes", "false", "true", NULL};
    uint64_t index;
    xylem_status_t status = parse_word(words, text, &index);

    if (status == XYLEM_OK)
        *value_out = index & 1;
    return status;
}

void xyl_config_print_BOOL(uint64_t value, char *text)
{
    print_text(text, value != 0 ? "on" : "off");
}

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

xylem_status_t xyl_config_parse_TEXT(const char *text, uint64_t *value_out)
{
    if (*text == '\0')
        return XYLEM_ERR_CONFIG;
    *value_out = strcasecmp(text, "auto") == 0 ? 0 : (uintptr_t)text;
    return XYLEM_OK;
}

void xyl_config_print_TEXT(uint64_t value, char *text)
{
    print_text(text, value != 0 ? (const char *)(uintptr_t)value : "auto");
}
