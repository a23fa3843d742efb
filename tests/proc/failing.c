/* Functions that fail on demand; see failing.h. tests/meson.build names them
 * for the linker. */
#include "tests/proc/failing.h"

#include <errno.h>
#include <event2/event.h>
#include <execinfo.h>
#include <hwloc.h>
#include <pmix.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

static uint64_t failing_nth;
static const char *failing_only;
static size_t failing_bytes; /* calls that ask for at least so many */
static int tells_stack;
static _Atomic uint64_t calls;
static const char *_Atomic failed_name;
static _Thread_local int is_paused = 1;

void failing_arm(uint64_t nth, const char *only, size_t bytes, int tells)
{
    failing_nth = nth;
    failing_only = only;
    failing_bytes = bytes;
    tells_stack = tells;
    atomic_store(&calls, 0);
    atomic_store(&failed_name, NULL);
}

uint64_t failing_calls(void)
{
    return atomic_load(&calls);
}

const char *failing_name(void)
{
    return atomic_load(&failed_name);
}

void failing_pause(void)
{
    is_paused = 1;
}

void failing_resume(void)
{
    is_paused = 0;
}

static int call_is_due(const char *name, size_t bytes)
{
    enum { STACK_DEPTH = 12 };
    void *stack[STACK_DEPTH];

    if (is_paused || bytes < failing_bytes ||
        (failing_only != NULL && strcmp(name, failing_only) != 0) ||
        atomic_fetch_add(&calls, 1) + 1 != failing_nth)
        return 0;
    atomic_store(&failed_name, name);
    is_paused = 1;
    if (tells_stack)
        backtrace_symbols_fd(stack, backtrace(stack, STACK_DEPTH),
                             STDERR_FILENO);
    is_paused = 0;
    return 1;
}

/* FAILING(type of the result, name, its parameters, they again as arguments,
 * the result of a failure, errno with it); ASKING: also for how much it asks */
#define FAILING(type, name, parameters, arguments, result, error)              \
    ASKING(type, name, parameters, arguments, 0, result, error)
#define ASKING(type, name, parameters, arguments, bytes, result, error)        \
    type __real_##name parameters;                                             \
    type __wrap_##name parameters;                                             \
    type __wrap_##name parameters                                              \
    {                                                                          \
        if (!call_is_due(#name, (bytes)))                                      \
            return __real_##name arguments;                                    \
        errno = (error);                                                       \
        return result;                                                         \
    }

/* ---- the C library ---- */

ASKING(void *, malloc, (size_t bytes), (bytes), bytes, NULL, ENOMEM)
ASKING(void *, calloc, (size_t count, size_t each), (count, each), count *each,
       NULL, ENOMEM)
FAILING(void *, realloc, (void *block, size_t bytes), (block, bytes), NULL,
        ENOMEM)
FAILING(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes),
        NULL, ENOMEM)
FAILING(char *, strdup, (const char *text), (text), NULL, ENOMEM)
FAILING(FILE *, fopen64, (const char *path, const char *mode), (path, mode),
        NULL, EMFILE)

/* ---- the system ---- */

FAILING(void *, mmap64,
        (void *at, size_t bytes, int may, int flags, int fd, off_t offset),
        (at, bytes, may, flags, fd, offset), MAP_FAILED, ENOMEM)
FAILING(int, open64, (const char *path, int flags, mode_t mode),
        (path, flags, mode), -1, EMFILE)
FAILING(int, memfd_create, (const char *name, unsigned flags), (name, flags),
        -1, EMFILE)
FAILING(int, eventfd, (unsigned value, int flags), (value, flags), -1, EMFILE)
FAILING(int, pipe2, (int fds[2], int flags), (fds, flags), -1, EMFILE)
FAILING(int, ftruncate64, (int fd, off_t bytes), (fd, bytes), -1, ENOSPC)
FAILING(int, fallocate64, (int fd, int mode, off_t at, off_t bytes),
        (fd, mode, at, bytes), -1, ENOSPC)
FAILING(ssize_t, pread64, (int fd, void *to, size_t bytes, off_t at),
        (fd, to, bytes, at), -1, EIO)
FAILING(ssize_t, pwrite64, (int fd, const void *from, size_t bytes, off_t at),
        (fd, from, bytes, at), -1, ENOSPC)
FAILING(int, fstat64, (int fd, struct stat *info), (fd, info), -1, ENOMEM)
FAILING(int, stat64, (const char *path, struct stat *info), (path, info), -1,
        EACCES)
FAILING(int, pthread_create,
        (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *),
         void *arg),
        (thread, attr, run, arg), EAGAIN, EAGAIN)

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    enum { ARGUMENTS = 6 };
    long word[ARGUMENTS];
    va_list list;
    int i;

    if (call_is_due("syscall", 0)) {
        errno = EMFILE;
        return -1;
    }
    va_start(list, number);
    for (i = 0; i < ARGUMENTS; i++)
        word[i] = va_arg(list, long);
    va_end(list);
    return __real_syscall(number, word[0], word[1], word[2], word[3], word[4],
                          word[5]);
}

