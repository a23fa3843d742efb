/* Progress: the hook moves xylem's data, and finishes operations that have
 * completed, while the program is in MPI.
 *
 * The thread that makes progress puts a completed operation on a list. The hook
 * finishes the operation by calls of MPI's. The hook is called
 *
 *   - by Open MPI in each turn of its progress;
 *   - by the front, after each turn of the UCX that the MPI library runs on, if
 *     the program has called MPI_Init;
 *   - else by the functions that wait for requests (wait.c), while a thread of
 *     the binding moves the data without calling MPI;
 *   - with MPI_THREAD_MULTIPLE, except in Open MPI, by that thread: MPICH holds
 *     a lock during a turn of UCX that its functions also take.
 *
 * Except in the last case only threads that are in MPI anyway call MPI, so the
 * program needs no thread level.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "bindings/mpi/call.h"

enum {
    BEACON_TAG = 1,
    CALLS_PER_TURN = 16, /* of the hook, while nothing is under way */
    PROBES_MAX = 1000,
    YIELD_AFTER_TURNS = 8, /* without work, if ranks share cores */
    /* After so many turns without work the thread, which seldom has a core of
     * its own, sleeps: MOMENT_NS at first, then twice as long each time. */
    IDLE_TURNS = 64,
    MOMENT_NS = 20000,
    MOMENT_MAX_NS = 160000,
    REST_NS = 10000000, /* between turns while nothing is under way */
    /* A wait gives the host a turn after each slice. The first SLICES_SHORT
     * have SLICE_US, so that the host gets turns soon; in a longer slice the
     * rank may sleep. */
    SLICE_US = 20,
    SLICES_SHORT = 50,
    SLICE_LONG_US = 1000
};

static void (*hook_turn_end)(void);
static _Atomic uint32_t active; /* operations that are not finished */
static xyl_queue_t done;
static atomic_flag hook_lock = ATOMIC_FLAG_INIT;

static struct {
    pthread_t thread;
    int runs;
    int finishes; /* it calls xmpi_hook; else it only moves data */
    _Atomic int stop;
    pthread_mutex_t lock;
    pthread_cond_t started;
} ticker = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .started = PTHREAD_COND_INITIALIZER};

/* ---- work ---- */

int xmpi_work_is_active(void)
{
    return atomic_load_explicit(&active, memory_order_relaxed) != 0;
}

static void hook_acquire(void)
{
    while (atomic_flag_test_and_set_explicit(&hook_lock, memory_order_acquire))
        sched_yield();
}

void xmpi_work_begin(void)
{
    atomic_fetch_add_explicit(&active, 1, memory_order_relaxed);
    hook_acquire();
}

/* Does nothing if there is no thread. */
static void ticker_wake(void)
{
    if (!ticker.runs)
        return;
    pthread_mutex_lock(&ticker.lock);
    pthread_cond_signal(&ticker.started);
    pthread_mutex_unlock(&ticker.lock);
}

void xmpi_work_begun(void)
{
    atomic_flag_clear_explicit(&hook_lock, memory_order_release);
    ticker_wake();
}

void xmpi_work_flies(void)
{
    atomic_fetch_add_explicit(&active, 1, memory_order_relaxed);
    ticker_wake();
}

void xmpi_work_end(void)
{
    atomic_fetch_sub_explicit(&active, 1, memory_order_relaxed);
}

void xmpi_work_done(void *arg, xylem_status_t status)
{
    xmpi_work_t *work = arg;

    work->status = status;
    xyl_queue_push(&done, &work->task);
}

/* Calls whose operation calls the host. While there are any, the thread that
 * only moves data makes no progress, as it must not call MPI. */
static _Atomic uint32_t host_ops;

void xmpi_work_count_host_op(int more)
{
    atomic_fetch_add_explicit(&host_ops, (uint32_t)more, memory_order_seq_cst);
    if (more < 0 || !ticker.runs || ticker.finishes)
        return;
    hook_acquire(); /* the thread has left its turn */
    atomic_flag_clear_explicit(&hook_lock, memory_order_release);
}

/* A turn of the thread that calls no function of MPI's. */
static unsigned data_move(void)
{
    xylem_context_t *context;
    unsigned turned = 0;

    if (atomic_flag_test_and_set_explicit(&hook_lock, memory_order_acquire))
        return 0;
    context = xmpi_context();
    if (context != NULL &&
        atomic_load_explicit(&host_ops, memory_order_seq_cst) == 0)
        turned = xylem_progress(context);
    atomic_flag_clear_explicit(&hook_lock, memory_order_release);
    return turned;
}

unsigned xmpi_hook(void)
{
    static unsigned calls, idle;
    xylem_context_t *context;
    unsigned turned = 0;
    int yields = 0;

    if (atomic_flag_test_and_set_explicit(&hook_lock, memory_order_acquire))
        return 0;
    context = xmpi_context();
    /* Messages may need a turn now and then although no call is under way. */
    if (context != NULL &&
        (xmpi_work_is_active() || ++calls % CALLS_PER_TURN == 0)) {
        turned = xylem_progress(context);
        xyl_queue_run(&done);
        hook_turn_end();
        idle = turned != 0 ? 0 : idle + 1;
        yields = xmpi_state.shares_cores && idle > YIELD_AFTER_TURNS;
    }
    atomic_flag_clear_explicit(&hook_lock, memory_order_release);
    if (yields)
        sched_yield(); /* MPICH does not */
    return turned;
}

/* A receive that no message matches: MPICH moves all messages while it tests
 * this request. */
