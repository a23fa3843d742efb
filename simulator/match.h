/* Matching by (rank, tag): receives that wait for their message, or messages
 * that wait for their receive. Objects with equal keys leave in the order in
 * which they came. They begin with a sim_match_t; no entry takes memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct sim_match {
    struct sim_match *next; /* in its chain, or for its holder */
    uint64_t tag;
    uint32_t rank;
} sim_match_t;

typedef struct sim_match_table {
    sim_match_t **chains;
    size_t chain_count; /* a power of two */
    size_t count;
} sim_match_table_t;

void sim_match_init(sim_match_table_t *table);
void sim_match_fini(sim_match_table_t *table);
/* Adding takes no memory until there are more than `count` objects. */
void sim_match_reserve(sim_match_table_t *table, size_t count);
void sim_match_add(sim_match_table_t *table, sim_match_t *match);
/* Takes out the first with this key; NULL: there is none. */
sim_match_t *sim_match_take(sim_match_table_t *table, uint32_t rank,
                            uint64_t tag);
/* The last with this key, which stays; NULL: there is none. */
sim_match_t *sim_match_last(const sim_match_table_t *table, uint32_t rank,
                            uint64_t tag);
/* Takes `match` out; 0: it is not there. */
int sim_match_remove(sim_match_table_t *table, sim_match_t *match);
/* Calls `each` for all, in an order that depends on their keys and history
 * only. */
void sim_match_visit(const sim_match_table_t *table,
                     void (*each)(void *arg, sim_match_t *match), void *arg);
