/* Schedules for other simulators: what an algorithm has each rank do, in GOAL,
 * which LogGOPSim reads (Hoefler, Schneider, Lumsdaine, "LogGOPSim: simulating
 * large-scale applications in the LogGOPS model", LSAP 2010). */
#ifndef XYL_SIMULATOR_PROGRAM_GOAL_H
#define XYL_SIMULATOR_PROGRAM_GOAL_H

#include "simulator/program/options.h"

/* Writes one call of the simulation's collective by its algorithm to
 * simulation->goal. The exit code; on failure it has said why. */
int sim_goal_main(const struct simulation *simulation);

#endif