static MPI_Request beacon = MPI_REQUEST_NULL;
static MPI_Comm beacon_self; /* its communicator */

void xmpi_progress(void)
{
    int flag;

    if (xmpi_host.progress != NULL)
        xmpi_host.progress();
    else
        xmpi_host.Request_get_status(beacon, &flag, MPI_STATUS_IGNORE);
}

xylem_status_t xmpi_request_wait(xylem_request_t *request)
{
    xylem_status_t status = xylem_request_test(request);
    unsigned slices = 0;

    while (status == XYLEM_IN_PROGRESS) {
        status = xylem_request_wait_for(
            request, slices < SLICES_SHORT ? SLICE_US : SLICE_LONG_US);
        if (status != XYLEM_IN_PROGRESS)
            break;
        slices++;
        xmpi_progress();
        status = xylem_request_test(request);
    }
    return status;
}

static int beacon_light(void)
{
    beacon_self = xmpi_state.self;
    return xmpi_host.progress != NULL ||
           xmpi_host.Irecv(NULL, 0, MPI_BYTE, 0, BEACON_TAG, beacon_self,
                           &beacon) == MPI_SUCCESS;
}

static void beacon_put_out(void)
{
    if (beacon == MPI_REQUEST_NULL)
        return;
    xmpi_host.Send(NULL, 0, MPI_BYTE, 0, BEACON_TAG, beacon_self);
    xmpi_host.Wait(&beacon, MPI_STATUS_IGNORE);
}

void xmpi_hook_leave(MPI_Comm self)
{
    if (beacon == MPI_REQUEST_NULL || beacon_self != self)
        return;
    beacon_put_out();
    beacon_light();
}

/* ---- having the hook called ---- */

static int hook_of_host(void)
{
    return (int)xmpi_hook();
}

static _Atomic unsigned probes;

static unsigned ucx_probe(void)
{
    atomic_fetch_add_explicit(&probes, 1, memory_order_relaxed);
    return 0;
}

/* Hooks into turns of UCX that are not xylem's own; 0: the host makes none. */
static int hook_into_ucx(void)
{
    struct dl_find_object own;
    size_t own_bytes;
    unsigned i;

    if (xmpi_front == NULL ||
        _dl_find_object((void *)(uintptr_t)&xylem_progress, &own) != 0)
        return 0;
    own_bytes = (size_t)((char *)own.dlfo_map_end - (char *)own.dlfo_map_start);
    xmpi_front->hook_ucx(ucx_probe, own.dlfo_map_start, own_bytes);
    for (i = 0; i < PROBES_MAX && atomic_load(&probes) == 0; i++)
        xmpi_progress();
    if (atomic_load(&probes) == 0) {
        xmpi_front->hook_ucx(NULL, NULL, 0);
        return 0;
    }
    xmpi_front->hook_ucx(xmpi_hook, own.dlfo_map_start, own_bytes);
    return 1;
}

static void ticker_rest(long ns)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ns;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&ticker.lock);
    if (!xmpi_work_is_active() &&
        atomic_load_explicit(&ticker.stop, memory_order_relaxed) == 0)
        pthread_cond_timedwait(&ticker.started, &ticker.lock, &until);
    pthread_mutex_unlock(&ticker.lock);
}

static void *ticker_run(void *arg)
{
    struct timespec moment = {0, MOMENT_NS};
    unsigned idle = 0;

    while (atomic_load_explicit(&ticker.stop, memory_order_acquire) == 0) {
        idle =
            (ticker.finishes ? xmpi_hook() : data_move()) != 0 ? 0 : idle + 1;
        if (xmpi_work_is_active() && idle > IDLE_TURNS) {
            nanosleep(&moment, NULL);
            if (moment.tv_nsec < MOMENT_MAX_NS)
                moment.tv_nsec *= 2;
            continue;
        }
        moment.tv_nsec = MOMENT_NS;
        if (!xmpi_work_is_active())
            ticker_rest(REST_NS);
    }
    return arg;
}

static int hook_by_thread(int finishes)
{
    ticker.finishes = finishes;
    atomic_store_explicit(&ticker.stop, 0, memory_order_relaxed);
    ticker.runs = pthread_create(&ticker.thread, NULL, ticker_run, NULL) == 0;
    return ticker.runs;
}

int xmpi_hook_is_polled(void)
{
    return ticker.runs && !ticker.finishes;
}

void xmpi_hook_at_turn_end(void (*turn_end)(void))
{
    hook_turn_end = turn_end;
}

int xmpi_hook_install(int thread_level)
{
    if (!beacon_light())
        return 0;
    if (xmpi_host.progress_register != NULL)
        return xmpi_host.progress_register(hook_of_host) == 0;
    if (thread_level == MPI_THREAD_MULTIPLE)
        return hook_by_thread(1);
    /* With sessions MPICH 4.2 takes locks at every thread level. */
    return (xmpi_state.has_world && hook_into_ucx()) || hook_by_thread(0);
}

void xmpi_hook_remove(void)
{
    if (ticker.runs) {
        atomic_store_explicit(&ticker.stop, 1, memory_order_release);
        ticker_wake();
        pthread_join(ticker.thread, NULL);
        ticker.runs = 0;
    }
    if (xmpi_host.progress_unregister != NULL)
        xmpi_host.progress_unregister(hook_of_host);
    else if (xmpi_front != NULL)
        xmpi_front->hook_ucx(NULL, NULL, 0);
    beacon_put_out();
    /* No thread is in the hook, and none will be. */
    hook_acquire();
    atomic_flag_clear_explicit(&hook_lock, memory_order_release);
}
