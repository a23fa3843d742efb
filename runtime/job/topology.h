/* The machine, and where processes sit in it. */
#ifndef XYL_RUNTIME_JOB_TOPOLOGY_H
#define XYL_RUNTIME_JOB_TOPOLOGY_H

#include "include/xylem.h"

enum { XYL_CPUS_MAX = 1024 };

/* Processors by the system's numbers, a bit each; none: not known. */
typedef struct xyl_cpus {
    uint64_t bits[XYL_CPUS_MAX / 64];
} xyl_cpus_t;

/* Those that the calling thread may run on. */
void xyl_cpus_read(xyl_cpus_t *cpus_out);

typedef struct xyl_machine {
    uint32_t cores; /* of the machine */
    uint32_t unused;
    /* For one core; 0: unknown. */
    uint64_t cache_bytes;     /* second and third level */
    uint64_t own_cache_bytes; /* second level */
} xyl_machine_t;

/* Reads the machine, which takes milliseconds, and many times as long where
 * many do it at once. Also where threads bound to cpus[i] sit, [count]: `node`
 * is left alone, and a part that the binding does not settle is UINT32_MAX.
 * Never fails: an unreadable machine has as many cores as processors, and
 * unknown places. */
void xyl_machine_read(const xyl_cpus_t *cpus, uint32_t count,
                      xyl_machine_t *machine_out, xylem_place_t *places_out);

/* How many cores so many processors are, as cores are here; at least 1. */
uint32_t xyl_cores_of(const xyl_cpus_t *cpus);

/* Tells kinds of machines apart: "16 x Intel(R) Xeon(R) Platinum 8481C", the
 * processors that are online and their model, as far as the system says so. */
void xyl_machine_name(char *name, size_t bytes);

#endif
