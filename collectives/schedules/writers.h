/* The functions that write schedules; what each is after stands in its file,
 * what it demands in table.c. */
#ifndef XYL_COLLECTIVES_SCHEDULES_WRITERS_H
#define XYL_COLLECTIVES_SCHEDULES_WRITERS_H

#include "collectives/schedules/algorithm.h"

#define XYL_WRITER(name)                                                       \
    void name(const xyl_problem_t *problem, xyl_schedule_t *schedule)

XYL_WRITER(xyl_bcast_scatter_ring);
XYL_WRITER(xyl_bcast_scatter_allgather);
XYL_WRITER(xyl_bcast_circulant);
XYL_WRITER(xyl_reduce_linear);
XYL_WRITER(xyl_reduce_rabenseifner); /* allreduce, too */
XYL_WRITER(xyl_reduce_circulant);
XYL_WRITER(xyl_barrier_dissemination);
XYL_WRITER(xyl_barrier_recursive_doubling);
XYL_WRITER(xyl_barrier_knomial);
XYL_WRITER(xyl_barrier_double_ring);
XYL_WRITER(xyl_allreduce_recursive_doubling);
XYL_WRITER(xyl_allreduce_recursive_multiplying);
XYL_WRITER(xyl_reduce_ring);            /* allreduce, reduce_scatter */
XYL_WRITER(xyl_reduce_parts_circulant); /* the same */
XYL_WRITER(xyl_reduce_scatter_recursive_halving);
XYL_WRITER(xyl_reduce_scatter_pairwise);
XYL_WRITER(xyl_scan_linear);
XYL_WRITER(xyl_scan_recursive_doubling);
XYL_WRITER(xyl_gather_knomial);
XYL_WRITER(xyl_gather_linear);
XYL_WRITER(xyl_scatter_knomial);
XYL_WRITER(xyl_scatter_linear);
XYL_WRITER(xyl_allgather_ring);
XYL_WRITER(xyl_allgather_recursive_doubling);
XYL_WRITER(xyl_allgather_bruck);
XYL_WRITER(xyl_allgather_neighbor_exchange);
XYL_WRITER(xyl_allgather_sparbit);
XYL_WRITER(xyl_allgather_linear);
XYL_WRITER(xyl_alltoall_pairwise);
XYL_WRITER(xyl_alltoall_bruck);
XYL_WRITER(xyl_alltoall_linear);

#endif
