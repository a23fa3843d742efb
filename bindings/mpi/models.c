/* The start and the end of MPI, by MPI_Init, by sessions, or by both in any
 * order.
 *
 * The binding begins with the first of these and ends with the last. It ends in
 * MPI_Finalize if the ranks have connected over a communicator that comes from
 * MPI_Init. The binding owns a communicator of this rank alone and the group of
 * the job. They come from MPI_Init, or from a session of the binding as soon as
 * the program has one; that session ends after those of the program.
 *
 * MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF. The
 * binding's attribute is deleted last, as it was set first; its deletion ends
 * the use of MPI_Init's communicators. If there is a session, MPICH keeps the
 * attributes, and xmpi_Finalize ends that use.
 */
#include <pthread.h>
#include <string.h>

#include "bindings/mpi/call.h"

static struct {
    pthread_mutex_t lock;
    int open; /* counts MPI_Init, and sessions of the program's */
    int has_own;
    xmpi_session_t own;
    MPI_Comm self_of_world; /* from MPI_Init, in use or not; or null */
    int end_key;            /* of the attribute of MPI_COMM_SELF */
} models = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .self_of_world = MPI_COMM_NULL,
            .end_key = MPI_KEYVAL_INVALID};

/* ---- the binding's own communicator, group and session ---- */

static void basis_set(MPI_Comm self, MPI_Group job)
{
    xmpi_errors_return(self);
    if (xmpi_state.job_group != MPI_GROUP_NULL)
        xmpi_host.Group_free(&xmpi_state.job_group);
    xmpi_state.job_group = job;
    xmpi_host.Group_rank(job, &xmpi_state.rank);
    xmpi_host.Group_size(job, &xmpi_state.size);
    atomic_store_explicit(&xmpi_state.self, self, memory_order_release);
}

/* 0: good. */
static int basis_of_world(void)
{
    MPI_Group job;

    if (xmpi_host.Comm_dup(MPI_COMM_SELF, &models.self_of_world) !=
            MPI_SUCCESS ||
        xmpi_host.Comm_group(MPI_COMM_WORLD, &job) != MPI_SUCCESS)
        return 1;
    basis_set(models.self_of_world, job);
    return 0;
}

MPI_Comm xmpi_comm_of_session(const char *pset, const char *name)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Errhandler handler;
    MPI_Group group;

    if (!models.has_own || xmpi_host.Group_from_session_pset(
                               models.own, pset, &group) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    if (xmpi_errhandler_make(&handler) == MPI_SUCCESS) {
        if (xmpi_host.Comm_create_from_group(group, name, MPI_INFO_NULL,
                                             handler, &comm) != MPI_SUCCESS)
            comm = MPI_COMM_NULL;
        xmpi_host.Errhandler_free(&handler);
    }
    xmpi_host.Group_free(&group);
    return comm;
}

/* Opens the binding's session with the arguments of the program's; 0: good. */
static int basis_of_session(MPI_Info info, MPI_Errhandler handler)
{
    MPI_Comm self;
    MPI_Group job;

    if (models.has_own)
        return 0;
    if (xmpi_host.Group_from_session_pset == NULL ||
        xmpi_host.Comm_create_from_group == NULL ||
        xmpi_host.Session_init(info, handler, &models.own) != MPI_SUCCESS)
        return 1;
    models.has_own = 1;
    self = xmpi_comm_of_session("mpi://SELF", "xylem.self");
    if (self == MPI_COMM_NULL ||
        xmpi_host.Group_from_session_pset(models.own, "mpi://WORLD", &job) !=
            MPI_SUCCESS)
        return 1;
    basis_set(self, job);
    return 0;
}

/* Frees the binding's communicators, group and session, when neither MPI_Init
 * nor a session of the program is open any more. */
static void basis_drop(void)
{
    MPI_Comm self = xmpi_state.self;

    if (xmpi_state.job_group != MPI_GROUP_NULL)
        xmpi_host.Group_free(&xmpi_state.job_group);
    if (self != MPI_COMM_NULL && self != models.self_of_world)
        xmpi_host.Comm_free(&self);
    if (models.self_of_world != MPI_COMM_NULL)
        xmpi_host.Comm_free(&models.self_of_world);
    xmpi_state.self = MPI_COMM_NULL;
    if (models.has_own)
        xmpi_host.Session_finalize(&models.own);
    models.has_own = 0;
}

