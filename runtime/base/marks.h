/* Stages tell through a table which segments they are through with, so that a
 * record of a run can show it. */
#ifndef XYL_BASE_MARKS_H
#define XYL_BASE_MARKS_H

#include <stdint.h>

typedef struct xyl_marks {
    /* What `stage` makes of `segment` is final on this rank. `sequence` tells
     * stages of one name apart: it is that of their messages. */
    void (*emitted)(void *arg, const char *stage, uint32_t sequence,
                    uint64_t segment);
    void *arg;
} xyl_marks_t;

#endif
