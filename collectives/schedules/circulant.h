/* Round-optimal broadcast of many blocks on a circulant graph: which of them a
 * rank gets in which round.
 *
 * In round i, with k = i mod `rounds`, each rank r sends one block to rank
 * r + skip[k] and gets one from rank r - skip[k], round past the last; rank 0
 * has all blocks from the start and gets none. xyl_circulant_blocks says which
 * of the first `rounds` blocks a rank gets, by k: a number below 0 stands for
 * one that begins as many rounds later; every `rounds` rounds the numbers grow
 * by `rounds`. A rank sends the block that the receiver gets. */
#ifndef XYL_COLLECTIVES_SCHEDULES_CIRCULANT_H
#define XYL_COLLECTIVES_SCHEDULES_CIRCULANT_H

#include <stdint.h>

enum { XYL_CIRCULANT_ROUNDS_MAX = 32 };

typedef struct xyl_circulant {
    uint32_t ranks;
    uint32_t rounds;                             /* ceil(log2 ranks) */
    uint64_t skip[XYL_CIRCULANT_ROUNDS_MAX + 1]; /* the last: `ranks` */
} xyl_circulant_t;

void xyl_circulant_init(xyl_circulant_t *circulant, uint32_t ranks);
void xyl_circulant_blocks(const xyl_circulant_t *circulant, uint32_t rank,
                          int64_t blocks[XYL_CIRCULANT_ROUNDS_MAX]);

#endif
