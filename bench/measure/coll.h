/* The collectives as the benchmarks see them. */
#pragma once

#include "collectives/data/description.h"

/* 1 when `name` is a collective's. */
int coll_parse(const char *name, xylem_coll_t *coll_out);

/* Names with commas between them, or "all". The count, or 0 when one is no
 * collective's or there are too many. */
size_t coll_list(const char *names, xylem_coll_t colls[XYLEM_COLL_COUNT]);

/* "message" or "block": the thing whose bytes a measurement names. */
const char *coll_unit(xylem_coll_t coll);
