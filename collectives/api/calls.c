/* The short forms of the collectives: each fills in the arguments of one call
 * and hands them on, blocking or not. */
#include "collectives/choose/compose.h"

/* As many parameters as MPI's. NOLINTBEGIN(readability-function-size) */

/* ---- barrier ---- */

xylem_status_t xylem_barrier(xylem_team_t *team)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BARRIER};

    return xyl_coll_run(team, &args, "xylem_barrier");
}

xylem_status_t xylem_ibarrier(xylem_team_t *team, xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BARRIER};

    return xyl_coll_begin(team, &args, "xylem_ibarrier", request_out);
}

/* ---- bcast ---- */

xylem_status_t xylem_bcast(xylem_team_t *team, void *buf, size_t count,
                           xylem_type_t type, uint32_t root)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .recv = buf,
                              .count = count,
                              .type = type,
                              .root = root};

    return xyl_coll_run(team, &args, "xylem_bcast");
}

xylem_status_t xylem_ibcast(xylem_team_t *team, void *buf, size_t count,
                            xylem_type_t type, uint32_t root,
                            xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .recv = buf,
                              .count = count,
                              .type = type,
                              .root = root};

    return xyl_coll_begin(team, &args, "xylem_ibcast", request_out);
}

/* ---- reduce ---- */

xylem_status_t xylem_reduce(xylem_team_t *team, const void *send, void *recv,
                            size_t count, xylem_type_t type, xylem_op_t op,
                            uint32_t root)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op,
                              .root = root};

    return xyl_coll_run(team, &args, "xylem_reduce");
}

xylem_status_t xylem_ireduce(xylem_team_t *team, const void *send, void *recv,
                             size_t count, xylem_type_t type, xylem_op_t op,
                             uint32_t root, xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op,
                              .root = root};

    return xyl_coll_begin(team, &args, "xylem_ireduce", request_out);
}

/* ---- allreduce ---- */

xylem_status_t xylem_allreduce(xylem_team_t *team, const void *send, void *recv,
                               size_t count, xylem_type_t type, xylem_op_t op)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLREDUCE,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op};

    return xyl_coll_run(team, &args, "xylem_allreduce");
}

xylem_status_t xylem_iallreduce(xylem_team_t *team, const void *send,
                                void *recv, size_t count, xylem_type_t type,
                                xylem_op_t op, xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLREDUCE,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op};

    return xyl_coll_begin(team, &args, "xylem_iallreduce", request_out);
}

/* ---- scan ---- */

xylem_status_t xylem_scan(xylem_team_t *team, const void *send, void *recv,
                          size_t count, xylem_type_t type, xylem_op_t op)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_SCAN,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op};

    return xyl_coll_run(team, &args, "xylem_scan");
}

xylem_status_t xylem_iscan(xylem_team_t *team, const void *send, void *recv,
                           size_t count, xylem_type_t type, xylem_op_t op,
                           xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_SCAN,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op};

    return xyl_coll_begin(team, &args, "xylem_iscan", request_out);
}

/* ---- exscan ---- */

xylem_status_t xylem_exscan(xylem_team_t *team, const void *send, void *recv,
                            size_t count, xylem_type_t type, xylem_op_t op)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_EXSCAN,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op};

    return xyl_coll_run(team, &args, "xylem_exscan");
}

xylem_status_t xylem_iexscan(xylem_team_t *team, const void *send, void *recv,
                             size_t count, xylem_type_t type, xylem_op_t op,
                             xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_EXSCAN,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op};

    return xyl_coll_begin(team, &args, "xylem_iexscan", request_out);
}

/* ---- reduce_scatter_block ---- */

xylem_status_t xylem_reduce_scatter_block(xylem_team_t *team, const void *send,
                                          void *recv, size_t count,
                                          xylem_type_t type, xylem_op_t op)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE_SCATTER_BLOCK,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op};

    return xyl_coll_run(team, &args, "xylem_reduce_scatter_block");
}

