/* Tells which algorithm the library chooses for a call. */
#pragma once

#include "collectives/choose/choose.h"
#include "tests/support/shape.h"

enum { DECISION_RANKS_MAX = 1200 };

/* A special kind of call. */
typedef struct kind {
    const char *name;
    int is_for_reductions, is_for_segments;
    int is_ordered; /* the operation does not commute */
    uint32_t flags;
    size_t segment_bytes;
    uint32_t tag;
    const char *algorithm;
    xyl_way_t way;
    uint64_t direct; /* XYLEM_CUDA_DIRECT */
} decision_kind_t;

typedef struct decision {
    const shape_t *shape;
    const decision_kind_t *kind;
    xylem_team_t *team;
    xylem_coll_t coll;
    uint64_t bytes;
    xyl_problem_t problem;
    xyl_query_t query;
    xyl_choice_t choice;
} decision_t;

/* A reduction's elements are longer than a byte. */
uint64_t decision_unit(xylem_coll_t coll);
/* 0: the call is refused. */
int decision_make(decision_t *decision);
void decision_fails(const decision_t *decision, int line, const char *what);

#define DECISION_CHECK(decision, condition)                                    \
    do {                                                                       \
        if (!(condition))                                                      \
            decision_fails(decision, __LINE__, "not " #condition);             \
    } while (0)
