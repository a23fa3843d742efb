/* The start and the end of MPI, by MPI_Init, by sessions, or by both in any
 * order.
 *
 * The binding begins with the first of these and ends with the last. If the
 * ranks have connected over a communicator of MPI_Init's, it ends in
 * MPI_Finalize, because its end needs that communicator.
 *
 * MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF. The
 * binding's attribute is deleted last, as it was set first; its deletion ends
 * the use of MPI_Init's communicators. If there is a session, MPICH keeps the
 * attributes, and xmpi_Finalize ends that use.
 */
#include <pthread.h>

#include "bindings/mpi/call.h"

static struct {
    pthread_mutex_t lock;
    int open;    /* counts MPI_Init, and sessions of the program's */
    int end_key; /* of the attribute of MPI_COMM_SELF */
} models = {.lock = PTHREAD_MUTEX_INITIALIZER, .end_key = MPI_KEYVAL_INVALID};

/* ---- begin and end; the lock is held ---- */

static void model_begins(int basis_code)
{
    if (models.open++ == 0 && basis_code == 0)
        xmpi_state_open();
}

static void model_ends(int is_world)
{
    models.open--;
    if (xmpi_state.is_open &&
        (models.open == 0 || (is_world && xmpi_state.world != MPI_COMM_NULL &&
                              !xmpi_state.is_world_of_session)))
        xmpi_state_close();
    if (models.open == 0)
        xmpi_basis_drop();
}

/* ---- MPI_Init and MPI_Finalize ---- */

static void world_ends(void)
{
    pthread_mutex_lock(&models.lock);
    if (xmpi_state.has_world)
        model_ends(1);
    xmpi_state.has_world = 0;
    if (models.open != 0)
        xmpi_basis_without_world();
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
    code = models.open == 0 ? xmpi_basis_of_world() : 0;
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
    if (xmpi_basis_has_session())
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
    model_begins(xmpi_basis_of_session(info, handler));
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
