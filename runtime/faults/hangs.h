/* Once a second this module looks at operations that wait for long. It compares
 * this rank's calls with those of other ranks. It fails operations that have
 * hung for their limit and, once a process has died, operations that UCX holds
 * up. If XYLEM_HANG_DUMP names a file, the module writes down which ranks are
 * waited for when an operation hangs or SIGUSR1 has come.
 *
 * The progressing thread. */
#ifndef XYL_RUNTIME_FAULTS_HANGS_H
#define XYL_RUNTIME_FAULTS_HANGS_H

#include "runtime/core/context.h"

/* Starts the looks when a rank has died. */
extern const xyl_module_t xyl_hangs_module;

/* Starts the looks, unless they have started before. */
void xyl_hangs_start(xylem_context_t *context);
void xyl_hangs_look(xylem_context_t *context);

#endif
