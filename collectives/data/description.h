/* What each collective is, written once: its names, who has which buffer, what
 * varies from rank to rank, and the parameters of its short forms. The calls,
 * their checks, the benchmarks, the binding for MPI and the tests are made of
 * this table or read it. It needs the public header alone, so that programs
 * which do not load the library have it, too. */
#ifndef XYL_COLLECTIVES_DATA_DESCRIPTION_H
#define XYL_COLLECTIVES_DATA_DESCRIPTION_H

#include <assert.h>

#include "include/xylem.h"

/* Who has a buffer that matters. */
typedef enum xyl_side {
    XYL_SIDE_NOBODY,
    XYL_SIDE_ROOT,
    XYL_SIDE_ALL
} xyl_side_t;

/* What else there is to say of a collective. */
enum {
    XYL_COLL_ROOTED = 1,
    XYL_COLL_REDUCES = 2,
    XYL_COLL_SEND_BLOCKS = 4, /* `send` has a block per rank, else one */
    XYL_COLL_RECV_BLOCKS = 8,
    XYL_COLL_SEND_VARIES = 16, /* by send_counts */
    XYL_COLL_RECV_VARIES = 32,
    XYL_COLL_OWN_TYPES = 64, /* each block has a type of its own */
    XYL_COLL_SEGMENTS = 128  /* for XYLEM_FLAG_PARTS and on_segment */
};

/* Columns:
 *   XYLEM_COLL_, name in settings, benchmarks and xylem_NAME
 *   names of MPI's blocking and nonblocking function
 *   the collective after which its list of parameters is named
 *   who sends, who receives, who may say XYLEM_IN_PLACE: XYL_SIDE_
 *   XYL_COLL_ flags */
#define XYL_COLL_MAP(X)                                                        \
    X(BARRIER, barrier, Barrier, Ibarrier, BARRIER, NOBODY, NOBODY, NOBODY, 0) \
    XYL_COLL_DATA_MAP(X)

#define XYL_COLL_DATA_MAP(X)                                                   \
    X(BCAST, bcast, Bcast, Ibcast, BCAST, NOBODY, ALL, NOBODY,                 \
      XYL_COLL_ROOTED | XYL_COLL_SEGMENTS)                                     \
    X(REDUCE, reduce, Reduce, Ireduce, REDUCE, ALL, ROOT, ROOT,                \
      XYL_COLL_ROOTED | XYL_COLL_REDUCES | XYL_COLL_SEGMENTS)                  \
    X(ALLREDUCE, allreduce, Allreduce, Iallreduce, ALLREDUCE, ALL, ALL, ALL,   \
      XYL_COLL_REDUCES | XYL_COLL_SEGMENTS)                                    \
    X(GATHER, gather, Gather, Igather, GATHER, ALL, ROOT, ROOT,                \
      XYL_COLL_ROOTED | XYL_COLL_RECV_BLOCKS)                                  \
    X(GATHERV, gatherv, Gatherv, Igatherv, GATHERV, ALL, ROOT, ROOT,           \
      XYL_COLL_ROOTED | XYL_COLL_RECV_BLOCKS | XYL_COLL_RECV_VARIES)           \
    X(SCATTER, scatter, Scatter, Iscatter, GATHER, ROOT, ALL, ROOT,            \
      XYL_COLL_ROOTED | XYL_COLL_SEND_BLOCKS)                                  \
    X(SCATTERV, scatterv, Scatterv, Iscatterv, SCATTERV, ROOT, ALL, ROOT,      \
      XYL_COLL_ROOTED | XYL_COLL_SEND_BLOCKS | XYL_COLL_SEND_VARIES)           \
    X(ALLGATHER, allgather, Allgather, Iallgather, ALLGATHER, ALL, ALL, ALL,   \
      XYL_COLL_RECV_BLOCKS)                                                    \
    X(ALLGATHERV, allgatherv, Allgatherv, Iallgatherv, ALLGATHERV, ALL, ALL,   \
      ALL, XYL_COLL_RECV_BLOCKS | XYL_COLL_RECV_VARIES)                        \
    X(ALLTOALL, alltoall, Alltoall, Ialltoall, ALLGATHER, ALL, ALL, ALL,       \
      XYL_COLL_SEND_BLOCKS | XYL_COLL_RECV_BLOCKS)                             \
    X(ALLTOALLV, alltoallv, Alltoallv, Ialltoallv, ALLTOALLV, ALL, ALL, ALL,   \
      XYL_COLL_SEND_BLOCKS | XYL_COLL_RECV_BLOCKS | XYL_COLL_SEND_VARIES |     \
          XYL_COLL_RECV_VARIES)                                                \
    X(ALLTOALLW, alltoallw, Alltoallw, Ialltoallw, ALLTOALLW, ALL, ALL, ALL,   \
      XYL_COLL_SEND_BLOCKS | XYL_COLL_RECV_BLOCKS | XYL_COLL_SEND_VARIES |     \
          XYL_COLL_RECV_VARIES | XYL_COLL_OWN_TYPES)                           \
    X(REDUCE_SCATTER, reduce_scatter, Reduce_scatter, Ireduce_scatter,         \
      REDUCE_SCATTER, ALL, ALL, ALL,                                           \
      XYL_COLL_REDUCES | XYL_COLL_SEND_BLOCKS | XYL_COLL_RECV_VARIES)          \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, Reduce_scatter_block,        \
      Ireduce_scatter_block, ALLREDUCE, ALL, ALL, ALL,                         \
      XYL_COLL_REDUCES | XYL_COLL_SEND_BLOCKS)                                 \
    X(SCAN, scan, Scan, Iscan, ALLREDUCE, ALL, ALL, ALL, XYL_COLL_REDUCES)     \
    X(EXSCAN, exscan, Exscan, Iexscan, ALLREDUCE, ALL, ALL, ALL,               \
      XYL_COLL_REDUCES)

