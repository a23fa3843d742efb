/* What the front and the modules tell each other. The front is what programs
 * load: it exports MPI's names and knows no MPI. When the first of them is
 * called it finds out which MPI the process has and loads the module that was
 * compiled for it. */
#ifndef XMPI_FRONT_H
#define XMPI_FRONT_H

#include <stddef.h>

typedef void (*xmpi_function_t)(void);

/* From the front. */
typedef struct xmpi_front {
    void *host;          /* handle of the MPI library, for dlsym */
    const char *version; /* what MPI_Get_library_version says of it */
    /* Has `hook` called after each turn of UCX's that somebody else than
     * libraries with code in [own, own + own_bytes) makes; NULL: no longer. */
    void (*hook_ucx)(unsigned (*hook)(void), const void *own, size_t own_bytes);
    /* From now on `function` stands for MPI_NAME, if the front exports that. */
    void (*take)(const char *name, xmpi_function_t function);
} xmpi_front_t;

/* A module exports its functions with xmpi_ for MPI_, and this function, which
 * is called first. 0: good. */
#define XMPI_MODULE_OPEN "xmpi_module_open"
typedef int (*xmpi_module_open_t)(const xmpi_front_t *front);

/* The front exports this function for xylem-preload --check: prints which MPI
 * the process has and which module is for it. 1: the collectives would be
 * xylem's. *version_out: what the MPI says of itself, "" if there is none. */
#define XMPI_CHECK "xylem_mpi_check"
typedef int (*xmpi_check_t)(const char **version_out);

#endif
