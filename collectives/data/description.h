/* The description of each collective, written once: its names, the ranks that
 * have each buffer, the lengths that vary from rank to rank, and the parameters
 * of its short forms. The calls, their checks, the benchmarks, the binding for
 * MPI and the tests are made of this table or read it. It needs the public
 * header alone, so that programs which do not load the library have it, too. */
#pragma once

#include <string.h>
#include <strings.h>

#include "include/xylem.h"

/* The ranks that have a buffer that matters. */
typedef enum xyl_side {
    XYL_SIDE_NOBODY,
    XYL_SIDE_ROOT,
    XYL_SIDE_ALL
} xyl_side_t;

/* Further properties of a collective. */
enum {
    XYL_COLL_ROOTED = 1,
    XYL_COLL_REDUCES = 2,
    XYL_COLL_SEND_BLOCKS = 4, /* `send` has a block per rank, else one */
    XYL_COLL_RECV_BLOCKS = 8,
    XYL_COLL_SEND_VARIES = 16, /* by send_counts */
    XYL_COLL_RECV_VARIES = 32,
    XYL_COLL_OWN_TYPES = 64, /* each block has a type of its own */
    XYL_COLL_SEGMENTS = 128, /* for XYLEM_FLAG_PARTS and on_segment */
    XYL_COLL_NEIGHBORS = 256 /* blocks are those of the ranks that it names */
};

/* Columns:
 *   XYLEM_COLL_, name in settings, benchmarks and xylem_NAME
 *   names of MPI's blocking and nonblocking function
 *   the collective after which its list of parameters is named
 *   ranks that send, that receive, that may say XYLEM_IN_PLACE: XYL_SIDE_
 *   XYL_COLL_ flags
 * The binding takes over MPI's functions of the MPI maps; the OWN map is for
 * collectives that MPI lacks. */
#define XYL_COLL_MAP(X) XYL_COLL_MPI_MAP(X) XYL_COLL_OWN_MAP(X)

#define XYL_COLL_OWN_MAP(X)

#define XYL_COLL_MPI_MAP(X)                                                    \
    X(BARRIER, barrier, Barrier, Ibarrier, BARRIER, NOBODY, NOBODY, NOBODY, 0) \
    XYL_COLL_MPI_DATA_MAP(X)

#define XYL_COLL_MPI_DATA_MAP(X)                                               \
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
      XYL_COLL_REDUCES)                                                        \
    X(NEIGHBOR_ALLGATHER, neighbor_allgather, Neighbor_allgather,              \
      Ineighbor_allgather, NEIGHBOR_ALLGATHER, ALL, ALL, NOBODY,               \
      XYL_COLL_RECV_BLOCKS | XYL_COLL_NEIGHBORS)

/* ---- traits ---- */

typedef struct xyl_coll_traits {
    const char *name;
    uint8_t sends; /* xyl_side_t: ranks whose `send` matters */
    uint8_t receives;
    uint8_t takes_in_place; /* ranks that may say XYLEM_IN_PLACE */
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
    uint8_t has_neighbors; /* sources, destinations: a block for each */
    uint16_t flags;        /* XYL_COLL_, all of them */
} xyl_coll_traits_t;

/* The traits of a collective below XYLEM_COLL_COUNT. */
static inline const xyl_coll_traits_t *xyl_coll_traits(xylem_coll_t coll)
{
#define XYL_COLL_TRAITS(ID, coll_name, Mpi, Impi, like, who_sends,             \
                        who_receives, in_place, all)                           \
    [XYLEM_COLL_##ID] = {.name = #coll_name,                                   \
                         .sends = XYL_SIDE_##who_sends,                        \
                         .receives = XYL_SIDE_##who_receives,                  \
                         .takes_in_place = XYL_SIDE_##in_place,                \
                         .has_root = (XYL_COLL_ROOTED & (all)) != 0,           \
                         .reduces = (XYL_COLL_REDUCES & (all)) != 0,           \
                         .send_blocks = (XYL_COLL_SEND_BLOCKS & (all)) != 0,   \
                         .recv_blocks = (XYL_COLL_RECV_BLOCKS & (all)) != 0,   \
                         .send_varies = (XYL_COLL_SEND_VARIES & (all)) != 0,   \
                         .recv_varies = (XYL_COLL_RECV_VARIES & (all)) != 0,   \
                         .has_own_types = (XYL_COLL_OWN_TYPES & (all)) != 0,   \
                         .has_neighbors = (XYL_COLL_NEIGHBORS & (all)) != 0,   \
                         .has_segments = (XYL_COLL_SEGMENTS & (all)) != 0,     \
                         .flags = (all)},
    static const xyl_coll_traits_t traits[] = {XYL_COLL_MAP(XYL_COLL_TRAITS)};
#undef XYL_COLL_TRAITS
    _Static_assert(sizeof traits / sizeof *traits == XYLEM_COLL_COUNT,
                   "every collective is described");

    return &traits[coll];
}

