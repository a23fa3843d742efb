/* The processor on its own memory: it does all work in the call (exec.h). */
#include "progress/exec/exec.h"

static int host_takes(const xyl_exec_t *exec, const void *buffer)
{
    (void)exec;
    (void)buffer;
    return 1;
}

const xyl_exec_ops_t xyl_exec_host = {
    .name = "host",
    .bytes = sizeof(xyl_exec_t),
    .takes = host_takes,
};
