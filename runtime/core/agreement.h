/* Agreement of the survivors of a team, which may have failed, by notices.
 *
 * Each rank sends its value to who collects: the lowest rank that it does not
 * know to be dead. That one waits for the values of all whom it does not know
 * to be dead, and sends the outcome to all; whoever hears it first passes it on
 * before it goes by it (xyl_notice_spread). A rank that learns that the
 * collector has died sends its value, or the outcome if it has one, to the
 * next; from then on it ignores outcomes of earlier collectors that it has not
 * heard yet. The next collector takes an outcome that any rank has, as a rank
 * may have gone by it. So all that live go by one outcome. This is the rotating
 * coordinator of Chandra and Toueg ("Unreliable Failure Detectors for Reliable
 * Distributed Systems", J. ACM 43(2), 1996) where those who are given up are
 * dead, as they are here: a rank that hears that others have given it up gives
 * them up. Two rounds of messages where nobody dies meanwhile.
 *
 * The progressing thread, except where noted. */
#ifndef XYL_RUNTIME_CORE_AGREEMENT_H
#define XYL_RUNTIME_CORE_AGREEMENT_H

#include "runtime/core/context.h"

struct xyl_notice;

/* What survivors agree on. */
typedef struct xyl_agreement {
    uint32_t flags; /* of all ranks, by and */
    uint64_t *dead; /* [words for the job's ranks]: whom any of them knows */
} xyl_agreement_t;

/* Any thread, not in a callback; blocks. The ranks of a team call it in the
 * same order. *agreed holds this rank's value, and then the outcome. */
xylem_status_t xyl_team_agree(struct xylem_team *team, xyl_agreement_t *agreed);

/* A value or an outcome has come. */
void xyl_agreement_notice(xylem_context_t *context, struct xyl_notice *notice);
/* A rank of the job has died. */
void xyl_agreements_look(xylem_context_t *context);
/* From time to time: values that still wait for their outcome are told again.
 * Where there was no memory or net for a moment, a notice is lost. */
void xyl_agreements_repeat(xylem_context_t *context);
/* Of a team that ends. */
void xyl_agreement_fini(struct xylem_team *team);

#endif
