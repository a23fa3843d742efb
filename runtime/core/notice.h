/* Notices: what ranks tell each other beside their operations, over the net:
 * that a process has died, that a team has failed, what is agreed about that,
 * and that a rank leaves. They have a slot of their own in message tags, one
 * length, and one receive that is always posted. Off the data path: a notice
 * that is sent takes memory of the pool.
 *
 * The progressing thread. */
#ifndef XYL_RUNTIME_CORE_NOTICE_H
#define XYL_RUNTIME_CORE_NOTICE_H

#include <stddef.h>
#include <sys/queue.h>

#include "runtime/core/context.h"

struct xylem_team;

typedef enum xyl_notice_kind {
    XYL_NOTICE_DEAD,    /* the process of rank `about` */
    XYL_NOTICE_FAILED,  /* the team, and why; by rank `about` */
    XYL_NOTICE_UNMADE,  /* the team's child `number` is not there on a rank */
    XYL_NOTICE_CALL,    /* what `from` waits in: see called.c; the call's
                           number, `ballot` 1: by a tag, for `about` seconds,
                           after `flags` refusals; as text `status` words */
    XYL_NOTICE_VALUE,   /* of an agreement: from a rank to who collects */
    XYL_NOTICE_OUTCOME, /* and what came of it */
    XYL_NOTICE_LEAVING, /* `from` ends its context; `number` of a round */
    /* From here on: from a stage to the same of another rank, which may be over
     * there, or not begun; segments from `number` on are missing here, */
    XYL_NOTICE_MISSING,
    XYL_NOTICE_OFFER,  /* can be had here (waits for one of the next), */
    XYL_NOTICE_TAKE,   /* are wanted, */
    XYL_NOTICE_DECLINE /* or not any more */
} xyl_notice_kind_t;

typedef struct xyl_notice {
    uint32_t kind;        /* xyl_notice_kind_t */
    uint32_t status;      /* xylem_status_t; of a call, how many words */
    uint32_t from, about; /* ranks of the job; UINT32_MAX: nobody */
    uint64_t team;        /* its key */
    uint64_t number;      /* of a child, an agreement, a call, or a segment */
    uint32_t ballot;      /* who collects, or the number of a stage */
    uint32_t flags;       /* that are agreed on */
    char text[XYL_FAILURE_TEXT];
    /* followed by a bit for each rank of the job: */
} xyl_notice_t;

static inline uint64_t *xyl_notice_dead(xyl_notice_t *notice)
{
    return (uint64_t *)(void *)(notice + 1);
}

/* A stage that listens. */
typedef struct xyl_notice_reader {
    uint64_t team;  /* its key */
    uint32_t stage; /* its number */
    void (*read)(struct xyl_notice_reader *reader, const xyl_notice_t *notice);
    int listens;
    LIST_ENTRY(xyl_notice_reader) others;
} xyl_notice_reader_t;

/* Where the context hears of nothing, the stage does not. */
void xyl_notice_listen(xylem_context_t *context, xyl_notice_reader_t *reader);
void xyl_notice_leave(xyl_notice_reader_t *reader);

/* Reserves the slot, and posts the receive. */
xylem_status_t xyl_notices_start(xylem_context_t *context);
/* 1: the others have all that was sent. */
int xyl_notices_are_sent(const xylem_context_t *context);
/* Gives the receive up, while there is a net. */
void xyl_notices_stop(xylem_context_t *context);
/* When there is none any more. */
void xyl_notices_fini(xylem_context_t *context);

/* This rank has one team more: what was told of it before is read now. Any
 * thread. */
void xyl_notices_team_made(xylem_context_t *context);

/* Room for one, from the context's pool, cleared but for kind, team and `from`;
 * NULL: no memory, or nothing can be told. Returned by xyl_notice_free. */
xyl_notice_t *xyl_notice_new(xylem_context_t *context, xyl_notice_kind_t kind,
                             const struct xylem_team *team);
void xyl_notice_free(xylem_context_t *context, xyl_notice_t *notice);
/* Copies it. Nothing is sent to who has died, or to this rank itself. */
void xyl_notice_send(xylem_context_t *context, uint32_t peer,
                     const xyl_notice_t *notice);
/* To all of a team. */
void xyl_notice_send_all(const struct xylem_team *team,
                         const xyl_notice_t *notice);
/* To some of a team (NULL: of the job), so that all are told, however few fail
 * to pass it on, if each does so that hears of it first: to those 1, 2, 4, ...
 * ranks further on. */
void xyl_notice_spread(xylem_context_t *context, const struct xylem_team *team,
                       const xyl_notice_t *notice);

#endif
