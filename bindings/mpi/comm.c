/* Communicators: an attribute of each keeps its team and its state. */
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"

enum { RETRY_FIRST = 4 };

static int keyval = MPI_KEYVAL_INVALID;

/* Each thread remembers the communicator it used last. The generation changes
 * whenever a communicator goes away. */
static _Atomic uint32_t generation;
static _Thread_local struct {
    MPI_Comm handle;
    uint32_t generation;
    xmpi_comm_t *comm;
} last;

/* ---- life ---- */

void xmpi_comm_hold(xmpi_comm_t *comm)
{
    atomic_fetch_add_explicit(&comm->users, 1, memory_order_relaxed);
}

void xmpi_comm_drop(xmpi_comm_t *comm)
{
    if (atomic_fetch_sub_explicit(&comm->users, 1, memory_order_acq_rel) != 1)
        return;
    xmpi_tags_drop(comm->tags);
    /* The end of the context has ended its teams. */
    if (comm->team != NULL && !comm->is_world_team && xmpi_context() != NULL)
        xylem_team_destroy(comm->team);
    xmpi_hints_drop(comm->hints);
    free(comm->sources);
    free(comm);
}

/* The attribute is deleted: the communicator goes away. */
static int comm_forget(MPI_Comm handle, int key, void *value, void *extra)
{
    xmpi_comm_t *comm = value;

    (void)handle;
    (void)key;
    (void)extra;
    atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
    atomic_store_explicit(&comm->is_freed, 1, memory_order_relaxed);
    xmpi_comm_drop(comm);
    return MPI_SUCCESS;
}

/* The attribute for the duplicate that this thread is making; NULL: none. */
static _Thread_local xmpi_comm_t *duplicate;

static int comm_copy(MPI_Comm handle, int key, void *extra, void *value,
                     void *copy, int *has_copy)
{
    (void)handle;
    (void)key;
    (void)extra;
    (void)value;
    *has_copy = duplicate != NULL;
    if (duplicate != NULL)
        *(void **)copy = duplicate;
    duplicate = NULL;
    return MPI_SUCCESS;
}

void xmpi_comm_offer_copy(xmpi_comm_t *comm)
{
    duplicate = comm;
}

int xmpi_comm_copy_is_taken(void)
{
    int is_taken = duplicate == NULL;

    duplicate = NULL;
    return is_taken;
}

int xmpi_comms_open(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
    return xmpi_host.Comm_create_keyval(comm_copy, comm_forget, &keyval,
                                        NULL) != MPI_SUCCESS;
}

/* Makes each thread forget the communicator that it used last. */
void xmpi_comms_close(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
}

/* 1: all ranks of the communicator are of this rank's job; `relation` compares
 * them with the whole job. Ranks of another job (spawned, or connected to) may
 * lack the binding and could not answer. An error counts as another job. */
static int is_of_job(MPI_Comm handle, int size, int *relation)
{
    MPI_Group group = MPI_GROUP_NULL;
    int *ranks = xmpi_memory(2 * (size_t)size, sizeof *ranks), i, is_good;

    is_good = xmpi_host.Comm_group(handle, &group) == MPI_SUCCESS &&
              xmpi_host.Group_compare(group, xmpi_state.job_group, relation) ==
                  MPI_SUCCESS;
    for (i = 0; is_good && i < size; i++)
        ranks[i] = i;
    is_good = is_good && xmpi_host.Group_translate_ranks(
                             group, size, ranks, xmpi_state.job_group,
                             ranks + size) == MPI_SUCCESS;
    for (i = 0; is_good && i < size; i++)
        is_good = ranks[size + i] != MPI_UNDEFINED;
    if (group != MPI_GROUP_NULL)
        xmpi_host.Group_free(&group);
    free(ranks);
    return is_good;
}

xmpi_comm_t *xmpi_comm_new(MPI_Comm handle)
{
    xmpi_comm_t *comm = xmpi_memory(1, sizeof *comm);

    comm->handle = handle;
    comm->fate = XMPI_NO_TEAM;
    comm->calls_to_retry = RETRY_FIRST;
    atomic_init(&comm->users, 1);
    return comm;
}

