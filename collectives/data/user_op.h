/* Operations that combine elements as the user's functions say. Any thread. */
#pragma once

#include "collectives/data/modules.h"
#include "collectives/data/op.h"

enum {
    XYL_USER_OPS_MAX = 256,
    XYL_USER_OP_BASE = 0x100 /* handles of user operations begin here */
};

typedef struct xyl_user_op {
    xylem_op_fn fn; /* NULL: free */
    void *arg;
    uint32_t flags;
    _Atomic uint32_t detached; /* collectives that combine by it */
} xyl_user_op_t;

/* Finds the kernel, or the user's function, of args->op on args->type. */
xylem_status_t xyl_combiner_find(xylem_context_t *context,
                                 const xylem_coll_args_t *args,
                                 xyl_combiner_t *combiner_out);

/* The count of detached collectives that combine by `op`; the operation stays
 * until they are over. NULL: `op` is none of the user's. */
_Atomic uint32_t *xyl_user_op_detached(const xylem_context_t *context,
                                       xylem_op_t op);

extern const xyl_module_t xyl_user_ops_module;
