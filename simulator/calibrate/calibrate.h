/* xylem-sim --calibrate: measures this machine and writes its machine file.
 *
 *   calibrate.c  starts the ranks, collects their measurements
 *   measure.c    a rank
 *   probe.c      the measured programs
 *   fit.c        turns measurements into a machine
 *   simulate.c   a measured program on a simulated machine
 */
#pragma once

enum { CALIBRATE_RANKS_MAX = 256 };

/* argv[1] is "--calibrate", or "--calibrate-..." in the ranks that calibration
 * starts. Returns the exit code. */
int calibrate_main(int argc, char **argv);
