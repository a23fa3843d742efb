/* The standard descriptors: input, output and errors. */
#ifndef XYL_BASE_STANDARD_H
#define XYL_BASE_STANDARD_H

/* Opens /dev/null for each of the descriptors 0 to 2 that is closed. What this
 * process opens later cannot get their numbers then, and what it prints cannot
 * get into a connection. They stay open, also in programs that are started from
 * here. */
void xyl_standard_open(void);

#endif
