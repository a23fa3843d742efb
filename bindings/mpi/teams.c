/* Teams of communicators, and the states that these go through:
 *
 *   NEW      the ranks have not yet asked each other for a team
 *   JOINING  a duplicate whose team is made while the program goes on
 *   READY    there is a team; the binding takes all selected calls
 *   HOST     the host gets the calls: for good if it is an inter-communicator,
 *            has ranks of another job, or the binding is off; else until its
 *            ranks, asked again from time to time, can make a team
 *
 * The state changes only in calls that may block, which all ranks of the
 * communicator make in the same order, and only by what all ranks have told
 * each other. So all ranks see the same state in every call.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"

enum { RETRY_MAX = 1 << 12 };

/* The row that a rank sends to the others of the communicator. */
typedef struct row {
    uint64_t job; /* 0: it has no context */
    xylem_ticket_t ticket;
} row_t;

/* All ranks find the same, as they have the same rows. */
static int all_are_connected(const row_t *rows, int size)
{
    int i;

    for (i = 0; i < size; i++)
        if (rows[i].job == 0 || rows[i].job != rows[0].job)
            return 0;
    return 1;
}

/* This rank's row; draws a ticket. `job` is 0 without a context or a ticket. */
static row_t row_of(xylem_context_t *context)
{
    row_t row;

    memset(&row, 0, sizeof row);
    if (context != NULL && xylem_ticket_draw(context, &row.ticket) == XYLEM_OK)
        row.job = xmpi_state.job;
    return row;
}

/* Makes a team of all ranks' rows; `tickets` has room for their tickets. All
 * ranks fail, or none: each tells the others whether it has succeeded. */
static xylem_team_t *team_of(xmpi_comm_t *comm, xylem_context_t *context,
                             const row_t *mine, const row_t *rows,
                             xylem_ticket_t *tickets)
{
    xylem_team_t *team = NULL;
    int i, good, all_good = 0;

    if (!all_are_connected(rows, comm->size)) {
        if (mine->job != 0)
            xylem_ticket_return(context, &mine->ticket);
        return NULL;
    }
    for (i = 0; i < comm->size; i++)
        tickets[i] = rows[i].ticket;
    good = xylem_team_create(context, tickets, (uint32_t)comm->size,
                             (uint32_t)comm->rank, &team) == XYLEM_OK;
    if (xmpi_reduce_all(&good, &all_good, 1, MPI_INT, MPI_MIN, comm->handle) !=
        MPI_SUCCESS)
        all_good = 0;
    if (all_good)
        return team;
    if (good)
        xylem_team_destroy(team);
    else
        xylem_ticket_return(context, &mine->ticket);
    return NULL;
}

static xylem_team_t *team_make(xmpi_comm_t *comm, xylem_context_t *context)
{
    row_t mine = row_of(context),
          *rows = xmpi_memory((size_t)comm->size, sizeof *rows);
    xylem_ticket_t *tickets = xmpi_memory((size_t)comm->size, sizeof *tickets);
    xylem_team_t *team = NULL;

    if (xmpi_gather_all(&mine, rows, sizeof mine, comm->handle) == MPI_SUCCESS)
        team = team_of(comm, context, &mine, rows, tickets);
    free(rows);
    free(tickets);
    return team;
}

/* Sets the state after the ranks have tried to make `comm->team`. */
static void comm_set_state(xmpi_comm_t *comm)
{
    comm->calls = 0;
    if (comm->team != NULL) {
        comm->state = XMPI_COMM_READY;
        return;
    }
    comm->state = XMPI_COMM_HOST;
    comm->fate = XMPI_NO_CONTEXT;
    if (comm->calls_to_retry < RETRY_MAX)
        comm->calls_to_retry *= 2;
}

