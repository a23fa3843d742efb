/* The PMIx server of a job on one machine.
 *
 * All ranks are clients of this server, even if they are presented as being on
 * several nodes. When the PMIx library asks this server for a fence, it has
 * gathered the data of all ranks, and the server has nothing to add.
 *
 * Threads: the thread of the PMIx library calls the functions named client_*.
 * The lock guards what they record. They answer the rank afterwards, so the
 * server knows what a rank did before the rank can end. */
#include "launcher/launcher.h"

#include <errno.h>
#include <inttypes.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* One rank; PMIx calls it the server object of a client. The lock guards the
 * members that change. */
typedef struct client {
    xyl_server_t *server;
    unsigned rank;
    bool connected; /* and not finalized */
    bool lost;      /* its connection has ended, and all it sent has come */
    time_t ended_at;
} client_t;

struct xyl_server {
    const xyl_layout_t *layout; /* valid until xyl_server_stop */
    unsigned ranks;             /* valid as long as PMIx may call back */
    client_t *clients;
    int wake_fd;
    bool initialized;
    pmix_nspace_t nspace;
    char directory[512]; /* for files of the PMIx library; "": not made */
    pthread_mutex_t lock;
    bool aborted;      /* the lock guards this member and the next ones */
    xyl_abort_t abort; /* valid if aborted */
    unsigned *ended;   /* ranks, in the order of their ends */
    unsigned ended_count;
};

/* PMIx gives no argument to some of its callbacks. */
static xyl_server_t *the_server;

/* ---- callbacks ---- */

static pmix_status_t client_set(client_t *client, bool connected)
{
    (void)pthread_mutex_lock(&client->server->lock);
    client->connected = connected;
    (void)pthread_mutex_unlock(&client->server->lock);
    return PMIX_SUCCESS;
}

static pmix_status_t client_connected(const pmix_proc_t *proc, void *object,
                                      pmix_info_t info[], size_t infos,
                                      pmix_op_cbfunc_t done, void *arg)
{
    (void)proc;
    (void)info;
    (void)infos;
    const client_t *client = object;
    const pmix_status_t status = client_set(object, true);
    (void)eventfd_write(client->server->wake_fd, 1);
    if (done != NULL)
        done(status, arg);
    return PMIX_SUCCESS;
}

static pmix_status_t client_finalized(const pmix_proc_t *proc, void *object,
                                      pmix_op_cbfunc_t done, void *arg)
{
    (void)proc;
    const pmix_status_t status = client_set(object, false);
    if (done != NULL)
        done(status, arg);
    return PMIX_SUCCESS;
}

/* The interface of PMIx sets the number of parameters. */
static pmix_status_t client_aborted(const pmix_proc_t *proc, void *object,
                                    int code, const char text[],
                                    pmix_proc_t procs[], size_t procs_count,
                                    pmix_op_cbfunc_t done, void *arg)
{
    client_t *client = object;
    xyl_server_t *server = client->server;
    (void)proc;
    (void)procs;
    (void)procs_count;
    (void)pthread_mutex_lock(&server->lock);
    if (!server->aborted) {
        server->aborted = true;
        server->abort.rank = client->rank;
        /* 0 would mean success. */
        server->abort.code = code > 0 && code < 256 ? code : 1;
        (void)snprintf(server->abort.text, sizeof(server->abort.text), "%s",
                       text != NULL ? text : "");
    }
    (void)pthread_mutex_unlock(&server->lock);
    (void)eventfd_write(server->wake_fd, 1);
    if (done != NULL)
        done(PMIX_SUCCESS, arg);
    return PMIX_SUCCESS;
}

static pmix_status_t client_fence(const pmix_proc_t procs[], size_t procs_count,
                                  const pmix_info_t info[], size_t infos,
                                  char *data, size_t bytes,
                                  pmix_modex_cbfunc_t done, void *arg)
{
    (void)procs;
    (void)procs_count;
    (void)info;
    (void)infos;
    if (done != NULL)
        done(PMIX_SUCCESS, data, bytes, arg, NULL, NULL);
    return PMIX_SUCCESS;
}

