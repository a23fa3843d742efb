/* The parameters of MPI's collectives, one list for each name of a list in
 * XYL_COLL_MPI_MAP. C is the type of counts and D that of displacements: int
 * and int, or MPI_Count and MPI_Aint. The lists do not come from MPI's header,
 * which may be older than the library that the program runs on. */
#pragma once

/* clang-format off */

#define P_BARRIER(C, D) MPI_Comm comm
#define P_BCAST(C, D) void *buf, C count, MPI_Datatype type, int root, MPI_Comm comm
#define P_REDUCE(C, D) const void *sbuf, void *rbuf, C count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
#define P_ALLREDUCE(C, D) const void *sbuf, void *rbuf, C count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define P_REDUCE_SCATTER(C, D) const void *sbuf, void *rbuf, const C counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define P_GATHER(C, D) const void *sbuf, C scount, MPI_Datatype stype, void *rbuf, C rcount, MPI_Datatype rtype, int root, MPI_Comm comm
#define P_GATHERV(C, D) const void *sbuf, C scount, MPI_Datatype stype, void *rbuf, const C rcounts[], const D rdispls[], MPI_Datatype rtype, int root, MPI_Comm comm
#define P_SCATTERV(C, D) const void *sbuf, const C scounts[], const D sdispls[], MPI_Datatype stype, void *rbuf, C rcount, MPI_Datatype rtype, int root, MPI_Comm comm
#define P_ALLGATHER(C, D) const void *sbuf, C scount, MPI_Datatype stype, void *rbuf, C rcount, MPI_Datatype rtype, MPI_Comm comm
#define P_NEIGHBOR_ALLGATHER(C, D) P_ALLGATHER(C, D)
#define P_ALLGATHERV(C, D) const void *sbuf, C scount, MPI_Datatype stype, void *rbuf, const C rcounts[], const D rdispls[], MPI_Datatype rtype, MPI_Comm comm
#define P_ALLTOALLV(C, D) const void *sbuf, const C scounts[], const D sdispls[], MPI_Datatype stype, void *rbuf, const C rcounts[], const D rdispls[], MPI_Datatype rtype, MPI_Comm comm
#define P_ALLTOALLW(C, D) const void *sbuf, const C scounts[], const D sdispls[], const MPI_Datatype stypes[], void *rbuf, const C rcounts[], const D rdispls[], const MPI_Datatype rtypes[], MPI_Comm comm

/* Displacements of every form are addresses. */
#define P_NEIGHBOR_ALLTOALLW(C, D) P_ALLTOALLW(C, MPI_Aint)

/* Members of an xmpi_call_t that hold the parameters of each list. */

#define F_BARRIER .root = 0
#define F_BCAST .recv = {buf, count, type, NULL, NULL, NULL}, .root = root
#define F_REDUCE .send = {sbuf, count, type, NULL, NULL, NULL}, .recv = {rbuf, count, type, NULL, NULL, NULL}, .op = op, .root = root
#define F_ALLREDUCE .send = {sbuf, count, type, NULL, NULL, NULL}, .recv = {rbuf, count, type, NULL, NULL, NULL}, .op = op
#define F_REDUCE_SCATTER .send = {sbuf, 0, type, NULL, NULL, NULL}, .recv = {rbuf, 0, type, counts, NULL, NULL}, .op = op
#define F_GATHER .send = {sbuf, scount, stype, NULL, NULL, NULL}, .recv = {rbuf, rcount, rtype, NULL, NULL, NULL}, .root = root
#define F_GATHERV .send = {sbuf, scount, stype, NULL, NULL, NULL}, .recv = {rbuf, 0, rtype, rcounts, rdispls, NULL}, .root = root
#define F_SCATTERV .send = {sbuf, 0, stype, scounts, sdispls, NULL}, .recv = {rbuf, rcount, rtype, NULL, NULL, NULL}, .root = root
#define F_ALLGATHER .send = {sbuf, scount, stype, NULL, NULL, NULL}, .recv = {rbuf, rcount, rtype, NULL, NULL, NULL}
#define F_NEIGHBOR_ALLGATHER F_ALLGATHER
#define F_ALLGATHERV .send = {sbuf, scount, stype, NULL, NULL, NULL}, .recv = {rbuf, 0, rtype, rcounts, rdispls, NULL}
#define F_ALLTOALLV .send = {sbuf, 0, stype, scounts, sdispls, NULL}, .recv = {rbuf, 0, rtype, rcounts, rdispls, NULL}
#define F_ALLTOALLW .send = {sbuf, 0, MPI_DATATYPE_NULL, scounts, sdispls, stypes}, .recv = {rbuf, 0, MPI_DATATYPE_NULL, rcounts, rdispls, rtypes}
#define F_NEIGHBOR_ALLTOALLW F_ALLTOALLW

/* clang-format on */
