/* The program of simulated ranks: each has a persistent request, which its
 * callback starts again until it has run often enough.
 *
 * If no bytes are moved, all ranks share addresses without memory, and a
 * reduction only charges its cost. Otherwise each rank has buffers of its own,
 * their content changes with each call, and every result is checked. The ranks'
 * clocks are the same both ways. One thread. */
#include "simulator/program/program.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/measure/coll_data.h"
#include "bench/measure/event_calls.h"
#include "bench/measure/rival_stages.h"
#include "simulator/program/tally.h"

/* All ranks know of a death within this time. */
static const sim_time_t notice_max = SIM_MS;

struct player {
    struct program *program;
    uint32_t rank;
    xylem_op_t op;
    xylem_request_t *request;
    /* NULL: the rank has no such buffer; owned if there is a payload. */
    void *send, *recv;
};

struct program {
    struct sim_tally tally; /* first: its complaints are the world's */
    struct player *players;
    struct coll_arrays *arrays; /* the same for all */
    uint64_t begun;             /* calls of all ranks */
};

static const struct simulation *simulation_of(const struct program *program)
{
    return program->tally.c->simulation;
}

static int has_payload(const struct simulation *simulation)
{
    return simulation->payload != SIM_PAYLOAD_NONE;
}

static struct coll_part part_of(const struct player *player)
{
    const struct simulation *simulation = simulation_of(player->program);

    return (struct coll_part){.coll = simulation->coll,
                              .rank = player->rank,
                              .ranks = simulation->ranks,
                              .root = simulation->root,
                              .bytes = simulation->bytes};
}

/* ---- content ---- */

/* `call` counts from 0. */
static void input_write(const struct player *player, unsigned call)
{
    struct coll_part part = part_of(player);

    if (has_payload(simulation_of(player->program)))
        coll_input_write(&part, call, player->send, player->recv, CONTENT_ALL);
}

/* 1: the rank left the barrier before all had come. */
static int is_too_early(const struct program *program, unsigned call)
{
    return simulation_of(program)->coll == XYLEM_COLL_BARRIER &&
           program->begun < ((uint64_t)call + 1) * program->tally.ranks;
}

static void result_check(const struct player *player, unsigned call)
{
    struct program *program = player->program;
    struct coll_part part = part_of(player);

    if (is_too_early(program, call))
        sim_tally_complain(&program->tally, player->rank,
                           "left the barrier before all had come");
    if (has_payload(simulation_of(program)) &&
        coll_result_wrong(&part, call, player->recv, CONTENT_ALL) > 0)
        sim_tally_complain(&program->tally, player->rank,
                           "the result is wrong");
}

