/* What the binding adds to a library of an older standard it adds as whole
 * families: a program that looks for one function and finds it may take all of
 * them for granted. The forms of MPI-4 of all collectives are looked for by
 * name; then those of the neighbours, which the library serves, are called. */
#include <dlfcn.h>

#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

static int rank, size;

/* As they are called after MPI_ and after MPI_I. */
static const char *const names[][2] = {
    {"Bcast", "bcast"},
    {"Reduce", "reduce"},
    {"Allreduce", "allreduce"},
    {"Gather", "gather"},
    {"Gatherv", "gatherv"},
    {"Scatter", "scatter"},
    {"Scatterv", "scatterv"},
    {"Allgather", "allgather"},
    {"Allgatherv", "allgatherv"},
    {"Alltoall", "alltoall"},
    {"Alltoallv", "alltoallv"},
    {"Alltoallw", "alltoallw"},
    {"Reduce_scatter", "reduce_scatter"},
    {"Reduce_scatter_block", "reduce_scatter_block"},
    {"Scan", "scan"},
    {"Exscan", "exscan"},
    {"Neighbor_allgather", "neighbor_allgather"},
    {"Neighbor_allgatherv", "neighbor_allgatherv"},
    {"Neighbor_alltoall", "neighbor_alltoall"},
    {"Neighbor_alltoallv", "neighbor_alltoallv"},
    {"Neighbor_alltoallw", "neighbor_alltoallw"},
};

static void *function(const char *before, const char *name, const char *behind)
{
    char full[64];
    void *found;

    snprintf(full, sizeof full, "%s%s%s", before, name, behind);
    found = dlsym(RTLD_DEFAULT, full);
    if (found == NULL)
        printf("# there is no %s\n", full);
    CHECK(found != NULL);
    return found;
}

static void test_names(void)
{
    static const char *const prefixes[] = {"MPI_", "PMPI_"};
    size_t i, p;
    char nonblocking[8];

    for (p = 0; p < 2; p++) {
        snprintf(nonblocking, sizeof nonblocking, "%sI", prefixes[p]);
        function(prefixes[p], "Barrier", "_init");
        for (i = 0; i < sizeof names / sizeof *names; i++) {
            function(prefixes[p], names[i][0], "_init");
            function(prefixes[p], names[i][0], "_c");
            function(nonblocking, names[i][1], "_c");
            function(prefixes[p], names[i][0], "_init_c");
        }
    }
}

/* The program finds all functions, or none, of a family that the binding does
 * not add. */
static void test_left_out(void)
{
    static const char *const families[2][5] = {
        {"MPI_Session_init", "MPI_Session_finalize",
         "MPI_Session_create_errhandler", "MPI_Group_from_session_pset",
         "MPI_Comm_create_from_group"},
        {"MPIX_Comm_revoke", "MPIX_Comm_shrink", "MPIX_Comm_agree",
         "MPIX_Comm_failure_ack", "MPIX_Comm_failure_get_acked"},
    };
    size_t family, i;

    for (family = 0; family < 2; family++) {
        unsigned found = 0;

        for (i = 0; i < 5; i++)
            found += dlsym(RTLD_DEFAULT, families[family][i]) != NULL;
        if (found != 0 && found != 5)
            printf("# %u of %s ...\n", found, families[family][0]);
        CHECK(found == 0 || found == 5);
    }
}

/* ---- calls on a ring, of one int to each side ---- */

static int sent[2], got[2];

static void prepare(void)
{
    sent[0] = 10 * rank;
    sent[1] = 10 * rank + 1;
    got[0] = got[1] = -1;
}

/* From the one before its block for the one behind, and the other way; where
 * all are given the same, the first block. */
static void check_all(int is_alike)
{
    CHECK(got[0] == 10 * ((rank + size - 1) % size) + !is_alike);
    CHECK(got[1] == 10 * ((rank + 1) % size));
}

static void finish(MPI_Request *request, int is_persistent)
{
    int flag = 0;

    if (is_persistent)
        MPI_Start(request);
    while (!flag)
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    if (is_persistent)
        MPI_Request_free(request);
}

#define TRY(is_alike, call, end)                                               \
    do {                                                                       \
        prepare();                                                             \
        call;                                                                  \
        end;                                                                   \
        check_all(is_alike);                                                   \
    } while (0)

/* Those of MPI-4, with what they are given of int and of large counts. */
#define FORMS(NAME, INAME, is_alike, GIVEN, LARGE)                             \
    do {                                                                       \
        TRY(is_alike, MPI_##NAME##_init(GIVEN, MPI_INFO_NULL, &request),       \
            finish(&request, 1));                                              \
        TRY(is_alike, MPI_##NAME##_c(LARGE), (void)0);                         \
        TRY(is_alike, MPI_##INAME##_c(LARGE, &request), finish(&request, 0));  \
        TRY(is_alike, MPI_##NAME##_init_c(LARGE, MPI_INFO_NULL, &request),     \
            finish(&request, 1));                                              \
    } while (0)

#define ALLGATHERV(n, d) sent, 1, MPI_INT, got, n, d, MPI_INT, ring
#define ALLTOALL         sent, 1, MPI_INT, got, 1, MPI_INT, ring
#define ALLTOALLV(n, d)  sent, n, d, MPI_INT, got, n, d, MPI_INT, ring
#define ALLTOALLW(n)     sent, n, bytes, types, got, n, bytes, types, ring

static void test_calls(MPI_Comm ring)
{
    int ones[2] = {1, 1}, steps[2] = {0, 1};
    MPI_Count large_ones[2] = {1, 1};
    MPI_Aint large_steps[2] = {0, 1}, bytes[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Request request;

    FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, 1, ALLGATHERV(ones, steps),
          ALLGATHERV(large_ones, large_steps));
    FORMS(Neighbor_alltoall, Ineighbor_alltoall, 0, ALLTOALL, ALLTOALL);
    FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, 0, ALLTOALLV(ones, steps),
          ALLTOALLV(large_ones, large_steps));
    FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, 0, ALLTOALLW(ones),
          ALLTOALLW(large_ones));
}

int main(int argc, char **argv)
{
    int dims[1], periods[1] = {1};
    MPI_Comm ring;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dims[0] = size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    test_names();
    test_left_out();
    test_calls(ring);
    MPI_Comm_free(&ring);
    return test_end("families");
}
