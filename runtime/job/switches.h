/* The network between nodes, as a JSON file describes it: switches, and what
 * is connected to each.
 *
 *   {"switches": [{"name": "s0", "nodes": ["n0", "n1"]},
 *                 {"name": "s1", "nodes": ["n2", "n3"]},
 *                 {"name": "top", "switches": ["s0", "s1"]}]}
 *
 * A switch has one switch above it or none, a node is below one switch; what
 * the file does not name has no switch. Errors name the file and the place in
 * it. Without state; any thread. */
#ifndef XYL_RUNTIME_JOB_SWITCHES_H
#define XYL_RUNTIME_JOB_SWITCHES_H

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

enum { XYL_SWITCH_LEVELS_MAX = 8 };
#define XYL_SWITCH_NONE UINT32_MAX

typedef struct xyl_switches xyl_switches_t;

/* Returns owned (free with xyl_switches_free). */
xylem_status_t xyl_switches_read(const char *path,
                                 xyl_switches_t **switches_out);
/* The same of a text; `file` is what errors call it. */
xylem_status_t xyl_switches_parse(const char *file, const char *text,
                                  size_t bytes, xyl_switches_t **switches_out);
/* NULL is allowed. */
void xyl_switches_free(xyl_switches_t *switches);

/* Of the text; never 0. */
uint64_t xyl_switches_hash(const xyl_switches_t *switches);
/* How many switches lie above each other at most; at least 1. */
uint32_t xyl_switches_levels(const xyl_switches_t *switches);

/* Writes the switches above a node, the outermost first, and XYL_SWITCH_NONE
 * where there are no more, up to the number of levels. Two nodes are below one
 * switch of a level when they agree down to it. 1 when the file names it. */
int xyl_switches_find(const xyl_switches_t *switches, const char *node,
                      uint32_t *ids);

#endif