/* PMIx asks for data of ranks of other servers; this job has one server. */
static pmix_status_t client_modex(const pmix_proc_t *proc,
                                  const pmix_info_t info[], size_t infos,
                                  pmix_modex_cbfunc_t done, void *arg)
{
    (void)proc;
    (void)info;
    (void)infos;
    (void)done;
    (void)arg;
    return PMIX_ERR_NOT_FOUND;
}

static time_t seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Whether PMIx has read all messages of a rank that has ended: some may still
 * be in the connection. After SILENT_AFTER_S this is assumed, even if PMIx has
 * not reported the end of the connection. */
static bool client_is_silent(const client_t *client, time_t now)
{
    enum { SILENT_AFTER_S = 2 };
    return !client->connected || client->lost ||
           now - client->ended_at > SILENT_AFTER_S;
}

/* Reads the ranks that have ended, in order, up to the first rank that may
 * still have messages. Later ranks may have ended because of that rank, so they
 * come afterwards. */
static size_t ended_read(xyl_server_t *server, uint32_t *ranks)
{
    const time_t now = seconds_now();
    size_t count = 0;
    (void)pthread_mutex_lock(&server->lock);
    while (count < server->ended_count &&
           client_is_silent(&server->clients[server->ended[count]], now)) {
        ranks[count] = server->ended[count];
        count++;
    }
    (void)pthread_mutex_unlock(&server->lock);
    return count;
}

/* Ranks ask which ranks have gone (runtime/job/bootstrap_pmix.c). */
static pmix_status_t client_lookup(const pmix_proc_t *proc, char **keys,
                                   const pmix_info_t info[], size_t infos,
                                   pmix_lookup_cbfunc_t done, void *arg)
{
    (void)info;
    (void)infos;
    if (keys == NULL || keys[0] == NULL || strcmp(keys[0], "xylem.gone") != 0 ||
        the_server == NULL)
        return PMIX_ERR_NOT_FOUND;
    uint32_t *ranks = calloc(the_server->ranks, sizeof(*ranks));
    if (ranks == NULL)
        return PMIX_ERR_NOMEM;
    const size_t count = ended_read(the_server, ranks);
    pmix_pdata_t answer;
    PMIX_PDATA_CONSTRUCT(&answer);
    answer.proc = *proc;
    (void)snprintf(answer.key, sizeof(answer.key), "%s", keys[0]);
    answer.value.type = PMIX_BYTE_OBJECT;
    answer.value.data.bo.bytes = (char *)ranks;
    answer.value.data.bo.size = count * sizeof(*ranks);
    done(count > 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, &answer, 1, arg);
    free(ranks);
    return PMIX_SUCCESS;
}

static void rank_lost(pmix_rank_t rank)
{
    if (the_server == NULL || rank >= the_server->ranks)
        return;
    (void)pthread_mutex_lock(&the_server->lock);
    the_server->clients[rank].lost = true;
    (void)pthread_mutex_unlock(&the_server->lock);
}

/* If several ranks are lost at once, PMIx names one as the source, and the
 * others in `info`. NOLINTBEGIN(readability-function-size) */
static void client_lost(size_t handler, pmix_status_t status,
                        const pmix_proc_t *source, pmix_info_t info[],
                        size_t infos, pmix_info_t results[],
                        size_t results_count,
                        pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    (void)handler;
    (void)status;
    (void)results;
    (void)results_count;
    if (source != NULL)
        rank_lost(source->rank);
    for (size_t i = 0; i < infos; i++) {
        if (strcmp(info[i].key, PMIX_PROCID) == 0 &&
            info[i].value.type == PMIX_PROC && info[i].value.data.proc != NULL)
            rank_lost(info[i].value.data.proc->rank);
    }
    if (done != NULL)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
}
/* NOLINTEND(readability-function-size) */

