/* The plan that the stages of a collective on memory of GPUs share on a rank,
 * and the offers that ranks tell one another. */
#pragma once

#include "collectives/data/algorithm.h"
#include "collectives/data/extents.h"
#include "collectives/device/device.h"
#include "collectives/stages/copy_stage.h"
#include "collectives/stages/work.h"

/* An offer names at most so many other GPUs that its GPU reaches. */
enum { XYL_DEVICE_REACHED_MAX = 16 };

/* Where the buffers of a rank lie. */
typedef enum xyl_device_kind {
    XYL_DEVICE_NOTHING, /* the rank has no buffers in this call */
    XYL_DEVICE_HOST,
    XYL_DEVICE_GPU /* at least one lies in memory of a GPU */
} xyl_device_kind_t;

/* If blocks differ: a rank's block to another rank and its block from there, in
 * bytes from the beginning of the named buffers. Travels between ranks. */
typedef struct xyl_device_cell {
    uint64_t send_at, send_bytes, recv_at, recv_bytes;
} xyl_device_cell_t;

/* A rank's offer: where its buffers lie. Travels between ranks. */
typedef struct xyl_device_offer {
    uint32_t owner; /* rank of the job */
    uint16_t kind;  /* xyl_device_kind_t */
    uint8_t is_bad; /* buffers cannot be shared, or there is no kernel */
    uint64_t gpu;   /* its number, equal for all ranks that share it */
    uint64_t reached[XYL_DEVICE_REACHED_MAX]; /* GPUs; 0: no more */
    uint64_t input_bytes, result_bytes;       /* 0: there is none */
    xyl_device_freed_t freed[XYL_DEVICE_FREED_MAX];
    xyl_device_name_t input, result; /* `input` may be a design's room */
    xyl_device_cell_t cell[]; /* [ranks], of collectives whose blocks differ */
} xyl_device_offer_t;

/* One of a rank's two buffers. */
typedef struct xyl_device_side {
    uint64_t at, bytes; /* packed, of the user's buffer; bytes 0: no buffer */
    const xyl_layout_t *layout;
    int has_gaps;           /* between blocks: no room may replace the buffer */
    int is_copied;          /* a room has to replace the buffer */
    char *users;            /* where the user's buffer begins */
    xyl_cuda_place_t place; /* of the buffer, in this call */
    void *room;             /* replaces the buffer; NULL: none does */
} xyl_device_side_t;

/* The work of one kernel. */
typedef struct xyl_device_task {
    int is_moves; /* else it combines */
    union {
        xyl_cuda_combine_t combine;
        xyl_cuda_moves_t moves;
    } does;
} xyl_device_task_t;

typedef struct xyl_device_plan xyl_device_plan_t;
struct xyl_han;

/* A way to do collectives, see run.c. */
typedef struct xyl_device_design {
    /* 1: ranks use each other's buffers; 0: only the room that each offers. */
    int shares_buffers;
    int has_no_rooms; /* 1: buffers that cannot be shared are not copied */
    /* Bytes of that room. */
    uint64_t (*room_bytes)(const xyl_device_plan_t *plan);
    /* The most phases, and the most tasks of a rank in a phase; NULL: 1. */
    uint32_t (*phases_max)(const xyl_problem_t *problem);
    uint32_t (*tasks_max)(const xyl_problem_t *problem);
    /* The number of phases, by all offers; alike on all ranks. NULL: 1. */
    uint32_t (*phases)(const xyl_device_plan_t *plan);
    /* Writes this rank's tasks of a phase, in the order in which they have to
     * run; returns how many. Below 0: another rank's memory cannot be
     * opened. */
    int (*write)(xyl_device_plan_t *plan, uint32_t phase);
    /* NULL, or adds stages that do a phase's work in place of tasks; returns
     * the last one, a node stage, which is skipped if the phase is. */
    xyl_stage_t *(*add_phase)(struct xyl_han *han, xyl_device_plan_t *plan);
    /* Makes the memory that the rank needs beside its room. 0: there is no
     * memory. NULL: the rank needs none. */
    int (*prepare)(xyl_device_plan_t *plan);
    int is_dynamic;
} xyl_device_design_t;

/* Numbers of stages. */
enum { XYL_DEVICE_NAMES, XYL_DEVICE_MIRRORED, XYL_DEVICE_BARRIER };

/* The plan that all stages of a rank share. */
struct xyl_device_plan {
    const xyl_device_design_t *design;
    const char *name;      /* of the algorithm */
    const uint32_t *ranks; /* their numbers in the team; NULL: rank i is i */
    xyl_exec_t *exec;
    const xyl_cuda_library_t *library; /* NULL: the buffers are the host's */
    xylem_context_t *context;
    xyl_operation_t *operation;
    xyl_problem_t problem;   /* without its arrays; these are kept here: */
    const uint64_t *counts;  /* [ranks] of a reduce_scatter's blocks */
    uint64_t *places;        /* [ranks] of these blocks, in elements */
    xyl_device_cell_t *cell; /* [ranks] of this rank; NULL: blocks are alike */
    uint32_t number;         /* the algorithm's parameter, or 0 */
    uint32_t op, type;       /* for kernels */
    uint64_t count;          /* elements of a message, or of a block */
    size_t element_bytes;
    xyl_device_side_t input, result;
    int device;
    size_t offer_bytes;
    char *offers; /* [ranks] */
    /* The mirrors of a rank with buffers of a GPU. has_mirrors: a run that
     * needs them takes them. */
    int has_mirrors;
    xyl_mirrors_t mirrors;
    xyl_stage_t *fetch, *bring; /* NULL: there is nothing to be mirrored */
    xyl_stage_t *node;
    xyl_stage_t **barriers; /* [phases_max], one behind each phase */
    uint32_t phases, phases_max;
    int is_direct;
    int is_learning;          /* which GPUs reach one another, on mirrors */
    const char *mirrored_for; /* the last reason for mirrors; NULL: none */
    void *room;               /* for designs that share no buffers */
    xyl_device_task_t *tasks; /* [tasks_max] */
    uint32_t tasks_max;
};

