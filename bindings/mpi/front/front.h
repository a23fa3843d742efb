/* The interface between the front and the modules. Programs load the front,
 * which exports MPI's names and depends on no MPI. The first call of such a
 * name finds the MPI of the process and loads the module compiled for it. */
#pragma once

#include <stddef.h>

typedef void (*xmpi_function_t)(void);

typedef struct xmpi_front {
    void *host;          /* handle of the MPI library, for dlsym */
    const char *version; /* the first line of MPI_Get_library_version */
    /* Has `hook` called after each call of ucp_worker_progress, except calls
     * from code in [own, own + own_bytes). NULL removes the hook. */
    void (*hook_ucx)(unsigned (*hook)(void), const void *own, size_t own_bytes);
    /* From now on MPI_NAME calls `function`, if the front exports MPI_NAME. */
    void (*take)(const char *name, xmpi_function_t function);
} xmpi_front_t;

/* A module exports its functions with xmpi_ in place of MPI_, and this
 * function, which the front calls first. 0: good. */
#define XMPI_MODULE_OPEN "xmpi_module_open"
typedef int (*xmpi_module_open_t)(const xmpi_front_t *front);

/* The front exports this function for xylem-preload --check. It prints the MPI
 * of the process and the module for it. 1: the binding would take the
 * collectives. *version_out: the version text of the MPI, "" without one. */
#define XMPI_CHECK "xylem_mpi_check"
typedef int (*xmpi_check_t)(const char **version_out);