static pmix_server_module_t module = {
    .client_connected2 = client_connected,
    .client_finalized = client_finalized,
    .abort = client_aborted,
    .fence_nb = client_fence,
    .direct_modex = client_modex,
    .lookup = client_lookup,
};

/* ---- description of the job ---- */

/* Appends to a string that grows; false: no memory, and the string is gone. */
static bool text_append(char **text, const char *separator, const char *more)
{
    char *longer = NULL;
    const int bytes = asprintf(&longer, "%s%s%s", *text != NULL ? *text : "",
                               *text != NULL ? separator : "", more);
    free(*text);
    *text = bytes >= 0 ? longer : NULL;
    return bytes >= 0;
}

/* Lists the names of the nodes, and the ranks of each, in PMIx's form. */
static int maps_create(const xyl_layout_t *layout, char **names_out,
                       char **ranks_out)
{
    char *names = NULL;
    char *ranks = NULL;
    char name[sizeof(layout->host)];
    for (unsigned node = 0; node < layout->nodes; node++) {
        xyl_layout_node_name(layout, node, name, sizeof(name));
        char *peers = xyl_layout_peers(layout, node);
        const bool done = peers != NULL && text_append(&names, ",", name) &&
                          text_append(&ranks, ";", peers);
        free(peers);
        if (!done) {
            free(names);
            free(ranks);
            return -1;
        }
    }
    *names_out = names;
    *ranks_out = ranks;
    return 0;
}

static void info_u32(pmix_info_t *info, const char *key, uint32_t value)
{
    (void)PMIx_Info_load(info, key, &value, PMIX_UINT32);
}

static void info_u16(pmix_info_t *info, const char *key, unsigned value)
{
    const uint16_t narrow = (uint16_t)value;
    (void)PMIx_Info_load(info, key, &narrow, PMIX_UINT16);
}

static void info_rank(pmix_info_t *info, const char *key, unsigned value)
{
    const pmix_rank_t rank = value;
    (void)PMIx_Info_load(info, key, &rank, PMIX_PROC_RANK);
}

static void info_text(pmix_info_t *info, const char *key, const char *value,
                      pmix_data_type_t type)
{
    (void)PMIx_Info_load(info, key, value, type);
}

/* Takes the entries: PMIx frees them with the info. */
static void info_array(pmix_info_t *info, const char *key, pmix_info_t *entries,
                       size_t count)
{
    pmix_data_array_t list = {
        .type = PMIX_INFO, .size = count, .array = entries};
    (void)PMIx_Info_load(info, key, &list, PMIX_DATA_ARRAY);
    PMIX_INFO_FREE(entries, count);
}

enum { NODE_INFOS = 6, RANK_INFOS = 8, JOB_INFOS = 9 };

static int node_describe(const xyl_layout_t *layout, unsigned node,
                         pmix_info_t *info)
{
    pmix_info_t *entries = NULL;
    char name[sizeof(layout->host)];
    const unsigned size = xyl_layout_node_size(layout, node);
    char *peers = xyl_layout_peers(layout, node);
    if (peers == NULL)
        return -1;
    PMIX_INFO_CREATE(entries, NODE_INFOS);
    if (entries == NULL) {
        free(peers);
        return -1;
    }
    xyl_layout_node_name(layout, node, name, sizeof(name));
    size_t i = 0;
    info_text(&entries[i++], PMIX_HOSTNAME, name, PMIX_STRING);
    info_u32(&entries[i++], PMIX_NODEID, node);
    info_u32(&entries[i++], PMIX_LOCAL_SIZE, size);
    info_u32(&entries[i++], PMIX_NODE_SIZE, size);
    info_text(&entries[i++], PMIX_LOCAL_PEERS, peers, PMIX_STRING);
    info_rank(&entries[i++], PMIX_LOCALLDR, xyl_layout_rank(layout, node, 0));
    info_array(info, PMIX_NODE_INFO_ARRAY, entries, i);
    free(peers);
    return 0;
}

