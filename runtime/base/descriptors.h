/* How many descriptors this process may still open. */
#ifndef XYL_BASE_DESCRIPTORS_H
#define XYL_BASE_DESCRIPTORS_H

/* Whether `wanted` more, one at least, can be open at once. Asks the system for
 * one number after the other: not on the way of a message. Another thread may
 * take them afterwards.
 */
int xyl_descriptors_are_left(unsigned wanted);

#endif
