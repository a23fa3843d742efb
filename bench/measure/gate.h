/* A gate that lets all ranks start a measured call at the same moment: a
 * barrier in shared memory, the same for every implementation. An
 * implementation's own barrier would let its ranks go one after the other,
 * which flatters or harms the next call, depending on the barrier.
 *
 * If the ranks do not share a machine, the implementation's barrier is used.
 * One thread. */
#pragma once

#include "bench/measure/impl.h"

struct gate;

/* Collective. *gate_out is NULL if there is no common memory. Returns owned
 * (free with gate_close). */
xylem_status_t gate_open(const struct bench_impl *impl, void *state,
                         struct gate **gate_out);
void gate_close(struct gate *gate);
/* Collective; keeps the implementation's network going. */
void gate_pass(struct gate *gate);

/* Counts arrivals at something else, to check a barrier. */
void gate_arrive(struct gate *gate);
uint64_t gate_arrivals(const struct gate *gate);