/* ---- traits ---- */

typedef struct xyl_coll_traits {
    const char *name;
    uint8_t sends; /* xyl_side_t: whose `send` matters */
    uint8_t receives;
    uint8_t takes_in_place; /* who may say XYLEM_IN_PLACE */
    uint8_t has_root;
    uint8_t reduces;
    uint8_t send_blocks; /* `send` has a block per rank */
    uint8_t recv_blocks;
    uint8_t send_varies; /* by send_counts */
    uint8_t recv_varies;
    uint8_t has_own_types; /* send_types, recv_types; displacements in bytes */
    /* The message is cut into segments that the caller can be told of and, by
     * XYLEM_FLAG_PARTS, release. */
    uint8_t has_segments;
} xyl_coll_traits_t;

/* Of a collective below XYLEM_COLL_COUNT. */
static inline const xyl_coll_traits_t *xyl_coll_traits(xylem_coll_t coll)
{
#define XYL_COLL_TRAITS(ID, coll_name, Mpi, Impi, like, who_sends,             \
                        who_receives, in_place, flags)                         \
    [XYLEM_COLL_##ID] = {.name = #coll_name,                                   \
                         .sends = XYL_SIDE_##who_sends,                        \
                         .receives = XYL_SIDE_##who_receives,                  \
                         .takes_in_place = XYL_SIDE_##in_place,                \
                         .has_root = (XYL_COLL_ROOTED & (flags)) != 0,         \
                         .reduces = (XYL_COLL_REDUCES & (flags)) != 0,         \
                         .send_blocks = (XYL_COLL_SEND_BLOCKS & (flags)) != 0, \
                         .recv_blocks = (XYL_COLL_RECV_BLOCKS & (flags)) != 0, \
                         .send_varies = (XYL_COLL_SEND_VARIES & (flags)) != 0, \
                         .recv_varies = (XYL_COLL_RECV_VARIES & (flags)) != 0, \
                         .has_own_types = (XYL_COLL_OWN_TYPES & (flags)) != 0, \
                         .has_segments = (XYL_COLL_SEGMENTS & (flags)) != 0},
    static const xyl_coll_traits_t traits[] = {XYL_COLL_MAP(XYL_COLL_TRAITS)};
#undef XYL_COLL_TRAITS
    _Static_assert(sizeof traits / sizeof *traits == XYLEM_COLL_COUNT,
                   "every collective is described");

    return &traits[coll];
}

static inline int xyl_side_matters(xyl_side_t side, int is_root)
{
    return side == XYL_SIDE_ALL || (side == XYL_SIDE_ROOT && is_root);
}

/* Whether a rank has data to give: whose `send` matters, and the root of a
 * broadcast, whose data lie in `recv`. */
static inline int xyl_coll_has_input(xylem_coll_t coll, int is_root)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);

    return traits->sends == XYL_SIDE_NOBODY
               ? is_root
               : xyl_side_matters(traits->sends, is_root);
}

/* Whether some array of counts matters. */
static inline int xyl_coll_varies(xylem_coll_t coll)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);

    return traits->send_varies || traits->recv_varies;
}

/* ---- short forms ---- */

/* For each list of parameters: the parameters after the team, the members of
 * xylem_coll_args_t that they are, and how they are passed from `a`, a pointer
 * to these. Of the displacements and counts of a list only those that its
 * collective has are named; the rest of the arguments are 0. */
/* clang-format off */
#define XYL_PARAMETERS_BARRIER
#define XYL_MEMBERS_BARRIER
#define XYL_PASSED_BARRIER(a)

#define XYL_PARAMETERS_BCAST , void *buf, size_t count, xylem_type_t type, uint32_t root
#define XYL_MEMBERS_BCAST .recv = buf, .count = count, .type = type, .root = root
#define XYL_PASSED_BCAST(a) , (a)->recv, (a)->count, (a)->type, (a)->root

