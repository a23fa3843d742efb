/* The assembly of a context from all parts of the core, in the order in which
 * they need one another, and its end. */
#pragma once

#include "runtime/core/context.h"

/* The parts that tests and simulators replace. All borrowed until the context
 * is destroyed. */
typedef struct xyl_context_parts {
    const xyl_modules_t *modules;
    uint32_t rank;
    uint32_t ranks;
    const xyl_allocator_t *allocator;
    const xyl_clock_t *clock;
    xyl_peer_t *peers;        /* [ranks]; may be shared if no rank ever fails */
    int tells;                /* ranks tell each other of failures */
    uint32_t node_ranks_max;  /* on the largest node; 0: the least budget */
    const xyl_net_ops_t *net; /* a net that needs no connecting */
    void *net_arg;            /* for its create */
    struct xyl_shm *shm;      /* NULL: nothing is shared */
    xyl_exec_registration_t exec;    /* one more executor; ops NULL: none */
    const xyl_observer_t *observer;  /* NULL: none */
    const xyl_config_files_t *files; /* NULL: no file of settings is read */
    const char *const *settings;
} xyl_context_parts_t;

/* xylem_context_create, with these modules (borrowed until the end). */
xylem_status_t xyl_context_create(const xylem_context_params_t *params,
                                  const xyl_modules_t *modules,
                                  xylem_context_t **context_out);
xylem_status_t xyl_context_create_of_parts(const xyl_context_parts_t *parts,
                                           xylem_context_t **context_out);
