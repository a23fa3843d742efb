/* Teams: ordered sets of ranks with a space of message tags of their own.
 *
 * A tag is (slot, source, sequence, segment); see docs/inside/runtime.md:
 *   slot     14 bits  the team, as the receiver numbers it
 *   source   20 bits  the sender's rank, and above it, in the bits that a team
 *                     of this size leaves free, the mark (xyl_team_mark)
 *   sequence 20 bits  the upper half is for calls with tags (tags.h)
 *   segment  10 bits  modulo 1024. An edge carries one lane of at most 16, and
 *                     its window has at most 64 segments. So two segments of an
 *                     edge with equal values are never in its window together
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/core/context.h"
#include "runtime/core/group.h"
#include "runtime/core/history.h"
#include "runtime/core/tags.h"

enum {
    XYL_TEAM_MAGIC = 0x78546d74,
    XYL_TEAM_SOURCE_BITS = 20,
    XYL_TEAM_SOURCE_AT = 30,
    XYL_TEAM_SIZE_MAX = 1 << XYL_TEAM_SOURCE_BITS,
    XYL_TEAM_SEGMENT_TAGS = 1 << 10
};
#define XYL_TEAM_KEY_WORLD (UINT64_C(1) << 32)

/* Why a team can no longer be used. */
typedef struct xyl_failure {
    xylem_status_t status;
    uint32_t rank; /* of the job: the cause; UINT32_MAX: unknown */
    char text[XYL_FAILURE_TEXT];
} xyl_failure_t;

struct xylem_team {
    uint32_t magic;
    uint32_t rank;
    uint32_t size;
    uint32_t slot;
    int is_one_node; /* all ranks live on one node */
    int may_share;   /* all ranks have agreed to share the nodes' memory */
    xylem_context_t *context;
    uint32_t *world_ranks;  /* [size]; NULL: rank i is rank i of the job */
    uint16_t *peer_slots;   /* [size]; NULL: all are `slot` */
    uint64_t key;           /* names it and its memory; used once in the job */
    _Atomic uint64_t begun; /* next sequence number of calls without tags */
    uint64_t mark_bits;     /* of a message's tag */
    _Atomic uint32_t references; /* the user's, and one per request */
    _Atomic uint32_t persistent; /* requests that may be started again */
    _Atomic uint32_t has_failed; /* for good; then `failure` says why */
    xyl_failure_t failure;
    uint64_t parent_key; /* of the team that it was made from */
    uint32_t child_number;
    _Atomic uint32_t children; /* that were begun; equal on all ranks */
    uint32_t recoveries; /* agreements before a shrink; equal on all ranks */
    uint32_t unmade;     /* first child that a rank could not make; 0: none */
    LIST_ENTRY(xylem_team) others; /* the context's teams; under its lock */
    pthread_mutex_t lock;          /* for `tags`, and modules' state */
    _Atomic(xyl_tags_t *) tags;    /* NULL: no call had a tag */
    xyl_history_t history;
    void *attached[]; /* [modules->count], see module.h */
};

/* 1: on every node with several of the team's ranks, these share memory. All
 * ranks of the team get the same result. */
static inline int xyl_team_shares(const xylem_team_t *team)
{
    return team->may_share && team->context->all_nodes_share;
}

static inline uint32_t xyl_team_world_rank(const xylem_team_t *team,
                                           uint32_t rank)
{
    return team->world_ranks == NULL ? rank : team->world_ranks[rank];
}

/* The tag of a message from `source` to `destination` in this team, without its
 * mark. */
static inline uint64_t xyl_team_tag(const xylem_team_t *team, uint32_t source,
                                    uint32_t destination, uint32_t sequence,
                                    uint64_t segment)
{
    uint64_t slot =
        team->peer_slots == NULL ? team->slot : team->peer_slots[destination];

    return slot << XYL_SLOT_AT | (uint64_t)source << XYL_TEAM_SOURCE_AT |
           (uint64_t)(sequence >> 31) << 29 |
           (uint64_t)(sequence & 0x7ffff) << 10 | (segment & 0x3ff);
}

/* The memory of a team of at most `ranks_max` ranks, with world_ranks and
 * peer_slots for the caller to fill in. `ranks_max` 0: of the world team, which
 * has neither array. A rank reserves this memory before it agrees with the
 * others on the team, and then needs no more memory to make the team. NULL: no
 * memory; the error text says so. */
xylem_team_t *xyl_team_reserve(xylem_context_t *context, uint32_t ranks_max);
/* Gives up memory that has not become a team; NULL is allowed. */
void xyl_team_unreserve(xylem_context_t *context, xylem_team_t *team);
/* `key` differs from those of all other teams of the job. */
void xyl_team_create(xylem_context_t *context, xylem_team_t *team,
                     uint32_t rank, uint32_t size, uint32_t slot, uint64_t key);
void xyl_team_reference(xylem_team_t *team);
void xyl_team_unreference(xylem_team_t *team);

/* Finds a team by its key, and adds a reference for the caller. NULL: no team
 * in use has the key. */
xylem_team_t *xyl_team_find(xylem_context_t *context, uint64_t key);
/* The same, without a reference; the context's lock is held. NULL: none. */
xylem_team_t *xyl_team_listed(xylem_context_t *context, uint64_t key);

/* ---- calls ---- */

static inline uint32_t xyl_team_sequence(uint64_t begun)
{
    return (uint32_t)begun & ~XYL_SEQUENCE_TAGGED;
}
/* The next call in order takes `sequences` numbers for its messages. Returns
 * the first. Any thread. */
static inline uint64_t xyl_team_begin(xylem_team_t *team, uint32_t sequences)
{
    return atomic_fetch_add_explicit(&team->begun, sequences,
                                     memory_order_relaxed);
}
/* The mark of a call's messages, so that they match no other call: a hash of
 * this call and all before (`past`, history.h). */
static inline uint64_t xyl_team_mark(const xylem_team_t *team, uint64_t past)
{
    return past * UINT64_C(0x9e3779b97f4a7c15) >> 14 & team->mark_bits;
}

static inline int xyl_team_is_one(const xylem_team_t *team)
{
    return team != NULL && team->magic == XYL_TEAM_MAGIC;
}

/* All ranks of the team. */
static inline xyl_group_t xyl_team_all(const xylem_team_t *team)
{
    return (xyl_group_t){team->size, team->rank, NULL};
}

/* Any thread. */
static inline int xyl_team_has_failed(const xylem_team_t *team)
{
    /* Partner: the store in failure.c. */
    return atomic_load_explicit(&team->has_failed, memory_order_acquire) != 0;
}
/* Turns a rank of the job into one of the team; UINT32_MAX: not in the team. */
uint32_t xyl_team_rank_of(const xylem_team_t *team, uint32_t world_rank);
static inline int xyl_team_contains(const xylem_team_t *team,
                                    uint32_t world_rank)
{
    return xyl_team_rank_of(team, world_rank) != UINT32_MAX;
}

xylem_status_t xyl_team_check(const xylem_team_t *team, const char *call);
/* The same, before a call that blocks. */
xylem_status_t xyl_team_check_may_block(const xylem_team_t *team,
                                        const char *call);
