/* Proxies: queues of records by which threads that cannot call the library (of
 * a device) count up triggers by tags (docs/inside/triggers.md).
 * include/xylem_device.h has the other side, and how a record is passed.
 *
 *   device: many threads ──▶ records ──▶ progressing thread ──▶ tag ──▶ trigger
 */
#ifndef XYL_RUNTIME_TRIGGERS_PROXY_H
#define XYL_RUNTIME_TRIGGERS_PROXY_H

#include "runtime/core/module.h"

extern const xyl_module_t xyl_proxies_module;

#endif
