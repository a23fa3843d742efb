/* Ranks and cores: which rank works when. */
#include "simulator/world.h"
#include "collectives/api/modules.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectives/stages/team_map.h"
#include "progress/engine/timer.h"
#include "runtime/assembly/context_create.h"
#include "runtime/base/status.h"
#include "simulator/inside.h"
#include "simulator/must.h"
#include "simulator/random.h"

enum {
    PIECES_IN_A_ROW = 64 /* of a rank, if no other comes before */
};

/* ---- a rank's piece of work ---- */

/* The core that a rank shares with others, always the same one: waiting ranks
 * look busy, so a system sees no reason to move any. NULL: the rank has a core
 * of its own. */
static sim_core_t *core_for(const sim_rank_t *rank)
{
    const sim_world_t *world = rank->world;
    sim_core_t *cores = world->all_nodes[rank->node].cores;

    return cores == NULL ? NULL
                         : &cores[rank->peers[rank->rank].place.core %
                                  sim_machine_cores(&world->machine)];
}

static const char *name_of(const sim_item_t *item)
{
    static const char *const names[SIM_STEP_COUNT] = {
        "call", "notice", "completion", "flag",   "eager", "offer",
        "data", "slot",   "accept",     "finish", "work",
    };

    return item == NULL ? "turn" : names[item->step];
}

static void run_call(sim_rank_t *rank)
{
    sim_item_t *item = sim_inbox_pop(&rank->inbox);

    sim_note(rank->world, (uint64_t)rank->rank << 8 | item->step);
    sim_charge(rank, rank->world->machine.core.call);
    item->fn(item->arg, rank->rank);
    sim_item_free(rank->world, item);
}

/* When a timer is due, by the rank's own clock, which the library reads;
 * SIM_NEVER: there is no timer. */
static sim_time_t timer_due_at(const sim_rank_t *rank)
{
    const xyl_timers_t *timers = &rank->context->engine.timers;
    sim_time_t tick = rank->world->options.timer_tick, at;

    if (timers->count == 0)
        return SIM_NEVER;
    at = xyl_timers_next_ns(timers) * SIM_NS;
    return tick == 0 ? at : (at + tick - 1) / tick * tick;
}

static int has_timer_due(const sim_rank_t *rank)
{
    return timer_due_at(rank) <= rank->now;
}

static void run_piece(sim_rank_t *rank)
{
    sim_world_t *world = rank->world;
    const sim_item_t *item = rank->inbox.head;
    const char *name = name_of(item);
    sim_time_t begin = rank->now;

    if (item != NULL && item->step == SIM_STEP_CALL) {
        run_call(rank);
    } else {
        if (has_timer_due(rank))
            rank->context->engine.turns_to_timers = 1;
        xylem_progress(rank->context);
    }
    if (world->options.trace != NULL && rank->now != begin)
        xyl_trace_span(world->options.trace, rank->rank, name, begin, rank->now,
                       0);
}

static int has_work(sim_rank_t *rank)
{
    return rank->inbox.head != NULL ||
           !xyl_engine_is_idle(&rank->context->engine) || has_timer_due(rank);
}

static void wake_for_timers(sim_rank_t *rank)
{
    sim_time_t time = timer_due_at(rank);

    if (time == SIM_NEVER)
        return;
    if (time < rank->now)
        time = rank->now;
    if (time >= rank->timer_at)
        return;
    rank->timer_at = time;
    rank->world->timers_waiting++;
    sim_add(rank->world, SIM_KIND_TIMER, time, rank->rank, NULL);
}

/* 1: the rank may begin, as its core is free and its clock has come. 0: it will
 * be woken later. */
static int may_begin(sim_rank_t *rank, sim_core_t *core)
{
    sim_time_t begin = rank->world->now, clear;

    if (core != NULL && core->free > begin)
        begin = core->free;
    if (core != NULL && core->rank != rank->rank && core->rank != UINT32_MAX &&
        core->free + rank->world->machine.core.rank_linger > begin)
        begin = core->free + rank->world->machine.core.rank_linger;
    if (rank->now > begin)
        begin = rank->now;
    clear = sim_noise_clear(&rank->noise, begin);
    if (clear != begin && rank->world->options.trace != NULL)
        xyl_trace_span(rank->world->options.trace, rank->rank, "noise", begin,
                       clear, 0);
    if (clear > rank->world->now) {
        sim_wake(rank, clear);
        return 0;
    }
    rank->now = clear;
    return 1;
}

