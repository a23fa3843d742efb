/* Runs of the simulator. Times stay whole picoseconds until they are reported,
 * so that reports are equal on every machine. One thread. */
#include "simulator/program/case.h"

#include "simulator/program/elastic.h"
#include "simulator/program/program.h"

int sim_case_run(const struct sim_case *c, struct sim_outcome *outcome_out)
{
    *outcome_out = (struct sim_outcome){.us = {0, 0, 0}};
    if (c->contender->kind == CONTENDER_ELASTIC)
        return sim_elastic_run(c, outcome_out);
    return sim_program_run(c, outcome_out);
}
