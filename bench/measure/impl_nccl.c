/* NCCL, as a rival on GPUs. Its library is opened at run time (BENCH_NCCL names
 * it; else libnccl.so.2), so the build needs nothing of it. Ranks find each
 * other by xylem, which also carries the messages of the measurement. Calls are
 * begun on a stream of the rank and waited for. One thread. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/coll.h"
#include "bench/measure/device.h"
#include "bench/measure/impl_event.h"

/* As nccl.h has them. */
enum { NCCL_SUCCESS = 0, NCCL_UINT8 = 1, NCCL_FLOAT32 = 7, NCCL_SUM = 0 };
typedef struct nccl_id {
    char bytes[128];
} nccl_id_t;
typedef void *nccl_comm_t;
typedef void *nccl_stream_t;

enum { WINDOWS_MAX = 8, WINDOW_SYMMETRIC = 1 };

struct nccl {
    int (*get_id)(nccl_id_t *id);
    int (*comm_init)(nccl_comm_t *comm, int ranks, nccl_id_t id, int rank);
    int (*comm_destroy)(nccl_comm_t comm);
    const char *(*error)(int error);
    int (*all_reduce)(const void *send, void *recv, size_t count, int type,
                      int op, nccl_comm_t comm, nccl_stream_t stream);
    int (*reduce)(const void *send, void *recv, size_t count, int type, int op,
                  int root, nccl_comm_t comm, nccl_stream_t stream);
    int (*broadcast)(const void *send, void *recv, size_t count, int type,
                     int root, nccl_comm_t comm, nccl_stream_t stream);
    int (*all_gather)(const void *send, void *recv, size_t count, int type,
                      nccl_comm_t comm, nccl_stream_t stream);
    int (*reduce_scatter)(const void *send, void *recv, size_t count, int type,
                          int op, nccl_comm_t comm, nccl_stream_t stream);
    /* Of NCCL 2.27 and later; NULL: it has none. */
    int (*memory_take)(void **memory, size_t bytes);
    int (*memory_give)(void *memory);
    int (*window_register)(nccl_comm_t comm, void *memory, size_t bytes,
                           void **window, int flags);
    int (*window_deregister)(nccl_comm_t comm, void *window);
};

struct nccl_state {
    struct nccl nccl;
    struct bench_device *device;
    nccl_comm_t comm;
    struct window {
        void *memory; /* NULL: none */
        void *window;
    } windows[WINDOWS_MAX];
};

static struct nccl_state *state_of(void *arg)
{
    return ((struct event_state *)arg)->nccl;
}

static xylem_status_t checked(const struct nccl_state *state, int error)
{
    if (error == NCCL_SUCCESS)
        return XYLEM_OK;
    fprintf(stderr, "NCCL: %s\n", state->nccl.error(error));
    return XYLEM_ERR_NET;
}

/* ---- joining ---- */

static int functions_find(void *library, struct nccl *nccl)
{
    const struct {
        const char *name;
        void *to;
        int is_of_windows;
    } all[] = {
        {"ncclGetUniqueId", &nccl->get_id, 0},
        {"ncclCommInitRank", &nccl->comm_init, 0},
        {"ncclCommDestroy", &nccl->comm_destroy, 0},
        {"ncclGetErrorString", &nccl->error, 0},
        {"ncclAllReduce", &nccl->all_reduce, 0},
        {"ncclReduce", &nccl->reduce, 0},
        {"ncclBroadcast", &nccl->broadcast, 0},
        {"ncclAllGather", &nccl->all_gather, 0},
        {"ncclReduceScatter", &nccl->reduce_scatter, 0},
        {"ncclMemAlloc", &nccl->memory_take, 1},
        {"ncclMemFree", &nccl->memory_give, 1},
        {"ncclCommWindowRegister", &nccl->window_register, 1},
        {"ncclCommWindowDeregister", &nccl->window_deregister, 1},
    };
    size_t i;

    for (i = 0; i < sizeof all / sizeof *all; i++) {
        void *found = dlsym(library, all[i].name);
        if (found == NULL && !all[i].is_of_windows)
            return 0;
        memcpy(all[i].to, (const void *)&found, sizeof found);
    }
    return 1;
}

static xylem_status_t library_open(struct nccl_state *state)
{
    const char *name = getenv("BENCH_NCCL");
    void *library;

    if (name == NULL)
        name = "libnccl.so.2";
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL && functions_find(library, &state->nccl))
        return XYLEM_OK;
    fprintf(stderr, "%s cannot be used: %s\n", name, dlerror());
    return XYLEM_ERR_UNSUPPORTED;
}

static xylem_status_t comm_create(struct event_state *event,
                                  struct nccl_state *state)
{
    uint32_t rank = xylem_team_rank(event->world);
    nccl_id_t id;
    xylem_status_t status = device_open(rank, &state->device);

    if (status == XYLEM_OK && rank == 0)
        status = checked(state, state->nccl.get_id(&id));
    if (status == XYLEM_OK)
        status = impl_event()->bcast(event, &id, sizeof id, 0);
    if (status != XYLEM_OK)
        return status;
    device_use(state->device);
    return checked(state, state->nccl.comm_init(
                              &state->comm, (int)xylem_team_size(event->world),
                              id, (int)rank));
}