static void sum(void *result, const void *left, const void *right, size_t count,
                void *arg)
{
    const struct player *player = arg;
    const float *a = left, *b = right;
    float *out = result;
    size_t i;

    sim_world_charge_reduce(player->program->tally.world, player->rank,
                            count * sizeof(float));
    if (!has_payload(simulation_of(player->program)))
        return;
    for (i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

/* ---- calls ---- */

static void call_start(struct player *player)
{
    struct sim_tally *tally = &player->program->tally;

    input_write(player, tally->records[player->rank].calls);
    player->program->begun++;
    if (xylem_request_start(player->request) != XYLEM_OK)
        sim_tally_complain(tally, player->rank, xylem_last_error());
}

static void first_call(void *arg, uint32_t rank)
{
    struct player *player = arg;

    sim_tally_begin(&player->program->tally, rank);
    call_start(player);
}

static void call_done(void *arg, xylem_status_t status)
{
    struct player *player = arg;
    struct sim_tally *tally = &player->program->tally;

    if (sim_world_is_dead(tally->world, player->rank))
        return; /* only so that its request can be freed */
    if (status == XYLEM_ERR_PROC_FAILED &&
        simulation_of(player->program)->has_kill) {
        sim_tally_fail(tally, player->rank);
        return;
    }
    if (status != XYLEM_OK) {
        sim_tally_complain(tally, player->rank, xylem_status_text(status));
        sim_tally_fail(tally, player->rank);
        return;
    }
    result_check(player, tally->records[player->rank].calls);
    if (sim_tally_end(tally, player->rank))
        call_start(player);
}

/* ---- players ---- */

static int buffers_get(struct player *player)
{
    struct coll_part part = part_of(player);
    int sends = coll_has_input(&part), receives = coll_has_result(&part);
    size_t most;
    char *nowhere;

    if (has_payload(simulation_of(player->program))) {
        player->send = sends ? calloc(1, coll_input_bytes(&part)) : NULL;
        player->recv = receives ? calloc(1, coll_result_bytes(&part)) : NULL;
        return !(sends && player->send == NULL) &&
               !(receives && player->recv == NULL);
    }
    most = simulation_of(player->program)->bytes * part.ranks;
    nowhere = sim_world_nowhere(player->program->tally.world, 2 * most);
    player->send = sends ? nowhere : NULL;
    player->recv = receives ? nowhere + most : NULL;
    return 1;
}

static struct bench_call bench_call_of(const struct simulation *simulation)
{
    return (struct bench_call){.coll = simulation->coll,
                               .bytes = simulation->bytes,
                               .root = simulation->root};
}

static xylem_status_t request_plan(struct player *player,
                                   xylem_context_t *context)
{
    const struct simulation *simulation = simulation_of(player->program);
    const struct contender *contender = player->program->tally.c->contender;
    struct bench_call call = bench_call_of(simulation);
    xylem_team_t *team = xylem_context_world(context);
    xylem_coll_args_t args;

    call.send = player->send;
    call.recv = player->recv;
    args = event_args(player->program->arrays, player->rank,
                      &simulation->tuning, &call);
    args.op = player->op;
    args.on_complete = call_done;
    args.arg = player;
    if (contender->kind == CONTENDER_EVENT)
        return xylem_coll_init(team, &args, &player->request);
    return rival_init(contender->kind == CONTENDER_WAITALL ? RIVAL_WAITALL
                                                           : RIVAL_BLOCKING,
                      team, &args, &player->request);
}

static xylem_status_t player_join(struct player *player)
{
    sim_world_t *world = player->program->tally.world;
    xylem_context_t *context = sim_world_context(world, player->rank);
    xylem_status_t status;

    if (!buffers_get(player))
        return XYLEM_ERR_NO_MEMORY;
    status = xylem_op_create(context, sum, player, XYLEM_OP_COMMUTATIVE,
                             &player->op);
    if (status == XYLEM_OK)
        status = request_plan(player, context);
    if (status == XYLEM_OK)
        sim_world_at(world, player->rank,
                     sim_case_arrival(player->program->tally.c, player->rank),
                     first_call, player);
    return status;
}

static void player_leave(struct player *player)
{
    if (player->request != NULL)
        xylem_request_free(player->request);
    if (!has_payload(simulation_of(player->program)))
        return;
    free(player->send);
    free(player->recv);
}

/* ---- the world ---- */

static void complain(void *arg, uint32_t rank, const char *text)
{
    sim_tally_complain(arg, rank, text);
}

static xylem_status_t world_create(struct program *program)
{
    static const char *const silent[] = {"LOG=none", NULL};
    const struct sim_case *c = program->tally.c;
    const struct simulation *simulation = c->simulation;
    sim_options_t options = {.machine = &simulation->machine,
                             .nodes = simulation->nodes,
                             .ranks_per_node = simulation->ranks_per_node,
                             .shares_memory = (int)simulation->shares_memory,
                             .seed = c->seed,
                             .payload = simulation->payload,
                             .message_bytes = simulation_bytes(simulation),
                             .noise = c->noise,
                             .jitter_max = simulation->jitter,
                             .settings = simulation->has_kill ? silent : NULL,
                             .trace = c->trace,
                             .has_deaths = simulation->has_kill,
                             .complain = complain,
                             .complain_arg = &program->tally};
    xylem_status_t status = sim_world_create(&options, &program->tally.world);

    if (status == XYLEM_OK && simulation->has_kill)
        sim_world_kill(program->tally.world, simulation->kill_rank,
                       simulation->kill_time, notice_max);
    return status;
}

static xylem_status_t players_join(struct program *program)
{
    xylem_status_t status = XYLEM_OK;
    uint32_t i;

    for (i = 0; i < program->tally.ranks && status == XYLEM_OK; i++) {
        program->players[i] = (struct player){.program = program, .rank = i};
        status = player_join(&program->players[i]);
    }
    return status;
}

static void players_leave(struct program *program)
{
    const struct simulation *simulation = simulation_of(program);
    sim_world_t *world = program->tally.world;
    uint32_t i;

    if (simulation->has_kill &&
        sim_world_is_dead(world, simulation->kill_rank)) {
        sim_world_isolate(world, simulation->kill_rank);
        (void)sim_world_run(world, SIM_NEVER, UINT64_MAX);
    }

    for (i = 0; i < program->tally.ranks; i++) {
        if (program->players[i].program != NULL)
            player_leave(&program->players[i]);
    }
}

/* The ranks in their world, from its creation to its end. */
static int world_run(struct program *program, struct sim_outcome *outcome)
{
    struct sim_tally *tally = &program->tally;
    xylem_status_t status = world_create(program);
    int ok = 0;

    if (status != XYLEM_OK) {
        sim_tally_complain(tally, 0, xylem_last_error());
        return 0;
    }
    status = players_join(program);
    if (status == XYLEM_OK)
        ok = sim_tally_drive(tally, outcome);
    else
        sim_tally_complain(tally, 0, xylem_last_error());
    players_leave(program);
    if (sim_world_destroy(tally->world) != XYLEM_OK) {
        sim_tally_complain(tally, 0, xylem_last_error());
        ok = 0;
    }
    return ok;
}

int sim_program_run(const struct sim_case *c, struct sim_outcome *outcome)
{
    struct program program = {.begun = 0};
    struct bench_call call = bench_call_of(c->simulation);
    int ok = 0;

    if (!sim_tally_create(&program.tally, c))
        return 0;
    program.players = calloc(program.tally.ranks, sizeof *program.players);
    program.arrays =
        coll_arrays_create(call.coll, program.tally.ranks, call.bytes);
    if (program.players != NULL && program.arrays != NULL)
        ok = world_run(&program, outcome);
    else
        sim_tally_complain(&program.tally, 0, "out of memory");
    coll_arrays_destroy(program.arrays);
    free(program.players);
    sim_tally_destroy(&program.tally);
    return ok;
}