#define XYL_PARAMETERS_REDUCE , const void *send, void *recv, size_t count, xylem_type_t type, xylem_op_t op, uint32_t root
#define XYL_MEMBERS_REDUCE .send = send, .recv = recv, .count = count, .type = type, .op = op, .root = root
#define XYL_PASSED_REDUCE(a) , (a)->send, (a)->recv, (a)->count, (a)->type, (a)->op, (a)->root

#define XYL_PARAMETERS_ALLREDUCE , const void *send, void *recv, size_t count, xylem_type_t type, xylem_op_t op
#define XYL_MEMBERS_ALLREDUCE .send = send, .recv = recv, .count = count, .type = type, .op = op
#define XYL_PASSED_ALLREDUCE(a) , (a)->send, (a)->recv, (a)->count, (a)->type, (a)->op

#define XYL_PARAMETERS_REDUCE_SCATTER , const void *send, void *recv, const uint64_t *counts, xylem_type_t type, xylem_op_t op
#define XYL_MEMBERS_REDUCE_SCATTER .send = send, .recv = recv, .recv_counts = counts, .type = type, .op = op
#define XYL_PASSED_REDUCE_SCATTER(a) , (a)->send, (a)->recv, (a)->recv_counts, (a)->type, (a)->op

#define XYL_PARAMETERS_GATHER , const void *send, void *recv, size_t count, xylem_type_t type, uint32_t root
#define XYL_MEMBERS_GATHER .send = send, .recv = recv, .count = count, .type = type, .root = root
#define XYL_PASSED_GATHER(a) , (a)->send, (a)->recv, (a)->count, (a)->type, (a)->root

#define XYL_PARAMETERS_ALLGATHER , const void *send, void *recv, size_t count, xylem_type_t type
#define XYL_MEMBERS_ALLGATHER .send = send, .recv = recv, .count = count, .type = type
#define XYL_PASSED_ALLGATHER(a) , (a)->send, (a)->recv, (a)->count, (a)->type

#define XYL_PARAMETERS_GATHERV , const void *send, size_t count, void *recv, const uint64_t *counts, const uint64_t *displs, xylem_type_t type, uint32_t root
#define XYL_MEMBERS_GATHERV .send = send, .count = count, .recv = recv, .recv_counts = counts, .recv_displs = displs, .type = type, .root = root
#define XYL_PASSED_GATHERV(a) , (a)->send, (a)->count, (a)->recv, (a)->recv_counts, (a)->recv_displs, (a)->type, (a)->root

#define XYL_PARAMETERS_SCATTERV , const void *send, const uint64_t *counts, const uint64_t *displs, void *recv, size_t count, xylem_type_t type, uint32_t root
#define XYL_MEMBERS_SCATTERV .send = send, .send_counts = counts, .send_displs = displs, .recv = recv, .count = count, .type = type, .root = root
#define XYL_PASSED_SCATTERV(a) , (a)->send, (a)->send_counts, (a)->send_displs, (a)->recv, (a)->count, (a)->type, (a)->root

#define XYL_PARAMETERS_ALLGATHERV , const void *send, size_t count, void *recv, const uint64_t *counts, const uint64_t *displs, xylem_type_t type
#define XYL_MEMBERS_ALLGATHERV .send = send, .count = count, .recv = recv, .recv_counts = counts, .recv_displs = displs, .type = type
#define XYL_PASSED_ALLGATHERV(a) , (a)->send, (a)->count, (a)->recv, (a)->recv_counts, (a)->recv_displs, (a)->type

#define XYL_PARAMETERS_ALLTOALLV , const void *send, const uint64_t *send_counts, const uint64_t *send_displs, void *recv, const uint64_t *recv_counts, const uint64_t *recv_displs, xylem_type_t type
#define XYL_MEMBERS_ALLTOALLV .send = send, .send_counts = send_counts, .send_displs = send_displs, .recv = recv, .recv_counts = recv_counts, .recv_displs = recv_displs, .type = type
#define XYL_PASSED_ALLTOALLV(a) , (a)->send, (a)->send_counts, (a)->send_displs, (a)->recv, (a)->recv_counts, (a)->recv_displs, (a)->type

#define XYL_PARAMETERS_ALLTOALLW , const void *send, const uint64_t *send_counts, const uint64_t *send_displs, const xylem_type_t *send_types, void *recv, const uint64_t *recv_counts, const uint64_t *recv_displs, const xylem_type_t *recv_types
#define XYL_MEMBERS_ALLTOALLW .send = send, .send_counts = send_counts, .send_displs = send_displs, .send_types = send_types, .recv = recv, .recv_counts = recv_counts, .recv_displs = recv_displs, .recv_types = recv_types
#define XYL_PASSED_ALLTOALLW(a) , (a)->send, (a)->send_counts, (a)->send_displs, (a)->send_types, (a)->recv, (a)->recv_counts, (a)->recv_displs, (a)->recv_types
/* clang-format on */

#endif
