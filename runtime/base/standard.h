/* The standard descriptors: input, output and errors. */
#pragma once

/* Opens /dev/null for each of the descriptors 0 to 2 that is closed. Files that
 * this process opens later then cannot get these numbers, and its messages
 * cannot end up in a connection. The descriptors stay open, also in programs
 * that this process starts. */
void xyl_standard_open(void);
