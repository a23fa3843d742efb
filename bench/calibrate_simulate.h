/* A micro-benchmark on a simulated machine: the program of
 * calibrate_measure.c, in callbacks instead of blocking calls. */
#ifndef XYL_BENCH_CALIBRATE_SIMULATE_H
#define XYL_BENCH_CALIBRATE_SIMULATE_H

#include "bench/calibrate_probe.h"
#include "simulator/machine.h"

/* Fills the times of `sample`, whose probe and ranks
 * say what to run. */
xylem_status_t calibrate_simulate(const sim_machine_t *machine,
                                  calibrate_sample_t *sample);

#endif
