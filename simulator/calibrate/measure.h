/* The rank side of calibration: runs every micro-benchmark over the library
 * and prints what it took. */
#ifndef XYL_SIMULATOR_CALIBRATE_MEASURE_H
#define XYL_SIMULATOR_CALIBRATE_MEASURE_H

#include "simulator/calibrate/probe.h"

/* What a job of ranks measures. */
typedef enum calibrate_set {
    CALIBRATE_SET_FULL,   /* each rank has a core of its own */
    CALIBRATE_SET_SHARED, /* ranks share cores: what turning costs */
    CALIBRATE_SET_COUNT
} calibrate_set_t;

/* "xylem-place RANK SOCKET NUMA L3", printed by rank 0 for every rank. */
#define CALIBRATE_PLACE_MARK "xylem-place"

/* A rank under a launcher; argv: "full" or "shared", and the number of rounds.
 * The exit code. */
int calibrate_measure_main(int argc, char **argv);

#endif