/* Works while the rank has something to do and no other comes before. */
static void work(sim_rank_t *rank)
{
    sim_world_t *world = rank->world;
    sim_core_t *core = core_for(rank);
    unsigned pieces;

    if ((rank->is_dead && !rank->is_isolated) || !may_begin(rank, core))
        return;
    if (core != NULL && core->rank != rank->rank) {
        if (core->rank != UINT32_MAX)
            sim_charge(rank, world->machine.core.rank_switch);
        core->rank = rank->rank;
    }
    world->running = rank;
    for (pieces = 0; pieces < PIECES_IN_A_ROW && has_work(rank); pieces++) {
        if (pieces != 0 && sim_calendar_next(&world->calendar) <= rank->now)
            break;
        run_piece(rank);
        if (rank->is_dead && !rank->is_isolated)
            break;
        if (world->options.jitter_max != 0)
            break;
    }
    world->running = NULL;
    if (core != NULL)
        core->free = rank->now;
    if (has_work(rank))
        sim_wake(rank, rank->now + sim_jitter(world));
    wake_for_timers(rank);
}

/* ---- what happens ---- */

static void item_comes(sim_rank_t *rank, sim_item_t *item)
{
    int is_kept = item->step == SIM_STEP_DONE || item->step == SIM_STEP_WORK ||
                  item->step == SIM_STEP_NOTICE ||
                  (item->step == SIM_STEP_CALL && rank->is_isolated);

    if (rank->is_dead && !is_kept) {
        sim_wire_drop(rank, item);
        return;
    }
    sim_inbox_push(&rank->inbox, item);
    if (rank->woken_at == SIM_NEVER)
        work(rank);
}

static void happen(sim_world_t *world, const sim_entry_t *entry)
{
    sim_rank_t *rank = &world->all[entry->rank];

    switch ((sim_kind_t)entry->kind) {
    case SIM_KIND_ITEM:
        item_comes(rank, entry->what);
        return;
    case SIM_KIND_WAKE:
        if (rank->woken_at != entry->time)
            return; /* the rank was woken earlier */
        rank->woken_at = SIM_NEVER;
        work(rank);
        return;
    case SIM_KIND_TIMER:
        world->timers_waiting--;
        if (rank->timer_at != entry->time)
            return;
        rank->timer_at = SIM_NEVER;
        work(rank);
        return;
    case SIM_KIND_INJECT:
        sim_wire_inject(world, entry->what);
        return;
    case SIM_KIND_EJECT:
        sim_wire_eject(world, entry->what);
        return;
    case SIM_KIND_STORE:
        item_comes(rank, sim_shm_store(entry->what));
        return;
    case SIM_KIND_KILL:
        sim_faults_kill(world, entry->rank, rank->notice_max);
        return;
    }
}

/* Timers alone keep no run going. */
static int is_over(const sim_world_t *world, sim_time_t until)
{
    return until == SIM_NEVER ? world->calendar.count == world->timers_waiting
                              : sim_calendar_next(&world->calendar) > until;
}

int sim_world_run(sim_world_t *world, sim_time_t until, uint64_t events_max)
{
    sim_entry_t entry;
    uint64_t events;

    for (events = 0; events < events_max && !is_over(world, until); events++) {
        entry = sim_calendar_take(&world->calendar);
        assert(entry.time >= world->now);
        world->now = entry.time;
        world->counts.events++;
        sim_note(world, entry.time ^ (uint64_t)entry.kind << 32 ^ entry.rank);
        happen(world, &entry);
    }
    if (!is_over(world, until))
        return 0;
    if (until != SIM_NEVER && world->now < until)
        world->now = until;
    return world->calendar.count == world->timers_waiting;
}

void sim_world_at(sim_world_t *world, uint32_t rank, sim_time_t time,
                  sim_call_fn fn, void *arg)
{
    sim_item_t *item = sim_item_take(world);

    item->step = SIM_STEP_CALL;
    item->fn = fn;
    item->arg = arg;
    sim_deliver(world, time > world->now ? time : world->now, rank, item);
}

void sim_world_wake(sim_world_t *world, uint32_t number)
{
    sim_rank_t *rank = &world->all[number];

    if ((!rank->is_dead || rank->is_isolated) && rank->woken_at == SIM_NEVER)
        sim_wake(rank, world->now);
}

/* ---- making a world ---- */