/* Asks the other ranks for a team. Collective; the same result on all ranks. */
static void comm_ask(xmpi_comm_t *comm)
{
    xylem_context_t *context = xmpi_context();

    if (context == NULL && !xmpi_guard_passes()) {
        comm->state = XMPI_COMM_HOST;
        comm->fate = XMPI_OFF;
        comm->is_for_good = 1;
        return;
    }
    if (context == NULL && comm->spans_world)
        context = xmpi_context_make(comm->handle);
    if (context != NULL && comm->is_world) {
        comm->team = xylem_context_world(context);
        comm->is_world_team = 1;
    } else {
        comm->team = team_make(comm, context);
    }
    comm_set_state(comm);
}

void xmpi_comm_connect(MPI_Comm handle)
{
    xmpi_comm_t *comm = xmpi_comm_find(handle);

    if (comm != NULL && comm->state == XMPI_COMM_NEW)
        comm_ask(comm);
}

/* ---- duplicates ---- */

/* MPI_Comm_idup makes the host's communicator and, beside it, the team. The
 * copied attribute hands the team to the communicator, as no code knows the new
 * handle before MPI_Comm_idup has ended. The first use waits for the team; the
 * wait is short, as all ranks have called MPI_Comm_idup by then. */
static pthread_mutex_t joining_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, xmpi_comm) joining_all;
static _Atomic uint32_t joining_count;

/* 1: the duplicate's team has been made, or has failed. The lock is held. */
static int comm_has_joined(xmpi_comm_t *comm)
{
    if (comm->joining == NULL)
        return 1;
    if (xylem_request_test(comm->joining) == XYLEM_IN_PROGRESS)
        return 0;
    xylem_request_free(comm->joining);
    comm->joining = NULL;
    LIST_REMOVE(comm, others);
    atomic_fetch_sub_explicit(&joining_count, 1, memory_order_relaxed);
    xmpi_work_end();
    return 1;
}

