/* The programs of the probes on simulated ranks. A rank's time runs from the
 * moment at which all may begin, as if a gate had been opened, to its last
 * completion. One thread. */
#include "simulator/calibrate/simulate.h"

#include <stdlib.h>

#include "simulator/world.h"

typedef struct run run_t;

typedef struct player {
    run_t *run;
    uint32_t rank;
    xylem_team_t *team;
    xylem_op_t op;
    unsigned step;
    sim_time_t end; /* all begin at 0 */
    xylem_status_t status;
} player_t;

struct run {
    sim_world_t *world;
    const calibrate_probe_t *probe;
    uint32_t ranks;
    sim_time_t turn;
    player_t *players;
};

/* ---- the program ---- */

static void sum(void *result, const void *left, const void *right, size_t count,
                void *arg)
{
    const player_t *player = arg;

    (void)result;
    (void)left;
    (void)right;
    sim_world_charge_reduce(player->run->world, player->rank,
                            count * sizeof(float));
}

static void step_done(void *arg, xylem_status_t status);

static void step_start(void *arg, uint32_t rank)
{
    run_t *run = arg;
    player_t *player = &run->players[rank];
    size_t bytes = calibrate_probe_bytes(run->probe);
    char *nowhere = sim_world_nowhere(run->world, 2 * bytes);
    xylem_coll_args_t args = calibrate_probe_args(run->probe, player->step,
                                                  nowhere, nowhere + bytes);

    args.op = player->op;
    args.flags |= XYLEM_FLAG_AUTOFREE;
    args.on_complete = step_done;
    args.arg = player;
    if (player->status == XYLEM_OK)
        player->status = xylem_coll_start(player->team, &args, NULL);
}

static void step_done(void *arg, xylem_status_t status)
{
    player_t *player = arg;
    run_t *run = player->run;
    sim_time_t now = sim_world_now(run->world, player->rank);

    if (player->status == XYLEM_OK)
        player->status = status;
    if (++player->step < calibrate_probe_steps(run->probe))
        sim_world_at(run->world, player->rank, now, step_start, run);
    else if (player->end == 0)
        player->end = now;
}

static void work(run_t *run, uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < run->probe->count; i++) {
        if (run->probe->kind == CALIBRATE_TURN)
            sim_world_compute(run->world, rank, run->turn);
        else if (run->probe->kind == CALIBRATE_COPY)
            sim_world_charge_copy(run->world, rank, run->probe->bytes);
        else
            sim_world_charge_reduce(run->world, rank, run->probe->bytes);
    }
    run->players[rank].end = sim_world_now(run->world, rank);
}

static void program(void *arg, uint32_t rank)
{
    run_t *run = arg;
    player_t *player = &run->players[rank];
    calibrate_absence_t absence = calibrate_probe_absence(run->probe, rank);

    if (!calibrate_probe_has_steps(run->probe)) {
        work(run, rank);
        return;
    }
    if (absence == CALIBRATE_ABSENT_BEFORE)
        sim_world_compute(run->world, rank, CALIBRATE_AWAY_US * SIM_US);
    step_start(run, rank);
    if (run->probe->kind == CALIBRATE_POST && rank == 0)
        player->end = sim_world_now(run->world, rank);
    if (absence == CALIBRATE_ABSENT_AFTER)
        sim_world_compute(run->world, rank, CALIBRATE_AWAY_US * SIM_US);
}

/* ---- around it ---- */

/* How many ranks the probe's team has. Work has no team: how many ranks
 * work. */
static uint32_t players_count(const calibrate_sample_t *sample)
{
    const calibrate_probe_t *probe = &sample->probe;

    if (!calibrate_probe_has_steps(probe))
        return probe->peer == 0 ? 1 : sample->ranks;
    if (probe->kind == CALIBRATE_CALL)
        return 1;
    return calibrate_probe_color(probe, XYLEM_COLOR_NONE) == 0 ? sample->ranks
                                                               : 2;
}

/* The place of a core: one of two ranks may sit further away. */
static xylem_place_t place_of(const sim_machine_t *machine, uint32_t core)
{
    uint32_t group = core / machine->cores_per_group;
    uint32_t numa = group / machine->groups_per_numa;

    return (xylem_place_t){.socket = numa / machine->numas_per_socket,
                           .numa = numa,
                           .l3 = group,
                           .core = core};
}

static xylem_status_t prepare(run_t *run)
{
    xylem_status_t status = XYLEM_OK;
    uint32_t i;

    for (i = 0; i < run->ranks && status == XYLEM_OK; i++) {
        player_t *player = &run->players[i];
        *player = (player_t){
            .run = run,
            .rank = i,
            .team = xylem_context_world(sim_world_context(run->world, i))};
        status = xylem_op_create(sim_world_context(run->world, i), sum, player,
                                 XYLEM_OP_COMMUTATIVE, &player->op);
        sim_world_at(run->world, i, 0, program, run);
    }
    return status;
}

static double us_of(const player_t *player)
{
    return (double)player->end / (double)SIM_US;
}

static xylem_status_t play(run_t *run, calibrate_sample_t *sample)
{
    xylem_status_t status = prepare(run);
    uint32_t i;

    if (status == XYLEM_OK)
        (void)sim_world_run(run->world, SIM_NEVER, UINT64_MAX);
    sample->first_us = us_of(&run->players[0]);
    sample->last_us = 0;
    for (i = 0; i < run->ranks; i++) {
        const player_t *player = &run->players[i];
        if (status == XYLEM_OK)
            status = player->status;
        if (status == XYLEM_OK && player->end == 0)
            status = XYLEM_ERR_INTERNAL; /* the rank waits for ever */
        if (i != 0 && us_of(player) > sample->last_us)
            sample->last_us = us_of(player);
        if (player->op != 0)
            (void)xylem_op_destroy(sim_world_context(run->world, i),
                                   player->op);
    }
    return status;
}

xylem_status_t calibrate_simulate(const sim_machine_t *machine,
                                  calibrate_sample_t *sample)
{
    xylem_place_t places[2] = {
        place_of(machine, 0),
        place_of(machine, sample->probe.peer % sim_machine_cores(machine))};
    static const char *const settings[] = {CALIBRATE_SETTING "=0", NULL};
    uint32_t ranks = players_count(sample);
    sim_options_t options = {
        .machine = machine,
        .nodes = 1,
        .ranks_per_node = ranks,
        .places = ranks == 2 && sample->ranks > 2 ? places : NULL,
        .payload = SIM_PAYLOAD_NONE,
        .settings = settings,
        .message_bytes = calibrate_probe_bytes(&sample->probe)};
    run_t run = {.probe = &sample->probe,
                 .ranks = ranks,
                 .turn = machine->core.rank_linger / CALIBRATE_IDLE_TURNS};
    xylem_status_t status;

    run.players = calloc(ranks, sizeof *run.players);
    if (run.players == NULL)
        return XYLEM_ERR_NO_MEMORY;
    status = sim_world_create(&options, &run.world);
    if (status == XYLEM_OK) {
        status = play(&run, sample);
        (void)sim_world_destroy(run.world);
    }
    free(run.players);
    return status;
}
