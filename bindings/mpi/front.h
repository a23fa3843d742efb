/* What the front and the modules tell each other. The front is what programs
 * load: it exports MPI's names and knows no MPI. When the first of them is
 * called it finds out which MPI the process has and loads the module that was
 * compiled for it. */
#ifndef XMPI_FRONT_H
#define XMPI_FRONT_H

#include <stddef.h>

/* From the front. */
typedef struct xmpi_front {
    void *host; /* handle of the MPI library, for dlsym */
    /* Has `hook` called after each turn of UCX's that somebody else than
     * libraries with code in [own, own + own_bytes) makes; NULL: no longer. */
    void (*hook_ucx)(unsigned (*hook)(void), const void *own, size_t own_bytes);
} xmpi_front_t;

/* From a module: its functions by their names after MPI_. */
typedef void (*xmpi_function_t)(void);
typedef struct xmpi_module {
    int (*open)(const xmpi_front_t *front); /* 0: good */
    xmpi_function_t (*find)(const char *name);
} xmpi_module_t;

/* The one symbol that a module exports. */
#define XMPI_MODULE_SYMBOL "xmpi_module"

#endif
