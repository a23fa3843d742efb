/* Where this process sits in its machine. */
#ifndef XYL_RUNTIME_JOB_TOPOLOGY_H
#define XYL_RUNTIME_JOB_TOPOLOGY_H

#include "include/xylem.h"

typedef struct xyl_machine {
    xylem_place_t place; /* `node` is left to the caller */
    uint32_t cores;      /* of the machine */
    /* For one core; 0: unknown. */
    uint64_t cache_bytes;     /* second and third level */
    uint64_t own_cache_bytes; /* second level */
} xyl_machine_t;

/* A part that the process's binding does not settle is UINT32_MAX. Never
 * fails: an unreadable machine has one core and unknown places. */
void xyl_machine_read(xyl_machine_t *machine_out);

/* Tells kinds of machines apart: "16 x Intel(R) Xeon(R) Platinum 8481C", the
 * processors that are online and their model, as far as the system says so. */
void xyl_machine_name(char *name, size_t bytes);

#endif
