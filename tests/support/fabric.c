/* The simulated world with a machine that the seed draws, an allocator that
 * counts and fails, and a loop that a test can take part in. One thread. */
#include "tests/support/fabric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/context.h"
#include "runtime/core/request.h"
#include "simulator/random.h"
#include "tests/support/check.h"

enum {
    SLICES_MAX = 4000000, /* of one run: far more than any test needs */
    DRY_EVENTS_MAX = 400000000,
    DUMP_LINES_MAX = 40,
    SETTINGS_MAX = 8,
    RANKS_PER_NODE = 4, /* when the test does not care */
    SLOTS_MAX = 4,
    MEMORY_GARBAGE = 0x5a,
    GARBAGE_BYTES_MAX = 65536
};

struct fabric {
    fabric_options_t options;
    sim_world_t *world;
    sim_machine_t machine;
    xylem_place_t *places; /* NULL: the test's */
    uint32_t ranks;
    uint64_t random;
    char label[256];
    uint64_t allocations_left; /* to the one that fails; 0: none */
    int allocation_failed;
    uint64_t blocks_live;
    xyl_allocator_t allocator;
};

static void *must(void *memory)
{
    if (memory == NULL)
        abort(); /* the test's own memory, not the library's */
    return memory;
}

static void complain(const fabric_t *fabric, const char *what)
{
    char text[512];

    snprintf(text, sizeof text, "%s (seed %" PRIu64 "; %s)", what,
             fabric->options.seed, fabric->label);
    check_failed(__FILE__, __LINE__, text);
}

static void world_complains(void *arg, uint32_t rank, const char *what)
{
    char text[128];

    snprintf(text, sizeof text, "rank %" PRIu32 ": %s", rank, what);
    complain(arg, text);
}

/* ---- memory of the contexts ---- */

static void *counted_alloc(void *arg, size_t bytes)
{
    fabric_t *fabric = arg;
    size_t mask = XYL_MEMORY_ALIGN - 1;
    void *block;

    if (fabric->allocations_left != 0 && --fabric->allocations_left == 0) {
        fabric->allocation_failed = 1;
        return NULL;
    }
    block = must(aligned_alloc(XYL_MEMORY_ALIGN, (bytes + mask) & ~mask));
    memset(block, MEMORY_GARBAGE,
           bytes < GARBAGE_BYTES_MAX ? bytes : GARBAGE_BYTES_MAX);
    fabric->blocks_live++;
    return block;
}

static void counted_release(void *arg, void *block)
{
    fabric_t *fabric = arg;

    fabric->blocks_live--;
    free(block);
}

/* ---- the machine ---- */

static int one_in(uint64_t *random, uint32_t times)
{
    return random_below(random, times) == 0;
}

static sim_time_t up_to_ns(uint64_t *random, uint32_t most)
{
    return random_below(random, most + 1) * SIM_NS;
}

/* Draws costs, so that clocks of ranks drift apart, and the interfaces and the
 * memory of a node become busy. */
static void draw_costs(uint64_t *random, sim_machine_t *machine)
{
    int level;

    machine->core.call = up_to_ns(random, 500);
    machine->core.event = up_to_ns(random, 100);
    machine->core.post = up_to_ns(random, 100);
    machine->core.rank_switch = up_to_ns(random, 2000);
    machine->core.copy = machine->core.copy_far = random_below(random, 1000);
    machine->nic.gap = up_to_ns(random, 200);
    machine->nic.injection = random_below(random, 2000);
    machine->nic.ejection = random_below(random, 2000);
    if (one_in(random, 2)) {
        machine->core.cache_bytes = 0;
        machine->node.memory = random_between(random, 1, 500);
    }
    for (level = 0; level < SIM_LEVEL_COUNT; level++) {
        sim_link_t *link = &machine->links[level];
        link->latency = up_to_ns(random, 2000);
        link->send_overhead = up_to_ns(random, 300);
        link->recv_overhead = up_to_ns(random, 300);
        link->rendezvous_overhead = up_to_ns(random, 500);
        link->per_byte = random_below(random, 3000);
    }
}

