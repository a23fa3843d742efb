#include "progress/exec/exec.h"

#include <assert.h>
#include <stdlib.h>

#include "runtime/base/status.h"

/* ---- which there are ---- */

static xylem_status_t exec_add(xyl_execs_t *execs, const xyl_exec_ops_t *ops,
                               void *arg, const xyl_observer_t *observer,
                               xyl_fifo_t *ready)
{
    xyl_exec_t *exec = calloc(1, ops->bytes);
    xylem_status_t status = XYLEM_OK;

    assert(execs->count < XYL_EXECS_MAX && ops->bytes >= sizeof *exec);
    if (exec == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for an executor");
    exec->ops = ops;
    exec->is_immediate = ops->start == NULL;
    exec->is_plain = exec->is_immediate && observer == NULL;
    exec->observer = observer;
    exec->ready = ready;
    if (ops->init != NULL)
        status = ops->init(exec, arg);
    if (status == XYLEM_OK)
        execs->all[execs->count++] = exec;
    else
        free(exec);
    return status;
}

xylem_status_t xyl_execs_init(xyl_execs_t *execs,
                              const xyl_exec_registration_t *extra,
                              const xyl_observer_t *observer, xyl_fifo_t *ready)
{
    static const xyl_exec_ops_t *const all[] = {
#define EXEC_ADDRESS(name) &xyl_exec_##name,
        XYL_EXEC_LIST(EXEC_ADDRESS)
#undef EXEC_ADDRESS
            NULL,
    };
    const xyl_exec_ops_t *const *ops = all;
    xylem_status_t status = XYLEM_OK;

    execs->count = 0;
    if (extra->ops != NULL)
        status = exec_add(execs, extra->ops, extra->arg, observer, ready);
    for (; *ops != NULL && status == XYLEM_OK; ops++)
        status = exec_add(execs, *ops, NULL, observer, ready);
    if (status != XYLEM_OK)
        xyl_execs_fini(execs);
    return status;
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

void xyl_execs_cancel(const xyl_execs_t *execs, const void *owner)
{
    uint32_t i;

    for (i = 0; i < execs->count; i++)
        if (execs->all[i]->ops->cancel != NULL)
            execs->all[i]->ops->cancel(execs->all[i], owner);
}

xyl_exec_t *xyl_execs_ask(const xyl_execs_t *execs, const void *buffer)
{
    uint32_t i;

    for (i = 0; i + 1 < execs->count; i++)
        if (execs->all[i]->ops->takes(execs->all[i], buffer))
            break;
    return execs->all[i];
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
    xyl_combiner_apply(work->combiner, work->to, work->left, work->right,
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
