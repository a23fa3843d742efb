/* How the values of settings are read and written: one pair of functions for
 * each type that XYL_CONFIG_MAP names. */
#ifndef XYL_BASE_CONFIG_TYPES_H
#define XYL_BASE_CONFIG_TYPES_H

#include "include/xylem.h"

#define XYL_CONFIG_TYPE_MAP(X)                                                 \
    X(LEVEL)                                                                   \
    X(VERBOSE)                                                                 \
    X(BOOTSTRAP)                                                               \
    X(PROGRESS)                                                                \
    X(SHM)                                                                     \
    X(ORDER)                                                                   \
    X(CONNECT)                                                                 \
    X(BOOL)                                                                    \
    X(COUNT)                                                                   \
    X(CORE)                                                                    \
    X(GROUPS)                                                                  \
    X(BYTES)                                                                   \
    X(PATH)                                                                    \
    X(TEXT)

#define XYL_CONFIG_TYPE_DECLARE(type)                                          \
    xylem_status_t xyl_config_parse_##type(const char *text,                   \
                                           uint64_t *value_out);               \
    void xyl_config_print_##type(uint64_t value, char *text);
XYL_CONFIG_TYPE_MAP(XYL_CONFIG_TYPE_DECLARE)
#undef XYL_CONFIG_TYPE_DECLARE

#endif
