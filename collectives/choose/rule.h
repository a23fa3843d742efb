/* The rules of the table that decides. A rule says where it holds and what is
 * run there, and with what; the first that holds is taken. The built-in ones
 * are in table.json, from which the build makes rows of this form; a file that
 * XYLEM_TUNING names comes before them, and XYLEM_ALGORITHMS before both. */
#ifndef XYL_COLLECTIVES_CHOOSE_RULE_H
#define XYL_COLLECTIVES_CHOOSE_RULE_H

#include "collectives/choose/registry.h"
#include "collectives/stages/choice.h"

/* What is known of a team, on several nodes; from "memory" on, of a call. */
enum {
    XYL_FACT_SHARED = 1,   /* some have several ranks, and all of those share
                              memory */
    XYL_FACT_SWITCHES = 2, /* XYLEM_TOPOLOGY tells nodes apart */
    XYL_FACT_MANY = 4,     /* at least as many as the largest has ranks */
    XYL_FACT_ROOM = 8,     /* their memory has room for an alltoall's blocks */
    XYL_FACT_MEMORY = 16,  /* all are on one node and share memory */
    XYL_FACT_DEVICE = 32,  /* and tell one another of that of GPUs */
    XYL_FACT_ORDER = 64,   /* contributions are combined as they come */
    XYL_FACT_HOST = 128,   /* no buffer lies in memory of GPUs */
    XYL_FACT_FIXED = 256,  /* contributions are combined in a fixed order, which
                              need not be that of ranks */
    XYL_FACT_SUMS = 512,   /* contributions are summed so that the order leaves
                              no trace */
    XYL_FACT_UNASKED = 1024, /* device, as the user says of all buffers */
    XYL_FACT_SIDE_BY_SIDE =
        2048,                /* device, and no ranks take turns on a GPU:
                                each has its own, or they share it by MPS */
    XYL_FACT_IN_TURNS = 4096 /* device, and they do */
};

/* How ranks come to a call, as far as it is known; bits. */
enum { XYL_ARRIVE_TOGETHER = 1, XYL_ARRIVE_RANDOM = 2, XYL_ARRIVE_LATE = 4 };

/* Where levels are worth it; not asked where they are named. */
typedef struct xyl_pays {
    uint32_t facts;
    uint32_t node_ranks_max; /* ranks of the largest node */
    uint64_t node_bytes_max; /* bytes of all of its ranks */
} xyl_pays_t;

enum { XYL_PAYS_MAX = 3 };

/* Both belong to it. */
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
    /* Of the message, or of a rank's block (of leaders: of a node's); of all
     * blocks. */
    uint64_t bytes_min, bytes_max, total_min, total_max;
    uint32_t pays_count; /* 0: always; else one of them must */
    xyl_pays_t pays[XYL_PAYS_MAX];
    /* What, by names of entries: as xyl_named_t has it. */
    const char *algorithm; /* NULL: what else holds */
    uint32_t radix;
    const char *between;
    uint32_t between_radix;
    const char *within;
    uint32_t within_radix;
    size_t segment_bytes, within_segment_bytes;
    uint32_t send_window, recv_window;
    const char *origin; /* what it was measured, or simulated, on, and when */
    const void *us;     /* what calls took then, of the file; NULL: not known */
} xyl_rule_t;

/* Members of a rule that holds wherever its others do not say otherwise. */
#define XYL_RULE_ANYWHERE                                                      \
    .teams = XYL_TEAM_ANY, .ranks = XYL_COUNTS_ANY, .nodes = XYL_COUNTS_ANY,   \
    .node_ranks = XYL_COUNTS_ANY, .bytes_max = UINT64_MAX,                     \
    .total_max = UINT64_MAX

/* What is looked up. */
typedef struct xyl_query {
    xylem_coll_t coll;
    uint32_t team; /* one of them */
    uint32_t ranks, nodes, node_ranks;
    uint64_t bytes, total;
    uint32_t facts;
    uint32_t arrivals; /* one of them */
} xyl_query_t;

int xyl_rule_holds(const xyl_rule_t *rule, const xyl_query_t *query);
/* What a call took when the rule was made, between sizes that were measured; 0:
 * not known. */
double xyl_rule_expects(const xyl_rule_t *rule, uint64_t bytes);
int xyl_rule_pays(const xyl_rule_t *rule, const xyl_query_t *query);

/* What the rule names for one of its collectives; its algorithm is NULL where
 * the collective has none of that name. */
xyl_named_t xyl_rule_named(const xyl_rule_t *rule, xylem_coll_t coll);
/* The rule names that from now on. */
void xyl_rule_name(xyl_rule_t *rule, const xyl_named_t *named);

#endif
