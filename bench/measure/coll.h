/* The collectives as the benchmarks see them: who has which buffer. */
#ifndef XYL_BENCH_MEASURE_COLL_H
#define XYL_BENCH_MEASURE_COLL_H

#include "include/xylem.h"

enum coll_side { COLL_NOBODY, COLL_ROOT, COLL_ALL };

struct coll_traits {
    const char *name;
    int has_root;
    int reduces;
    enum coll_side sends; /* who has a buffer of this kind */
    enum coll_side receives;
    int send_blocks; /* one for each rank, not one */
    int recv_blocks;
};

const struct coll_traits *coll_traits(xylem_coll_t coll);

/* 1 when `name` is a collective's. */
int coll_parse(const char *name, xylem_coll_t *coll_out);

/* "message" or "block": what the bytes of a measurement are of. */
const char *coll_unit(xylem_coll_t coll);

/* Whether the library runs it by trees, too. */
int coll_has_trees(xylem_coll_t coll);

#endif
