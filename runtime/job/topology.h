/* The machine, and where processes sit in it. */
#pragma once

#include "include/xylem.h"

enum { XYL_CPUS_MAX = 1024 };

/* Processors by the system's numbers, a bit each; no bit set: unknown. */
typedef struct xyl_cpus {
    uint64_t bits[XYL_CPUS_MAX / 64];
} xyl_cpus_t;

/* The processors that the calling thread may run on. */
void xyl_cpus_read(xyl_cpus_t *cpus_out);

typedef struct xyl_machine {
    uint32_t cores; /* of the machine */
    uint32_t unused;
    /* Per core; 0: unknown. */
    uint64_t cache_bytes;     /* second and third level */
    uint64_t own_cache_bytes; /* second level */
} xyl_machine_t;

/* Reads the machine, and the places of threads bound to cpus[i], both [count].
 * Leaves `node` of a place alone; parts that the binding does not settle are
 * UINT32_MAX. Takes milliseconds, and many times as long if many processes read
 * at once. Never fails: an unreadable machine has as many cores as processors,
 * and unknown places. */
void xyl_machine_read(const xyl_cpus_t *cpus, uint32_t count,
                      xyl_machine_t *machine_out, xylem_place_t *places_out);

/* The number of this machine's cores that `cpus` make up; at least 1. */
uint32_t xyl_cores_of(const xyl_cpus_t *cpus);

/* Names a kind of machine by the number of its online processors and their
 * model, if known: "16 x Intel(R) Xeon(R) Platinum 8481C". */
void xyl_machine_name(char *name, size_t bytes);
