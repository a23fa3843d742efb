/* A machine for the tuner whose times are a formula: 16 nodes of eight ranks.
 */
#pragma once

#include "bench/tune/tune.h"

typedef struct formula_machine {
    size_t calls;
    double us;         /* of all */
    size_t near_bytes; /* longer ones leave the caches; 0: none do */
} formula_machine_t;

/* The time of a call by this plan if nothing leaves the caches. */
double formula_us(const struct tune_plan *plan, size_t bytes);
/* Functions of a tune_place; `state` is the machine. */
int formula_time(void *state, const struct tune_time *what, double *us_out,
                 double *leader_us);
int formula_agree(void *state, void *data, size_t bytes);
/* Sizes from 1 KiB to 16 MiB. */
struct tune_options formula_options(unsigned exhaustive, unsigned heuristics);
/* Searches plans of an allreduce; sets the machine's calls and time. */
void formula_search(const struct tune_options *options,
                    formula_machine_t *machine, struct tune_journal *journal,
                    struct tune_choice *choices);