/* ---- libevent ---- */

FAILING(struct event_base *, event_base_new, (void), (), NULL, ENOMEM)
FAILING(struct event *, event_new,
        (struct event_base * base, evutil_socket_t fd, short what,
         event_callback_fn run, void *arg),
        (base, fd, what, run, arg), NULL, ENOMEM)
FAILING(int, event_add, (struct event * event, const struct timeval *limit),
        (event, limit), -1, ENOMEM)

/* ---- hwloc ---- */

FAILING(int, hwloc_topology_init, (hwloc_topology_t * topology), (topology), -1,
        ENOMEM)
FAILING(int, hwloc_topology_load, (hwloc_topology_t topology), (topology), -1,
        ENOMEM)
FAILING(hwloc_bitmap_t, hwloc_bitmap_alloc, (void), (), NULL, ENOMEM)
FAILING(int, hwloc_get_cpubind,
        (hwloc_topology_t topology, hwloc_bitmap_t set, int flags),
        (topology, set, flags), -1, ENOSYS)

/* ---- UCX ---- */

FAILING(ucs_status_t, ucp_init_version,
        (unsigned major, unsigned minor, const ucp_params_t *params,
         const ucp_config_t *config, ucp_context_h *context_out),
        (major, minor, params, config, context_out), UCS_ERR_NO_MEMORY, 0)
FAILING(ucs_status_t, ucp_config_read,
        (const char *prefix, const char *file, ucp_config_t **config_out),
        (prefix, file, config_out), UCS_ERR_NO_MEMORY, 0)
FAILING(ucs_status_t, ucp_worker_create,
        (ucp_context_h context, const ucp_worker_params_t *params,
         ucp_worker_h *worker_out),
        (context, params, worker_out), UCS_ERR_NO_MEMORY, 0)
FAILING(ucs_status_t, ucp_worker_get_address,
        (ucp_worker_h worker, ucp_address_t **address_out, size_t *bytes_out),
        (worker, address_out, bytes_out), UCS_ERR_NO_MEMORY, 0)
FAILING(ucs_status_t, ucp_worker_get_efd, (ucp_worker_h worker, int *fd_out),
        (worker, fd_out), UCS_ERR_IO_ERROR, 0)
FAILING(ucs_status_t, ucp_worker_arm, (ucp_worker_h worker), (worker),
        UCS_ERR_IO_ERROR, 0)
FAILING(ucs_status_t, ucp_ep_create,
        (ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *ep_out),
        (worker, params, ep_out), UCS_ERR_NO_MEMORY, 0)
FAILING(ucs_status_ptr_t, ucp_tag_send_nbx,
        (ucp_ep_h ep, const void *from, size_t count, ucp_tag_t tag,
         const ucp_request_param_t *param),
        (ep, from, count, tag, param), UCS_STATUS_PTR(UCS_ERR_NO_MEMORY), 0)
FAILING(ucs_status_ptr_t, ucp_tag_recv_nbx,
        (ucp_worker_h worker, void *to, size_t count, ucp_tag_t tag,
         ucp_tag_t mask, const ucp_request_param_t *param),
        (worker, to, count, tag, mask, param),
        UCS_STATUS_PTR(UCS_ERR_NO_MEMORY), 0)
FAILING(ucs_status_ptr_t, ucp_ep_close_nbx,
        (ucp_ep_h ep, const ucp_request_param_t *param), (ep, param),
        UCS_STATUS_PTR(UCS_ERR_NO_MEMORY), 0)
FAILING(ucs_status_ptr_t, ucp_worker_flush_nbx,
        (ucp_worker_h worker, const ucp_request_param_t *param),
        (worker, param), UCS_STATUS_PTR(UCS_ERR_NO_MEMORY), 0)

/* ---- PMIx ---- */

FAILING(pmix_status_t, PMIx_Init,
        (pmix_proc_t * self, pmix_info_t info[], size_t infos),
        (self, info, infos), PMIX_ERR_NOMEM, 0)
FAILING(pmix_status_t, PMIx_Put,
        (pmix_scope_t scope, const pmix_key_t key, pmix_value_t *value),
        (scope, key, value), PMIX_ERR_NOMEM, 0)
FAILING(pmix_status_t, PMIx_Commit, (void), (), PMIX_ERR_NOMEM, 0)
FAILING(pmix_status_t, PMIx_Get,
        (const pmix_proc_t *proc, const pmix_key_t key,
         const pmix_info_t info[], size_t infos, pmix_value_t **value_out),
        (proc, key, info, infos, value_out), PMIX_ERR_NOMEM, 0)
FAILING(pmix_status_t, PMIx_Fence,
        (const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
         size_t infos),
        (procs, count, info, infos), PMIX_ERR_NOMEM, 0)
FAILING(pmix_status_t, PMIx_Fence_nb,
        (const pmix_proc_t procs[], size_t count, const pmix_info_t info[],
         size_t infos, pmix_op_cbfunc_t done, void *arg),
        (procs, count, info, infos, done, arg), PMIX_ERR_NOMEM, 0)
