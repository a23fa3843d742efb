/* What runs of the simulator came to, as tables and files have it. */
#ifndef XYL_SIMULATOR_PROGRAM_NUMBERS_H
#define XYL_SIMULATOR_PROGRAM_NUMBERS_H

#include "simulator/program/case.h"

/* What a run, or several on the average, came to. In microseconds, and per call
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

#endif
