/* The executors of the library, one line each: the first that takes a buffer's
 * memory works on it. The processor takes all, so it is the last. */
#include "progress/exec/exec.h"

const xyl_exec_ops_t *const xyl_exec_list[] = {
    &xyl_exec_host,
    NULL,
};
