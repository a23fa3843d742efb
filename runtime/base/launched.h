/* The launcher's variables in the environment, read before ranks have met. */
#pragma once

/* The rank that the launcher gives this process; -1: no known launcher has
 * started this process as a rank. */
long xyl_launched_rank(void);
