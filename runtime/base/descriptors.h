/* How many descriptors this process may still open. */
#pragma once

/* 1: `wanted` (at least 1) more descriptors can be open at once. Not for the
 * data path, since this function asks the system for one number after the
 * other. Another thread may take the descriptors afterwards. */
int xyl_descriptors_are_left(unsigned wanted);