static void draw_machine(fabric_t *fabric)
{
    uint64_t random = random_mix(~fabric->options.seed);
    sim_machine_t *machine = &fabric->machine;
    int level, is_nic = one_in(&random, 3), is_pipeline = one_in(&random, 3);

    sim_machine_ideal(one_in(&random, 4) ? random_between(&random, 1, 2)
                                         : RANKS_PER_NODE,
                      machine);
    if (one_in(&random, 3))
        machine->node.queue_slots = random_between(&random, 1, SLOTS_MAX);
    if (one_in(&random, 2))
        draw_costs(&random, machine);
    for (level = 0; level < SIM_LEVEL_COUNT; level++) {
        if (is_nic && (level > SIM_LEVEL_NODE || one_in(&random, 4)))
            machine->links[level].transport = SIM_TRANSPORT_NIC;
        if (is_pipeline != one_in(&random, 8))
            machine->links[level].rendezvous = SIM_RENDEZVOUS_PIPELINE;
    }
}

static void machine_create(fabric_t *fabric)
{
    sim_machine_t *machine = &fabric->machine;
    int level;

    if (fabric->options.reorder)
        draw_machine(fabric);
    else
        sim_machine_ideal(RANKS_PER_NODE, machine);
    for (level = 0; level < SIM_LEVEL_COUNT; level++) {
        machine->links[level].eager_bytes_max = fabric->options.eager_bytes_max;
        if (!fabric->options.reorder)
            machine->links[level].latency = fabric->options.delay_max * SIM_US;
    }
}

/* Not in blocks: the last node may have fewer ranks. */
static const xylem_place_t *places_of(fabric_t *fabric)
{
    uint32_t i;

    if (fabric->options.places != NULL)
        return fabric->options.places;
    fabric->places = must(calloc(fabric->ranks, sizeof *fabric->places));
    for (i = 0; i < fabric->ranks; i++)
        fabric->places[i] = (xylem_place_t){
            fabric->options.shares_memory ? 0 : i / RANKS_PER_NODE, 0, 0, 0,
            i % RANKS_PER_NODE};
    return fabric->places;
}

/* ---- life ---- */

/* Errors are provoked on purpose and passing tests are silent: no log, unless
 * the test asks for one. `all` is ended by NULL. */
static void settings_of(const fabric_t *fabric, const char **all)
{
    const char *const *own = fabric->options.settings;
    uint32_t count = 0;

    all[count++] = "LOG=none";
    for (; own != NULL && *own != NULL; own++) {
        if (count == SETTINGS_MAX)
            abort(); /* the test's mistake */
        all[count++] = *own;
    }
    all[count] = NULL;
}

static xylem_status_t world_create(fabric_t *fabric)
{
    const char *settings[SETTINGS_MAX + 1];
    sim_options_t options = {.machine = &fabric->machine,
                             .nodes = fabric->ranks,
                             .ranks_per_node = 1,
                             .places = places_of(fabric),
                             .shares_memory = fabric->options.shares_memory,
                             .sees_memory = fabric->options.sees_memory,
                             .seed = fabric->options.seed,
                             .payload = SIM_PAYLOAD_WATCHED,
                             .message_bytes = 1,
                             .noise = fabric->options.noise,
                             .timer_tick = fabric->options.timer_tick * SIM_US,
                             .work_late_max =
                                 fabric->options.work_late_max * SIM_US,
                             .has_mirrors = fabric->options.has_mirrors,
                             .settings = settings,
                             .has_deaths = 1,
                             .tells_failures = fabric->options.tells_failures,
                             .allocator = &fabric->allocator,
                             .complain = world_complains,
                             .complain_arg = fabric};

    settings_of(fabric, settings);
    if (fabric->options.reorder)
        options.jitter_max = fabric->options.delay_max * SIM_US;
    return sim_world_create(&options, &fabric->world);
}

fabric_t *fabric_create(uint32_t ranks, const fabric_options_t *options)
{
    fabric_t *fabric = must(calloc(1, sizeof *fabric));

    fabric->options = *options;
    fabric->ranks = ranks;
    fabric->random = random_mix(options->seed);
    fabric->allocations_left = options->fail_allocation;
    fabric->allocator =
        (xyl_allocator_t){counted_alloc, counted_release, fabric};
    machine_create(fabric);
    if (world_create(fabric) != XYLEM_OK) {
        fabric_destroy(fabric);
        return NULL;
    }
    if (options->store_messages != 0)
        sim_world_reserve(fabric->world, options->store_messages,
                          options->store_payload_bytes);
    return fabric;
}

/* A context would free them; here each owner must, the library too. */
static void check_requests_are_freed(fabric_t *fabric)
{
    const xylem_request_t *request;
    uint32_t rank;

    for (rank = 0; rank < fabric->ranks; rank++)
        for (request = LIST_FIRST(&fabric_context(fabric, rank)->requests);
             request != NULL; request = LIST_NEXT(request, others))
            if (request->is_users && !request->is_zombie)
                complain(fabric, "a request was not freed");
}

