#include "progress/net/nets.h"

#include <strings.h>

#include "runtime/base/status.h"

const xyl_net_ops_t *const xyl_nets[] = {
#define NET_ADDRESS(name) &xyl_net_##name,
    XYL_NET_LIST(NET_ADDRESS)
#undef NET_ADDRESS
        NULL,
};

static int can_serve(const xyl_net_ops_t *ops, const xyl_net_params_t *params)
{
    return params->ranks == 1 ||
           (ops->capabilities & XYL_NET_REACHES_OTHERS) != 0;
}

static xylem_status_t create_named(const char *name,
                                   const xyl_net_params_t *params,
                                   xyl_net_t **net_out)
{
    const xyl_net_ops_t *const *ops = xyl_nets;

    while (*ops != NULL && strcasecmp((*ops)->name, name) != 0)
        ops++;
    if (*ops == NULL)
        return xyl_fail(XYLEM_ERR_CONFIG,
                        "XYLEM_NET: there is no net \"%s\"; xylem-info lists "
                        "those there are",
                        name);
    if (!can_serve(*ops, params))
        return xyl_fail(XYLEM_ERR_CONFIG,
                        "XYLEM_NET: the net \"%s\" reaches no other rank",
                        name);
    return (*ops)->create(params, net_out);
}

xylem_status_t xyl_nets_create(const char *name, const xyl_net_params_t *params,
                               xyl_net_t **net_out)
{
    const xyl_net_ops_t *const *ops;
    xylem_status_t status = XYLEM_ERR_UNSUPPORTED;

    if (name != NULL)
        return create_named(name, params, net_out);
    for (ops = xyl_nets; *ops != NULL && status != XYLEM_OK; ops++)
        if (can_serve(*ops, params))
            status = (*ops)->create(params, net_out);
    return status;
}
