/* The rank side of calibration: runs every micro-benchmark over the library and
 * prints its times. */
#pragma once

#include "simulator/calibrate/probe.h"

/* The measurements of a job of ranks. */
typedef enum calibrate_set {
    CALIBRATE_SET_FULL,   /* each rank has a core of its own */
    CALIBRATE_SET_SHARED, /* ranks share cores: the cost of a switch */
    CALIBRATE_SET_COUNT
} calibrate_set_t;

/* "xylem-place RANK SOCKET NUMA L3", printed by rank 0 for every rank. */
#define CALIBRATE_PLACE_MARK "xylem-place"

/* A rank under a launcher; argv: "full" or "shared", and the number of rounds.
 * The exit code. */
int calibrate_measure_main(int argc, char **argv);
