/* Persistent collectives. What the program holds is a persistent receive of
 * the host's, of an empty message from this rank to itself: so it is started,
 * waited for and tested by all of the host's functions, together with any other
 * request. Starting it also starts the operation, and when that has ended the
 * message is sent. */
#include <pthread.h>
#include <stdlib.h>

#include "bindings/mpi/call.h"

enum { TAGS_FIRST = 64 };

typedef struct persistent {
    xmpi_work_t work; /* first */
    xmpi_plan_t plan;
    xylem_request_t *request;
    xmpi_comm_t *comm;
    MPI_Request handle;
    int tag;
    int is_active;
    int is_left; /* freed by the program before its end */
} persistent_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static persistent_t **by_tag;
static int tags;
static _Atomic uint32_t live;

/* ---- tags ---- */

/* The lock is held. 0: there is none. */
static int tags_grow(void)
{
    int more = tags == 0 ? TAGS_FIRST : 2 * tags, i;
    persistent_t **grown;

    if (more > XMPI_TAGS)
        more = XMPI_TAGS;
    grown = more > tags ? realloc(by_tag, (size_t)more * sizeof(void *)) : NULL;
    if (grown == NULL)
        return 0;
    for (i = tags; i < more; i++)
        grown[i] = NULL;
    by_tag = grown;
    tags = more;
    return 1;
}