static int rank_describe(const xyl_layout_t *layout, unsigned rank,
                         pmix_info_t *info)
{
    pmix_info_t *entries = NULL;
    char name[sizeof(layout->host)];
    const unsigned node = xyl_layout_node(layout, rank);
    const unsigned local = xyl_layout_local_rank(layout, rank);
    PMIX_INFO_CREATE(entries, RANK_INFOS);
    if (entries == NULL)
        return -1;
    xyl_layout_node_name(layout, node, name, sizeof(name));
    size_t i = 0;
    info_rank(&entries[i++], PMIX_RANK, rank); /* has to be the first */
    info_rank(&entries[i++], PMIX_GLOBAL_RANK, rank);
    info_rank(&entries[i++], PMIX_APP_RANK, rank);
    info_u32(&entries[i++], PMIX_APPNUM, 0);
    info_u16(&entries[i++], PMIX_LOCAL_RANK, local);
    info_u16(&entries[i++], PMIX_NODE_RANK, local);
    info_text(&entries[i++], PMIX_HOSTNAME, name, PMIX_STRING);
    info_u32(&entries[i++], PMIX_NODEID, node);
    info_array(info, PMIX_PROC_DATA, entries, i);
    return 0;
}

static int maps_describe(const xyl_layout_t *layout, pmix_info_t *infos,
                         size_t *count)
{
    char *names = NULL;
    char *ranks = NULL;
    char *node_map = NULL;
    char *rank_map = NULL;
    int result = -1;
    if (maps_create(layout, &names, &ranks) != 0)
        return -1;
    if (PMIx_generate_regex(names, &node_map) == PMIX_SUCCESS &&
        PMIx_generate_ppn(ranks, &rank_map) == PMIX_SUCCESS) {
        info_text(&infos[(*count)++], PMIX_NODE_MAP, node_map, PMIX_REGEX);
        info_text(&infos[(*count)++], PMIX_PROC_MAP, rank_map, PMIX_REGEX);
        info_text(&infos[(*count)++], PMIX_NODE_LIST, names, PMIX_STRING);
        result = 0;
    }
    free(node_map);
    free(rank_map);
    free(names);
    free(ranks);
    return result;
}

static int job_register(xyl_server_t *server)
{
    const xyl_layout_t *layout = server->layout;
    const size_t total = JOB_INFOS + (size_t)layout->nodes + layout->ranks;
    pmix_info_t *infos = NULL;
    size_t i = 0;
    PMIX_INFO_CREATE(infos, total);
    if (infos == NULL)
        return -1;
    int result = maps_describe(layout, infos, &i);
    info_u32(&infos[i++], PMIX_JOB_SIZE, layout->ranks);
    info_u32(&infos[i++], PMIX_UNIV_SIZE, layout->ranks);
    info_u32(&infos[i++], PMIX_MAX_PROCS, layout->ranks);
    info_u32(&infos[i++], PMIX_NUM_NODES, layout->nodes);
    info_u32(&infos[i++], PMIX_JOB_NUM_APPS, 1);
    info_text(&infos[i++], PMIX_JOBID, server->nspace, PMIX_STRING);
    for (unsigned node = 0; result == 0 && node < layout->nodes; node++)
        result = node_describe(layout, node, &infos[i++]);
    for (unsigned rank = 0; result == 0 && rank < layout->ranks; rank++)
        result = rank_describe(layout, rank, &infos[i++]);
    if (result == 0) {
        const pmix_status_t status = PMIx_server_register_nspace(
            server->nspace, (int)layout->ranks, infos, i, NULL, NULL);
        if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
            result = -1;
    }
    PMIX_INFO_FREE(infos, total);
    return result;
}

static int clients_register(xyl_server_t *server)
{
    for (unsigned i = 0; i < server->layout->ranks; i++) {
        pmix_proc_t proc;
        server->clients[i] = (client_t){.server = server, .rank = i};
        PMIX_PROC_LOAD(&proc, server->nspace, i);
        const pmix_status_t status = PMIx_server_register_client(
            &proc, getuid(), getgid(), &server->clients[i], NULL, NULL);
        if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
            return -1;
    }
    return 0;
}

