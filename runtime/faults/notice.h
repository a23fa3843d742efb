/* Notices: messages over the net beside those of operations. They have a slot
 * of their own in message tags, one length, and one receive that is always
 * posted. Sending a notice takes memory of the pool, so it is not for the data
 * path.
 *
 * The progressing thread. */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

#include "runtime/core/context.h"

struct xylem_team;

/* Each kind belongs to a module, which lays out its payload and handles it. */
typedef enum xyl_notice_kind {
    XYL_NOTICE_DEAD,    /* failure.c: a process has died */
    XYL_NOTICE_FAILED,  /* failure.c: the team has failed */
    XYL_NOTICE_UNMADE,  /* failure.c: a rank could not make a child */
    XYL_NOTICE_CALL,    /* mismatch.c: `from` has waited for long in a call */
    XYL_NOTICE_VALUE,   /* agreement.c: a value, to its collector */
    XYL_NOTICE_OUTCOME, /* agreement.c: the outcome */
    XYL_NOTICE_LEAVING, /* context_leave.c: `from` ends its context */
    XYL_NOTICE_STAGE,   /* xyl_notice_to_stage_t */
    XYL_NOTICE_KINDS
} xyl_notice_kind_t;

enum { XYL_NOTICE_WORDS = 33 };

typedef struct xyl_notice {
    uint32_t kind; /* xyl_notice_kind_t */
    uint32_t from; /* rank of the job */
    uint64_t team; /* its key */
    uint64_t payload[XYL_NOTICE_WORDS];
    /* Then a bit for each rank of the job: xyl_notice_dead. */
} xyl_notice_t;

/* The payload of a notice, as the module of its kind lays it out. */
#define XYL_NOTICE_AS(type, notice)                                            \
    ((void)sizeof(char[sizeof(type) <= sizeof(notice)->payload ? 1 : -1]),     \
     (type *)(void *)(notice)->payload)

static inline uint64_t *xyl_notice_dead(xyl_notice_t *notice)
{
    return (uint64_t *)(void *)(notice + 1);
}

/* From a stage to the same stage of another rank, where it may be over, or not
 * begun. */
typedef struct xyl_notice_to_stage {
    uint32_t stage;        /* its number */
    uint32_t wants_answer; /* 1: a notice that no stage reads comes back, with
                              is_unread */
    uint32_t is_unread;
    uint64_t said[2]; /* the meaning is the stage's */
} xyl_notice_to_stage_t;

typedef struct xyl_notice_reader {
    uint64_t team;  /* its key */
    uint32_t stage; /* its number */
    void (*read)(struct xyl_notice_reader *reader, xyl_notice_t *notice);
    int listens;
    LIST_ENTRY(xyl_notice_reader) others;
} xyl_notice_reader_t;

/* Without effect if the context has no notices. */
void xyl_notice_listen(xylem_context_t *context, xyl_notice_reader_t *reader);
void xyl_notice_leave(xyl_notice_reader_t *reader);

/* When a team has been made, the module hands out the notices that came too
 * early for it. At the context's end, after the net's, it frees all notices. */
extern const xyl_module_t xyl_notices_module;

/* The module to which a kind belongs names the kind's handler when a context
 * begins. The notice has come over the net and may hold anything; the handler
 * may change it. `is_of_team`: such a notice is kept if it comes before this
 * rank has made its team. */
typedef void (*xyl_notice_fn)(xylem_context_t *context, xyl_notice_t *notice);
void xyl_notices_handle(xylem_context_t *context, xyl_notice_kind_t kind,
                        int is_of_team, xyl_notice_fn handle);

/* begins: this rank begins to make a team, and keeps notices about teams that
 * it does not have. ended: it has made the team, or given it up. Any thread. */
void xyl_notices_team_begins(xylem_context_t *context);
void xyl_notices_team_ended(xylem_context_t *context);

/* Posts the receive, unless this rank is the only one. */
xylem_status_t xyl_notices_start(xylem_context_t *context);
/* 1: every notice that was sent is delivered. */
int xyl_notices_are_sent(const xylem_context_t *context);
/* 1: ranks send each other notices. */
int xyl_notices_are_on(const xylem_context_t *context);
/* Cancels the receive, before the net ends. */
void xyl_notices_stop(xylem_context_t *context);

/* A notice from the context's pool, cleared but for kind, team and `from`.
 * NULL: no memory, or the context has no notices. Freed by
 * xyl_notice_free. */
xyl_notice_t *xyl_notice_new(xylem_context_t *context, xyl_notice_kind_t kind,
                             const struct xylem_team *team);
void xyl_notice_free(xylem_context_t *context, xyl_notice_t *notice);
/* Sends a copy, unless the peer has died or is this rank. */
void xyl_notice_send(xylem_context_t *context, uint32_t peer,
                     const xyl_notice_t *notice);
void xyl_notice_send_all(const struct xylem_team *team,
                         const xyl_notice_t *notice);
/* Sends to the ranks 1, 2, 4, ... further on in a team (NULL: in the job). If
 * each of them spreads it in turn, all ranks are told, even when some fail. */
void xyl_notice_spread(xylem_context_t *context, const struct xylem_team *team,
                       const xyl_notice_t *notice);
