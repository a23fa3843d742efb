/* When things happen: entries of the calendar, wake-ups of ranks, random
 * delays, and the fingerprint of all that has happened. */
#include "simulator/inside.h"
#include "simulator/random.h"

enum {
    JITTER_RARE = 8, /* one delay in so many is long */
    JITTER_NONE = 4  /* and about one in so many is none */
};

void sim_add(sim_world_t *world, sim_kind_t kind, sim_time_t time,
             uint32_t rank, void *what)
{
    sim_calendar_add(
        &world->calendar,
        (sim_entry_t){.time = time, .what = what, .rank = rank, .kind = kind});
}

void sim_deliver(sim_world_t *world, sim_time_t time, uint32_t rank,
                 sim_item_t *item)
{
    sim_add(world, SIM_KIND_ITEM, time, rank, item);
}

void sim_wake(sim_rank_t *rank, sim_time_t time)
{
    if (rank->woken_at <= time)
        return;
    rank->woken_at = time;
    sim_add(rank->world, SIM_KIND_WAKE, time, rank->rank, NULL);
}

void sim_note(sim_world_t *world, uint64_t what)
{
    world->counts.fingerprint = random_mix(world->counts.fingerprint ^ what);
}

sim_time_t sim_jitter(sim_world_t *world)
{
    sim_time_t most = world->options.jitter_max;
    uint64_t random;

    if (most == 0)
        return 0;
    random = random_next(&world->random);
    if (random % JITTER_RARE != 0) {
        if ((random >> 3) % JITTER_NONE == 0)
            return 0;
        most /= JITTER_RARE;
    }
    return (random >> 8) % (most + 1);
}

/* A call from outside of any piece happens now, and the rank has to look at its
 * effects. */
void sim_enter(sim_rank_t *rank)
{
    sim_world_t *world = rank->world;

    if (world->running == rank)
        return;
    if (rank->now < world->now)
        rank->now = world->now;
    sim_wake(rank, rank->now);
}