/* ---- life ---- */

/* Folders to try for the server's files. */
static const char *const parents[] = {"/tmp", "/var/tmp", "/dev/shm"};
enum { PARENTS = sizeof(parents) / sizeof(parents[0]) };

static bool directory_make_in(xyl_server_t *server, const char *parent)
{
    const int bytes = snprintf(server->directory, sizeof(server->directory),
                               "%s/xylem-run.XXXXXX", parent);
    if (bytes > 0 && (size_t)bytes >= sizeof(server->directory))
        errno = ENAMETOOLONG;
    else if (bytes > 0 && mkdtemp(server->directory) != NULL)
        return true;
    server->directory[0] = '\0';
    return false;
}

/* Makes the directory in TMPDIR, or else in the first possible parent. */
static int directory_make(xyl_server_t *server)
{
    const char *chosen = getenv("TMPDIR");
    if (chosen == NULL || chosen[0] == '\0')
        chosen = parents[0];
    bool is_made = directory_make_in(server, chosen);
    const int error = errno;
    for (size_t i = 0; i < PARENTS && !is_made; i++)
        is_made = directory_make_in(server, parents[i]);
    if (!is_made)
        return xyl_complain("cannot make a directory in %s: %s; TMPDIR may "
                            "name another place",
                            chosen, strerror(error));
    if (xyl_keeper_start(server->directory) != 0)
        return xyl_complain("cannot start a process: %s", strerror(errno));
    return 0;
}

static int library_init(xyl_server_t *server)
{
    pmix_info_t *infos = NULL;
    enum { INIT_INFOS = 2 };
    /* Data of a job this small needs no files that are shared between the
     * server and its clients. */
    (void)setenv("PMIX_MCA_gds", "hash", 1);
    /* PMIx reports a lost rank at once, rather than a second later. */
    (void)setenv("PMIX_MCA_pmix_event_caching_window", "0", 1);
    PMIX_INFO_CREATE(infos, INIT_INFOS);
    if (infos == NULL)
        return -1;
    info_text(&infos[0], PMIX_SERVER_TMPDIR, server->directory, PMIX_STRING);
    info_text(&infos[1], PMIX_SYSTEM_TMPDIR, server->directory, PMIX_STRING);
    const pmix_status_t status = PMIx_server_init(&module, infos, INIT_INFOS);
    PMIX_INFO_FREE(infos, INIT_INFOS);
    if (status != PMIX_SUCCESS)
        return xyl_complain("the PMIx server does not start: %s",
                            PMIx_Error_string(status));
    server->initialized = true;
    the_server = server;
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
    (void)PMIx_Register_event_handler(&lost, 1, NULL, 0, client_lost, NULL,
                                      NULL);
    return 0;
}

/* Draws a secret name for the job, as PMIx believes the user that a process
 * names when it connects over TCP. Only the job's ranks know the name, from
 * their environment, which other users cannot read. */
static int name_draw(xyl_server_t *server)
{
    uint64_t secret[2];
    if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
        return -1;
    (void)snprintf(server->nspace, sizeof(server->nspace),
                   "xylem-run-%ld-%016" PRIx64 "%016" PRIx64, (long)getpid(),
                   secret[0], secret[1]);
    return 0;
}

int xyl_server_start(const xyl_layout_t *layout, xyl_server_t **server_out)
{
    xyl_server_t *server = calloc(1, sizeof(*server));
    if (server == NULL)
        return xyl_complain("out of memory");
    server->layout = layout;
    server->ranks = layout->ranks;
    (void)pthread_mutex_init(&server->lock, NULL);
    server->clients = calloc(layout->ranks, sizeof(*server->clients));
    server->ended = calloc(layout->ranks, sizeof(*server->ended));
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->clients == NULL || server->ended == NULL ||
        server->wake_fd < 0 || name_draw(server) != 0) {
        xyl_complain("cannot make the server: %s", strerror(errno));
        goto stop_server;
    }
    if (directory_make(server) != 0 || library_init(server) != 0)
        goto stop_server;
    if (job_register(server) != 0 || clients_register(server) != 0) {
        xyl_complain("the PMIx server refuses the job");
        goto stop_server;
    }
    *server_out = server;
    return 0;
