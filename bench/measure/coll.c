/* The collectives. Constant; any thread. The library has such a table of its
 * own, which programs that must not load it cannot see. */
#include "bench/measure/coll.h"

#include <assert.h>
#include <string.h>

/* name, root, reduces, sends, receives, blocks sent, blocks received */
static const struct coll_traits traits[XYLEM_COLL_COUNT] = {
    [XYLEM_COLL_BCAST] = {"bcast", 1, 0, COLL_NOBODY, COLL_ALL, 0, 0},
    [XYLEM_COLL_REDUCE] = {"reduce", 1, 1, COLL_ALL, COLL_ROOT, 0, 0},
    [XYLEM_COLL_ALLREDUCE] = {"allreduce", 0, 1, COLL_ALL, COLL_ALL, 0, 0},
    [XYLEM_COLL_BARRIER] = {"barrier", 0, 0, COLL_NOBODY, COLL_NOBODY, 0, 0},
    [XYLEM_COLL_GATHER] = {"gather", 1, 0, COLL_ALL, COLL_ROOT, 0, 1},
    [XYLEM_COLL_GATHERV] = {"gatherv", 1, 0, COLL_ALL, COLL_ROOT, 0, 1},
    [XYLEM_COLL_SCATTER] = {"scatter", 1, 0, COLL_ROOT, COLL_ALL, 1, 0},
    [XYLEM_COLL_SCATTERV] = {"scatterv", 1, 0, COLL_ROOT, COLL_ALL, 1, 0},
    [XYLEM_COLL_ALLGATHER] = {"allgather", 0, 0, COLL_ALL, COLL_ALL, 0, 1},
    [XYLEM_COLL_ALLGATHERV] = {"allgatherv", 0, 0, COLL_ALL, COLL_ALL, 0, 1},
    [XYLEM_COLL_ALLTOALL] = {"alltoall", 0, 0, COLL_ALL, COLL_ALL, 1, 1},
    [XYLEM_COLL_ALLTOALLV] = {"alltoallv", 0, 0, COLL_ALL, COLL_ALL, 1, 1},
    [XYLEM_COLL_ALLTOALLW] = {"alltoallw", 0, 0, COLL_ALL, COLL_ALL, 1, 1},
    [XYLEM_COLL_REDUCE_SCATTER] = {"reduce_scatter", 0, 1, COLL_ALL, COLL_ALL,
                                   1, 0},
    [XYLEM_COLL_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", 0, 1, COLL_ALL,
                                         COLL_ALL, 1, 0},
    [XYLEM_COLL_SCAN] = {"scan", 0, 1, COLL_ALL, COLL_ALL, 0, 0},
    [XYLEM_COLL_EXSCAN] = {"exscan", 0, 1, COLL_ALL, COLL_ALL, 0, 0},
};

const struct coll_traits *coll_traits(xylem_coll_t coll)
{
    assert(coll < XYLEM_COLL_COUNT);
    return &traits[coll];
}

int coll_parse(const char *name, xylem_coll_t *coll_out)
{
    unsigned coll;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
        if (strcmp(traits[coll].name, name) != 0)
            continue;
        *coll_out = (xylem_coll_t)coll;
        return 1;
    }
    return 0;
}

const char *coll_unit(xylem_coll_t coll)
{
    const struct coll_traits *t = coll_traits(coll);

    return t->send_blocks || t->recv_blocks ? "block" : "message";
}

int coll_has_trees(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_BCAST || coll == XYLEM_COLL_REDUCE ||
           coll == XYLEM_COLL_ALLREDUCE;
}