static xylem_place_t place_of(const sim_world_t *world, uint32_t rank)
{
    const sim_machine_t *machine = &world->machine;
    uint32_t per_node = world->options.ranks_per_node;
    uint32_t core = rank % per_node % sim_machine_cores(machine);
    uint32_t group = core / machine->cores_per_group;
    uint32_t numa = group / machine->groups_per_numa;

    if (world->options.places != NULL)
        return world->options.places[rank];
    return (xylem_place_t){.node = rank / per_node,
                           .socket = numa / machine->numas_per_socket,
                           .numa = numa,
                           .l3 = group,
                           .core = core};
}

static void fill_peers(const sim_world_t *world, xyl_peer_t *peers)
{
    uint32_t rank;

    for (rank = 0; rank < world->ranks; rank++)
        peers[rank] =
            (xyl_peer_t){.place = place_of(world, rank), .is_local = 1};
}

static uint64_t rank_clock(void *arg)
{
    const sim_rank_t *rank = arg;

    return rank->now / SIM_NS;
}

static xylem_status_t rank_create(sim_world_t *world, uint32_t number)
{
    sim_rank_t *rank = &world->all[number];
    xyl_context_parts_t parts = {
        .modules = &xyl_modules_of_collectives,
        .rank = number,
        .ranks = world->ranks,
        .allocator = world->options.allocator,
        .clock = &rank->clock,
        .net = &sim_net_ops,
        .net_arg = world,
        .shm = world->options.shares_memory
                   ? sim_shm_create(rank, world->options.sees_memory)
                   : NULL,
        .observer = &rank->observer,
        .tells = world->options.tells_failures ||
                 world->options.shares_memory, /* relays ask by notices */
        .settings = world->options.settings};
    xylem_status_t status;

    rank->world = world;
    rank->rank = number;
    rank->woken_at = rank->timer_at = SIM_NEVER;
    rank->clock = (xyl_clock_t){rank_clock, rank};
    rank->observer = (xyl_observer_t){
        .copies = sim_copy_announced,
        .emitted = world->options.trace != NULL ? sim_segment_emitted : NULL,
        .arg = rank};
    sim_inbox_init(&rank->inbox);
    sim_inbox_init(&rank->blocked);
    sim_noise_cursor_init(&rank->noise, world->options.noise, number);
    rank->peers = world->peers;
    if (world->options.has_deaths) {
        rank->peers = sim_must(calloc(world->ranks, sizeof *rank->peers));
        memcpy(rank->peers, world->peers, world->ranks * sizeof *rank->peers);
    }
    rank->node = rank->peers[number].place.node;
    parts.peers = rank->peers;
    parts.node_ranks_max = world->node_ranks_max;
    if (world->options.work_late_max != 0)
        parts.exec = (xyl_exec_registration_t){
            world->options.has_mirrors ? &sim_exec_mirrored : &sim_exec_late,
            rank};
    status = xyl_context_create_of_parts(&parts, &rank->context);
    if (status == XYLEM_OK)
        xyl_map_borrow(xylem_context_world(rank->context), &world->map);
    return status;
}

static uint32_t count_nodes(const sim_world_t *world)
{
    uint32_t i, last = 0;

    for (i = 0; i < world->ranks; i++)
        if (world->peers[i].place.node > last)
            last = world->peers[i].place.node;
    return last + 1;
}

static void cores_create(sim_node_t *node, uint32_t cores)
{
    uint32_t i;

    node->cores = sim_must(calloc(cores, sizeof(sim_core_t)));
    for (i = 0; i < cores; i++)
        node->cores[i].rank = UINT32_MAX;
}

static void nodes_create(sim_world_t *world)
{
    const sim_machine_t *machine = &world->machine;
    uint32_t i, cores = sim_machine_cores(machine);

    world->nodes = count_nodes(world);
    world->all_nodes = sim_must(calloc(world->nodes, sizeof(sim_node_t)));
    for (i = 0; i < world->ranks; i++)
        world->all_nodes[world->peers[i].place.node].ranks++;
    for (i = 0; i < world->nodes; i++)
        if (world->all_nodes[i].ranks > world->node_ranks_max)
            world->node_ranks_max = world->all_nodes[i].ranks;
    for (i = 0; i < world->nodes; i++) {
        sim_node_t *node = &world->all_nodes[i];
        if (machine->node.memory != 0)
            node->memory = sim_must(calloc(SIM_BUCKETS, sizeof(sim_bucket_t)));
        if (node->ranks > cores)
            cores_create(node, cores);
    }
}

