/* Proxies: queues of records by which threads that cannot call the library (of
 * a device) count up triggers by tags. include/xylem_device.h has the other
 * side, and how a record is passed.
 *
 *   device: many threads ──▶ records ──▶ progressing thread ──▶ tag ──▶ trigger
 *
 * The armed queues are a source of the engine. Each gives at most BATCH records
 * in a turn, so that none keeps others waiting. Counts of a tag that no trigger
 * is bound to yet are kept. */
#ifndef XYL_RUNTIME_CORE_PROXY_H
#define XYL_RUNTIME_CORE_PROXY_H

#include "include/xylem.h"

/* Frees the proxies that are left; before the context's triggers. */
void xyl_proxies_fini(xylem_context_t *context);

#endif