xylem_status_t xylem_ireduce_scatter_block(xylem_team_t *team, const void *send,
                                           void *recv, size_t count,
                                           xylem_type_t type, xylem_op_t op,
                                           xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE_SCATTER_BLOCK,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .op = op};

    return xyl_coll_begin(team, &args, "xylem_ireduce_scatter_block",
                          request_out);
}

/* ---- reduce_scatter ---- */

xylem_status_t xylem_reduce_scatter(xylem_team_t *team, const void *send,
                                    void *recv, const uint64_t *counts,
                                    xylem_type_t type, xylem_op_t op)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE_SCATTER,
                              .send = send,
                              .recv = recv,
                              .recv_counts = counts,
                              .type = type,
                              .op = op};

    return xyl_coll_run(team, &args, "xylem_reduce_scatter");
}

xylem_status_t xylem_ireduce_scatter(xylem_team_t *team, const void *send,
                                     void *recv, const uint64_t *counts,
                                     xylem_type_t type, xylem_op_t op,
                                     xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE_SCATTER,
                              .send = send,
                              .recv = recv,
                              .recv_counts = counts,
                              .type = type,
                              .op = op};

    return xyl_coll_begin(team, &args, "xylem_ireduce_scatter", request_out);
}

/* ---- gather ---- */

xylem_status_t xylem_gather(xylem_team_t *team, const void *send, void *recv,
                            size_t count, xylem_type_t type, uint32_t root)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_GATHER,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .root = root};

    return xyl_coll_run(team, &args, "xylem_gather");
}

xylem_status_t xylem_igather(xylem_team_t *team, const void *send, void *recv,
                             size_t count, xylem_type_t type, uint32_t root,
                             xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_GATHER,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .root = root};

    return xyl_coll_begin(team, &args, "xylem_igather", request_out);
}

/* ---- scatter ---- */

xylem_status_t xylem_scatter(xylem_team_t *team, const void *send, void *recv,
                             size_t count, xylem_type_t type, uint32_t root)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_SCATTER,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .root = root};

    return xyl_coll_run(team, &args, "xylem_scatter");
}

xylem_status_t xylem_iscatter(xylem_team_t *team, const void *send, void *recv,
                              size_t count, xylem_type_t type, uint32_t root,
                              xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_SCATTER,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .root = root};

    return xyl_coll_begin(team, &args, "xylem_iscatter", request_out);
}

/* ---- allgather ---- */

xylem_status_t xylem_allgather(xylem_team_t *team, const void *send, void *recv,
                               size_t count, xylem_type_t type)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLGATHER,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type};

    return xyl_coll_run(team, &args, "xylem_allgather");
}

xylem_status_t xylem_iallgather(xylem_team_t *team, const void *send,
                                void *recv, size_t count, xylem_type_t type,
                                xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLGATHER,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type};

    return xyl_coll_begin(team, &args, "xylem_iallgather", request_out);
}

/* ---- alltoall ---- */

xylem_status_t xylem_alltoall(xylem_team_t *team, const void *send, void *recv,
                              size_t count, xylem_type_t type)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLTOALL,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type};

    return xyl_coll_run(team, &args, "xylem_alltoall");
}

xylem_status_t xylem_ialltoall(xylem_team_t *team, const void *send, void *recv,
                               size_t count, xylem_type_t type,
                               xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLTOALL,
                              .send = send,
                              .recv = recv,
                              .count = count,
                              .type = type};

    return xyl_coll_begin(team, &args, "xylem_ialltoall", request_out);
}

/* ---- gatherv ---- */

xylem_status_t xylem_gatherv(xylem_team_t *team, const void *send, size_t count,
                             void *recv, const uint64_t *counts,
                             const uint64_t *displs, xylem_type_t type,
                             uint32_t root)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_GATHERV,
                              .send = send,
                              .count = count,
                              .recv = recv,
                              .recv_counts = counts,
                              .recv_displs = displs,
                              .type = type,
                              .root = root};

    return xyl_coll_run(team, &args, "xylem_gatherv");
}

