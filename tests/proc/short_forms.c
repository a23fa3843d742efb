#include "tests/proc/short_forms.h"

#include <stddef.h>

int short_form_exists(const xylem_coll_args_t *args)
{
    return args->coll != XYLEM_COLL_ALLTOALLW && args->recv_count == 0 &&
           args->algorithm == NULL && args->segment_bytes == 0;
}

/* Without arrays. */
static xylem_status_t blocking_regular(xylem_team_t *team,
                                       const xylem_coll_args_t *a)
{
    if (a->coll == XYLEM_COLL_BCAST)
        return xylem_bcast(team, a->recv, a->count, a->type, a->root);
    if (a->coll == XYLEM_COLL_REDUCE)
        return xylem_reduce(team, a->send, a->recv, a->count, a->type, a->op,
                            a->root);
    if (a->coll == XYLEM_COLL_ALLREDUCE)
        return xylem_allreduce(team, a->send, a->recv, a->count, a->type,
                               a->op);
    if (a->coll == XYLEM_COLL_BARRIER)
        return xylem_barrier(team);
    if (a->coll == XYLEM_COLL_GATHER)
        return xylem_gather(team, a->send, a->recv, a->count, a->type, a->root);
    if (a->coll == XYLEM_COLL_SCATTER)
        return xylem_scatter(team, a->send, a->recv, a->count, a->type,
                             a->root);
    if (a->coll == XYLEM_COLL_ALLGATHER)
        return xylem_allgather(team, a->send, a->recv, a->count, a->type);
    if (a->coll == XYLEM_COLL_ALLTOALL)
        return xylem_alltoall(team, a->send, a->recv, a->count, a->type);
    if (a->coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK)
        return xylem_reduce_scatter_block(team, a->send, a->recv, a->count,
                                          a->type, a->op);
    if (a->coll == XYLEM_COLL_SCAN)
        return xylem_scan(team, a->send, a->recv, a->count, a->type, a->op);
    if (a->coll == XYLEM_COLL_EXSCAN)
        return xylem_exscan(team, a->send, a->recv, a->count, a->type, a->op);
    return XYLEM_ERR_INTERNAL; /* there is no other */
}

xylem_status_t short_form_blocking(xylem_team_t *team,
                                   const xylem_coll_args_t *a)
{
    if (a->coll == XYLEM_COLL_GATHERV)
        return xylem_gatherv(team, a->send, a->count, a->recv, a->recv_counts,
                             a->recv_displs, a->type, a->root);
    if (a->coll == XYLEM_COLL_SCATTERV)
        return xylem_scatterv(team, a->send, a->send_counts, a->send_displs,
                              a->recv, a->count, a->type, a->root);
    if (a->coll == XYLEM_COLL_ALLGATHERV)
        return xylem_allgatherv(team, a->send, a->count, a->recv,
                                a->recv_counts, a->recv_displs, a->type);
    if (a->coll == XYLEM_COLL_ALLTOALLV)
        return xylem_alltoallv(team, a->send, a->send_counts, a->send_displs,
                               a->recv, a->recv_counts, a->recv_displs,
                               a->type);
    if (a->coll == XYLEM_COLL_REDUCE_SCATTER)
        return xylem_reduce_scatter(team, a->send, a->recv, a->recv_counts,
                                    a->type, a->op);
    return blocking_regular(team, a);
}

static xylem_status_t nonblocking_regular(xylem_team_t *team,
                                          const xylem_coll_args_t *a,
                                          xylem_request_t **out)
{
    if (a->coll == XYLEM_COLL_BCAST)
        return xylem_ibcast(team, a->recv, a->count, a->type, a->root, out);
    if (a->coll == XYLEM_COLL_REDUCE)
        return xylem_ireduce(team, a->send, a->recv, a->count, a->type, a->op,
                             a->root, out);
    if (a->coll == XYLEM_COLL_ALLREDUCE)
        return xylem_iallreduce(team, a->send, a->recv, a->count, a->type,
                                a->op, out);
    if (a->coll == XYLEM_COLL_BARRIER)
        return xylem_ibarrier(team, out);
    if (a->coll == XYLEM_COLL_GATHER)
        return xylem_igather(team, a->send, a->recv, a->count, a->type, a->root,
                             out);
    if (a->coll == XYLEM_COLL_SCATTER)
        return xylem_iscatter(team, a->send, a->recv, a->count, a->type,
                              a->root, out);
    if (a->coll == XYLEM_COLL_ALLGATHER)
        return xylem_iallgather(team, a->send, a->recv, a->count, a->type, out);
    if (a->coll == XYLEM_COLL_ALLTOALL)
        return xylem_ialltoall(team, a->send, a->recv, a->count, a->type, out);
    if (a->coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK)
        return xylem_ireduce_scatter_block(team, a->send, a->recv, a->count,
                                           a->type, a->op, out);
    if (a->coll == XYLEM_COLL_SCAN)
        return xylem_iscan(team, a->send, a->recv, a->count, a->type, a->op,
                           out);
    if (a->coll == XYLEM_COLL_EXSCAN)
        return xylem_iexscan(team, a->send, a->recv, a->count, a->type, a->op,
                             out);
    return XYLEM_ERR_INTERNAL; /* there is no other */
}

xylem_status_t short_form_nonblocking(xylem_team_t *team,
                                      const xylem_coll_args_t *a,
                                      xylem_request_t **out)
{
    if (a->coll == XYLEM_COLL_GATHERV)
        return xylem_igatherv(team, a->send, a->count, a->recv, a->recv_counts,
                              a->recv_displs, a->type, a->root, out);
    if (a->coll == XYLEM_COLL_SCATTERV)
        return xylem_iscatterv(team, a->send, a->send_counts, a->send_displs,
                               a->recv, a->count, a->type, a->root, out);
    if (a->coll == XYLEM_COLL_ALLGATHERV)
        return xylem_iallgatherv(team, a->send, a->count, a->recv,
                                 a->recv_counts, a->recv_displs, a->type, out);
    if (a->coll == XYLEM_COLL_ALLTOALLV)
        return xylem_ialltoallv(team, a->send, a->send_counts, a->send_displs,
                                a->recv, a->recv_counts, a->recv_displs,
                                a->type, out);
    if (a->coll == XYLEM_COLL_REDUCE_SCATTER)
        return xylem_ireduce_scatter(team, a->send, a->recv, a->recv_counts,
                                     a->type, a->op, out);
    return nonblocking_regular(team, a, out);
}
