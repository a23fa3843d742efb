/* Teams: ordered sets of ranks with a space of message tags of their own.
 *
 * A tag is (slot, source, sequence, segment):
 *   slot     14 bits  the team, as the *receiver* numbers it: each rank hands
 *                     out its own slots and tells the members once, so that
 *                     making a team needs no agreement on a number
 *   source   20 bits  the sender's rank in the team
 *   sequence 20 bits  the stage within the team, modulo 2^20: equal tags match
 *                     in order, so a wrap does no harm unless an operation is
 *                     still waiting when the team starts its 2^20th stage after
 *   segment  10 bits  modulo 1024: what is in flight on an edge lies within two
 *                     windows, in a double tree of every other segment
 */
#ifndef XYL_RUNTIME_CORE_TEAM_H
#define XYL_RUNTIME_CORE_TEAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/core/context.h"
#include "trees/topology_tree.h"
#include "trees/tree.h"

enum {
    XYL_TEAM_MAGIC = 0x78546d74,
    XYL_TEAM_SIZE_MAX = 1 << 20,
    XYL_TEAM_SEGMENT_TAGS = 1 << 10,
    XYL_PLAN_CACHE_SIZE = 32, /* idle operations that a team keeps */
    XYL_BRIEF_SIZE = 16,      /* and those that calls run themselves */
    XYL_TREE_CACHE_SIZE = 64  /* trees that a team remembers; a power of two */
};

/* The neighbours of this rank in one tree. */
typedef struct xyl_tree_key {
    xyl_shape_t shape;
    unsigned half;
    uint32_t root;
} xyl_tree_key_t;

typedef struct xyl_neighbours {
    xyl_tree_key_t key;
    uint32_t parent;
    uint32_t child_count;
    uint32_t capacity;
    uint32_t *children; /* NULL: the entry is unused */
} xyl_neighbours_t;

/* What a blocking call is about, beside its buffers, and the idle operation
 * for it; collectives/api/at_once.h. */
typedef struct xyl_brief_call {
    xylem_request_t *request; /* NULL: none */
    uint64_t count;
    xylem_coll_t coll;
    xylem_type_t type;
    xylem_op_t op;
    uint32_t root;
    uint8_t sends, receives; /* it has something in that buffer */
    uint8_t is_in_place;     /* in the one that it receives into */
} xyl_brief_call_t;

struct xylem_team {
    uint32_t magic;
    uint32_t rank;
    uint32_t size;
    uint32_t slot;
    int is_one_node; /* all ranks live on one */
    xylem_context_t *context;
    uint32_t *world_ranks;     /* [size]; NULL: rank i is rank i of the job */
    uint16_t *peer_slots;      /* [size]; NULL: all are `slot` */
    uint64_t key;              /* names its shared memory; unique on a node */
    struct xyl_board *board;   /* made when needed, by `lock` */
    uint32_t *group_of;        /* of its seats, the same; see node/groups.h */
    struct xyl_levels *levels; /* the same; see team_levels.h */
    _Atomic uint32_t sequence;
    _Atomic uint32_t references; /* the user's, and one per request */
    _Atomic uint32_t persistent; /* requests that may be started again */
    xylem_team_t *older, *newer; /* in the context's list, by its lock */
    pthread_mutex_t lock;        /* trees, map */
    _Atomic(xylem_request_t *) plans[XYL_PLAN_CACHE_SIZE]; /* plan_cache.h */
    xyl_brief_call_t brief[XYL_BRIEF_SIZE]; /* the engine's owner's */
    xyl_neighbours_t trees[XYL_TREE_CACHE_SIZE];
    uint32_t *map_memory;   /* of `map`; NULL: not its own */
    xyl_topology_map_t map; /* of 0 ranks until a topology tree is asked for */
};

static inline uint32_t xyl_team_world_rank(const xylem_team_t *team,
                                           uint32_t rank)
{
    return team->world_ranks == NULL ? rank : team->world_ranks[rank];
}

/* The tag of a message from `source` to `destination` in this team. */
static inline uint64_t xyl_team_tag(const xylem_team_t *team, uint32_t source,
                                    uint32_t destination, uint32_t sequence,
                                    uint64_t segment)
{
    uint64_t slot =
        team->peer_slots == NULL ? team->slot : team->peer_slots[destination];

    return slot << 50 | (uint64_t)source << 30 |
           (uint64_t)(sequence & 0xfffff) << 10 | (segment & 0x3ff);
}

/* world_ranks (NULL: all of the job) and peer_slots are taken, also on failure;
 * both come from malloc. */
xylem_status_t xyl_team_create(xylem_context_t *context, uint32_t rank,
                               uint32_t size, uint32_t slot,
                               uint32_t *world_ranks, uint16_t *peer_slots,
                               xylem_team_t **team_out);
void xyl_team_reference(xylem_team_t *team);
void xyl_team_unreference(xylem_team_t *team);

/* Copies this rank's neighbours; children_out is allocated from `arena`. */
xylem_status_t xyl_team_neighbours(xylem_team_t *team,
                                   const xyl_tree_key_t *key,
                                   xyl_arena_t *arena,
                                   xyl_neighbours_t *neighbours_out);

/* Sorts `n` ranks by place: rank i of the map is rank world_ranks[i] of the
 * job (NULL: i). The map lies in *memory_out, which the caller frees. */
xylem_status_t xyl_team_map_create(const xyl_peer_t *peers,
                                   const uint32_t *world_ranks, uint32_t n,
                                   uint32_t **memory_out,
                                   xyl_topology_map_t *map_out);

/* 1 when a rank of the team has failed. */
int xyl_team_has_failures(const xylem_team_t *team);
int xyl_team_contains(const xylem_team_t *team, uint32_t world_rank);

xylem_status_t xyl_team_check(const xylem_team_t *team, const char *call);

#endif
