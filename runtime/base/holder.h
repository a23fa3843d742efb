/* From a member to the structure that holds it. */
#pragma once

#include <stddef.h>

#define XYL_HOLDER(type, member, address)                                      \
    ((type *)(void *)((char *)(address)-offsetof(type, member)))