static xylem_status_t nccl_open(const struct bench_tuning *tuning,
                                void **state_out)
{
    struct nccl_state *state = calloc(1, sizeof *state);
    struct event_state *event;
    xylem_status_t status;

    if (state == NULL)
        return XYLEM_ERR_NO_MEMORY;
    status = library_open(state);
    if (status == XYLEM_OK)
        status = impl_event()->open(tuning, state_out);
    if (status != XYLEM_OK) {
        free(state);
        return status;
    }
    event = *state_out;
    event->nccl = state;
    return comm_create(event, state);
}

static void nccl_close(void *arg)
{
    struct nccl_state *state = state_of(arg);

    (void)checked(state, state->nccl.comm_destroy(state->comm));
    device_close(state->device);
    free(state);
    impl_event()->close(arg);
}

/* ---- what is measured ---- */

static const char *nccl_refusal(void *arg, const struct bench_call *call)
{
    (void)arg;
    if (call->coll == XYLEM_COLL_ALLREDUCE || call->coll == XYLEM_COLL_REDUCE ||
        call->coll == XYLEM_COLL_BCAST || call->coll == XYLEM_COLL_ALLGATHER ||
        call->coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK)
        return NULL;
    return "NCCL has no such collective";
}

static int begin(const struct nccl_state *state, const struct bench_call *call,
                 nccl_stream_t stream)
{
    const struct nccl *nccl = &state->nccl;
    size_t floats = call->bytes / sizeof(float);

    if (call->coll == XYLEM_COLL_ALLREDUCE)
        return nccl->all_reduce(call->send, call->recv, floats, NCCL_FLOAT32,
                                NCCL_SUM, state->comm, stream);
    if (call->coll == XYLEM_COLL_REDUCE)
        return nccl->reduce(call->send, call->recv, floats, NCCL_FLOAT32,
                            NCCL_SUM, (int)call->root, state->comm, stream);
    if (call->coll == XYLEM_COLL_BCAST)
        return nccl->broadcast(call->recv, call->recv, call->bytes, NCCL_UINT8,
                               (int)call->root, state->comm, stream);
    if (call->coll == XYLEM_COLL_ALLGATHER)
        return nccl->all_gather(call->send, call->recv, call->bytes, NCCL_UINT8,
                                state->comm, stream);
    return nccl->reduce_scatter(call->send, call->recv, floats, NCCL_FLOAT32,
                                NCCL_SUM, state->comm, stream);
}

static xylem_status_t nccl_run(void *arg, const struct bench_call *call)
{
    struct nccl_state *state = state_of(arg);
    xylem_status_t status =
        checked(state, begin(state, call, device_stream(state->device)));

    return status == XYLEM_OK ? device_wait(state->device) : status;
}

/* ---- windows ---- */

static const char *windows_refusal(void *arg, const struct bench_call *call)
{
    if (state_of(arg)->nccl.window_register == NULL)
        return "this NCCL has no windows";
    if (call->coll == XYLEM_COLL_ALLREDUCE ||
        call->coll == XYLEM_COLL_ALLGATHER ||
        call->coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK)
        return NULL;
    return "NCCL has no such collective on windows";
}

static xylem_status_t windows_take(void *arg, size_t bytes, void **memory_out)
{
    struct nccl_state *state = state_of(arg);
    struct window *window = state->windows;
    xylem_status_t status;

    while (window->memory != NULL)
        if (++window == state->windows + WINDOWS_MAX)
            return XYLEM_ERR_NO_RESOURCE;
    device_use(state->device);
    status = checked(state, state->nccl.memory_take(&window->memory, bytes));
    if (status == XYLEM_OK)
        status = checked(state, state->nccl.window_register(
                                    state->comm, window->memory, bytes,
                                    &window->window, WINDOW_SYMMETRIC));
    *memory_out = window->memory;
    return status;
}

static void windows_give(void *arg, void *memory)
{
    struct nccl_state *state = state_of(arg);
    struct window *window = state->windows;

    while (window->memory != memory)
        if (++window == state->windows + WINDOWS_MAX)
            return;
    (void)checked(state,
                  state->nccl.window_deregister(state->comm, window->window));
    (void)checked(state, state->nccl.memory_give(memory));
    window->memory = NULL;
}

const struct bench_impl *impl_nccl_windows(void)
{
    static struct bench_impl impl;

    impl = *impl_nccl();
    impl.name = "nccl-windows";
    impl.refusal = windows_refusal;
    impl.device_take = windows_take;
    impl.device_give = windows_give;
    return &impl;
}

const struct bench_impl *impl_nccl(void)
{
    static struct bench_impl impl;

    impl = *impl_event();
    impl.name = "nccl";
    impl.open = nccl_open;
    impl.close = nccl_close;
    impl.refusal = nccl_refusal;
    impl.prepare = NULL;
    impl.release = NULL;
    impl.run = nccl_run;
    impl.start = NULL;
    impl.finish = NULL;
    impl.take = NULL;
    impl.give = NULL;
    impl.room = NULL;
    return &impl;
}
