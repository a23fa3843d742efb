/* Info keys of communicators: hints that a program gives for calls on them:
 *
 *   xylem_algorithm      "bcast=knomial:4,alltoall=bruck"
 *   xylem_reduce_order   "arrival" or "reproducible"
 *
 * The values are equal on all ranks. A later value replaces an earlier one. A
 * call that cannot follow a hint runs without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"

enum {
    SAID_BYTES = 512,
    ORDERS = XYLEM_FLAG_ARRIVAL_ORDER | XYLEM_FLAG_REPRODUCIBLE
};

enum { ALGORITHM, ORDER, KEYS };
static const char *const keys[KEYS] = {
    [ALGORITHM] = "xylem_algorithm", [ORDER] = "xylem_reduce_order"};

struct xmpi_hints {
    xmpi_hints_t *before; /* kept plans may point to its `words` */
    const char *algorithms[XYLEM_COLL_COUNT]; /* in `words`; NULL: no hint */
    uint32_t order;                           /* XYLEM_FLAG_... */
    char said[KEYS][SAID_BYTES];              /* "": no value */
    char words[SAID_BYTES];
};

/* Rank 0 of the communicator prints the line, for all ranks. */
static void hint_refuse(const xmpi_comm_t *comm, int key, const char *what)
{
    if (comm->rank == 0)
        fprintf(stderr, "xylem-mpi: %s: '%s' is not understood\n", keys[key],
                what);
}

static void algorithms_read(xmpi_hints_t *hints, const xmpi_comm_t *comm)
{
    char *rest = NULL, *word, *equals;
    xylem_coll_t coll;

    memcpy(hints->words, hints->said[ALGORITHM], sizeof hints->words);
    for (word = strtok_r(hints->words, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        equals = strchr(word, '=');
        coll = equals == NULL ? XYLEM_COLL_COUNT
                              : xyl_coll_named(word, (size_t)(equals - word));
        if (coll == XYLEM_COLL_COUNT)
            hint_refuse(comm, ALGORITHM, word);
        else
            hints->algorithms[coll] = equals + 1;
    }
}

static void order_read(xmpi_hints_t *hints, const xmpi_comm_t *comm)
{
    const char *order = hints->said[ORDER];

    if (strcmp(order, "arrival") == 0)
        hints->order = XYLEM_FLAG_ARRIVAL_ORDER;
    else if (strcmp(order, "reproducible") == 0)
        hints->order = XYLEM_FLAG_REPRODUCIBLE;
    else if (order[0] != '\0')
        hint_refuse(comm, ORDER, order);
}

void xmpi_hints_set(xmpi_comm_t *comm, MPI_Info info)
{
    xmpi_hints_t *hints;
    int key, found, any = 0;

    if (info == MPI_INFO_NULL)
        return;
    hints = xmpi_memory(1, sizeof *hints);
    for (key = 0; key < KEYS; key++) {
        found = 0;
        if (xmpi_host.Info_get(info, keys[key], SAID_BYTES - 1,
                               hints->said[key], &found) == MPI_SUCCESS &&
            found)
            any = 1;
        else if (comm->hints != NULL)
            memcpy(hints->said[key], comm->hints->said[key], SAID_BYTES);
    }
    if (!any) {
        free(hints);
        return;
    }
    algorithms_read(hints, comm);
    order_read(hints, comm);
    hints->before = comm->hints;
    comm->hints = hints;
}

void xmpi_hints_drop(xmpi_hints_t *hints)
{
    xmpi_hints_t *before;

    for (; hints != NULL; hints = before) {
        before = hints->before;
        free(hints);
    }
}

void xmpi_hints_follow(const xmpi_hints_t *hints, xylem_coll_args_t *args)
{
    int has_form =
        args->op == XYLEM_SUM || args->op == XYLEM_MIN || args->op == XYLEM_MAX;

    args->algorithm = hints->algorithms[args->coll];
    if (args->coll == XYLEM_COLL_ALLTOALLW && args->algorithm == NULL)
        args->algorithm = hints->algorithms[XYLEM_COLL_ALLTOALLV];
    if (xyl_coll_traits(args->coll)->reduces &&
        (hints->order == XYLEM_FLAG_ARRIVAL_ORDER || has_form))
        args->flags |= hints->order;
}

xylem_status_t xmpi_hints_leave(xmpi_comm_t *comm, xmpi_begin_fn begin,
                                xylem_team_t *team, xylem_coll_args_t *args,
                                xylem_status_t status,
                                xylem_request_t **request_out)
{
    const char *algorithm = args->algorithm;

    if (algorithm == NULL && (args->flags & ORDERS) == 0)
        return status;
    args->algorithm = NULL;
    args->flags &= ~(uint32_t)ORDERS;
    status = begin(team, args, request_out);
    /* The algorithm cannot run this call on any rank: do not try it again. */
    if (status == XYLEM_OK && algorithm != NULL)
        comm->hints->algorithms[args->coll] = NULL;
    return status;
}

void xmpi_hints_tell(const xmpi_hints_t *hints, MPI_Info info)
{
    int key;
    char said[SAID_BYTES];
    int found = 0;

    for (key = 0; key < KEYS; key++) {
        /* Deletes a key as often as it is there: some MPI libraries keep keys
         * that they do not know, even several times each. */
        while (xmpi_host.Info_get(info, keys[key], SAID_BYTES - 1, said,
                                  &found) == MPI_SUCCESS &&
               found && xmpi_host.Info_delete(info, keys[key]) == MPI_SUCCESS)
            ;
        if (hints != NULL && hints->said[key][0] != '\0')
            xmpi_host.Info_set(info, keys[key], hints->said[key]);
    }
}
