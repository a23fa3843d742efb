/* The state in which a program finds its process. */
#pragma once

/* Repairs the state that a program inherits: opens closed descriptors of 0 to 2
 * on /dev/null, unblocks all signals, and no longer ignores SIGCHLD. Other
 * ignored signals stay ignored, for nohup(1). Call it while there is one
 * thread, before anything is opened. */
void program_begin(void);
