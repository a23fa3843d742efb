/* An executor that exposes code which expects work on bytes to be done in the
 * call: all work ends late, by random times, and so in another order than it
 * began. Until then a copy's result holds garbage. The rank is charged for the
 * work when it ends. */
#include <stdlib.h>
#include <string.h>

#include "simulator/inside.h"
#include "simulator/must.h"
#include "simulator/random.h"

enum { GARBAGE = 0xa7 };

typedef struct late_exec {
    xyl_exec_t exec; /* first */
    sim_rank_t *rank;
    uint64_t random;
    xyl_work_t *under_way;
} late_exec_t;

static late_exec_t *self(xyl_exec_t *exec)
{
    return (late_exec_t *)(void *)exec;
}

static xylem_status_t late_init(xyl_exec_t *exec, void *arg)
{
    late_exec_t *late = self(exec);

    late->rank = arg;
    late->random = random_mix(late->rank->world->options.seed) ^
                   random_mix(late->rank->rank);
    return XYLEM_OK;
}

static int late_takes(const xyl_exec_t *exec, const void *buffer)
{
    (void)exec;
    (void)buffer;
    return 1;
}

static void late_start(xyl_exec_t *exec, xyl_work_t *work)
{
    late_exec_t *late = self(exec);
    sim_rank_t *rank = late->rank;
    sim_world_t *world = rank->world;
    sim_item_t *item = sim_item_take(world);
    sim_time_t most = world->options.work_late_max / SIM_NS;
    sim_time_t delay = random_below(&late->random, (uint32_t)most) * SIM_NS;

    sim_enter(rank);
    if (work->kind == XYL_WORK_COPY &&
        world->options.payload != SIM_PAYLOAD_NONE)
        memset(work->to, GARBAGE, work->bytes);
    work->event.status = XYLEM_OK;
    work->next = late->under_way;
    late->under_way = work;
    item->step = SIM_STEP_WORK;
    item->arg = late;
    item->event = &work->event;
    sim_deliver(world,
                rank->now > world->now ? rank->now + delay : world->now + delay,
                rank->rank, item);
}

static void late_cancel(xyl_exec_t *exec, const void *owner)
{
    xyl_work_t *work = self(exec)->under_way;

    for (; work != NULL; work = work->next)
        if (work->owner == owner)
            work->event.status = XYLEM_ERR_CANCELED;
}

xylem_status_t sim_exec_finish(sim_item_t *item)
{
    late_exec_t *late = item->arg;
    xyl_work_t *work = (xyl_work_t *)(void *)item->event;
    xyl_work_t **link = &late->under_way;

    while (*link != work)
        link = &(*link)->next;
    *link = work->next;
    late->rank->world->counts.works[work->kind]++;
    if (work->event.status == XYLEM_OK)
        work->by_host(&late->exec, work);
    return work->event.status;
}

const xyl_exec_ops_t sim_exec_late = {
    .name = "late",
    .bytes = sizeof(late_exec_t),
    .init = late_init,
    .takes = late_takes,
    .start = late_start,
    .cancel = late_cancel,
};

/* ---- with mirrors ---- */

static void *mirror_take(xyl_exec_t *exec, size_t bytes)
{
    (void)exec;
    return memset(sim_must(malloc(bytes)), GARBAGE, bytes);
}

static void mirror_give(xyl_exec_t *exec, void *mirror, size_t bytes)
{
    (void)exec;
    memset(mirror, GARBAGE, bytes);
    free(mirror);
}

const xyl_exec_ops_t sim_exec_mirrored = {
    .name = "mirrored",
    .bytes = sizeof(late_exec_t),
    .init = late_init,
    .takes = late_takes,
    .start = late_start,
    .cancel = late_cancel,
    .mirror_take = mirror_take,
    .mirror_give = mirror_give,
};
