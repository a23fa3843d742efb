/* Which GPUs reach one another. Not all GPUs of a machine do, and a process
 * that has been given one GPU cannot ask about others: opening memory tells. */
#pragma once

#include <stdint.h>

#include "collectives/device/plan.h"

/* This rank's knowledge of two GPUs, the first of which it uses. */
typedef struct xyl_device_pair {
    uint64_t own, other; /* other 0: a free place */
    uint32_t failures;   /* of opening; 0: it has been opened */
} xyl_device_pair_t;

enum { XYL_DEVICE_PAIRS_MAX = 4 * XYL_DEVICE_REACHED_MAX };

/* Each context has one. */
typedef struct xyl_device_reach {
    xyl_device_pair_t pair[XYL_DEVICE_PAIRS_MAX];
} xyl_device_reach_t;

/* Fills in the GPUs that the offer's own GPU reaches. */
void xyl_device_reach_tell(const xyl_device_reach_t *reach,
                           xyl_device_offer_t *offer);

/* 1: the offer's GPU has been seen to reach that GPU. */
int xyl_device_offer_reaches(const xyl_device_offer_t *offer, uint64_t gpu);

/* 1: all GPUs of the offers reach one another; all ranks find the same. */
int xyl_device_reach_is_known(const xyl_device_plan_t *plan);

/* Learns of GPUs of which this rank knows nothing, by opening memory that their
 * ranks have named; the next offer tells the result. The owners must not have
 * freed the memory; if one has, a later call tries again. */
void xyl_device_reach_learn(const xyl_device_plan_t *plan,
                            xyl_device_reach_t *reach);
