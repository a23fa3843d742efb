/* How the values of settings are read and written, for each type that
 * XYL_CONFIG_MAP names. */
#ifndef XYL_BASE_CONFIG_TYPES_H
#define XYL_BASE_CONFIG_TYPES_H

#include "include/xylem.h"

/* What a value may be that is none of its type's words. */
typedef enum xyl_config_kind {
    XYL_CONFIG_WORD,  /* nothing else */
    XYL_CONFIG_COUNT, /* a decimal number */
    XYL_CONFIG_BYTES, /* an amount of quantity.h */
    XYL_CONFIG_TIME,  /* likewise; the value counts the type's unit, without
                         a rest */
    XYL_CONFIG_TEXT   /* the address of any text but the empty one: borrowed */
} xyl_config_kind_t;

enum { XYL_CONFIG_WORDS_MAX = 6 };

typedef struct xyl_config_type {
    xyl_config_kind_t kind;
    uint64_t most; /* of numbers */
    struct {
        const char *text; /* in any case, and words that say the same ("no" for
                             "off"); NULL: there are no more */
        uint64_t value;   /* written by the first word that has it */
    } words[XYL_CONFIG_WORDS_MAX];
    uint64_t unit_ns; /* of times */
} xyl_config_type_t;

extern const xyl_config_type_t xyl_config_BOOL, xyl_config_BOOTSTRAP,
    xyl_config_BYTES, xyl_config_CONNECT, xyl_config_CORE, xyl_config_ARRIVALS,
    xyl_config_COUNT, xyl_config_DIRECT, xyl_config_GROUPS, xyl_config_LEVEL,
    xyl_config_MS, xyl_config_ORDER, xyl_config_PATH, xyl_config_PROGRESS,
    xyl_config_S, xyl_config_SELECTION, xyl_config_SHM, xyl_config_TEXT,
    xyl_config_US, xyl_config_VERBOSE;

/* Whether `text` is `word`, or one that users write for it. */
int xyl_config_is_same(const char *word, const char *text);

/* XYLEM_ERR_CONFIG, without a text: it is no value of the type. */
xylem_status_t xyl_config_parse(const xyl_config_type_t *type, const char *text,
                                uint64_t *value_out);
/* As the user would write it, cut off where it does not fit into `bytes` bytes.
 * The length of all of it. */
size_t xyl_config_print(const xyl_config_type_t *type, uint64_t value,
                        char *text, size_t bytes);

#endif
