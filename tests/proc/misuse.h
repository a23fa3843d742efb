/* A mode of the program `misuse` with a file of its own. */
#ifndef TESTS_PROC_MISUSE_H
#define TESTS_PROC_MISUSE_H

#include "tests/proc/job.h"

void mode_blocks(job_t *job);

#endif
