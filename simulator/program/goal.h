/* Schedules for other simulators: an algorithm's actions on each rank, in GOAL,
 * which LogGOPSim reads (Hoefler, Schneider, Lumsdaine, "LogGOPSim: simulating
 * large-scale applications in the LogGOPS model", LSAP 2010). */
#pragma once

#include "simulator/program/options.h"

/* Writes one call of the simulation's collective by its algorithm to
 * simulation->goal. Returns the exit code; a message explains a failure. */
int sim_goal_main(const struct simulation *simulation);
