/* The edges of a sparse graph at one rank, as a call of a neighborhood
 * collective names them: checked, without nobody (UINT32_MAX), and in an order
 * by which ranks need not wait in a circle.
 *
 * Both ends sort an edge by its step, (receiver - sender) modulo ranks. So
 * ranks do not all begin with the same neighbour. The first in this order of
 * all edges that are left is the first of its sender and of its receiver. An
 * edge that a rank names several times is there as often. */
#pragma once

#include "collectives/data/problem.h"

/* An edge of this rank, which is entry `index` of the list that names it. */
typedef struct xyl_neighbor {
    uint32_t step; /* in the order above; 0: to itself */
    uint32_t index;
} xyl_neighbor_t;

typedef struct xyl_neighbor_list {
    const char *name;      /* of the list */
    const uint32_t *peers; /* the list, borrowed from the call */
    uint32_t count;
    xyl_neighbor_t *sorted; /* [known]; equal ones by index */
    uint32_t known;         /* entries other than nobody */
} xyl_neighbor_list_t;

typedef struct xyl_neighbors {
    xyl_neighbor_list_t destinations, sources;
    uint64_t sent, received; /* bytes of a block, packed */
} xyl_neighbors_t;

/* Finds the neighbours in the problem's call; there are none without a call.
 * The caller ends them with xyl_neighbors_fini, also after a failure.
 * XYLEM_ERR_INVALID_ARG, with a text: a neighbour is no rank; blocks exceed the
 * address space; the rank names itself in one list only, or by two lengths. */
xylem_status_t xyl_neighbors_find(const xyl_problem_t *problem,
                                  xyl_neighbors_t *neighbors);
void xyl_neighbors_fini(xyl_neighbors_t *neighbors);

/* 1: edge i of the order is not the same as the one before. */
static inline int xyl_neighbors_is_new(const xyl_neighbor_list_t *edges,
                                       uint32_t i)
{
    return i == 0 || edges->sorted[i - 1].step != edges->sorted[i].step;
}

/* The rank at the other end of edge i. */
static inline uint32_t xyl_neighbors_peer(const xyl_neighbor_list_t *edges,
                                          uint32_t i)
{
    return edges->peers[edges->sorted[i].index];
}
