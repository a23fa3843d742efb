/* Faults that are made on purpose. */
#include <stdlib.h>

#include "runtime/faults/failure.h"
#include "simulator/inside.h"
#include "simulator/must.h"
#include "simulator/random.h"

/* ---- calls that fail ---- */

/* Counts calls down to the one that fails. */
static int is_due(uint64_t *left)
{
    if (*left == 0)
        return 0;
    --*left;
    return *left == 0;
}

int sim_faults_post(sim_rank_t *rank, int is_send, xyl_event_t *event)
{
    sim_world_t *world = rank->world;

    if (is_due(&rank->steps_to_death))
        sim_faults_kill(world, rank->rank, rank->notice_max);
    if (rank->is_dead && !rank->is_isolated)
        return 1; /* in the middle of a piece: no rank hears of it */
    if (!is_due(is_send ? &world->sends_to_failure : &world->recvs_to_failure))
        return 0;
    world->failed_rank = rank->rank;
    sim_complete(rank, event, world->failure);
    return 1;
}

void sim_world_fail_send(sim_world_t *world, uint64_t nth,
                         xylem_status_t status)
{
    world->sends_to_failure = nth;
    world->failure = status;
    world->failed_rank = UINT32_MAX;
}

void sim_world_fail_recv(sim_world_t *world, uint64_t nth,
                         xylem_status_t status)
{
    world->recvs_to_failure = nth;
    world->failure = status;
    world->failed_rank = UINT32_MAX;
}

uint32_t sim_world_failed_rank(const sim_world_t *world)
{
    return world->failed_rank;
}

void sim_world_delay_message(sim_world_t *world, uint64_t nth, sim_time_t delay)
{
    world->messages_to_delay = nth;
    world->message_delay = delay;
}

/* ---- deaths ---- */

static void clear_inbox(sim_rank_t *rank)
{
    sim_item_t *item = rank->inbox.head, *next;

    sim_inbox_init(&rank->inbox);
    for (; item != NULL; item = next) {
        next = item->next;
        if (item->step == SIM_STEP_DONE || item->step == SIM_STEP_WORK ||
            item->step == SIM_STEP_NOTICE)
            sim_inbox_push(&rank->inbox, item); /* to be released */
        else
            sim_wire_drop(rank, item);
    }
}

typedef struct burial {
    const sim_rank_t *rank;
    sim_match_t *found;
} burial_t;

static void collect(void *arg, sim_match_t *match)
{
    burial_t *burial = arg;

    if (match->rank != burial->rank->rank)
        return;
    sim_match_remove(&burial->rank->world->unexpected, match);
    match->next = burial->found;
    burial->found = match;
}

/* Drops all items that wait at the dead rank. */
static void bury(sim_rank_t *rank)
{
    sim_world_t *world = rank->world;
    burial_t burial = {rank, NULL};
    sim_match_t *next;
    sim_item_t *item;

    sim_match_visit(&world->unexpected, collect, &burial);
    for (; burial.found != NULL; burial.found = next) {
        next = burial.found->next;
        sim_wire_lose(world, (sim_message_t *)(void *)burial.found);
    }
    while ((item = sim_inbox_pop(&rank->blocked)) != NULL)
        sim_wire_lose(world, item->message);
}

void sim_faults_kill(sim_world_t *world, uint32_t number, sim_time_t notice_max)
{
    sim_rank_t *rank = &world->all[number];
    sim_time_t now = world->running == rank ? rank->now : world->now;
    sim_item_t *item;
    uint32_t peer;

    if (rank->is_dead)
        return;
    rank->is_dead = 1;
    bury(rank);
    clear_inbox(rank);
    for (peer = 0; peer < world->ranks; peer++) {
        if (peer == number)
            continue;
        item = sim_item_take(world);
        item->step = SIM_STEP_NOTICE;
        item->peer = number;
        sim_deliver(world, now + random_next(&world->random) % (notice_max + 1),
                    peer, item);
    }
}

void sim_world_kill(sim_world_t *world, uint32_t rank, sim_time_t time,
                    sim_time_t notice_max)
{
    world->all[rank].notice_max = notice_max;
    if (time <= world->now)
        sim_faults_kill(world, rank, notice_max);
    else
        sim_add(world, SIM_KIND_KILL, time, rank, NULL);
}

void sim_world_kill_at_step(sim_world_t *world, uint32_t rank, uint64_t step,
                            sim_time_t notice_max)
{
    world->all[rank].steps_to_death = step;
    world->all[rank].notice_max = notice_max;
}

int sim_world_is_dead(const sim_world_t *world, uint32_t rank)
{
    return world->all[rank].is_dead;
}

void sim_world_isolate(sim_world_t *world, uint32_t rank)
{
    uint32_t peer;

    world->all[rank].is_isolated = 1;
    for (peer = 0; peer < world->ranks; peer++)
        if (peer != rank)
            xyl_failure_suspect(world->all[rank].context, peer);
    sim_wake(&world->all[rank], world->now);
}

/* ---- who waits for what ---- */

static void dump_receive(void *arg, sim_match_t *match)
{
    fprintf(arg,
            "rank %u waits for slot %u, source %u, sequence %u, "
            "segment %u\n",
            match->rank, (unsigned)(match->tag >> 50),
            (unsigned)(match->tag >> 30 & 0xfffff),
            (unsigned)(match->tag >> 10 & 0xfffff),
            (unsigned)(match->tag & 0x3ff));
}

static void dump_message(void *arg, sim_match_t *match)
{
    const sim_message_t *message = (const sim_message_t *)(const void *)match;

    fprintf(arg,
            "rank %u was %s by rank %u slot %u, sequence %u, segment "
            "%u\n",
            match->rank, message->is_eager ? "sent" : "offered",
            message->source, (unsigned)(match->tag >> 50),
            (unsigned)(match->tag >> 10 & 0xfffff),
            (unsigned)(match->tag & 0x3ff));
}

void sim_world_dump(const sim_world_t *world, FILE *out)
{
    sim_match_visit(&world->posted, dump_receive, out);
    sim_match_visit(&world->unexpected, dump_message, out);
}
