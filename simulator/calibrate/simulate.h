/* A micro-benchmark on a simulated machine: the program of
 * measure.c, in callbacks instead of blocking calls. */
#pragma once

#include "simulator/calibrate/probe.h"
#include "simulator/machine.h"

/* Runs the probe of `sample` on its ranks, and fills its times. */
xylem_status_t calibrate_simulate(const sim_machine_t *machine,
                                  calibrate_sample_t *sample);
