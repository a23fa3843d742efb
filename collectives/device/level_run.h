/* A level on GPUs while it runs: its state, which level.c plans, and its
 * stages. level_run.c says how they work. */
#pragma once

#include "collectives/board/board.h"
#include "collectives/device/plan.h"
#include "collectives/levels/parts.h"

/* Each seat publishes its offer, and behind it these words, in lines of their
 * own. All but `is_settled` are set by leaders. */
typedef struct xyl_level_words {
    _Atomic uint64_t is_settled;
    /* Segments of each lane that kernels up have read, and that kernels down
     * have read and written. */
    _Atomic uint64_t read[XYL_LANES_MAX], written[XYL_LANES_MAX];
} xyl_level_words_t;

enum {
    XYL_LEVEL_WORDS_AT =
        (sizeof(xyl_device_offer_t) + XYL_BOARD_LINE_BYTES - 1) /
        XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES,
    XYL_LEVEL_PUBLISHED = (XYL_LEVEL_WORDS_AT + sizeof(xyl_level_words_t) +
                           XYL_BOARD_LINE_BYTES - 1) /
                          XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES
};

typedef struct xyl_device_level xyl_device_level_t;

/* The stages of a lane. XYL_LEVEL_ENTRY holds the input back until the node's
 * way is known, and then passes it to the stages of mirrors, or drops it. */
typedef enum xyl_level_position {
    XYL_LEVEL_ENTRY,
    XYL_LEVEL_UP,
    XYL_LEVEL_DOWN,
    XYL_LEVEL_POSITIONS
} xyl_level_position_t;

typedef struct xyl_level_stage {
    xyl_stage_t stage;
    xyl_device_level_t *level;
    uint32_t lane;
    xyl_level_position_t position;
    char *memory;     /* the message, where the stages between nodes have it */
    int is_open;      /* 1: kernels may begin */
    uint64_t *there;  /* bits: input is there, and nothing has begun */
    uint64_t *over;   /* bits: a kernel has ended */
    uint64_t begun;   /* all segments below have begun */
    uint64_t ended;   /* how many segments have ended */
    uint64_t told;    /* all below have ended, as the word says */
    uint32_t idle;    /* how many kernels are not under way */
    uint32_t *kernel; /* [kernels] numbers, those of idle ones first */
    uint64_t *index;  /* [kernels] the segment */
    /* [kernels] One of the two; NULL: no kernel does such work. */
    xyl_cuda_combine_t *combine;
    xyl_cuda_moves_t *moves;
    xyl_stage_work_t *works;
} xyl_level_stage_t;

typedef struct xyl_level_lane {
    uint32_t leader; /* seat */
    /* NULL: there is no such stage. All seats have XYL_LEVEL_ENTRY. */
    xyl_level_stage_t *at[XYL_LEVEL_POSITIONS];
    /* The leader has these stages between nodes. If kernels bring the net no
     * input, `before_net` does; if none take its results, `behind_net` does. */
    xyl_stage_t *net_first, *net_last, *before_net, *behind_net;
} xyl_level_lane_t;

/* The blocks of a message that moves at once, in the memory that the leader's
 * stage between nodes reads, in bytes. */
typedef struct xyl_level_blocks {
    uint64_t *bytes, *at; /* [seats] the block of each; NULL: segments move */
    uint64_t total;       /* of all nodes' blocks */
    uint64_t result_at;   /* where the stage between nodes writes, in the memory
                             that it is bound to */
    int all_lead;         /* each seat leads: it deals with nodes of its own */
    const xyl_levels_t *levels;
} xyl_level_blocks_t;

struct xyl_device_level {
    xyl_device_plan_t plan; /* its ranks are this node's seats */
    xyl_group_t seats;
    xyl_level_blocks_t blocks;
    xyl_stage_t *names;
    xyl_level_lane_t *lanes;
    uint32_t lane_count;
    uint32_t kernels; /* of a stage under way, at most */
    int is_unsuited;  /* segments go singly to or from the user, or a stage
                         cannot be left out */
    int is_started, is_settled; /* this run */
    int is_fed;    /* this run knows which stages bring the nets input */
    uint32_t come; /* so many seats have come, in their order */
};

typedef struct xyl_level_offer {
    xyl_stage_t stage;
    xyl_device_level_t *level;
} xyl_level_offer_t;

static inline int xyl_level_leads(const xyl_device_level_t *level,
                                  const xyl_level_lane_t *lane)
{
    return lane->leader == level->seats.rank;
}

static inline int xyl_level_is_bcast(const xyl_device_level_t *level)
{
    return level->plan.problem.coll == XYLEM_COLL_BCAST;
}

/* 1: segments move; else all blocks move at once, as one segment. */
static inline int xyl_level_has_segments(const xyl_device_level_t *level)
{
    return level->blocks.bytes == NULL;
}

/* 1: the call has a root, on this node. */
static inline int xyl_level_has_root(const xyl_device_level_t *level)
{
    return level->plan.problem.root != UINT32_MAX;
}

/* The stages of a lane, one for each position, and the stage that fills in the
 * offer. */
extern const xyl_stage_ops_t xyl_level_ops[XYL_LEVEL_POSITIONS],
    xyl_level_offer_ops;

/* ---- level_kernels.c ---- */

/* Writes the kernels of a segment, for the stage's idle numbers from the last
 * on; returns how many. Below 0: a seat's memory cannot be opened. */
int xyl_launches_write(xyl_level_stage_t *stage, uint64_t index);
/* Finds the blocks of a call whose message moves at once, and how many kernels
 * a stage has. 0: no memory. */
int xyl_launches_find(xyl_han_t *han, xyl_device_level_t *level);

/* ---- level_run.c ---- */

/* Handles the end of a kernel of a stage. */
void xyl_level_worked(xyl_event_t *event);

/* The gate of the offers' stage. 1: this seat looks at no offer or word any
 * more. `arg` is the level. */
int xyl_level_may_go(void *arg, uint64_t piece, unsigned *did);
