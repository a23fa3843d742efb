#include "tests/support/odd_calls.h"

#include <stdlib.h>

/* The library chooses all. */
#define PLAIN(of, with_bytes, from_root, by)                                   \
    {                                                                          \
        .coll = (of), .bytes = (with_bytes), .root = (from_root), .op = (by)   \
    }

const odd_kind_t odd_kinds[ODD_KINDS] = {
    PLAIN(XYLEM_COLL_BARRIER, 0, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_BCAST, 8, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_BCAST, 8, 1, XYLEM_SUM),
    PLAIN(XYLEM_COLL_BCAST, 1000, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_BCAST, 2000, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_BCAST, 96000, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_BCAST, 300000, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_REDUCE, 8, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_REDUCE, 8, 1, XYLEM_SUM),
    PLAIN(XYLEM_COLL_REDUCE, 8, 0, XYLEM_MAX),
    PLAIN(XYLEM_COLL_REDUCE, 200000, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLREDUCE, 8, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLREDUCE, 8, 0, XYLEM_MIN),
    PLAIN(XYLEM_COLL_ALLREDUCE, 800, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLREDUCE, 200000, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_GATHER, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_SCATTER, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLGATHER, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLGATHER, 8000, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLTOALL, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLTOALL, 8000, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_REDUCE_SCATTER_BLOCK, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_SCAN, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_EXSCAN, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_REDUCE_SCATTER, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_GATHERV, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_SCATTERV, 64, 1, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLGATHERV, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLTOALLV, 8000, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_ALLTOALLW, 64, 0, XYLEM_SUM),
    PLAIN(XYLEM_COLL_NEIGHBOR_ALLGATHER, 64, 0, XYLEM_SUM),
    {.coll = XYLEM_COLL_BCAST, .bytes = 96000, .algorithm = "binary"},
    {.coll = XYLEM_COLL_BCAST, .bytes = 96000, .segment_bytes = 16000},
    {.coll = XYLEM_COLL_ALLREDUCE,
     .bytes = 800,
     .flags = XYLEM_FLAG_ARRIVAL_ORDER},
    {.coll = XYLEM_COLL_REDUCE_SCATTER, .bytes = 64, .is_skewed = 1},
    {.coll = XYLEM_COLL_ALLGATHERV, .bytes = 64, .is_skewed = 1},
};

void odd_call_init(odd_call_t *call, const odd_kind_t *kind, uint32_t rank,
                   uint32_t ranks, const void *send, void *recv)
{
    int is_w = kind->coll == XYLEM_COLL_ALLTOALLW;
    uint64_t at = 0;
    uint32_t i;

    if (ranks == 0 || ranks > ODD_RANKS_MAX)
        abort();
    for (i = 0; i < ranks; i++) {
        call->counts[i] = kind->bytes / sizeof(uint64_t);
        if (kind->is_skewed && i == 0)
            call->counts[i]--;
        if (kind->is_skewed && i == ranks - 1)
            call->counts[i]++;
        call->displs[i] = is_w ? i * kind->bytes : at;
        at += call->counts[i];
        call->types[i] = XYLEM_UINT64;
    }
    call->next = (rank + 1) % ranks;
    call->previous = (rank + ranks - 1) % ranks;
    call->args = (xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                                     .send_counts = call->counts,
                                     .recv_counts = call->counts,
                                     .send_displs = call->displs,
                                     .recv_displs = call->displs,
                                     .send_types = is_w ? call->types : NULL,
                                     .recv_types = is_w ? call->types : NULL,
                                     .destinations = &call->next,
                                     .sources = &call->previous,
                                     .destination_count = 1,
                                     .source_count = 1,
                                     .coll = kind->coll,
                                     .send = send,
                                     .recv = recv,
                                     .count = call->counts[rank],
                                     .type = XYLEM_UINT64,
                                     .op = kind->op,
                                     .root = kind->root % ranks,
                                     .algorithm = kind->algorithm,
                                     .segment_bytes = kind->segment_bytes,
                                     .flags = kind->flags};
}

size_t odd_call_written(const odd_kind_t *kind, uint32_t ranks)
{
    switch ((int)kind->coll) {
    case XYLEM_COLL_GATHER:
    case XYLEM_COLL_ALLGATHER:
    case XYLEM_COLL_ALLTOALL:
    case XYLEM_COLL_GATHERV:
    case XYLEM_COLL_ALLGATHERV:
    case XYLEM_COLL_ALLTOALLV:
    case XYLEM_COLL_ALLTOALLW:
        return kind->bytes * ranks;
    default:
        return kind->bytes;
    }
}
