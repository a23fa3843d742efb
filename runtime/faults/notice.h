/* Notices: messages over the net beside those of operations: that a process has
 * died, that a team has failed, what ranks agree on then, and that a rank
 * leaves. They have a slot of their own in message tags, one length, and one
 * receive that is always posted. They are off the data path: sending a notice
 * takes memory of the pool.
 *
 * The progressing thread. */
#ifndef XYL_RUNTIME_FAULTS_NOTICE_H
#define XYL_RUNTIME_FAULTS_NOTICE_H

#include <stddef.h>
#include <sys/queue.h>

#include "runtime/core/context.h"

struct xylem_team;

typedef enum xyl_notice_kind {
    XYL_NOTICE_DEAD,    /* the process of rank `about` has died */
    XYL_NOTICE_FAILED,  /* the team has failed: cause `about`, reason `text` */
    XYL_NOTICE_UNMADE,  /* a rank could not make the team's child `number` */
    XYL_NOTICE_CALL,    /* `from` has waited `about` seconds in call `number`
                           (history.c), after `flags` refusals; `ballot` 1: the
                           call has a tag; `text` has `status` words */
    XYL_NOTICE_VALUE,   /* a rank's value of an agreement, to its collector */
    XYL_NOTICE_OUTCOME, /* the outcome of an agreement */
    XYL_NOTICE_LEAVING, /* `from` ends its context; `number` of a round */
    /* From here on: from a stage to the same stage of another rank, where it
     * may be over, or not begun. */
    XYL_NOTICE_MISSING, /* `from` lacks the segments from `number` on */
    XYL_NOTICE_OFFER,   /* `from` can send them, and waits for an answer: */
    XYL_NOTICE_TAKE,    /* `from` wants the segments from `number` on, */
    XYL_NOTICE_DECLINE  /* or no segments any more */
} xyl_notice_kind_t;

typedef struct xyl_notice {
    uint32_t kind;        /* xyl_notice_kind_t */
    uint32_t status;      /* xylem_status_t; of a call, how many words */
    uint32_t from, about; /* ranks of the job; UINT32_MAX: none */
    uint64_t team;        /* its key */
    uint64_t number;      /* of a child, an agreement, a call, or a segment */
    uint32_t ballot;      /* the collector's number, or a stage's */
    uint32_t flags;       /* that are agreed on */
    char text[XYL_FAILURE_TEXT];
    /* Then a bit for each rank of the job. */
} xyl_notice_t;

static inline uint64_t *xyl_notice_dead(xyl_notice_t *notice)
{
    return (uint64_t *)(void *)(notice + 1);
}

/* A stage that reads notices. */
typedef struct xyl_notice_reader {
    uint64_t team;  /* its key */
    uint32_t stage; /* its number */
    void (*read)(struct xyl_notice_reader *reader, const xyl_notice_t *notice);
    int listens;
    LIST_ENTRY(xyl_notice_reader) others;
} xyl_notice_reader_t;

/* Without effect if the context has no notices. */
void xyl_notice_listen(xylem_context_t *context, xyl_notice_reader_t *reader);
void xyl_notice_leave(xyl_notice_reader_t *reader);

/* When a team has been made, has the notices read that came too early for it.
 * Frees all notices at the context's end, after the net's. */
extern const xyl_module_t xyl_notices_module;

/* A kind's handler, by the module to which the kind belongs, as a context
 * begins. The notice is the handler's to change until it returns. */
typedef void (*xyl_notice_fn)(xylem_context_t *context, xyl_notice_t *notice);
void xyl_notices_handle(xylem_context_t *context, xyl_notice_kind_t kind,
                        xyl_notice_fn handle);

/* begins: this rank begins to make a team; from now on it keeps notices about
 * teams that it does not have. ended: it has made the team, or given it up. Any
 * thread. */
void xyl_notices_team_begins(xylem_context_t *context);
void xyl_notices_team_ended(xylem_context_t *context);

/* Posts the receive, unless this rank is the only one. */
xylem_status_t xyl_notices_start(xylem_context_t *context);
/* 1: every notice that was sent is delivered. */
int xyl_notices_are_sent(const xylem_context_t *context);
/* 1: ranks tell each other. */
int xyl_notices_are_on(const xylem_context_t *context);
/* Cancels the receive, before the net ends. */
void xyl_notices_stop(xylem_context_t *context);

/* A notice from the context's pool, cleared but for kind, team, `from` and
 * `about` (none). NULL: no memory, or the context has no notices. Freed by
 * xyl_notice_free. */
xyl_notice_t *xyl_notice_new(xylem_context_t *context, xyl_notice_kind_t kind,
                             const struct xylem_team *team);
void xyl_notice_free(xylem_context_t *context, xyl_notice_t *notice);
/* Sends a copy, unless the peer has died or is this rank. */
void xyl_notice_send(xylem_context_t *context, uint32_t peer,
                     const xyl_notice_t *notice);
/* Sends to all ranks of a team. */
void xyl_notice_send_all(const struct xylem_team *team,
                         const xyl_notice_t *notice);
/* Sends to the ranks 1, 2, 4, ... further on in a team (NULL: in the job). If
 * each of them spreads it in turn, all ranks are told, even when some fail. */
void xyl_notice_spread(xylem_context_t *context, const struct xylem_team *team,
                       const xyl_notice_t *notice);

#endif
