/* Which GPUs reach one another. Not all of a machine do, and a process that has
 * been given one of them cannot ask about the others: opening memory tells. */
#ifndef XYL_COLLECTIVES_DEVICE_REACH_H
#define XYL_COLLECTIVES_DEVICE_REACH_H

#include <stdint.h>

#include "collectives/device/plan.h"

/* What this rank has learnt of two GPUs, the first of which it uses. */
typedef struct xyl_device_pair {
    uint64_t own, other; /* other 0: a free place */
    uint32_t failures;   /* of opening; 0: it has been opened */
} xyl_device_pair_t;

enum { XYL_DEVICE_PAIRS_MAX = 4 * XYL_DEVICE_REACHED_MAX };

/* Of a context. */
typedef struct xyl_device_reach {
    xyl_device_pair_t pair[XYL_DEVICE_PAIRS_MAX];
} xyl_device_reach_t;

/* Fills in what the offer says of the GPUs that its own reaches. */
void xyl_device_reach_tell(const xyl_device_reach_t *reach,
                           xyl_device_offer_t *offer);

/* Whether all GPUs of the offers reach one another, as all ranks find alike. */
int xyl_device_reach_is_known(const xyl_device_plan_t *plan);

/* Learns of those of which this rank knows nothing, by opening what others have
 * named, so that it can be told in the next call. The owners must not have
 * freed it; where one has, a later call tries again. */
void xyl_device_reach_learn(const xyl_device_plan_t *plan,
                            xyl_device_reach_t *reach);

#endif
