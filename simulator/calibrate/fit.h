/* Turns measurements into a machine. */
#pragma once

#include "simulator/calibrate/probe.h"
#include "simulator/machine.h"

/* How well the micro-benchmarks, simulated on the fitted machine, agree with
 * the measurements: the mean relative error of each part of the fit. */
typedef enum calibrate_part {
    CALIBRATE_PART_EAGER,
    CALIBRATE_PART_RENDEZVOUS,
    CALIBRATE_PART_SUM,
    CALIBRATE_PART_FAR,
    CALIBRATE_PART_MEMORY,
    CALIBRATE_PART_SHARED,
    CALIBRATE_PART_COUNT
} calibrate_part_t;

const char *calibrate_part_name(calibrate_part_t part);

typedef struct calibrate_quality {
    double error[CALIBRATE_PART_COUNT];
    unsigned samples[CALIBRATE_PART_COUNT]; /* 0: the part was not measured */
} calibrate_quality_t;

/* `machine` comes with its nest and names, and gets all other numbers. Samples
 * whose ranks outnumber the machine's cores show the cost of sharing these. */
xylem_status_t calibrate_fit(const calibrate_sample_t *samples, unsigned count,
                             sim_machine_t *machine,
                             calibrate_quality_t *quality_out);
