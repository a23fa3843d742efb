/* The build of this library. Only ranks of one build work together, since
 * others may send different messages and lay shared memory out differently. A
 * version changes with a release, the build with any change of the sources. */
#pragma once

#include <stdint.h>

/* Made by tools/fingerprint.sh at each build. */
extern const uint32_t xyl_build;