/* The collective of that name, in capitals or not; XYLEM_COLL_COUNT: none. */
static inline xylem_coll_t xyl_coll_named(const char *name, size_t bytes)
{
    unsigned coll = 0;

    while (coll < XYLEM_COLL_COUNT &&
           (strlen(xyl_coll_traits((xylem_coll_t)coll)->name) != bytes ||
            strncasecmp(xyl_coll_traits((xylem_coll_t)coll)->name, name,
                        bytes) != 0))
        coll++;
    return (xylem_coll_t)coll;
}

static inline int xyl_side_matters(xyl_side_t side, int is_root)
{
    return side == XYL_SIDE_ALL || (side == XYL_SIDE_ROOT && is_root);
}

/* 1: a rank has data to give, as its `send` matters, or as it is the root of a
 * broadcast, with its data in `recv`. */
static inline int xyl_coll_has_input(xylem_coll_t coll, int is_root)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);

    return traits->sends == XYL_SIDE_NOBODY
               ? is_root
               : xyl_side_matters(traits->sends, is_root);
}

/* 1: the blocks that a rank sends, or those that it receives, may differ in
 * length. */
static inline int xyl_coll_varies(xylem_coll_t coll)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);

    return traits->send_varies || traits->recv_varies || traits->has_neighbors;
}

/* 1: all ranks have the same recv_counts, at least in bytes. */
static inline int xyl_coll_has_common_counts(xylem_coll_t coll)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);

    return traits->recv_varies && !traits->send_varies && !traits->has_root;
}

/* The bytes of an element of such counts; `args` have packed types. */
static inline uint64_t xyl_args_common_unit(const xylem_coll_args_t *args)
{
    return xylem_type_bytes(args->recv_count != 0 ? args->recv_type
                                                  : args->type);
}

/* Blocks in the larger buffer of a rank; 1 if there are none. */
static inline size_t xyl_args_blocks(const xylem_coll_args_t *args,
                                     uint32_t ranks)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);

    if (traits->has_neighbors)
        return args->source_count != 0 ? args->source_count : 1;
    return traits->send_blocks || traits->recv_blocks ? ranks : 1;
}

/* 1: a rank is the root of a call that has one. */
static inline int xyl_args_is_root(const xylem_coll_args_t *args, uint32_t rank)
{
    return xyl_coll_traits(args->coll)->has_root && rank == args->root;
}

static inline int xyl_args_sends(const xylem_coll_args_t *args, int is_root)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);

    return xyl_side_matters(traits->sends, is_root) &&
           (!traits->has_neighbors || args->destination_count != 0);
}

static inline int xyl_args_receives(const xylem_coll_args_t *args, int is_root)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);

    return xyl_side_matters(traits->receives, is_root) &&
           (!traits->has_neighbors || args->source_count != 0);
}

/* ---- arrays ---- */

/* The arrays of xylem_coll_args_t. Columns: member, its side, the flags of a
 * collective that has the array, and those of one for which it must not be
 * NULL. */
#define XYL_ARRAY_MAP(X)                                                       \
    X(send_counts, SEND, XYL_COLL_SEND_VARIES, 0)                              \
    X(recv_counts, RECV, XYL_COLL_RECV_VARIES, 0)                              \
    X(send_displs, SEND, XYL_COLL_SEND_VARIES, XYL_COLL_OWN_TYPES)             \
    X(recv_displs, RECV, XYL_COLL_RECV_VARIES | XYL_COLL_RECV_BLOCKS,          \
      XYL_COLL_OWN_TYPES)                                                      \
    X(send_types, SEND, XYL_COLL_OWN_TYPES, 0)                                 \
    X(recv_types, RECV, XYL_COLL_OWN_TYPES, 0)                                 \
    X(destinations, SEND, XYL_COLL_NEIGHBORS, 0)                               \
    X(sources, RECV, XYL_COLL_NEIGHBORS, 0)

typedef struct xyl_array {
    const char *name;
    size_t at; /* of the member, in the arguments */
    size_t element_bytes;
    uint8_t is_sent;
    uint16_t of, needed_by; /* XYL_COLL_ */
} xyl_array_t;

#define XYL_ARRAY_NUMBER_(member, ...) XYL_ARRAY_##member,
enum { XYL_ARRAY_MAP(XYL_ARRAY_NUMBER_) XYL_ARRAYS };
#undef XYL_ARRAY_NUMBER_

static inline const xyl_array_t *xyl_arrays(void)
{
    enum { SEND = 1, RECV = 0 };
#define XYL_ARRAY_(member, side, flags, needed)                                \
    {.name = #member,                                                          \
     .at = offsetof(xylem_coll_args_t, member),                                \
     .element_bytes = sizeof *((xylem_coll_args_t *)0)->member,                \
     .is_sent = (side),                                                        \
     .of = (flags),                                                            \
     .needed_by = (needed)},
    static const xyl_array_t arrays[] = {XYL_ARRAY_MAP(XYL_ARRAY_)};
#undef XYL_ARRAY_

    return arrays;
}

