/* xylem-sim --calibrate: measures this machine and writes its machine file.
 *
 *   calibrate.c  starts the ranks, collects what they measure
 *   measure.c    a rank
 *   probe.c      the programs that are measured
 *   fit.c        turns measurements into a machine
 */
#ifndef XYL_SIMULATOR_CALIBRATE_CALIBRATE_H
#define XYL_SIMULATOR_CALIBRATE_CALIBRATE_H

enum { CALIBRATE_RANKS_MAX = 256 };

/* argv[1] is "--calibrate", or one that calibration hands to its own ranks and
 * that begins with "--calibrate-". The exit code. */
int calibrate_main(int argc, char **argv);

#endif
