/* Proxies: queues of records by which threads of a device, which cannot call
 * the library, count up triggers by tags (docs/inside/triggers.md).
 * include/xylem_device.h has the other side, and how a record is passed.
 *
 *   device: many threads ──▶ records ──▶ progressing thread ──▶ tag ──▶ trigger
 */
#pragma once

#include "runtime/core/module.h"

extern const xyl_module_t xyl_proxies_module;