/* Bytes of addresses to reserve: more than the memory of the computer, as much
 * of the range is never touched, but not far more, as valgrind keeps a record
 * of every page. */
static size_t space_bytes(void)
{
    return 4 * (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Sets the rates for messages of this size, and the source of memory. */
static void prepare(sim_world_t *world, const sim_options_t *options)
{
    world->machine = *options->machine;
    world->options = *options;
    world->options.machine = &world->machine;
    world->is_far = options->message_bytes > world->machine.core.cache_bytes;
    world->copy_rate =
        world->is_far ? world->machine.core.copy_far : world->machine.core.copy;
    world->reduce_rate = world->is_far ? world->machine.core.reduce_far
                                       : world->machine.core.reduce;
    world->random = random_mix(options->seed);
    world->failed_rank = UINT32_MAX;
    if (options->allocator == NULL && options->payload == SIM_PAYLOAD_NONE)
        (void)sim_space_init(&world->space, space_bytes());
    if (options->allocator == NULL)
        world->options.allocator = world->space.base != NULL
                                       ? &world->space.allocator
                                       : xyl_allocator_system();
}

xylem_status_t sim_world_create(const sim_options_t *options,
                                sim_world_t **world_out)
{
    sim_world_t *world = sim_must(calloc(1, sizeof *world));
    xylem_status_t status;
    uint32_t rank;

    prepare(world, options);
    world->ranks = options->nodes * options->ranks_per_node;
    sim_calendar_init(&world->calendar);
    sim_match_init(&world->posted);
    sim_match_init(&world->unexpected);
    sim_match_init(&world->ordered);
    world->all = sim_must(calloc(world->ranks, sizeof *world->all));
    world->peers = sim_must(calloc(world->ranks, sizeof *world->peers));
    fill_peers(world, world->peers);
    nodes_create(world);
    status = xyl_map_create(world->peers, NULL, world->ranks,
                            &world->map_memory, &world->map);
    for (rank = 0; rank < world->ranks && status == XYLEM_OK; rank++)
        status = rank_create(world, rank);
    if (status != XYLEM_OK) {
        (void)sim_world_destroy(world);
        return status;
    }
    *world_out = world;
    return XYLEM_OK;
}

xylem_status_t sim_world_destroy(sim_world_t *world)
{
    xylem_status_t status, first = XYLEM_OK;
    uint32_t i;

    for (i = 0; i < world->ranks; i++) {
        status = world->all[i].context == NULL
                     ? XYLEM_OK
                     : xylem_context_destroy(world->all[i].context);
        if (first == XYLEM_OK)
            first = status;
        if (world->all[i].peers != world->peers)
            free(world->all[i].peers);
    }
    for (i = 0; i < world->nodes; i++) {
        free(world->all_nodes[i].memory);
        free(world->all_nodes[i].cores);
    }
    sim_shm_fini(world);
    sim_objects_fini(world);
    sim_match_fini(&world->posted);
    sim_match_fini(&world->unexpected);
    sim_match_fini(&world->ordered);
    sim_calendar_fini(&world->calendar);
    sim_space_fini(&world->space);
    if (world->nowhere.base != NULL)
        munmap(world->nowhere.base, world->nowhere.bytes);
    free(world->map_memory);
    free(world->all_nodes);
    free(world->peers);
    free(world->all);
    free(world);
    return first;
}

/* ---- looking in ---- */

uint32_t sim_world_ranks(const sim_world_t *world)
{
    return world->ranks;
}

sim_time_t sim_world_time(const sim_world_t *world)
{
    return world->now;
}

xylem_context_t *sim_world_context(sim_world_t *world, uint32_t rank)
{
    return world->all[rank].context;
}

void *sim_world_nowhere(sim_world_t *world, size_t bytes)
{
    void *base;

    if (world->nowhere.base == NULL) {
        base = mmap(NULL, bytes + 1, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        world->nowhere.base = sim_must(base == MAP_FAILED ? NULL : base);
        world->nowhere.bytes = bytes + 1;
    }
    assert(bytes <= world->nowhere.bytes);
    return world->nowhere.base;
}

/* The memory that the system counts as in use by this process. */
static uint64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long long total, resident = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu %llu", &total, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

void sim_world_counts(const sim_world_t *world, sim_counts_t *counts_out)
{
    *counts_out = world->counts;
    counts_out->memory_bytes = resident_bytes();
}
