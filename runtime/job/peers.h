/* What the ranks tell each other when a context is created: version, settings
 * that must agree, place, process, and the address of the net. */
#ifndef XYL_RUNTIME_JOB_PEERS_H
#define XYL_RUNTIME_JOB_PEERS_H

#include "progress/shm/node.h"
#include "runtime/core/context.h"

/* Exchanges hellos over context->bootstrap, with the address of context->net,
 * and checks that the ranks fit together. Fills context->peers and
 * context->hellos, and *addresses_out, an array of pointers into the hellos
 * (returns owned, free with free). */
xylem_status_t xyl_peers_exchange(xylem_context_t *context,
                                  const xylem_place_t *place,
                                  const void ***addresses_out);

/* How many ranks of the job run on this machine, whatever nodes a launcher
 * presents. */
uint32_t xyl_peers_local_count(const xylem_context_t *context);

/* The name of its node, with a final 0: XYL_NODE_NAME_BYTES + 1 bytes. */
void xyl_peers_node(const xylem_context_t *context, uint32_t rank,
                    char *name_out);

/* What `rank` has said of its shared memory; after the exchange. */
void xyl_peers_member(const xylem_context_t *context, uint32_t rank,
                      xyl_shm_member_t *member_out);

#endif
