#include "simulator/match.h"

#include <stdlib.h>

#include "simulator/must.h"
#include "simulator/random.h"

enum { CHAINS_FIRST = 1024 };

void sim_match_init(sim_match_table_t *table)
{
    table->chains = sim_must(calloc(CHAINS_FIRST, sizeof(sim_match_t *)));
    table->chain_count = CHAINS_FIRST;
    table->count = 0;
}

void sim_match_fini(sim_match_table_t *table)
{
    free(table->chains);
}

static sim_match_t **chain_of(const sim_match_table_t *table, uint32_t rank,
                              uint64_t tag)
{
    uint64_t hash = random_mix(tag ^ (uint64_t)rank << 32);

    return &table->chains[hash & (table->chain_count - 1)];
}

static void append(sim_match_t **link, sim_match_t *match)
{
    while (*link != NULL)
        link = &(*link)->next;
    match->next = NULL;
    *link = match;
}

/* Chains are emptied from the front, so equal keys stay in order. */
static void grow(sim_match_table_t *table)
{
    sim_match_t **old = table->chains;
    size_t old_count = table->chain_count, i;

    table->chain_count *= 4;
    table->chains = sim_must(calloc(table->chain_count, sizeof(sim_match_t *)));
    for (i = 0; i < old_count; i++)
        while (old[i] != NULL) {
            sim_match_t *match = old[i];
            old[i] = match->next;
            append(chain_of(table, match->rank, match->tag), match);
        }
    free(old);
}

void sim_match_reserve(sim_match_table_t *table, size_t count)
{
    while (table->chain_count < count)
        grow(table);
}

void sim_match_add(sim_match_table_t *table, sim_match_t *match)
{
    if (table->count++ == table->chain_count)
        grow(table);
    append(chain_of(table, match->rank, match->tag), match);
}

sim_match_t *sim_match_take(sim_match_table_t *table, uint32_t rank,
                            uint64_t tag)
{
    sim_match_t **link = chain_of(table, rank, tag), *match;

    while (*link != NULL && ((*link)->tag != tag || (*link)->rank != rank))
        link = &(*link)->next;
    match = *link;
    if (match == NULL)
        return NULL;
    *link = match->next;
    table->count--;
    return match;
}

sim_match_t *sim_match_last(const sim_match_table_t *table, uint32_t rank,
                            uint64_t tag)
{
    sim_match_t *match = *chain_of(table, rank, tag), *last = NULL;

    for (; match != NULL; match = match->next)
        if (match->tag == tag && match->rank == rank)
            last = match;
    return last;
}

int sim_match_remove(sim_match_table_t *table, sim_match_t *match)
{
    sim_match_t **link = chain_of(table, match->rank, match->tag);

    while (*link != NULL && *link != match)
        link = &(*link)->next;
    if (*link == NULL)
        return 0;
    *link = match->next;
    table->count--;
    return 1;
}

void sim_match_visit(const sim_match_table_t *table,
                     void (*each)(void *arg, sim_match_t *match), void *arg)
{
    size_t i;

    for (i = 0; i < table->chain_count; i++) {
        sim_match_t *match = table->chains[i];
        while (match != NULL) {
            sim_match_t *next = match->next;
            each(arg, match);
            match = next;
        }
    }
}
