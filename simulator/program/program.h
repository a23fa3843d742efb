/* The run of a case in which the ranks call the library. */
#ifndef XYL_SIMULATOR_PROGRAM_PROGRAM_H
#define XYL_SIMULATOR_PROGRAM_PROGRAM_H

#include "simulator/program/case.h"

int sim_program_run(const struct sim_case *c, struct sim_outcome *outcome);

#endif