int xmpi_thread_level(void)
{
    int level = MPI_THREAD_SINGLE, found = 0;
    char text[64] = "";
    MPI_Info info;

    if (xmpi_state.has_world)
        return xmpi_host.Query_thread(&level) == MPI_SUCCESS
                   ? level
                   : MPI_THREAD_SINGLE;
    if (!models.has_own || xmpi_host.Session_get_info == NULL ||
        xmpi_host.Session_get_info(models.own, &info) != MPI_SUCCESS)
        return MPI_THREAD_MULTIPLE;
    xmpi_host.Info_get(info, "thread_level", sizeof text - 1, text, &found);
    xmpi_host.Info_free(&info);
    return found && strcmp(text, "MPI_THREAD_MULTIPLE") != 0
               ? MPI_THREAD_SINGLE
               : MPI_THREAD_MULTIPLE;
}

/* ---- begin and end; the lock is held ---- */

static void model_begins(int basis_code)
{
    if (models.open++ == 0 && basis_code == 0)
        xmpi_state_open();
}

/* The end of the binding needs its world. So if the world comes from MPI_Init,
 * the binding ends in MPI_Finalize. */
static void model_ends(int is_world)
{
    models.open--;
    if (xmpi_state.is_open &&
        (models.open == 0 || (is_world && xmpi_state.world != MPI_COMM_NULL &&
                              !xmpi_state.is_world_of_session)))
        xmpi_state_close();
    if (models.open == 0)
        basis_drop();
}

/* ---- MPI_Init and MPI_Finalize ---- */

static void world_ends(void)
{
    pthread_mutex_lock(&models.lock);
    if (xmpi_state.has_world)
        model_ends(1);
    xmpi_state.has_world = 0;
    if (models.open != 0 && models.self_of_world != MPI_COMM_NULL) {
        xmpi_hook_leave(models.self_of_world);
        xmpi_host.Comm_free(&models.self_of_world);
    }
    pthread_mutex_unlock(&models.lock);
}

static int self_ends(MPI_Comm handle, int key, void *value, void *extra)
{
    (void)handle;
    (void)key;
    (void)value;
    (void)extra;
    world_ends();
    return MPI_SUCCESS;
}

static void world_begins(void)
{
    int code;

    pthread_mutex_lock(&models.lock);
    code = models.open == 0 ? basis_of_world() : 0;
    xmpi_state.has_world = 1;
    if (code == 0)
        code = xmpi_host.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, self_ends,
                                            &models.end_key,
                                            NULL) != MPI_SUCCESS ||
               xmpi_host.Comm_set_attr(MPI_COMM_SELF, models.end_key, NULL) !=
                   MPI_SUCCESS;
    model_begins(code);
    pthread_mutex_unlock(&models.lock);
    if (xmpi_state.is_open)
        xmpi_state_begin_world();
}

int xmpi_Init(int *argc, char ***argv)
{
    int code = xmpi_host.Init(argc, argv);

    if (code == MPI_SUCCESS)
        world_begins();
    return code;
}

int xmpi_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = xmpi_host.Init_thread(argc, argv, required, provided);

    if (code == MPI_SUCCESS)
        world_begins();
    return code;
}

int xmpi_Finalize(void)
{
    if (models.has_own)
        world_ends();
    return xmpi_host.Finalize();
}

/* ---- sessions ---- */

int xmpi_Session_init(MPI_Info info, MPI_Errhandler handler,
                      xmpi_session_t *session)
{
    int code;

    if (xmpi_host.Session_init == NULL)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    code = xmpi_host.Session_init(info, handler, session);
    if (code != MPI_SUCCESS)
        return code;
    pthread_mutex_lock(&models.lock);
    model_begins(basis_of_session(info, handler));
    pthread_mutex_unlock(&models.lock);
    return code;
}

int xmpi_Session_finalize(xmpi_session_t *session)
{
    if (xmpi_host.Session_finalize == NULL)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    pthread_mutex_lock(&models.lock);
    if (models.open != 0)
        model_ends(0);
    pthread_mutex_unlock(&models.lock);
    return xmpi_host.Session_finalize(session);
}
