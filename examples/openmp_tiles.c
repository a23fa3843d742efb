/* A loop of OpenMP whose iterations are sent while others are still computed:
 *
 *   every rank    iteration t ──▶ tile t of `mine` is there
 *                 the last tile of a segment ──▶ that segment of the sum moves
 *                 the sum is complete ──▶ a broadcast of what rank 0 makes of
 * it
 *
 * The loop knows neither segments nor requests: it tells a trigger which bytes
 * are ready, by one atomic operation, and whichever thread brings the last of a
 * segment has it sent. The second step is chained to the first one. Both are
 * registered once, and done in each round; no thread waits but the main one, at
 * the end of a round, for a word.
 *
 *   xylem-run -n 2 openmp_tiles
 */
#include <stdio.h>
#include <stdlib.h>
#include <xylem.h>

enum {
    TILES = 64,
    TILE_ELEMENTS = 4096,
    ELEMENTS = TILES * TILE_ELEMENTS,
    ROUNDS = 5
};

struct solver {
    xylem_context_t *context;
    xylem_team_t *team;
    xylem_request_t *sum, *norm;
    xylem_trigger_t *tiles, *sum_done, *norm_start;
    double *mine, *sums;
    double largest; /* of the sums, as rank 0 has it */
    uint64_t norms; /* a word: how many broadcasts are done */
};

/* Whole numbers, so that sums are exact in any order. */
static double element(int index, int round, uint32_t rank)
{
    return (double)(index % 1000) * (round + 1) * (rank + 1);
}

/* On the progressing thread, when the sum is complete. */
static void find_largest(void *arg)
{
    struct solver *solver = arg;
    int i;

    if (xylem_team_rank(solver->team) != 0)
        return;
    solver->largest = 0;
    for (i = 0; i < ELEMENTS; i++)
        if (solver->sums[i] > solver->largest)
            solver->largest = solver->sums[i];
}

/* sum ──▶ find_largest ──▶ norm ──▶ word, registered from its end. */
static xylem_status_t register_triggers(struct solver *solver)
{
    xylem_trigger_args_t args = XYLEM_TRIGGER_ARGS_INIT;
    xylem_status_t status;

    args.action = XYLEM_TRIGGER_START;
    args.request = solver->norm;
    args.word = &solver->norms;
    status = xylem_trigger_create(solver->context, &args, &solver->norm_start);
    if (status != XYLEM_OK)
        return status;
    args = (xylem_trigger_args_t)XYLEM_TRIGGER_ARGS_INIT;
    args.action = XYLEM_TRIGGER_CALL;
    args.fn = find_largest;
    args.arg = solver;
    args.then = solver->norm_start;
    status = xylem_trigger_create(solver->context, &args, &solver->sum_done);
    if (status != XYLEM_OK)
        return status;
    args = (xylem_trigger_args_t)XYLEM_TRIGGER_ARGS_INIT;
    args.action = XYLEM_TRIGGER_SEGMENTS;
    args.request = solver->sum;
    args.then = solver->sum_done;
    return xylem_trigger_create(solver->context, &args, &solver->tiles);
}

static xylem_status_t plan(struct solver *solver)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_status_t status;

    args.coll = XYLEM_COLL_ALLREDUCE;
    args.flags = XYLEM_FLAG_PARTS;
    args.send = solver->mine;
    args.recv = solver->sums;
    args.count = ELEMENTS;
    args.type = XYLEM_FLOAT64;
    args.op = XYLEM_SUM;
    args.segment_bytes = 128 << 10; /* four tiles */
    status = xylem_coll_init(solver->team, &args, &solver->sum);
    if (status != XYLEM_OK)
        return status;
    args = (xylem_coll_args_t)XYLEM_COLL_ARGS_INIT;
    args.coll = XYLEM_COLL_BCAST;
    args.recv = &solver->largest;
    args.count = 1;
    args.type = XYLEM_FLOAT64;
    status = xylem_coll_init(solver->team, &args, &solver->norm);
    return status == XYLEM_OK ? register_triggers(solver) : status;
}

static xylem_status_t run_round(struct solver *solver, int round)
{
    uint32_t rank = xylem_team_rank(solver->team);
    xylem_status_t status = xylem_request_start(solver->sum);
    int tile;

    if (status != XYLEM_OK)
        return status;
#pragma omp parallel for schedule(dynamic)
    for (tile = 0; tile < TILES; tile++) {
        int i, begin = tile * TILE_ELEMENTS;
        for (i = begin; i < begin + TILE_ELEMENTS; i++)
            solver->mine[i] = element(i, round, rank);
        /* A failure is told by the word, too. */
        (void)xylem_trigger_bytes(solver->tiles, (size_t)begin * sizeof(double),
                                  TILE_ELEMENTS * sizeof(double));
    }
    for (;;) {
        uint64_t word = __atomic_load_n(&solver->norms, __ATOMIC_ACQUIRE);
        if (XYLEM_WORD_STATUS(word) != XYLEM_OK)
            return XYLEM_WORD_STATUS(word);
        if (XYLEM_WORD_TIMES(word) > (uint64_t)round)
            return xylem_request_wait(solver->norm);
        xylem_progress(solver->context);
    }
}

static unsigned count_wrong(const struct solver *solver, int round)
{
    uint32_t size = xylem_team_size(solver->team);
    double ranks = size * (size + 1) / 2.0;
    unsigned wrong = solver->largest != element(999, round, 0) * ranks;
    int i;

    for (i = 0; i < ELEMENTS; i++)
        wrong += solver->sums[i] != element(i, round, 0) * ranks;
    return wrong;
}

static void destroy(struct solver *solver)
{
    xylem_trigger_destroy(solver->tiles);
    xylem_trigger_destroy(solver->sum_done);
    xylem_trigger_destroy(solver->norm_start);
    xylem_request_free(solver->norm);
    xylem_request_free(solver->sum);
    free(solver->sums);
    free(solver->mine);
}

int main(void)
{
    static struct solver solver;
    xylem_status_t status;
    unsigned wrong = 0;
    int round;

    if (xylem_context_create(NULL, &solver.context) != XYLEM_OK)
        return EXIT_FAILURE; /* the library has said why */
    solver.team = xylem_context_world(solver.context);
    solver.mine = calloc(ELEMENTS, sizeof *solver.mine);
    solver.sums = calloc(ELEMENTS, sizeof *solver.sums);
    status = solver.mine == NULL || solver.sums == NULL ? XYLEM_ERR_NO_MEMORY
                                                        : plan(&solver);
    for (round = 0; round < ROUNDS && status == XYLEM_OK; round++) {
        status = run_round(&solver, round);
        wrong += count_wrong(&solver, round);
    }
    if (status != XYLEM_OK || wrong != 0)
        fprintf(stderr, "openmp_tiles: %s, %u elements are wrong\n",
                xylem_status_text(status), wrong);
    else if (xylem_team_rank(solver.team) == 0)
        printf("%d rounds of %d tiles: the largest sum is %g\n", ROUNDS, TILES,
               solver.largest);
    destroy(&solver);
    xylem_context_destroy(solver.context);
    return status == XYLEM_OK && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
