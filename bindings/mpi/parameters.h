/* The parameters of MPI's collectives, for each list of them that has a name in
 * XYL_COLL_MPI_MAP: C is the type of counts, D that of displacements, int and
 * int or MPI_Count and MPI_Aint. They are written here and not taken from the
 * header of the MPI library, which may be older than the library that the
 * program runs on. */
#ifndef XMPI_PARAMETERS_H
#define XMPI_PARAMETERS_H

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

/* clang-format on */

#endif
