#include "collectives/data/user_op.h"

#include "runtime/base/status.h"
#include "runtime/core/context.h"

const xyl_module_t xyl_user_ops_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = XYL_USER_OPS_MAX * sizeof(xyl_user_op_t)},
};

static xyl_user_op_t *user_ops_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_OPS];
}

/* The operation of a handle; NULL: none. */
static xyl_user_op_t *user_op_find(const xylem_context_t *context,
                                   xylem_op_t op)
{
    xyl_user_op_t *user_ops = user_ops_of(context);
    uint32_t number = op - XYL_USER_OP_BASE;

    if (number >= XYL_USER_OPS_MAX || user_ops[number].fn == NULL)
        return NULL;
    return &user_ops[number];
}

_Atomic uint32_t *xyl_user_op_detached(const xylem_context_t *context,
                                       xylem_op_t op)
{
    xyl_user_op_t *user = user_op_find(context, op);

    return user == NULL ? NULL : &user->detached;
}

xylem_status_t xyl_combiner_find(xylem_context_t *context,
                                 const xylem_coll_args_t *args,
                                 xyl_combiner_t *combiner_out)
{
    const xyl_user_op_t *user;
    const char *op, *type;

    if (args->op >= XYL_USER_OP_BASE) {
        user = user_op_find(context, args->op);
        if (user == NULL)
            return xyl_fail(XYLEM_ERR_INVALID_ARG,
                            "there is no operation %u; was it "
                            "destroyed?",
                            args->op);
        *combiner_out = (xyl_combiner_t){
            .fn = user->fn,
            .fn_arg = user->arg,
            .is_commutative = (user->flags & XYLEM_OP_COMMUTATIVE) != 0};
        return XYLEM_OK;
    }
    combiner_out->kernel =
        xyl_kernel_find(args->op, args->type, xyl_isa_best());
    combiner_out->is_commutative = 1;
    if (combiner_out->kernel != NULL)
        return XYLEM_OK;
    op = xylem_op_name(args->op);
    type = xylem_type_name(args->type);
    return xyl_fail(
        XYLEM_ERR_INVALID_ARG, "operation %s is not defined on type %s",
        op != NULL ? op : "(unknown)", type != NULL ? type : "(block)");
}

xylem_status_t xylem_op_create(xylem_context_t *context, xylem_op_fn fn,
                               void *arg, uint32_t flags, xylem_op_t *op_out)
{
    xylem_status_t status = xyl_context_check(context, "xylem_op_create");
    xyl_user_op_t *user_ops;
    uint32_t i;

    if (status != XYLEM_OK)
        return status;
    if (fn == NULL || op_out == NULL || (flags & ~XYLEM_OP_COMMUTATIVE) != 0)
        return xyl_refuse("xylem_op_create",
                          "fn or op_out is NULL, or a flag is unknown");
    user_ops = user_ops_of(context);
    pthread_mutex_lock(&context->lock);
    for (i = 0; i < XYL_USER_OPS_MAX; i++)
        if (user_ops[i].fn == NULL)
            break;
    if (i < XYL_USER_OPS_MAX) {
        user_ops[i].fn = fn;
        user_ops[i].arg = arg;
        user_ops[i].flags = flags;
    }
    pthread_mutex_unlock(&context->lock);
    if (i == XYL_USER_OPS_MAX)
        return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                        "there are %d operations already; destroy some",
                        XYL_USER_OPS_MAX);
    *op_out = XYL_USER_OP_BASE + i;
    return XYLEM_OK;
}

static int is_not_detached(void *arg)
{
    const _Atomic uint32_t *detached = arg;

    /* Partner: the subtraction in xyl_detach_settle. */
    return atomic_load_explicit(detached, memory_order_acquire) == 0;
}

xylem_status_t xylem_op_destroy(xylem_context_t *context, xylem_op_t op)
{
    xylem_status_t status = xyl_context_check(context, "xylem_op_destroy");
    xyl_user_op_t *user;

    if (status != XYLEM_OK)
        return status;
    user = user_op_find(context, op);
    if (user == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                        "xylem_op_destroy: there is no operation %u of the "
                        "user's",
                        op);
    /* Detached collectives, which other ranks still need, may combine by the
     * operation. This call waits for no other collective, since that one might
     * need this rank's next call to end. */
    if (!xyl_engine_in_callback(&context->engine))
        (void)xyl_driver_wait(&context->driver, is_not_detached,
                              &user->detached, UINT64_MAX);
    else if (!is_not_detached(&user->detached))
        return xyl_fail(XYLEM_ERR_IN_CALLBACK,
                        "xylem_op_destroy: a callback must not block, and "
                        "other ranks have not taken all that they need");
    pthread_mutex_lock(&context->lock);
    user->fn = NULL;
    pthread_mutex_unlock(&context->lock);
    return XYLEM_OK;
}