stop_server:
    xyl_server_stop(server);
    return XYL_EXIT_LAUNCHER;
}

void xyl_server_stop(xyl_server_t *server)
{
    if (server == NULL)
        return;
    if (server->directory[0] != '\0')
        xyl_folder_remove(server->directory);
    xyl_keeper_leave();
    /* PMIx ends with the process and may call back until then, on its thread:
     * PMIx_server_finalize (4.2.2) frees a fence that ranks have left open, but
     * not the timer of its time limit, and then uses that timer. */
    if (server->initialized)
        return;
    if (server->wake_fd >= 0)
        (void)close(server->wake_fd);
    (void)pthread_mutex_destroy(&server->lock);
    free(server->ended);
    free(server->clients);
    free(server);
}

/* ---- questions ---- */

int xyl_server_wake_fd(const xyl_server_t *server)
{
    return server->wake_fd;
}

bool xyl_server_aborted(xyl_server_t *server, xyl_abort_t *abort_out)
{
    (void)pthread_mutex_lock(&server->lock);
    const bool aborted = server->aborted;
    if (aborted)
        *abort_out = server->abort;
    (void)pthread_mutex_unlock(&server->lock);
    return aborted;
}

bool xyl_server_connected(xyl_server_t *server, unsigned rank)
{
    (void)pthread_mutex_lock(&server->lock);
    const bool connected = server->clients[rank].connected;
    (void)pthread_mutex_unlock(&server->lock);
    return connected;
}

void xyl_server_ended(xyl_server_t *server, unsigned rank)
{
    (void)pthread_mutex_lock(&server->lock);
    server->clients[rank].ended_at = seconds_now();
    server->ended[server->ended_count++] = rank;
    (void)pthread_mutex_unlock(&server->lock);
}

/* ---- environment ---- */

static pmix_status_t environment_set(char ***env, const char *setting)
{
    pmix_status_t status = PMIX_ERR_NOMEM;
    const size_t name_bytes = strcspn(setting, "=");
    char *name = strndup(setting, name_bytes);
    if (name != NULL)
        PMIX_SETENV(status, name, setting + name_bytes + 1, env);
    free(name);
    return status;
}

int xyl_server_environment(xyl_server_t *server, unsigned rank,
                           char *const *settings, char ***env_out)
{
    const xyl_layout_t *layout = server->layout;
    char host[sizeof(layout->host)];
    char **env = NULL;
    pmix_proc_t proc;
    PMIX_PROC_LOAD(&proc, server->nspace, rank);
    xyl_layout_node_name(layout, xyl_layout_node(layout, rank), host,
                         sizeof(host));
    PMIX_ARGV_COPY(env, environ);
    pmix_status_t status = env != NULL ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
    for (size_t i = 0; status == PMIX_SUCCESS && settings[i] != NULL; i++)
        status = environment_set(&env, settings[i]);
    if (status == PMIX_SUCCESS)
        status = PMIx_server_setup_fork(&proc, &env);
    /* A client looks its node up by this name. */
    if (status == PMIX_SUCCESS)
        PMIX_SETENV(status, "PMIX_HOSTNAME", host, &env);
    if (status != PMIX_SUCCESS) {
        xyl_environment_destroy(env);
        return xyl_complain("cannot make the environment of rank %u", rank);
    }
    *env_out = env;
    return 0;
}

void xyl_environment_destroy(char **env)
{
    PMIX_ARGV_FREE(env);
}

/* ---- the client's side ---- */

void xyl_server_come_and_go(void)
{
    pmix_proc_t rank;
    if (PMIx_Init(&rank, NULL, 0) == PMIX_SUCCESS)
        _exit(0);
}
