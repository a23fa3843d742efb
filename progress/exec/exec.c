#include "progress/exec/exec.h"

#include <assert.h>
#include <link.h>
#include <stdlib.h>

#include "runtime/base/status.h"

/* ---- the executors of a context ---- */

static const xyl_exec_ops_t *const list[] = {
#define EXEC_ADDRESS(name) &xyl_exec_##name,
    XYL_EXEC_LIST(EXEC_ADDRESS)
#undef EXEC_ADDRESS
        NULL,
};
static uint32_t bits_of_list(void)
{
    uint32_t count = 0;

    while (list[count] != NULL)
        count++;
    return (UINT32_C(1) << count) - 1;
}

static xylem_status_t exec_add(xyl_execs_t *execs, const xyl_exec_ops_t *ops,
                               void *arg)
{
    uint32_t count = atomic_load_explicit(&execs->count, memory_order_relaxed);
    xyl_exec_t *exec = calloc(1, ops->bytes);
    xylem_status_t status = XYLEM_OK;

    assert(count < XYL_EXECS_MAX && ops->bytes >= sizeof *exec);
    if (exec == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for an executor");
    exec->ops = ops;
    exec->is_immediate = ops->start == NULL;
    exec->is_plain = exec->is_immediate && execs->observer == NULL;
    exec->observer = execs->observer;
    exec->ready = execs->ready;
    exec->recorder = &execs->recorder;
    if (ops->init != NULL)
        status = ops->init(exec, arg);
    if (status != XYLEM_OK) {
        free(exec);
        return status;
    }
    execs->all[count] = exec;
    atomic_store_explicit(&execs->count, count + 1, memory_order_release);
    return XYLEM_OK;
}

xylem_status_t xyl_execs_init(xyl_execs_t *execs,
                              const xyl_exec_registration_t *extra,
                              const xyl_config_t *config,
                              const xyl_observer_t *observer, xyl_fifo_t *ready)
{
    xylem_status_t status;

    *execs =
        (xyl_execs_t){.observer = observer, .ready = ready, .config = config};
    status = exec_add(execs, &xyl_exec_host, NULL);
    if (status == XYLEM_OK && extra->ops != NULL)
        status = exec_add(execs, extra->ops, extra->arg);
    if (status != XYLEM_OK) {
        xyl_execs_fini(execs);
        return status;
    }
    if (config != NULL)
        execs->absent = bits_of_list();
    return XYLEM_OK;
}

static int count_loads(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    *(uint64_t *)arg = info->dlpi_adds;
    return 1;
}

/* Memory of another kind needs a library, so this looks only if the process has
 * loaded one since the last look. An executor that cannot start has logged why,
 * and is not tried again. */
void xyl_execs_look(xyl_execs_t *execs)
{
    uint32_t i, absent;
    uint64_t loads = 0;

    absent = atomic_load_explicit(&execs->absent, memory_order_relaxed);
    dl_iterate_phdr(count_loads, &loads);
    if (loads == execs->loads)
        return;
    execs->loads = loads;
    for (i = 0; list[i] != NULL && absent != 0; i++) {
        if ((absent >> i & 1) == 0 ||
            (list[i]->is_needed != NULL && !list[i]->is_needed(execs->config)))
            continue;
        absent &= ~(UINT32_C(1) << i);
        atomic_store_explicit(&execs->absent, absent, memory_order_relaxed);
        if (list[i] != &xyl_exec_host)
            (void)exec_add(execs, list[i], (void *)(uintptr_t)execs->config);
    }
}

void xyl_execs_fini(xyl_execs_t *execs)
{
    while (execs->count != 0) {
        xyl_exec_t *exec = execs->all[--execs->count];
        if (exec->ops->fini != NULL)
            exec->ops->fini(exec);
        free(exec);
    }
}

unsigned xyl_execs_poll(void *arg)
{
    xyl_execs_t *execs = arg;
    uint32_t i, count = execs->count;
    unsigned done = 0;

    for (i = 1; i < count; i++)
        if (execs->all[i]->ops->poll != NULL)
            done += execs->all[i]->ops->poll(execs->all[i]);
    return done;
}

void xyl_execs_cancel(const xyl_execs_t *execs, const void *owner)
{
    uint32_t i;

    for (i = 0; i < execs->count; i++)
        if (execs->all[i]->ops->cancel != NULL)
            execs->all[i]->ops->cancel(execs->all[i], owner);
}

xyl_exec_t *xyl_execs_ask(const xyl_execs_t *execs, const void *buffer)
{
    /* Partner: the store in exec_add. */
    uint32_t count = atomic_load_explicit(&execs->count, memory_order_acquire);
    uint32_t i;

    for (i = 1; i < count; i++)
        if (execs->all[i]->ops->takes(execs->all[i], buffer))
            return execs->all[i];
    return execs->all[0];
}

/* ---- work ---- */

static void copy_by_host(const xyl_exec_t *exec, const xyl_work_t *work)
{
    if (xyl_observer_copies(exec->observer, work->bytes))
        memcpy(work->to, work->left, work->bytes);
}

static void reduce_by_host(const xyl_exec_t *exec, const xyl_work_t *work)
{
    (void)exec;
    xyl_exec_combine(work->combiner, work->to, work->left, work->right,
                     work->count);
}

int xyl_exec_do(xyl_exec_t *exec, xyl_work_t *work)
{
    if (exec->is_immediate) {
        work->by_host(exec, work);
        return 1;
    }
    exec->ops->start(exec, work);
    return 0;
}

int xyl_exec_copy_watched(xyl_exec_t *exec, xyl_work_t *work, void *to,
                          const void *from, size_t bytes)
{
    if (exec->is_immediate) {
        if (xyl_observer_copies(exec->observer, bytes))
            memcpy(to, from, bytes);
        return 1;
    }
    work->kind = XYL_WORK_COPY;
    work->to = to;
    work->left = from;
    work->bytes = bytes;
    work->by_host = copy_by_host;
    exec->ops->start(exec, work);
    return 0;
}

int xyl_exec_reduce_later(xyl_exec_t *exec, xyl_work_t *work,
                          const xyl_combiner_t *combiner, void *to,
                          const void *left, const void *right, size_t count)
{
    work->kind = XYL_WORK_REDUCE;
    work->combiner = combiner;
    work->to = to;
    work->left = left;
    work->right = right;
    work->count = count;
    work->by_host = reduce_by_host;
    exec->ops->start(exec, work);
    return 0;
}
