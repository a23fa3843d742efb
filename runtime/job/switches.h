/* The network between nodes, as a JSON file describes it: switches, and the
 * nodes and switches below each.
 *
 *   {"switches": [{"name": "s0", "nodes": ["n0", "n1"]},
 *                 {"name": "s1", "nodes": ["n2", "n3"]},
 *                 {"name": "top", "switches": ["s0", "s1"]}]}
 *
 * A switch has at most one switch above it, and a node is below one switch; a
 * node that the file does not name has none. Errors name the file and the place
 * in the file. Without state; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

enum { XYL_SWITCH_LEVELS_MAX = 8 };
#define XYL_SWITCH_NONE UINT32_MAX

typedef struct xyl_switches xyl_switches_t;

/* Returns owned (free with xyl_switches_free). */
xylem_status_t xyl_switches_read(const char *path,
                                 xyl_switches_t **switches_out);
/* The same for a text; errors call the text `file`. */
xylem_status_t xyl_switches_parse(const char *file, const char *text,
                                  size_t bytes, xyl_switches_t **switches_out);
/* Accepts NULL. */
void xyl_switches_free(xyl_switches_t *switches);

/* The hash of the file's text; a setting of 0 means that there is no file. */
uint64_t xyl_switches_hash(const xyl_switches_t *switches);
/* The longest path upwards, in switches; at least 1. */
uint32_t xyl_switches_levels(const xyl_switches_t *switches);

/* Writes to ids[levels] the switches above a node, the outermost first, then
 * XYL_SWITCH_NONE. Two nodes are below one switch of a level if their ids agree
 * from the first to that level. 1: the file names the node. */
int xyl_switches_find(const xyl_switches_t *switches, const char *node,
                      uint32_t *ids);
