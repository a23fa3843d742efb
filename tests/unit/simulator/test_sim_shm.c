/* A stage over shared memory in the simulator: joining, and the charged costs.
 * The stage broadcasts through one cell per node: the root copies in and raises
 * a flag for each reader, readers copy out. */
#include <stdlib.h>
#include <string.h>

#include "collectives/stages/collective.h"
#include "progress/shm/shm.h"
#include "runtime/core/request.h"
#include "runtime/core/team.h"
#include "simulator/world.h"
#include "tests/support/check.h"

enum { RANKS = 4, BYTES = 4096, KEY = 17, LINE = 128 };

/* One flag per reader, each on lines of its own, then the cell. */
typedef struct cell {
    struct {
        _Atomic uint64_t number;
        char pad[LINE - sizeof(uint64_t)];
    } flags[RANKS];
    char bytes[BYTES];
} cell_t;

typedef struct cell_stage {
    xyl_stage_t stage;
    cell_t *cell;
    char *buf;
    uint64_t run; /* flags count runs */
    int is_waiting;
    int is_common; /* the readers look at the first flag, all of them */
} cell_stage_t;

static xyl_shm_t *shm_of(const cell_stage_t *self)
{
    return self->stage.operation->request.context->shm;
}

static void copy(const cell_stage_t *self, char *to, const char *from)
{
    const xyl_execs_t *execs = &self->stage.operation->request.context->execs;

    (void)xyl_exec_copy(xyl_exec_of(execs, to), NULL, to, from, BYTES);
}

static void cell_start(xyl_stage_t *stage)
{
    cell_stage_t *self = (cell_stage_t *)(void *)stage;

    self->run++;
    self->is_waiting = !stage->operation->has_input;
}

static void cell_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    cell_stage_t *self = (cell_stage_t *)(void *)stage;
    xyl_shm_t *shm = shm_of(self);
    static const uint32_t readers[RANKS] = {0, 1, 2, 3};
    uint32_t rank;

    copy(self, self->cell->bytes, self->buf);
    if (self->is_common)
        shm->ops->set(shm, &self->cell->flags[0].number, self->run, &readers[1],
                      RANKS - 1);
    for (rank = 1; rank < RANKS && !self->is_common; rank++)
        shm->ops->set(shm, &self->cell->flags[rank].number, self->run,
                      &readers[rank], 1);
    xyl_stage_emit(stage, index);
    xyl_stage_complete(stage);
}

static unsigned cell_poll(void *arg)
{
    cell_stage_t *self = arg;
    xyl_shm_t *shm = shm_of(self);
    uint32_t rank =
        self->is_common ? 0 : self->stage.operation->request.team->rank;

    if (!self->is_waiting ||
        xyl_shm_get(shm, &self->cell->flags[rank].number) < self->run)
        return 0;
    self->is_waiting = 0;
    copy(self, self->buf, self->cell->bytes);
    xyl_stage_emit(&self->stage, 0);
    xyl_stage_complete(&self->stage);
    return 1;
}

static void cell_cancel(xyl_stage_t *stage)
{
    ((cell_stage_t *)(void *)stage)->is_waiting = 0;
}

static void cell_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    (void)stage;
    (void)reads;
    (void)writes;
}

static const xyl_stage_ops_t cell_ops = {
    .name = "cell",
    .start = cell_start,
    .segment_ready = cell_segment_ready,
    .cancel = cell_cancel,
    .bind = cell_bind,
};

/* ---- the world around it ---- */

typedef struct rank_state {
    sim_world_t *world;
    uint32_t rank;
    int is_common;
    char buf[BYTES];
    xyl_operation_t *operation;
    sim_time_t end;
    unsigned completions;
} rank_state_t;

static void completed(void *arg, xylem_status_t status)
{
    rank_state_t *state = arg;

    CHECK_EQ(status, XYLEM_OK);
    state->completions++;
    state->end = sim_world_now(state->world, state->rank);
}

static void plan(rank_state_t *state)
{
    xylem_context_t *context = sim_world_context(state->world, state->rank);
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .recv = state->buf,
                              .count = BYTES,
                              .type = XYLEM_BYTE,
                              .on_complete = completed,
                              .arg = state};
    xyl_plan_t frame = {.segment_bytes = BYTES};
    xyl_stage_spec_t spec;
    cell_stage_t *self;

    CHECK_EQ(xyl_collective_create(xylem_context_world(context), &args, &frame,
                                   state->rank == 0, &state->operation),
             XYLEM_OK);
    spec = xyl_stage_behind(state->operation, 0, XYL_ROLE_NOTHING,
                            XYL_ROLE_NOTHING);
    self = (cell_stage_t *)(void *)xyl_operation_add_stage(
        state->operation, &spec, &cell_ops, sizeof *self, 1);
    self->cell = context->shm->ops->attach(context->shm, KEY, sizeof(cell_t));
    self->buf = state->buf;
    self->is_common = state->is_common;
    CHECK_EQ(xyl_engine_source_add(&context->engine,
                                   (xyl_source_t){cell_poll, self}),
             XYLEM_OK);
    xyl_request_persist(&state->operation->request);
}

static void start(void *arg, uint32_t rank)
{
    rank_state_t *states = arg;

    CHECK_EQ(xylem_request_start(&states[rank].operation->request), XYLEM_OK);
}

/* Copies take 1 us, flags 10 ns at either end and 100 ns on the way. */
static sim_machine_t machine(void)
{
    sim_machine_t machine;
    int level;

    sim_machine_ideal(RANKS, &machine);
    for (level = 0; level < SIM_LEVEL_COUNT; level++)
        machine.links[level].latency = 100 * SIM_NS;
    machine.core.copy = (sim_rate_t)(SIM_US * 1000 / BYTES) + 1;
    machine.core.flag = 10 * SIM_NS;
    return machine;
}