void fabric_destroy(fabric_t *fabric)
{
    if (fabric == NULL)
        return;
    if (fabric->world != NULL)
        check_requests_are_freed(fabric);
    if (fabric->world != NULL && sim_world_destroy(fabric->world) != XYLEM_OK)
        complain(fabric, "a context cannot be destroyed");
    if (fabric->blocks_live != 0)
        complain(fabric, "memory was not given back");
    free(fabric->places);
    free(fabric);
}

/* ---- looking in ---- */

sim_world_t *fabric_sim(fabric_t *fabric)
{
    return fabric->world;
}

xylem_context_t *fabric_context(fabric_t *fabric, uint32_t rank)
{
    return sim_world_context(fabric->world, rank);
}

xylem_team_t *fabric_world(fabric_t *fabric, uint32_t rank)
{
    return xylem_context_world(fabric_context(fabric, rank));
}

const sim_machine_t *fabric_machine(const fabric_t *fabric)
{
    return &fabric->machine;
}

void fabric_label(fabric_t *fabric, const char *label)
{
    snprintf(fabric->label, sizeof fabric->label, "%s", label);
}

uint64_t fabric_trace(const fabric_t *fabric)
{
    sim_counts_t counts;

    sim_world_counts(fabric->world, &counts);
    return counts.fingerprint;
}

/* Prints which rank waits for what, as comments of the test's output. */
static void dump(const fabric_t *fabric)
{
    char *text = NULL, *line, *rest = NULL;
    size_t bytes;
    FILE *file = must(open_memstream(&text, &bytes));
    unsigned lines = 0;

    sim_world_dump(fabric->world, file);
    fclose(file);
    for (line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        if (lines++ < DUMP_LINES_MAX)
            printf("#   %s\n", line);
    if (lines > DUMP_LINES_MAX)
        printf("#   and %u more\n", lines - DUMP_LINES_MAX);
    fflush(stdout); /* the test may not get far */
    free(text);
}

/* ---- running ---- */

/* Has the rank of a context look at it, as the test has acted on the context
 * from outside. */
static void wake_busy(fabric_t *fabric)
{
    uint32_t i;

    for (i = 0; i < fabric->ranks; i++)
        if (!xyl_engine_is_idle(&fabric_context(fabric, i)->engine))
            sim_world_wake(fabric->world, i);
}

void fabric_advance(fabric_t *fabric, sim_time_t time)
{
    wake_busy(fabric);
    sim_world_run(fabric->world, sim_world_time(fabric->world) + time,
                  UINT64_MAX);
}

/* Events until the test looks at them. */
static uint64_t draw_slice(fabric_t *fabric)
{
    return fabric->options.reorder
               ? random_between(&fabric->random, 1, fabric->ranks)
               : 1;
}

int fabric_run_until(fabric_t *fabric, const fabric_script_t *script)
{
    unsigned slices, acts = 0;
    int is_over = 0;

    for (slices = 0; slices < SLICES_MAX; slices++) {
        if (script->is_done(script->arg))
            return 1;
        if (script->act != NULL)
            acts = script->act(script->arg);
        if (is_over && acts == 0) {
            complain(fabric, "nobody can go on");
            dump(fabric);
            return 0;
        }
        wake_busy(fabric);
        is_over = sim_world_run(fabric->world, SIM_NEVER, draw_slice(fabric));
    }
    complain(fabric, "there is no end");
    return 0;
}

void fabric_run_dry(fabric_t *fabric)
{
    wake_busy(fabric);
    if (!sim_world_run(fabric->world, SIM_NEVER, DRY_EVENTS_MAX))
        complain(fabric, "there is no end");
}

/* ---- faults ---- */

void fabric_kill(fabric_t *fabric, uint32_t rank, uint32_t notice_max)
{
    sim_world_kill(fabric->world, rank, 0, notice_max * SIM_US);
}

void fabric_isolate(fabric_t *fabric, uint32_t rank)
{
    sim_world_isolate(fabric->world, rank);
}

int fabric_is_dead(const fabric_t *fabric, uint32_t rank)
{
    return sim_world_is_dead(fabric->world, rank);
}

void fabric_fail_allocation(fabric_t *fabric, uint64_t nth)
{
    fabric->allocations_left = nth;
    fabric->allocation_failed = 0;
}

int fabric_allocation_failed(const fabric_t *fabric)
{
    return fabric->allocation_failed;
}
