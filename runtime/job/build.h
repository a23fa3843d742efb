/* Which build of the library this is: ranks work with their like alone, as they
 * send what only these understand, and share memory that is laid out in one
 * way. Versions change with releases; this with every change of the sources. */
#ifndef XYL_RUNTIME_JOB_BUILD_H
#define XYL_RUNTIME_JOB_BUILD_H

#include <stdint.h>

/* tools/fingerprint.sh gives it, at each build. */
extern const uint32_t xyl_build;

#endif
