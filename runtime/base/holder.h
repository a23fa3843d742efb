/* From a member to the structure that holds it. */
#ifndef XYL_BASE_HOLDER_H
#define XYL_BASE_HOLDER_H

#include <stddef.h>

#define XYL_HOLDER(type, member, address)                                      \
    ((type *)(void *)((char *)(address)-offsetof(type, member)))

#endif