/* 0: too many are alive. */
static int tag_take(persistent_t *persistent)
{
    int tag = 0;

    pthread_mutex_lock(&lock);
    while (tag < tags && by_tag[tag] != NULL)
        tag++;
    if (tag == tags && !tags_grow())
        tag = -1;
    if (tag >= 0) {
        by_tag[tag] = persistent;
        persistent->tag = tag;
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    return tag >= 0;
}

static void tag_give_back(const persistent_t *persistent)
{
    pthread_mutex_lock(&lock);
    by_tag[persistent->tag] = NULL;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

static persistent_t *find(MPI_Request handle)
{
    persistent_t *found = NULL;
    int i;

    if (atomic_load_explicit(&live, memory_order_relaxed) == 0 ||
        handle == MPI_REQUEST_NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    for (i = 0; i < tags && found == NULL; i++)
        if (by_tag[i] != NULL && by_tag[i]->handle == handle &&
            !by_tag[i]->is_left)
            found = by_tag[i];
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- life ---- */

/* Idle; `handle` has been freed. */
static void release(persistent_t *persistent)
{
    tag_give_back(persistent);
    xylem_request_free(persistent->request);
    xmpi_plan_drop(&persistent->plan);
    xmpi_comm_drop(persistent->comm);
    free(persistent);
}

static void finish(xmpi_work_t *work)
{
    persistent_t *persistent = (persistent_t *)(void *)work;
    int code = MPI_SUCCESS, tag = persistent->tag, is_left;

    if (work->status == XYLEM_OK)
        code = xmpi_plan_unpack(&persistent->plan);
    if (work->status != XYLEM_OK || code != MPI_SUCCESS)
        xmpi_comm_fail(persistent->comm->handle, work->status != XYLEM_OK
                                                     ? work->status
                                                     : XYLEM_ERR_INTERNAL);
    xmpi_work_end();
    pthread_mutex_lock(&lock);
    persistent->is_active = 0;
    is_left = persistent->is_left;
    pthread_mutex_unlock(&lock);
    /* From here on the program may start it again. */
    xmpi_host.Send(NULL, 0, MPI_BYTE, 0, tag, xmpi_state.self);
    xmpi_kick();
    if (is_left) {
        xmpi_host.Request_free(&persistent->handle);
        release(persistent);
    }
}

int xmpi_persistent(const xmpi_call_t *call, xmpi_comm_t *comm,
                    MPI_Request *request, xmpi_fate_t *fate_out)
{
    persistent_t *persistent = calloc(1, sizeof *persistent);
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;
    int code = MPI_SUCCESS;

    *fate_out = XMPI_TAKEN;
    if (persistent == NULL)
        return xmpi_comm_fail(call->comm, status);
    *fate_out = xmpi_plan_make(&persistent->plan, call, comm, &code);
    if (*fate_out != XMPI_TAKEN || code != MPI_SUCCESS) {
        free(persistent);
        if (code != MPI_SUCCESS)
            xmpi_host.Comm_call_errhandler(call->comm, code);
        return code;
    }
    persistent->work.finish = finish;
    persistent->plan.args.on_complete = xmpi_work_done;
    persistent->plan.args.arg = persistent;
    persistent->comm = comm;
    status = xylem_coll_init(comm->team, &persistent->plan.args,
                             &persistent->request);
    if (status != XYLEM_OK)
        goto drop_plan;
    status = XYLEM_ERR_NO_RESOURCE;
    if (!tag_take(persistent))
        goto free_request;
    if (xmpi_host.Recv_init(NULL, 0, MPI_BYTE, 0, persistent->tag,
                            xmpi_state.self,
                            &persistent->handle) != MPI_SUCCESS)
        goto give_tag_back;
    xmpi_comm_hold(comm);
    *request = persistent->handle;
    return MPI_SUCCESS;
give_tag_back:
    tag_give_back(persistent);
free_request:
    xylem_request_free(persistent->request);
drop_plan:
    xmpi_plan_drop(&persistent->plan);
    free(persistent);
    return xmpi_comm_fail(call->comm, status);
}

int xmpi_persistent_start(MPI_Request *request, int *error_out)
{
    persistent_t *persistent = find(*request);
    xylem_status_t status;

    if (persistent == NULL)
        return 0;
    *error_out = xmpi_host.Start(request);
    if (*error_out != MPI_SUCCESS)
        return 1;
    persistent->is_active = 1;
    *error_out = xmpi_plan_pack(&persistent->plan);
    xmpi_work_begin();
    status = xylem_request_start(persistent->request);
    xmpi_work_begun();
    if (status != XYLEM_OK)
        xmpi_work_done(persistent, status);
    return 1;
}

int xmpi_persistent_free(MPI_Request *request, int *error_out)
{
    persistent_t *persistent = find(*request);
    int is_active;

    if (persistent == NULL)
        return 0;
    *error_out = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    is_active = persistent->is_active;
    persistent->is_left = is_active;
    pthread_mutex_unlock(&lock);
    if (is_active) {
        *request = MPI_REQUEST_NULL;
        return 1;
    }
    *error_out = xmpi_host.Request_free(request);
    release(persistent);
    return 1;
}

void xmpi_persistent_close(void)
{
    int i;

    for (i = 0; i < tags; i++)
        if (by_tag[i] != NULL && !by_tag[i]->is_active) {
            persistent_t *persistent = by_tag[i];
            xmpi_host.Request_free(&persistent->handle);
            release(persistent);
        }
    free(by_tag);
    by_tag = NULL;
    tags = 0;
}

/* ---- MPI_Start, MPI_Startall ---- */

int xmpi_Start(MPI_Request *request);
int xmpi_Startall(int count, MPI_Request requests[]);

int xmpi_Start(MPI_Request *request)
{
    int code;

    if (atomic_load_explicit(&live, memory_order_relaxed) != 0 &&
        request != NULL && xmpi_persistent_start(request, &code))
        return code;
    return xmpi_host.Start(request);
}

int xmpi_Startall(int count, MPI_Request requests[])
{
    int i, code = MPI_SUCCESS;

    if (atomic_load_explicit(&live, memory_order_relaxed) == 0 || count < 0 ||
        requests == NULL)
        return xmpi_host.Startall(count, requests);
    for (i = 0; i < count && code == MPI_SUCCESS; i++)
        code = xmpi_Start(&requests[i]);
    return code;
}
