/* Each rank says in its offer which GPUs its own GPU has been seen to reach.
 * Unless the offers say that all GPUs of a call reach one another, the call
 * goes on mirrors, and each rank tries to open memory of GPUs new to it. */
#include "collectives/device/reach.h"

#include <string.h>

#include "runtime/base/log.h"

enum { FAILURES_MAX = 3 }; /* of opening: then the GPU is out of reach */

void xyl_device_reach_tell(const xyl_device_reach_t *reach,
                           xyl_device_offer_t *offer)
{
    uint32_t i, count = 0;

    memset(offer->reached, 0, sizeof offer->reached);
    for (i = 0; i < XYL_DEVICE_PAIRS_MAX; i++) {
        const xyl_device_pair_t *pair = &reach->pair[i];
        if (pair->other != 0 && pair->own == offer->gpu &&
            pair->failures == 0 && count < XYL_DEVICE_REACHED_MAX)
            offer->reached[count++] = pair->other;
    }
}

int xyl_device_offer_reaches(const xyl_device_offer_t *offer, uint64_t gpu)
{
    uint32_t i;

    if (offer->gpu == gpu)
        return 1;
    for (i = 0; i < XYL_DEVICE_REACHED_MAX && offer->reached[i] != 0; i++)
        if (offer->reached[i] == gpu)
            return 1;
    return 0;
}

int xyl_device_reach_is_known(const xyl_device_plan_t *plan)
{
    uint32_t from, to;

    for (from = 0; from < plan->problem.ranks; from++)
        for (to = 0; to < plan->problem.ranks; to++) {
            const xyl_device_offer_t *offer = xyl_device_offer(plan, from);
            const xyl_device_offer_t *other = xyl_device_offer(plan, to);
            if (offer->kind == XYL_DEVICE_GPU &&
                other->kind == XYL_DEVICE_GPU &&
                !xyl_device_offer_reaches(offer, other->gpu))
                return 0;
        }
    return 1;
}

/* The place of a pair, or a free one. NULL: this rank has met too many. */
static xyl_device_pair_t *pair_place(xyl_device_reach_t *reach, uint64_t own,
                                     uint64_t other)
{
    xyl_device_pair_t *pair, *free_one = NULL;

    for (pair = reach->pair; pair < reach->pair + XYL_DEVICE_PAIRS_MAX;
         pair++) {
        if (pair->own == own && pair->other == other)
            return pair;
        if (pair->other == 0 && free_one == NULL)
            free_one = pair;
    }
    return free_one;
}

/* Tries to open memory that the offer names. */
static void pair_try(const xyl_device_plan_t *plan, xyl_device_pair_t *pair,
                     const xyl_device_offer_t *offer)
{
    const xyl_device_remote_t remote = {
        offer->owner, offer->input.bytes != 0 ? &offer->input : &offer->result,
        plan->device, plan->exec, plan->library};
    const char *why;

    if (remote.name->bytes == 0)
        return;
    pair->own = xyl_device_offer(plan, plan->problem.rank)->gpu;
    pair->other = offer->gpu;
    if (xyl_device_opens(plan->context, &remote, &why)) {
        pair->failures = 0;
        return;
    }
    if (++pair->failures == FAILURES_MAX)
        xyl_log(XYL_LOG_WARN,
                "device %d cannot open memory of the GPU of rank %u of the "
                "job, so their collectives go through the host: %s",
                plan->device, offer->owner, why);
}

static int is_tried(const xyl_device_pair_t *pair)
{
    return pair->other != 0 &&
           (pair->failures == 0 || pair->failures == FAILURES_MAX);
}

void xyl_device_reach_learn(const xyl_device_plan_t *plan,
                            xyl_device_reach_t *reach)
{
    const xyl_device_offer_t *own = xyl_device_offer(plan, plan->problem.rank);
    xyl_device_pair_t *pair;
    uint32_t rank;

    if (own->kind != XYL_DEVICE_GPU || own->gpu == XYL_DEVICE_GPU_UNKNOWN)
        return;
    for (rank = 0; rank < plan->problem.ranks; rank++) {
        const xyl_device_offer_t *offer = xyl_device_offer(plan, rank);
        if (offer->kind != XYL_DEVICE_GPU || offer->is_bad ||
            offer->gpu == own->gpu)
            continue;
        pair = pair_place(reach, own->gpu, offer->gpu);
        if (pair != NULL && !is_tried(pair))
            pair_try(plan, pair, offer);
    }
}
