/* The run of a case in which the ranks call the library. */
#pragma once

#include "simulator/program/case.h"

int sim_program_run(const struct sim_case *c, struct sim_outcome *outcome);
