/* The rules of the table that decides. A rule says where it holds, and the
 * algorithm to run there with its parameters; a call takes the first rule that
 * holds. The build makes the built-in rules from table.json; a file that
 * XYLEM_TUNING names comes before them, and XYLEM_ALGORITHMS before both. */
#pragma once

#include "collectives/choose/registry.h"
#include "collectives/stages/choice.h"

/* Facts. The first four are about a team on several nodes, the others about a
 * call. */
enum {
    XYL_FACT_SHARED = 1,   /* nodes of several ranks exist, and share memory */
    XYL_FACT_SWITCHES = 2, /* XYLEM_TOPOLOGY tells nodes apart */
    XYL_FACT_MANY = 4,     /* at least as many nodes as the largest has ranks */
    XYL_FACT_ROOM = 8,     /* nodes' memory has room for an alltoall's blocks */
    XYL_FACT_MEMORY = 16,  /* all ranks are on one node and share memory */
    XYL_FACT_DEVICE = 32,  /* ranks tell each other of buffers on GPUs */
    XYL_FACT_ORDER = 64,   /* contributions are combined as they come */
    XYL_FACT_HOST = 128,   /* no buffer lies in memory of GPUs */
    XYL_FACT_FIXED = 256,  /* contributions are combined in a fixed order, which
                              need not be that of ranks */
    XYL_FACT_SUMS = 512,   /* sums have the same bits in any order */
    XYL_FACT_UNASKED = 1024, /* device: the user says so of all buffers */
    XYL_FACT_SIDE_BY_SIDE =
        2048,                /* device, and no ranks take turns on a GPU:
                                each has its own, or they share it by MPS */
    XYL_FACT_IN_TURNS = 4096 /* device, and ranks take turns on a GPU */
};

/* How ranks come to a call, as far as this is known; bits. */
enum { XYL_ARRIVE_TOGETHER = 1, XYL_ARRIVE_RANDOM = 2, XYL_ARRIVE_LATE = 4 };

/* Where a rule pays. An algorithm that a call names runs elsewhere, too. */
typedef struct xyl_pays {
    uint32_t facts;
    uint32_t node_ranks_max; /* ranks of the largest node */
    uint64_t node_bytes_max; /* bytes of all of its ranks */
} xyl_pays_t;

enum { XYL_PAYS_MAX = 3 };

/* A range that includes both ends. */
typedef struct xyl_counts {
    uint32_t least, most;
} xyl_counts_t;

#define XYL_COUNTS_ANY ((xyl_counts_t){0, UINT32_MAX})

typedef struct xyl_rule {
    /* Where. */
    uint32_t colls; /* XYL_COLL_BIT of each */
    uint32_t teams;
    xyl_counts_t ranks, nodes;
    xyl_counts_t node_ranks; /* of the largest node */
    int power_of_two;        /* ranks */
    uint32_t arrivals;       /* 0: any */
    /* `bytes`: of the message, or of a rank's block (for leaders: of a node's);
     * `total`: of all blocks. */
    uint64_t bytes_min, bytes_max, total_min, total_max;
    uint32_t pays_count; /* 0: pays always; else where one of `pays` holds */
    xyl_pays_t pays[XYL_PAYS_MAX];
    /* The algorithm, by names of entries, as in xyl_named_t. */
    const char *algorithm; /* NULL: later tables decide */
    uint32_t radix;
    const char *between;
    uint32_t between_radix;
    const char *within;
    uint32_t within_radix;
    size_t segment_bytes, within_segment_bytes;
    uint32_t send_window, recv_window;
    const char *origin; /* where and when it was measured, or simulated */
    const void *us;     /* how long calls took then (JSON); NULL: not known */
} xyl_rule_t;

/* Members of a rule that holds anywhere, unless further members narrow it. */
#define XYL_RULE_ANYWHERE                                                      \
    .teams = XYL_TEAM_ANY, .ranks = XYL_COUNTS_ANY, .nodes = XYL_COUNTS_ANY,   \
    .node_ranks = XYL_COUNTS_ANY, .bytes_max = UINT64_MAX,                     \
    .total_max = UINT64_MAX

/* A call, as it is looked up in the rules. */
typedef struct xyl_query {
    xylem_coll_t coll;
    uint32_t team; /* one of XYL_TEAM_ */
    uint32_t ranks, nodes, node_ranks;
    uint64_t bytes, total;
    uint32_t facts;
    uint32_t arrivals; /* one of XYL_ARRIVE_ */
} xyl_query_t;

int xyl_rule_holds(const xyl_rule_t *rule, const xyl_query_t *query);
/* Microseconds that a call took when the rule was made, interpolated between
 * measured sizes; 0: not known. */
double xyl_table_expects(const xyl_rule_t *rule, uint64_t bytes);
int xyl_rule_pays(const xyl_rule_t *rule, const xyl_query_t *query);

/* Returns the algorithms that the rule names for a collective. The algorithm is
 * NULL if the collective has none of that name. */
xyl_named_t xyl_rule_named(const xyl_rule_t *rule, xylem_coll_t coll);
/* Makes the rule name these algorithms. */
void xyl_rule_name(xyl_rule_t *rule, const xyl_named_t *named);