static xmpi_comm_t *comm_make(MPI_Comm handle, int is_of_parent)
{
    xmpi_comm_t *comm = xmpi_comm_new(handle);
    int is_inter = 0, relation = MPI_UNEQUAL;

    if (xmpi_host.Comm_test_inter(handle, &is_inter) != MPI_SUCCESS ||
        xmpi_host.Comm_rank(handle, &comm->rank) != MPI_SUCCESS ||
        xmpi_host.Comm_size(handle, &comm->size) != MPI_SUCCESS)
        goto fail;
    if (is_of_parent) {
        relation = comm->size == xmpi_state.size ? MPI_SIMILAR : MPI_UNEQUAL;
    } else if (is_inter || !is_of_job(handle, comm->size, &relation)) {
        comm->state = XMPI_COMM_HOST;
        comm->fate = is_inter ? XMPI_NO_INTRA : XMPI_OTHER_JOB;
        comm->is_for_good = 1;
    }
    if (comm->state == XMPI_COMM_NEW && !xmpi_neighbors_find(comm))
        goto fail;
    comm->spans_world = relation != MPI_UNEQUAL;
    comm->is_world = handle == MPI_COMM_WORLD && relation != MPI_SIMILAR;
    if (xmpi_host.Comm_set_attr(handle, keyval, comm) != MPI_SUCCESS)
        goto fail;
    return comm;
fail:
    free(comm->sources);
    free(comm);
    return NULL;
}

/* Completes a duplicate when its handle is first seen; 0: the host failed. */
static int comm_is_there(xmpi_comm_t *comm, MPI_Comm handle)
{
    comm->handle = handle;
    return xmpi_neighbors_find(comm);
}

xmpi_comm_t *xmpi_comm_found(MPI_Comm handle, int is_of_parent)
{
    uint32_t now = atomic_load_explicit(&generation, memory_order_acquire);
    xmpi_comm_t *comm = NULL;
    int found = 0;

    if (last.handle == handle && last.generation == now)
        return last.comm;
    if (!xmpi_state.is_open || handle == MPI_COMM_NULL ||
        xmpi_host.Comm_get_attr(handle, keyval, (void *)&comm, &found) !=
            MPI_SUCCESS)
        return NULL;
    if (!found)
        comm = comm_make(handle, is_of_parent);
    else if (comm->handle == MPI_COMM_NULL && !comm_is_there(comm, handle))
        return NULL;
    if (comm == NULL)
        return NULL;
    last.handle = handle;
    last.generation = now;
    last.comm = comm;
    return comm;
}

xmpi_comm_t *xmpi_comm_find(MPI_Comm handle)
{
    return xmpi_comm_found(handle, 0);
}

/* ---- errors ---- */

/* Error codes of Open MPI from 5 on; the module may have been built with an
 * older header. */
enum { OPEN_MPI_PROC_FAILED = 75, OPEN_MPI_REVOKED = 77 };

/* The code for the death of a rank, or for a communicator revoked after it. */
static int code_of_failure(xylem_status_t status)
{
    int is_revoked = status == XYLEM_ERR_REVOKED;

    if (xmpi_host.is_open_mpi && xmpi_host.Comm_revoke != NULL)
        return is_revoked ? OPEN_MPI_REVOKED : OPEN_MPI_PROC_FAILED;
#ifdef MPIX_ERR_PROC_FAILED
    return is_revoked ? MPIX_ERR_REVOKED : MPIX_ERR_PROC_FAILED;
#else
    return MPI_ERR_OTHER;
#endif
}

int xmpi_code_of(xylem_status_t status)
{
    switch ((int)status) {
    case XYLEM_ERR_PROC_FAILED:
    case XYLEM_ERR_REVOKED:
        return code_of_failure(status);
    case XYLEM_OK:
        return MPI_SUCCESS;
    case XYLEM_ERR_NO_MEMORY:
        return MPI_ERR_NO_MEM;
    case XYLEM_ERR_TRUNCATED:
        return MPI_ERR_TRUNCATE;
    case XYLEM_ERR_INVALID_ARG:
        return MPI_ERR_BUFFER;
    case XYLEM_ERR_INTERNAL:
        return MPI_ERR_INTERN;
    default:
        return MPI_ERR_OTHER;
    }
}

MPI_Comm xmpi_comm_handle(const xmpi_comm_t *comm)
{
    return atomic_load_explicit(&comm->is_freed, memory_order_relaxed)
               ? MPI_COMM_SELF
               : comm->handle;
}

int xmpi_comm_fail(MPI_Comm handle, xylem_status_t status)
{
    int code = xmpi_code_of(status);

    xmpi_host.Comm_call_errhandler(handle, code);
    return code;
}
