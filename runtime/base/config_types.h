/* Reading and writing the values of each type of setting in XYL_CONFIG_MAP. */
#pragma once

#include "include/xylem.h"

/* The values that a type allows beside its words. */
typedef enum xyl_config_kind {
    XYL_CONFIG_WORD,  /* none */
    XYL_CONFIG_COUNT, /* a decimal number */
    XYL_CONFIG_BYTES, /* an amount of bytes, see quantity.h */
    XYL_CONFIG_TIME,  /* a time, see quantity.h; the value is a whole number of
                         the type's units */
    XYL_CONFIG_TEXT   /* any text but an empty one; the value is its address,
                         borrowed */
} xyl_config_kind_t;

enum { XYL_CONFIG_WORDS_MAX = 6 };

typedef struct xyl_config_type {
    xyl_config_kind_t kind;
    uint64_t most; /* of numbers */
    struct {
        const char *text; /* users may write upper case, or a synonym ("no" for
                             "off"); NULL: there are no more */
        uint64_t value;   /* printed as the first word with this value */
    } words[XYL_CONFIG_WORDS_MAX];
    uint64_t unit_ns; /* of times */
} xyl_config_type_t;

extern const xyl_config_type_t xyl_config_BOOL, xyl_config_BOOTSTRAP,
    xyl_config_BUDGET, xyl_config_BYTES, xyl_config_CONNECT, xyl_config_CORE,
    xyl_config_ARRIVALS, xyl_config_COUNT, xyl_config_DIRECT, xyl_config_GROUPS,
    xyl_config_LEVEL, xyl_config_MS, xyl_config_ORDER, xyl_config_PATH,
    xyl_config_PROGRESS, xyl_config_S, xyl_config_SELECTION, xyl_config_SHM,
    xyl_config_TEXT, xyl_config_US, xyl_config_VERBOSE, xyl_config_WINDOW;

/* 1: `text` is `word` or a synonym of it. */
int xyl_config_is_same(const char *word, const char *text);

/* XYLEM_ERR_CONFIG, without a text: `text` is no value of the type. */
xylem_status_t xyl_config_parse(const xyl_config_type_t *type, const char *text,
                                uint64_t *value_out);
/* Prints a value as a user would write it, cut off at `bytes` bytes. Returns
 * the length of the whole text. */
size_t xyl_config_print(const xyl_config_type_t *type, uint64_t value,
                        char *text, size_t bytes);
