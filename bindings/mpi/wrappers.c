/* MPI's functions. Each fills a call, which call_make() makes or leaves.
 *
 * Macros make the six forms of a collective from its list of parameters
 * (parameters.h): blocking, nonblocking and persistent, each for counts of int
 * and, with _c, of MPI_Count. */
#include "bindings/mpi/call.h"

static int call_make(const xmpi_call_t *call, xmpi_form_t form, MPI_Info info,
                     MPI_Request *request)
{
    uint64_t begin = xmpi_state.is_watched ? xmpi_now() : 0;
    xmpi_comm_t *comm = xmpi_comm_find(call->comm);
    xmpi_fate_t fate = XMPI_OFF;
    int code = MPI_SUCCESS;

    if (comm != NULL)
        fate = xmpi_comm_decide(comm, call->coll, form);
    /* The functions that wait look for these requests from now on (wait.c). */
    if (fate == XMPI_TAKEN && form != XMPI_BLOCKING)
        xmpi_waits_take(0);
    if (fate == XMPI_TAKEN)
        code = xmpi_take(call, form, comm, request, &fate);
    if (xmpi_state.is_watched)
        xmpi_report_call(call, comm, fate, begin);
    if (fate == XMPI_TAKEN)
        return code;
    begin = xmpi_state.is_watched ? xmpi_now() : 0;
    code = xmpi_leave(call, form, info, request);
    if (xmpi_state.is_watched)
        xmpi_report_left(call, begin);
    return code;
}

/* As many parameters as MPI's. NOLINTBEGIN(readability-function-size) */

/* Defines a function, by its name, parameters and members of xmpi_call_t. */
#define FUNCTION(NAME, PARAMETERS, LIKE, COLL, LARGE, FORM, INFO, REQUEST)     \
    XMPI_EXPORTED int xmpi_##NAME PARAMETERS;                                  \
    int xmpi_##NAME PARAMETERS                                                 \
    {                                                                          \
        const xmpi_call_t call = {.coll = XYLEM_COLL_##COLL,                   \
                                  .is_large = (LARGE),                         \
                                  .comm = comm,                                \
                                  F_##LIKE};                                   \
                                                                               \
        return call_make(&call, FORM, INFO, REQUEST);                          \
    }

/* The three forms for counts of type C and displacements of type D. */
#define FORMS(COLL, NAME, INAME, NAME_INIT, LIKE, LARGE, C, D)                 \
    FUNCTION(NAME, (P_##LIKE(C, D)), LIKE, COLL, LARGE, XMPI_BLOCKING,         \
             MPI_INFO_NULL, NULL)                                              \
    FUNCTION(INAME, (P_##LIKE(C, D), MPI_Request * request), LIKE, COLL,       \
             LARGE, XMPI_NONBLOCKING, MPI_INFO_NULL, request)                  \
    FUNCTION(NAME_INIT,                                                        \
             (P_##LIKE(C, D), MPI_Info info, MPI_Request * request), LIKE,     \
             COLL, LARGE, XMPI_PERSISTENT, info, request)

#define INT_FORMS(COLL, coll_name, NAME, INAME, LIKE, ...)                     \
    FORMS(COLL, NAME, INAME, NAME##_init, LIKE, 0, int, int)
XYL_COLL_MPI_MAP(INT_FORMS)

#define LARGE_FORMS(COLL, coll_name, NAME, INAME, LIKE, ...)                   \
    FORMS(COLL, NAME##_c, INAME##_c, NAME##_init_c, LIKE, 1, MPI_Count,        \
          MPI_Aint)
XYL_COLL_MPI_DATA_MAP(LARGE_FORMS)

/* NOLINTEND(readability-function-size) */