void xmpi_comms_join(void)
{
    LIST_HEAD(, xmpi_comm) done = LIST_HEAD_INITIALIZER(done);
    xmpi_comm_t *comm, *next;

    if (atomic_load_explicit(&joining_count, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&joining_lock);
    for (comm = LIST_FIRST(&joining_all); comm != NULL; comm = next) {
        next = LIST_NEXT(comm, others);
        if (comm_has_joined(comm))
            LIST_INSERT_HEAD(&done, comm, others);
    }
    pthread_mutex_unlock(&joining_lock);
    while ((comm = LIST_FIRST(&done)) != NULL) {
        LIST_REMOVE(comm, others);
        xmpi_comm_drop(comm);
    }
}

/* Waits for the team of a duplicate that is used for the first time. */
static void comm_settle(xmpi_comm_t *comm)
{
    int has_joined = 0;

    while (!has_joined) {
        xmpi_hook();
        pthread_mutex_lock(&joining_lock);
        has_joined = comm->joining == NULL;
        pthread_mutex_unlock(&joining_lock);
        if (!has_joined)
            xmpi_progress();
    }
    comm->state = comm->team != NULL ? XMPI_COMM_READY : XMPI_COMM_NEW;
}

static void comm_join(xmpi_comm_t *comm, const xmpi_comm_t *parent)
{
    xylem_status_t status;

    xmpi_comm_hold(comm);
    xmpi_work_begin();
    pthread_mutex_lock(&joining_lock);
    status = xylem_team_idup(parent->team, &comm->team, &comm->joining);
    if (status == XYLEM_OK) {
        LIST_INSERT_HEAD(&joining_all, comm, others);
        atomic_fetch_add_explicit(&joining_count, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&joining_lock);
    xmpi_work_begun();
    if (status == XYLEM_OK)
        return;
    xmpi_work_end();
    comm->joining = NULL;
    xmpi_comm_drop(comm);
}

static xmpi_comm_t *comm_alike(const xmpi_comm_t *parent, MPI_Info info)
{
    xmpi_comm_t *comm = xmpi_comm_new(MPI_COMM_NULL);

    comm->state = XMPI_COMM_JOINING;
    comm->rank = parent->rank;
    comm->size = parent->size;
    comm->spans_world = parent->spans_world;
    comm->is_of_session = parent->is_of_session;
    xmpi_hints_set(comm, info);
    return comm;
}

int xmpi_Comm_idup_with_info(MPI_Comm handle, MPI_Info info, MPI_Comm *made,
                             MPI_Request *request)
{
    xmpi_comm_t *parent = xmpi_comm_find(handle), *comm = NULL;
    int code, is_taken;

    if (parent != NULL && parent->state == XMPI_COMM_JOINING)
        comm_settle(parent);
    if (parent != NULL && parent->state == XMPI_COMM_READY)
        comm = comm_alike(parent, info);
    xmpi_comm_offer_copy(comm);
    code = info != MPI_INFO_NULL && xmpi_host.Comm_idup_with_info != NULL
               ? xmpi_host.Comm_idup_with_info(handle, info, made, request)
               : xmpi_host.Comm_idup(handle, made, request);
    is_taken = xmpi_comm_copy_is_taken() && comm != NULL;
    if (is_taken && code == MPI_SUCCESS)
        comm_join(comm, parent);
    else if (comm != NULL && !is_taken)
        xmpi_comm_drop(comm);
    return code;
}

int xmpi_Comm_idup(MPI_Comm parent, MPI_Comm *made, MPI_Request *request)
{
    return xmpi_Comm_idup_with_info(parent, MPI_INFO_NULL, made, request);
}

/* ---- whether a call is taken ---- */

xmpi_fate_t xmpi_comm_decide(xmpi_comm_t *comm, xylem_coll_t coll,
                             xmpi_form_t form)
{
    if (comm->state == XMPI_COMM_JOINING)
        comm_settle(comm);
    if (comm->state != XMPI_COMM_READY && form != XMPI_NONBLOCKING &&
        !comm->is_for_good &&
        (comm->state == XMPI_COMM_NEW || ++comm->calls >= comm->calls_to_retry))
        comm_ask(comm);
    if (comm->state != XMPI_COMM_READY)
        return comm->fate;
    if ((xmpi_state.selected >> coll & 1) == 0)
        return XMPI_NOT_SELECTED;
    if (xyl_coll_traits(coll)->has_neighbors && comm->sources == NULL)
        return XMPI_NO_TOPOLOGY;
    if (coll == XYLEM_COLL_ALLTOALLW && form != XMPI_BLOCKING &&
        xmpi_state.is_written_to)
        return XMPI_WRITTEN_TO;
    if (form == XMPI_NONBLOCKING || form == XMPI_PERSISTENT)
        return xmpi_state.is_hooked ? XMPI_TAKEN : XMPI_UNHOOKED;
    return XMPI_TAKEN;
}

/* ---- recovery ---- */

/* Both the host and xylem tell the other ranks: a rank that waits on the
 * communicator waits in one of the two. */
int xmpi_Comm_revoke(MPI_Comm handle)
{
    xmpi_comm_t *comm = xmpi_comm_find(handle);
    int code;

    if (xmpi_host.Comm_revoke == NULL)
        return xmpi_host_lacks(handle);
    code = xmpi_host.Comm_revoke(handle);
    if (comm != NULL && comm->state == XMPI_COMM_READY) {
        xylem_team_revoke(comm->team);
        xmpi_persistents_revoke(comm);
    }
    return code;
}

/* ---- hints ---- */

/* Collective over the communicator. */
static void hints_take(MPI_Comm handle, MPI_Info info)
{
    xmpi_comm_t *comm;

    if (info == MPI_INFO_NULL || handle == MPI_COMM_NULL)
        return;
    comm = xmpi_comm_find(handle);
    if (comm != NULL)
        xmpi_hints_set(comm, info);
}

int xmpi_Comm_set_info(MPI_Comm handle, MPI_Info info)
{
    int code = xmpi_host.Comm_set_info(handle, info);

    if (code == MPI_SUCCESS)
        hints_take(handle, info);
    return code;
}

int xmpi_Comm_get_info(MPI_Comm handle, MPI_Info *info)
{
    int code = xmpi_host.Comm_get_info(handle, info);
    const xmpi_comm_t *comm =
        code == MPI_SUCCESS ? xmpi_comm_find(handle) : NULL;

    if (comm != NULL)
        xmpi_hints_tell(comm->hints, *info);
    return code;
}

/* ---- communicators made of others ---- */

/* The origin of a new communicator, the same on all ranks. */
typedef struct source {
    xmpi_comm_t *parent; /* whose team is split; NULL: there is none */
    int is_connected;    /* all ranks have a context */
    int is_of_session;
} source_t;

enum {
    OF_SOME = 0, /* only the ranks of the new communicator call it */
    OF_ALL = 1,  /* all ranks of the parent call it */
    CONNECTS = 2 /* it may also connect the job */
};

/* Called before the host makes the communicator. A program may use only parts
 * of a parent that spans the job, so this may be the last chance to connect the
 * job. */
static source_t source_of(MPI_Comm handle, int how)
{
    xmpi_comm_t *parent = xmpi_comm_find(handle);
    source_t source = {.parent = NULL};

    if (parent == NULL)
        return source;
    if (parent->state == XMPI_COMM_JOINING)
        comm_settle(parent);
    source.is_of_session = parent->is_of_session;
    source.is_connected =
        parent->state == XMPI_COMM_READY ||
        ((how & CONNECTS) != 0 && parent->spans_world && xmpi_state.size > 1 &&
         xmpi_context_make(handle) != NULL);
    if (parent->state == XMPI_COMM_READY && (how & OF_ALL) != 0)
        source.parent = parent;
    return source;
}

/* The color of the new communicator among those made by the same call: 0 if it
 * has all ranks of the parent. XYLEM_COLOR_NONE: this rank is in none, or the
 * host has failed. */
static uint32_t color_of(const xmpi_comm_t *parent, MPI_Comm made)
{
    MPI_Group parents = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    int first = 0, rank = MPI_UNDEFINED, size = 0;

    if (made == MPI_COMM_NULL ||
        xmpi_host.Comm_size(made, &size) != MPI_SUCCESS)
        return XYLEM_COLOR_NONE;
    if (size == parent->size)
        return 0;
    if (xmpi_host.Comm_group(parent->handle, &parents) != MPI_SUCCESS ||
        xmpi_host.Comm_group(made, &group) != MPI_SUCCESS ||
        xmpi_host.Group_translate_ranks(group, 1, &first, parents, &rank) !=
            MPI_SUCCESS)
        rank = MPI_UNDEFINED;
    if (group != MPI_GROUP_NULL)
        xmpi_host.Group_free(&group);
    if (parents != MPI_GROUP_NULL)
        xmpi_host.Group_free(&parents);
    return rank == MPI_UNDEFINED ? XYLEM_COLOR_NONE : 1 + (uint32_t)rank;
}

/* Splits the parent's team as the host has split the parent. All ranks of the
 * parent call this, also those in no new communicator. The host gets the calls
 * of the new one for now if the parent's team has failed, or if a rank is in
 * too many teams. */
static void split_team(const xmpi_comm_t *parent, MPI_Comm made,
                       xmpi_comm_t *comm)
{
    xylem_team_t *team = NULL;

    if (xmpi_team_split(parent, color_of(parent, made),
                        comm == NULL ? 0 : comm->rank, &team) != XYLEM_OK)
        team = NULL;
    if (team != NULL &&
        (comm == NULL || xylem_team_size(team) != (uint32_t)comm->size)) {
        /* A rank has failed to find its color. */
        (void)xylem_team_abort(team, "a rank knows nothing of it");
        xylem_team_destroy(team);
        team = NULL;
    }
    if (comm == NULL)
        return;
    comm->team = team;
    comm_set_state(comm);
}

/* Makes the new communicator's team while its ranks are in a call that may
 * block: its first collective may be nonblocking. */
static int with_team(int code, source_t source, MPI_Info info,
                     const MPI_Comm *made)
{
    xmpi_comm_t *comm = NULL;
    int is_known = source.is_connected || source.is_of_session;

    if (code != MPI_SUCCESS)
        return code;
    if (is_known && *made != MPI_COMM_NULL)
        comm = xmpi_comm_found(*made, source.parent != NULL);
    if (comm != NULL)
        comm->is_of_session = source.is_of_session;
    if (source.parent != NULL)
        split_team(source.parent, *made, comm);
    else if (source.is_connected && comm != NULL &&
             comm->state == XMPI_COMM_NEW)
        comm_ask(comm);
    hints_take(*made, info);
    return code;
}

/* Functions of MPI that make a communicator: name, how, hints for xylem,
 * parameters, and the names of the parameters. */
/* clang-format off */
#define MAKERS(X)                                                              \
    X(Comm_dup, OF_ALL, MPI_INFO_NULL,                                         \
      (MPI_Comm parent, MPI_Comm *made), (parent, made))                       \
    X(Comm_dup_with_info, OF_ALL, info,                                        \
      (MPI_Comm parent, MPI_Info info, MPI_Comm *made), (parent, info, made))  \
    X(Comm_split, OF_ALL | CONNECTS, MPI_INFO_NULL,                            \
      (MPI_Comm parent, int color, int key, MPI_Comm *made),                   \
      (parent, color, key, made))                                              \
    X(Comm_create, OF_ALL | CONNECTS, MPI_INFO_NULL,                           \
      (MPI_Comm parent, MPI_Group group, MPI_Comm *made),                      \
      (parent, group, made))                                                   \
    X(Comm_create_group, OF_SOME, MPI_INFO_NULL,                               \
      (MPI_Comm parent, MPI_Group group, int tag, MPI_Comm *made),             \
      (parent, group, tag, made))                                              \
    X(Comm_split_type, OF_ALL | CONNECTS, info,                                \
      (MPI_Comm parent, int type, int key, MPI_Info info, MPI_Comm *made),     \
      (parent, type, key, info, made))                                         \
    X(Cart_create, OF_ALL | CONNECTS, MPI_INFO_NULL,                           \
      (MPI_Comm parent, int dims, const int *sizes, const int *periods,        \
       int reorder, MPI_Comm *made),                                           \
      (parent, dims, sizes, periods, reorder, made))                           \
    X(Cart_sub, OF_ALL | CONNECTS, MPI_INFO_NULL,                              \
      (MPI_Comm parent, const int *remain, MPI_Comm *made),                    \
      (parent, remain, made))                                                  \
    X(Graph_create, OF_ALL | CONNECTS, MPI_INFO_NULL,                          \
      (MPI_Comm parent, int nodes, const int *index, const int *edges,         \
       int reorder, MPI_Comm *made),                                           \
      (parent, nodes, index, edges, reorder, made))                            \
    X(Dist_graph_create, OF_ALL | CONNECTS, info,                              \
      (MPI_Comm parent, int n, const int *sources, const int *degrees,         \
       const int *ends, const int *weights, MPI_Info info, int reorder,        \
       MPI_Comm *made),                                                        \
      (parent, n, sources, degrees, ends, weights, info, reorder, made))       \
    X(Dist_graph_create_adjacent, OF_ALL | CONNECTS, info,                     \
      (MPI_Comm parent, int in, const int *sources, const int *from, int out,  \
       const int *ends, const int *to, MPI_Info info, int reorder,             \
       MPI_Comm *made),                                                        \
      (parent, in, sources, from, out, ends, to, info, reorder, made))
/* clang-format on */

/* As many parameters as MPI's. NOLINTBEGIN(readability-function-size) */
#define MAKER(name, how, hints, parameters, arguments)                         \
    int xmpi_##name parameters                                                 \
    {                                                                          \
        source_t source = source_of(parent, how);                              \
                                                                               \
        return with_team(xmpi_host.name arguments, source, hints, made);       \
    }
MAKERS(MAKER)
/* NOLINTEND(readability-function-size) */

/* There is no parent that tells which ranks are connected, so the ranks ask
 * each other. */
int xmpi_Comm_create_from_group(MPI_Group group, const char *name,
                                MPI_Info info, MPI_Errhandler handler,
                                MPI_Comm *made)
{
    if (xmpi_host.Comm_create_from_group == NULL)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    return with_team(
        xmpi_host.Comm_create_from_group(group, name, info, handler, made),
        (source_t){.is_connected = 1, .is_of_session = 1}, info, made);
}
