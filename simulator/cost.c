/* The cost of work: it moves the rank's own clock on, stretched by noise. */
#include "simulator/inside.h"

sim_level_t sim_level_of(const sim_world_t *world, uint32_t a, uint32_t b)
{
    const xylem_place_t *x = &world->all[a].peers[a].place;
    const xylem_place_t *y = &world->all[a].peers[b].place;
    uint32_t per_switch = world->machine.nodes_per_switch;

    if (x->node != y->node)
        return x->node / per_switch == y->node / per_switch ? SIM_LEVEL_SWITCH
                                                            : SIM_LEVEL_SYSTEM;
    if (x->socket != y->socket)
        return SIM_LEVEL_NODE;
    if (x->numa != y->numa)
        return SIM_LEVEL_SOCKET;
    return x->l3 != y->l3 ? SIM_LEVEL_NUMA : SIM_LEVEL_GROUP;
}

void sim_charge(sim_rank_t *rank, sim_time_t work)
{
    sim_time_t end;

    if (work == 0)
        return;
    end = sim_noise_advance(&rank->noise, rank->now, work);
    if (rank->world->options.trace != NULL && end - rank->now != work)
        xyl_trace_span(rank->world->options.trace, rank->rank, "noise",
                       rank->now, end, end - rank->now - work);
    rank->now = end;
}

/* The memory of a node serves all its cores. Time is cut into buckets, so the
 * order in which the simulation comes to overlapping pieces of work does not
 * matter. A piece takes from a bucket as much as its core can move and the
 * bucket still has, then goes on in the next one. Returns how long it takes. */
static sim_time_t through_memory(sim_node_t *node, sim_time_t begin,
                                 sim_time_t at_full_speed, sim_time_t memory)
{
    uint64_t first = begin / SIM_BUCKET_TIME, number;
    sim_time_t left = memory, inside, share, until = begin;
    sim_bucket_t *bucket;

    for (number = first; left != 0 && number < first + SIM_BUCKETS; number++) {
        bucket = &node->memory[number % SIM_BUCKETS];
        if (bucket->number != number)
            *bucket = (sim_bucket_t){number, 0};
        inside = number == first ? (number + 1) * SIM_BUCKET_TIME - begin
                                 : SIM_BUCKET_TIME;
        /* memory / at_full_speed is the part that one core can use. */
        share = inside * memory / (at_full_speed == 0 ? 1 : at_full_speed);
        if (share > SIM_BUCKET_TIME - bucket->used)
            share = SIM_BUCKET_TIME - bucket->used;
        if (share > left)
            share = left;
        bucket->used += share;
        left -= share;
        if (left == 0)
            until = (number == first ? begin : number * SIM_BUCKET_TIME) +
                    share * at_full_speed / memory;
    }
    if (left != 0) /* very busy: it waits for all that is before it */
        until = number * SIM_BUCKET_TIME + left;
    return until > begin + at_full_speed ? until - begin : at_full_speed;
}

static void charge_bytes(sim_rank_t *rank, const char *name, sim_rate_t rate,
                         size_t bytes)
{
    sim_world_t *world = rank->world;
    sim_node_t *node = &world->all_nodes[rank->node];
    sim_time_t work = sim_rate_time(rate, bytes), begin = rank->now;

    if (node->memory != NULL && world->is_far)
        work = through_memory(node, rank->now, work,
                              sim_rate_time(world->machine.node.memory, bytes));
    sim_charge(rank, work);
    if (world->options.trace != NULL && rank->now != begin)
        xyl_trace_span(world->options.trace, rank->rank, name, begin, rank->now,
                       bytes);
}

void sim_charge_copy(sim_rank_t *rank, size_t bytes)
{
    charge_bytes(rank, "copy", rank->world->copy_rate, bytes);
}

int sim_copy_announced(void *arg, size_t bytes)
{
    sim_rank_t *rank = arg;

    sim_enter(rank);
    sim_charge_copy(rank, bytes);
    return rank->world->options.payload != SIM_PAYLOAD_NONE;
}

void sim_charge_copy_at(sim_rank_t *rank, sim_rate_t rate, size_t bytes)
{
    sim_rate_t own = rank->world->copy_rate;

    charge_bytes(rank, "copy", rate > own ? rate : own, bytes);
}

void sim_segment_emitted(void *arg, const char *stage, uint32_t sequence,
                         uint64_t segment)
{
    const sim_rank_t *rank = arg;

    xyl_trace_mark(rank->world->options.trace, rank->rank, stage, rank->now,
                   sequence, segment);
}

sim_time_t sim_world_now(const sim_world_t *world, uint32_t rank)
{
    return world->all[rank].now;
}

void sim_world_compute(sim_world_t *world, uint32_t rank, sim_time_t work)
{
    sim_charge(&world->all[rank], work);
}

void sim_world_charge_copy(sim_world_t *world, uint32_t rank, size_t bytes)
{
    charge_bytes(&world->all[rank], "copy", world->copy_rate, bytes);
}

void sim_world_charge_reduce(sim_world_t *world, uint32_t rank, size_t bytes)
{
    charge_bytes(&world->all[rank], "combine", world->reduce_rate, bytes);
}
