/* A team whose ranks sum words, and are told when a call fails. */
#pragma once

#include "tests/support/fabric.h"

enum { TOLD_RANKS = 6, TOLD_WORDS = 64 };

typedef struct told {
    fabric_t *fabric;
    uint32_t ranks;
    uint32_t words[TOLD_RANKS][TOLD_WORDS], sums[TOLD_RANKS][TOLD_WORDS];
    xylem_request_t *requests[TOLD_RANKS];
} told_t;

void told_init_of(told_t *told, uint32_t ranks, uint64_t seed,
                  int shares_memory);
void told_init(told_t *told, uint64_t seed, int shares_memory);
xylem_team_t *told_world(const told_t *told, uint32_t rank);
/* Starts an allreduce of all words. */
void told_start(told_t *told, uint32_t rank);
/* All ranks look `looks` times for operations that hang. */
void told_look(const told_t *told, uint32_t looks);
