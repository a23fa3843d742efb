/* The communication of the mini-applications, by xylem's own interface or by
 * MPI (APP_MPI, the library's name). An error ends the program. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef APP_MPI
#include <mpi.h>
#define APP_LIBRARY APP_MPI
typedef MPI_Request comm_request_t;
#else
#include "include/xylem.h"
#define APP_LIBRARY "xylem"
typedef xylem_request_t *comm_request_t;
#endif

struct comm {
#ifndef APP_MPI
    xylem_context_t *context;
    xylem_team_t *world;
#endif
    unsigned rank, ranks;
};

static inline double comm_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- MPI; its errors end the program by themselves ---- */

#ifdef APP_MPI

static inline void comm_open(struct comm *comm, int *argc, char ***argv)
{
    int rank, ranks;

    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    *comm = (struct comm){.rank = (unsigned)rank, .ranks = (unsigned)ranks};
}

static inline void comm_close(struct comm *comm)
{
    (void)comm;
    MPI_Finalize();
}

static inline void comm_barrier(struct comm *comm)
{
    (void)comm;
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline void comm_bcast(struct comm *comm, int32_t *buf, size_t count,
                              unsigned root)
{
    (void)comm;
    MPI_Bcast(buf, (int)count, MPI_INT32_T, (int)root, MPI_COMM_WORLD);
}

/* Sums, in place. */
static inline comm_request_t comm_iallreduce(struct comm *comm, float *buf,
                                             size_t count)
{
    comm_request_t request;

    (void)comm;
    MPI_Iallreduce(MPI_IN_PLACE, buf, (int)count, MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD, &request);
    return request;
}

static inline void comm_wait(comm_request_t request)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The sums over all ranks, on all. */
static inline void comm_sum(struct comm *comm, double *values, size_t count)
{
    (void)comm;
    MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
}

/* `count` numbers of each rank to each, in the order of ranks. */
static inline void comm_allgather(struct comm *comm, const double *mine,
                                  double *all, size_t count)
{
    (void)comm;
    MPI_Allgather(mine, (int)count, MPI_DOUBLE, all, (int)count, MPI_DOUBLE,
                  MPI_COMM_WORLD);
}

static inline void comm_alltoall(struct comm *comm, const double *sent,
                                 double *got, size_t count)
{
    (void)comm;
    MPI_Alltoall(sent, (int)count, MPI_DOUBLE, got, (int)count, MPI_DOUBLE,
                 MPI_COMM_WORLD);
}

#else

/* ---- xylem ---- */

static inline void comm_must(xylem_status_t status)
{
    if (status == XYLEM_OK)
        return;
    fprintf(stderr, "%s\n", xylem_last_error());
    exit(EXIT_FAILURE);
}

static inline void comm_open(struct comm *comm, int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    comm_must(xylem_context_create(NULL, &comm->context));
    comm->world = xylem_context_world(comm->context);
    comm->rank = xylem_team_rank(comm->world);
    comm->ranks = xylem_team_size(comm->world);
}

static inline void comm_close(struct comm *comm)
{
    xylem_context_destroy(comm->context);
}

static inline void comm_barrier(struct comm *comm)
{
    comm_must(xylem_barrier(comm->world));
}

static inline void comm_bcast(struct comm *comm, int32_t *buf, size_t count,
                              unsigned root)
{
    comm_must(xylem_bcast(comm->world, buf, count, XYLEM_INT32, root));
}

static inline comm_request_t comm_iallreduce(struct comm *comm, float *buf,
                                             size_t count)
{
    comm_request_t request;

    comm_must(xylem_iallreduce(comm->world, XYLEM_IN_PLACE, buf, count,
                               XYLEM_FLOAT32, XYLEM_SUM, &request));
    return request;
}

static inline void comm_wait(comm_request_t request)
{
    comm_must(xylem_request_wait(request));
    comm_must(xylem_request_free(request));
}

static inline void comm_sum(struct comm *comm, double *values, size_t count)
{
    comm_must(xylem_allreduce(comm->world, XYLEM_IN_PLACE, values, count,
                              XYLEM_FLOAT64, XYLEM_SUM));
}

static inline void comm_allgather(struct comm *comm, const double *mine,
                                  double *all, size_t count)
{
    comm_must(xylem_allgather(comm->world, mine, all, count, XYLEM_FLOAT64));
}

static inline void comm_alltoall(struct comm *comm, const double *sent,
                                 double *got, size_t count)
{
    comm_must(xylem_alltoall(comm->world, sent, got, count, XYLEM_FLOAT64));
}

#endif

/* ---- what both say in the end ---- */

/* Prints on rank 0 how long the run took, the means over the ranks, and whether
 * all were right: a line of NAME=VALUE. The exit code. Collective. */
static inline int comm_report(struct comm *comm, const char *what,
                              unsigned iterations, double total_s,
                              double waited_s, double mistakes)
{
    double values[] = {total_s, waited_s, mistakes};

    comm_sum(comm, values, 3);
    if (comm->rank == 0)
        printf("%s library=%s ranks=%u iterations=%u total_s=%.6f comm_s=%.6f "
               "comm_percent=%.2f check=%s\n",
               what, APP_LIBRARY, comm->ranks, iterations,
               values[0] / comm->ranks, values[1] / comm->ranks,
               100 * values[1] / values[0], values[2] == 0 ? "ok" : "WRONG");
    return values[2] == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