xylem_status_t xylem_igatherv(xylem_team_t *team, const void *send,
                              size_t count, void *recv, const uint64_t *counts,
                              const uint64_t *displs, xylem_type_t type,
                              uint32_t root, xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_GATHERV,
                              .send = send,
                              .count = count,
                              .recv = recv,
                              .recv_counts = counts,
                              .recv_displs = displs,
                              .type = type,
                              .root = root};

    return xyl_coll_begin(team, &args, "xylem_igatherv", request_out);
}

/* ---- scatterv ---- */

xylem_status_t xylem_scatterv(xylem_team_t *team, const void *send,
                              const uint64_t *counts, const uint64_t *displs,
                              void *recv, size_t count, xylem_type_t type,
                              uint32_t root)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_SCATTERV,
                              .send = send,
                              .send_counts = counts,
                              .send_displs = displs,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .root = root};

    return xyl_coll_run(team, &args, "xylem_scatterv");
}

xylem_status_t xylem_iscatterv(xylem_team_t *team, const void *send,
                               const uint64_t *counts, const uint64_t *displs,
                               void *recv, size_t count, xylem_type_t type,
                               uint32_t root, xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_SCATTERV,
                              .send = send,
                              .send_counts = counts,
                              .send_displs = displs,
                              .recv = recv,
                              .count = count,
                              .type = type,
                              .root = root};

    return xyl_coll_begin(team, &args, "xylem_iscatterv", request_out);
}

/* ---- allgatherv ---- */

xylem_status_t xylem_allgatherv(xylem_team_t *team, const void *send,
                                size_t count, void *recv,
                                const uint64_t *counts, const uint64_t *displs,
                                xylem_type_t type)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLGATHERV,
                              .send = send,
                              .count = count,
                              .recv = recv,
                              .recv_counts = counts,
                              .recv_displs = displs,
                              .type = type};

    return xyl_coll_run(team, &args, "xylem_allgatherv");
}

xylem_status_t xylem_iallgatherv(xylem_team_t *team, const void *send,
                                 size_t count, void *recv,
                                 const uint64_t *counts, const uint64_t *displs,
                                 xylem_type_t type,
                                 xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLGATHERV,
                              .send = send,
                              .count = count,
                              .recv = recv,
                              .recv_counts = counts,
                              .recv_displs = displs,
                              .type = type};

    return xyl_coll_begin(team, &args, "xylem_iallgatherv", request_out);
}

/* ---- alltoallv ---- */

xylem_status_t xylem_alltoallv(xylem_team_t *team, const void *send,
                               const uint64_t *send_counts,
                               const uint64_t *send_displs, void *recv,
                               const uint64_t *recv_counts,
                               const uint64_t *recv_displs, xylem_type_t type)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLTOALLV,
                              .send = send,
                              .send_counts = send_counts,
                              .send_displs = send_displs,
                              .recv = recv,
                              .recv_counts = recv_counts,
                              .recv_displs = recv_displs,
                              .type = type};

    return xyl_coll_run(team, &args, "xylem_alltoallv");
}

xylem_status_t xylem_ialltoallv(xylem_team_t *team, const void *send,
                                const uint64_t *send_counts,
                                const uint64_t *send_displs, void *recv,
                                const uint64_t *recv_counts,
                                const uint64_t *recv_displs, xylem_type_t type,
                                xylem_request_t **request_out)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_ALLTOALLV,
                              .send = send,
                              .send_counts = send_counts,
                              .send_displs = send_displs,
                              .recv = recv,
                              .recv_counts = recv_counts,
                              .recv_displs = recv_displs,
                              .type = type};

    return xyl_coll_begin(team, &args, "xylem_ialltoallv", request_out);
}

/* NOLINTEND(readability-function-size) */
