/* What launchers say in the environment, before ranks have met. */
#ifndef XYL_BASE_LAUNCHED_H
#define XYL_BASE_LAUNCHED_H

/* What the launcher calls this process's rank; -1: it has no launcher that is
 * known, or is none of its ranks. */
long xyl_launched_rank(void);

#endif
