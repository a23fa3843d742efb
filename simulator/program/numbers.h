/* Results of the simulator's runs, as tables and files have them. */
#pragma once

#include "simulator/program/case.h"

/* The results of a run, or the average of several, in microseconds and per call
 * of a rank. */
struct sim_numbers {
    unsigned iterations;
    struct stats_range us;
    double noise_us;
    double messages[SIM_LEVEL_COUNT];
    double bytes[SIM_LEVEL_COUNT];
    double unexpected;
    double events;
    uint64_t fingerprint;   /* of all runs together */
    unsigned ended, failed; /* of the last run, as failed_us */
    double failed_us;
};