static void run(rank_state_t *states, sim_payload_t payload, int is_common)
{
    sim_machine_t costs = machine();
    sim_options_t options = {.machine = &costs,
                             .nodes = 1,
                             .ranks_per_node = RANKS,
                             .shares_memory = 1,
                             .payload = payload};
    sim_world_t *world;
    uint32_t rank, turn;

    CHECK_EQ(sim_world_create(&options, &world), XYLEM_OK);
    for (rank = 0; rank < RANKS; rank++) {
        states[rank].world = world;
        states[rank].rank = rank;
        states[rank].is_common = is_common;
        memset(states[rank].buf, rank == 0 ? 'x' : '.', BYTES);
        plan(&states[rank]);
    }
    for (turn = 0; turn < 2; turn++) {
        for (rank = 0; rank < RANKS; rank++)
            sim_world_at(world, rank, turn * 10 * SIM_US, start, states);
        CHECK(sim_world_run(world, SIM_NEVER, 100000));
    }
    for (rank = 0; rank < RANKS; rank++) {
        xylem_context_t *context = sim_world_context(world, rank);
        CHECK_EQ(states[rank].completions, 2);
        context->shm->ops->detach(context->shm, KEY);
        CHECK_EQ(xylem_request_free(&states[rank].operation->request),
                 XYLEM_OK);
    }
    CHECK_EQ(sim_world_destroy(world), XYLEM_OK);
}

static void test_moves_bytes(void)
{
    rank_state_t *states = calloc(RANKS, sizeof *states);
    uint32_t rank, i;

    if (states == NULL)
        abort();
    run(states, SIM_PAYLOAD_MOVED, 0);
    for (rank = 0; rank < RANKS; rank++)
        for (i = 0; i < BYTES; i++)
            if (states[rank].buf[i] != 'x') {
                check_failed(__FILE__, __LINE__, "a byte did not come");
                break;
            }
    free(states);
}

/* In, then flags one after the other; each on its way, seen, and out. */
static void test_charges(void)
{
    rank_state_t *states = calloc(RANKS, sizeof *states);
    sim_time_t copy =
        sim_rate_time((sim_rate_t)(SIM_US * 1000 / BYTES) + 1, BYTES);
    uint32_t rank;

    if (states == NULL)
        abort();
    run(states, SIM_PAYLOAD_NONE, 0);
    CHECK_EQ(states[0].end, 10 * SIM_US + copy + 30 * SIM_NS);
    for (rank = 1; rank < RANKS; rank++) {
        CHECK_EQ(states[rank].end,
                 10 * SIM_US + 2 * copy + (10 * rank + 110) * SIM_NS);
        CHECK_EQ(states[rank].buf[0], '.');
    }
    free(states);
}

/* One store for all readers. */
static void test_common_flag(void)
{
    rank_state_t *states = calloc(RANKS, sizeof *states);
    sim_time_t copy =
        sim_rate_time((sim_rate_t)(SIM_US * 1000 / BYTES) + 1, BYTES);
    uint32_t rank;

    if (states == NULL)
        abort();
    run(states, SIM_PAYLOAD_MOVED, 1);
    CHECK_EQ(states[0].end, 10 * SIM_US + copy + 10 * SIM_NS);
    for (rank = 1; rank < RANKS; rank++) {
        CHECK_EQ(states[rank].end, 10 * SIM_US + 2 * copy + 120 * SIM_NS);
        CHECK_EQ(states[rank].buf[BYTES - 1], 'x');
    }
    free(states);
}

/* ---- words that several ranks write ---- */

typedef struct swaps {
    sim_world_t *world;
    _Atomic uint64_t *word;
    unsigned won;
    sim_time_t took[RANKS];
} swaps_t;

static void swap_once(void *arg, uint32_t rank)
{
    swaps_t *swaps = arg;
    xyl_shm_t *shm = sim_world_context(swaps->world, rank)->shm;
    sim_time_t begun = sim_world_now(swaps->world, rank);
    uint64_t expected = 0;

    if (shm->ops->swap(shm, swaps->word, &expected, rank + 1))
        swaps->won++;
    else
        CHECK_EQ(expected, atomic_load(swaps->word));
    swaps->took[rank] = sim_world_now(swaps->world, rank) - begun;
}

static void test_swap(void)
{
    sim_machine_t costs = machine();
    sim_options_t options = {.machine = &costs,
                             .nodes = 1,
                             .ranks_per_node = RANKS,
                             .shares_memory = 1};
    swaps_t swaps = {NULL, NULL, 0, {0}};
    xyl_shm_t *shm;
    uint32_t rank;

    CHECK_EQ(sim_world_create(&options, &swaps.world), XYLEM_OK);
    shm = sim_world_context(swaps.world, 0)->shm;
    CHECK(shm->ops->sleeps == NULL && shm->ops->view == NULL);
    swaps.word = shm->ops->attach(shm, KEY, sizeof *swaps.word);
    for (rank = 0; rank < RANKS; rank++)
        sim_world_at(swaps.world, rank, SIM_US, swap_once, &swaps);
    CHECK(sim_world_run(swaps.world, SIM_NEVER, 1000));
    CHECK_EQ(swaps.won, 1);
    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(swaps.took[rank], 110 * SIM_NS);
    shm->ops->detach(shm, KEY);
    CHECK_EQ(sim_world_destroy(swaps.world), XYLEM_OK);
}

static const check_case_t cases[] = {
    {"moves_bytes", test_moves_bytes},
    {"charges", test_charges},
    {"common_flag", test_common_flag},
    {"swap", test_swap},
};
CHECK_MAIN(cases)