static inline xyl_device_offer_t *
xyl_device_offer(const xyl_device_plan_t *plan, uint32_t rank)
{
    return (xyl_device_offer_t *)(void *)(plan->offers +
                                          rank * plan->offer_bytes);
}

/* Where a buffer of this rank begins. */
static inline char *xyl_device_own(const xyl_device_side_t *side)
{
    return side->users + side->at;
}

/* Begins to describe a kernel that combines `count` elements. The caller adds
 * its inputs and results. */
static inline void xyl_device_combine_fill(const xyl_device_plan_t *plan,
                                           uint64_t count,
                                           xyl_cuda_combine_t *combine)
{
    combine->op = plan->op;
    combine->type = plan->type;
    combine->count = count;
    combine->blocks = combine->inputs = combine->results = 0;
}

/* ---- run.c ---- */

/* Adds all stages of a collective of that design. */
void xyl_device_stages_add(struct xyl_han *han,
                           const xyl_device_design_t *design);

/* Fills in the plan's members about the call; neither the sides nor the members
 * for stages. */
void xyl_device_plan_fill(struct xyl_han *han, xyl_device_plan_t *plan,
                          const xyl_problem_t *problem);
/* Sets the buffers that the next run reads and writes. */
void xyl_device_plan_bind(xyl_device_plan_t *plan, const void *reads,
                          void *writes);
/* Fills in this rank's offer for a run. */
void xyl_device_offer_fill(xyl_device_plan_t *plan, xyl_device_offer_t *offer);

/* The first function finds the call's way, once in each run, when all offers
 * are there. The second one does so and follows the way: it skips stages, and
 * takes mirrors. */
xylem_status_t xyl_device_way_find(xyl_device_plan_t *plan);
xylem_status_t xyl_device_way_settle(xyl_device_plan_t *plan);

/* Closes the memory that a rank's offer says to be freed. */
void xyl_device_forget_freed(const xyl_device_plan_t *plan, uint32_t rank);

/* Takes mirrors in a run that needs them; planning takes none. */
xylem_status_t xyl_device_mirrors_take(const xyl_device_plan_t *plan);

/* Opens a buffer that another rank has named, for this rank's device. NULL: it
 * cannot be opened. */
char *xyl_device_operand(const xyl_device_plan_t *plan, uint32_t rank,
                         const xyl_device_name_t *name);

/* The status of a call that cannot open another rank's memory: that rank may
 * have died a moment ago. */
xylem_status_t xyl_device_unopened(const xyl_device_plan_t *plan);

/* The collectives that GPUs of a node can do. */
#define XYL_DEVICE_COLLS                                                       \
    (XYL_COLL_BIT(BCAST) | XYL_COLL_BIT(REDUCE) | XYL_COLL_BIT(ALLREDUCE) |    \
     XYL_COLL_BIT(GATHER) | XYL_COLL_BIT(GATHERV) | XYL_COLL_BIT(SCATTER) |    \
     XYL_COLL_BIT(SCATTERV) | XYL_COLL_BIT(ALLGATHER) |                        \
     XYL_COLL_BIT(ALLGATHERV) | XYL_COLL_BIT(ALLTOALL) |                       \
     XYL_COLL_BIT(ALLTOALLV) | XYL_COLL_BIT(REDUCE_SCATTER) |                  \
     XYL_COLL_BIT(REDUCE_SCATTER_BLOCK) | XYL_COLL_BIT(SCAN) |                 \
     XYL_COLL_BIT(EXSCAN))
/* 1: kernels can do the collective, so ranks may ask for it. */
int xyl_device_has_tasks(xylem_coll_t coll);

/* ---- level.c ---- */

/* Collectives on several nodes whose levels within a node GPUs can do. */
#define XYL_DEVICE_LEVEL_COLLS                                                 \
    (XYL_COLL_BIT(BCAST) | XYL_COLL_BIT(REDUCE) | XYL_COLL_BIT(ALLREDUCE) |    \
     XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLTOALL) |                        \
     XYL_COLL_BIT(REDUCE_SCATTER) | XYL_COLL_BIT(REDUCE_SCATTER_BLOCK))
extern const xyl_node_level_t xyl_device_level;

/* ---- sides.c ---- */

/* Finds this rank's input and result, and copies the problem's arrays as far as
 * tasks need them. 0: no memory. */
int xyl_device_sides_find(xyl_device_plan_t *plan, const xyl_problem_t *problem,
                          const xyl_layout_t *send, const xyl_layout_t *recv);