/* The member, whatever it points to. */
static inline const void *xyl_array_get(const xyl_array_t *array,
                                        const xylem_coll_args_t *args)
{
    const void *elements;

    memcpy((void *)&elements, (const char *)args + array->at, sizeof elements);
    return elements;
}

static inline void xyl_array_set(const xyl_array_t *array,
                                 xylem_coll_args_t *args, const void *elements)
{
    memcpy((char *)args + array->at, (void *)&elements, sizeof elements);
}

static inline size_t xyl_array_bytes(const xyl_array_t *array,
                                     const xylem_coll_args_t *args,
                                     uint32_t ranks)
{
    if ((array->of & XYL_COLL_NEIGHBORS) != 0)
        ranks = array->is_sent ? args->destination_count : args->source_count;
    return ranks * array->element_bytes;
}

/* 1: a rank has the array, and it may be read. */
static inline int xyl_array_matters(const xyl_array_t *array,
                                    const xylem_coll_args_t *args, int is_root)
{
    if ((xyl_coll_traits(args->coll)->flags & array->of) != array->of)
        return 0;
    return array->is_sent
               ? xyl_args_sends(args, is_root) && args->send != XYLEM_IN_PLACE
               : xyl_args_receives(args, is_root);
}

/* Makes arrays that do not matter NULL: they must not be read. */
static inline void xyl_arrays_leave_out(xylem_coll_args_t *args, int is_root)
{
    const xyl_array_t *array = xyl_arrays(), *end = array + XYL_ARRAYS;

    for (; array < end; array++)
        if (!xyl_array_matters(array, args, is_root))
            xyl_array_set(array, args, NULL);
}

static inline int xyl_coll_has_arrays(xylem_coll_t coll)
{
    return xyl_coll_varies(coll);
}

/* ---- short forms ---- */

/* The parameters of each list after the team: P(type, member of
 * xylem_coll_args_t). A list names only counts and displacements that its
 * collective has; all other arguments are 0. */
#define XYL_BUFFERS_(P)  P(const void *, send) P(void *, recv)
#define XYL_ELEMENTS_(P) P(size_t, count) P(xylem_type_t, type)
#define XYL_SENT_EACH_(P)                                                      \
    P(const uint64_t *, send_counts) P(const uint64_t *, send_displs)
#define XYL_GOT_EACH_(P)                                                       \
    P(const uint64_t *, recv_counts) P(const uint64_t *, recv_displs)

#define XYL_LIST_BARRIER(P)
#define XYL_LIST_BCAST(P)     P(void *, recv) XYL_ELEMENTS_(P) P(uint32_t, root)
#define XYL_LIST_ALLREDUCE(P) XYL_LIST_ALLGATHER(P) P(xylem_op_t, op)
#define XYL_LIST_REDUCE(P)    XYL_LIST_ALLREDUCE(P) P(uint32_t, root)
#define XYL_LIST_REDUCE_SCATTER(P)                                             \
    XYL_BUFFERS_(P)                                                            \
    P(const uint64_t *, recv_counts) P(xylem_type_t, type) P(xylem_op_t, op)
#define XYL_LIST_ALLGATHER(P) XYL_BUFFERS_(P) XYL_ELEMENTS_(P)
#define XYL_LIST_GATHER(P)    XYL_LIST_ALLGATHER(P) P(uint32_t, root)
#define XYL_LIST_ALLGATHERV(P)                                                 \
    P(const void *, send)                                                      \
    P(size_t, count) P(void *, recv) XYL_GOT_EACH_(P) P(xylem_type_t, type)
#define XYL_LIST_GATHERV(P) XYL_LIST_ALLGATHERV(P) P(uint32_t, root)
#define XYL_LIST_SCATTERV(P)                                                   \
    P(const void *, send)                                                      \
    XYL_SENT_EACH_(P) P(void *, recv) XYL_ELEMENTS_(P) P(uint32_t, root)
#define XYL_LIST_ALLTOALLV(P)                                                  \
    P(const void *, send)                                                      \
    XYL_SENT_EACH_(P) P(void *, recv) XYL_GOT_EACH_(P) P(xylem_type_t, type)
#define XYL_LIST_ALLTOALLW(P)                                                  \
    P(const void *, send)                                                      \
    XYL_SENT_EACH_(P)                                                          \
    P(const xylem_type_t *, send_types)                                        \
    P(void *, recv) XYL_GOT_EACH_(P) P(const xylem_type_t *, recv_types)
#define XYL_LIST_NEIGHBOR_ALLGATHER(P)                                         \
    P(const void *, send)                                                      \
    P(const uint32_t *, destinations)                                          \
    P(uint32_t, destination_count)                                             \
    P(void *, recv)                                                            \
    P(const uint32_t *, sources) P(uint32_t, source_count) XYL_ELEMENTS_(P)

/* Three forms of P: a parameter; the initial value of a member; the value
 * passed from `args`, a pointer to the arguments. */
#define XYL_PARAMETER(type, member) , type member
#define XYL_INITIAL(type, member)   .member = (member),
#define XYL_PASSED(type, member)    , args->member
