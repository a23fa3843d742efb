/* Agreement of the survivors of a team, which may have failed, by notices.
 *
 * Each rank sends its value to the collector: the lowest rank that it does not
 * know to be dead. The collector waits for the values of all ranks that it does
 * not know to be dead, and sends the outcome to all; each rank passes the
 * outcome on before it acts on it (xyl_notice_spread). A rank that learns that
 * the collector has died sends its value, or the outcome if it has one, to the
 * next; from then on it ignores outcomes of earlier collectors that come late.
 * The next collector adopts an outcome that any rank has, as a rank may have
 * acted on it. So all survivors act on one outcome. This is the rotating
 * coordinator of Chandra and Toueg ("Unreliable Failure Detectors for Reliable
 * Distributed Systems", J. ACM 43(2), 1996). A living rank that the
 * others take for dead takes them for dead when it learns of it. If no rank
 * dies meanwhile, an agreement takes two rounds of messages.
 *
 * The progressing thread, except where noted. */
#pragma once

#include "runtime/core/context.h"

extern const xyl_module_t xyl_agreements_module;

/* The value that survivors agree on. */
typedef struct xyl_agreement {
    uint32_t flags; /* the bitwise and of all ranks' flags */
    uint64_t *dead; /* bits: ranks of the job that any rank knows to be dead */
} xyl_agreement_t;

/* Any thread, not in a callback; blocks. The ranks of a team call it in the
 * same order. *agreed holds this rank's value, and then the outcome. */
xylem_status_t xyl_agreement_begin(struct xylem_team *team,
                                   xyl_agreement_t *agreed);

/* Continues all agreements after a rank of the job has died. */
void xyl_agreements_look(xylem_context_t *context);
/* From time to time: sends the values that still wait for their outcome again,
 * as notices are lost when there is no memory or net for a moment. */
void xyl_agreements_repeat(xylem_context_t *context);
