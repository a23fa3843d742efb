/* Tasks are collectives of two kinds of teams: the leaders of all nodes (ib,
 * ir), and the ranks of one node (sb, sr). The collectives of one task are
 * started together and waited for together. A pipeline of tasks runs as in HAN:
 * in step i the k-th part works on segment i - k. One thread. */
#include "bench/measure/tasks.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/common/impl_name.h"
#include "bench/common/table.h"
#include "bench/measure/gate.h"
#include "bench/measure/impl_event.h"
#include "bench/measure/noise.h"
#include "bench/measure/stats.h"

/* The parts of a task, in the order in which a segment goes through them. */
enum part { SR, IR, IB, SB, PARTS };

enum {
    SETS = PARTS, /* of buffers: a segment is in one part at a time */
    STEPS = 12,   /* of a pipeline */
    STABLE = 4,   /* of these, the last */
    AT_ONCE = PARTS,
    STEADY = AT_ONCE + 1,
    STEP_FIRST = STEADY + 1, /* what step 1 took, and so on */
    NUMBERS = STEP_FIRST + PARTS - 1,
    PLACE = NUMBERS, /* of the leader's node; -1: no leader */
    GATHERED,
    ITERATIONS_MIN = 5,
    ITERATIONS_MAX = 10000
};

struct tasks {
    const char *program;
    const struct worker_options *options;
    struct event_state *state;
    struct gate *gate;
    xylem_team_t *leaders, *node; /* NULL: this rank is no leader */
    uint32_t rank, ranks, place, nodes;
    size_t bytes;
    unsigned iterations;
    char *memory;
    xylem_request_t *requests[PARTS][SETS];
    double *samples; /* [NUMBERS][iterations] */
};

/* 1: tasks of this collective have the part. */
static int has_part(const struct tasks *tasks, enum part part)
{
    return part >= IB || tasks->options->colls[0] == XYLEM_COLL_ALLREDUCE;
}

static int is_at_once(const struct tasks *tasks, enum part part)
{
    return part == IB || part == (has_part(tasks, IR) ? IR : SB);
}

static int takes_part(const struct tasks *tasks, enum part part)
{
    return has_part(tasks, part) &&
           (tasks->leaders != NULL || part == SR || part == SB);
}

static xylem_status_t reported(const struct tasks *tasks, xylem_status_t status)
{
    if (status != XYLEM_OK)
        fprintf(stderr, "%s: --tasks: %s: %s\n", tasks->program,
                xylem_status_text(status), xylem_last_error());
    return status;
}

/* ---- teams ---- */

static xylem_status_t count_nodes(struct tasks *tasks)
{
    xylem_team_t *world = tasks->state->world;
    xylem_status_t status = XYLEM_OK;
    xylem_place_t place;
    uint32_t i;

    for (i = 0; i < tasks->ranks && status == XYLEM_OK; i++) {
        status = xylem_team_place(world, i, &place);
        if (status == XYLEM_OK && place.node >= tasks->nodes)
            tasks->nodes = place.node + 1;
        if (status == XYLEM_OK && i == tasks->rank)
            tasks->place = place.node;
    }
    return status;
}

static xylem_status_t teams_make(struct tasks *tasks)
{
    xylem_team_t *world = tasks->state->world;
    xylem_status_t status = count_nodes(tasks);

    if (status == XYLEM_OK)
        status = xylem_team_split(world, tasks->place, 0, &tasks->node);
    if (status == XYLEM_OK)
        status = xylem_team_split(
            world, xylem_team_rank(tasks->node) == 0 ? 0 : XYLEM_COLOR_NONE, 0,
            &tasks->leaders);
    return reported(tasks, status);
}

/* ---- requests ---- */

/* A set has a rank's contribution, its node's sum, and the result. */
static char *buffer_of(const struct tasks *tasks, unsigned set, unsigned which)
{
    return tasks->memory + (set * (size_t)3 + which) * tasks->bytes;
}

static xylem_coll_args_t args_of(const struct tasks *tasks, enum part part,
                                 unsigned set)
{
    const struct bench_tuning *tuning = &tasks->options->tuning;
    int reduces = part == SR || part == IR;
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = reduces ? XYLEM_COLL_REDUCE
                                              : XYLEM_COLL_BCAST,
                              .count = tasks->bytes,
                              .type = XYLEM_BYTE,
                              .op = XYLEM_SUM,
                              .segment_bytes = tasks->bytes};

    args.recv = buffer_of(tasks, set, 2);
    if (reduces) {
        args.count = tasks->bytes / sizeof(float);
        args.type = XYLEM_FLOAT32;
        args.send = buffer_of(tasks, set, part == SR ? 0 : 1);
        args.recv = buffer_of(tasks, set, part == SR ? 1 : 2);
    }
    if (part == IR || part == IB)
        args.algorithm = tuning->algorithm;
    return args;
}

static xylem_status_t requests_plan(struct tasks *tasks)
{
    xylem_status_t status = XYLEM_OK;
    xylem_coll_args_t args;
    enum part part;
    unsigned set;

    tasks->memory = calloc((size_t)3 * SETS, tasks->bytes);
    if (tasks->memory == NULL) {
        fprintf(stderr, "%s: no memory for %u buffers of %zu bytes\n",
                tasks->program, 3 * SETS, tasks->bytes);
        return XYLEM_ERR_NO_MEMORY;
    }
    for (part = SR; part < PARTS; part++)
        for (set = 0; set < SETS && status == XYLEM_OK; set++) {
            if (!takes_part(tasks, part))
                continue;
            args = args_of(tasks, part, set);
            status = xylem_coll_init(part == SR || part == SB ? tasks->node
                                                              : tasks->leaders,
                                     &args, &tasks->requests[part][set]);
        }
    return reported(tasks, status);
}

static void requests_free(struct tasks *tasks)
{
    enum part part;
    unsigned set;

    for (part = SR; part < PARTS; part++)
        for (set = 0; set < SETS; set++) {
            (void)xylem_request_free(tasks->requests[part][set]);
            tasks->requests[part][set] = NULL;
        }
    free(tasks->memory);
    tasks->memory = NULL;
}

/* ---- running ---- */

/* Starts all that are not NULL, and waits for all. */
static xylem_status_t run_together(struct tasks *tasks,
                                   xylem_request_t *const requests[PARTS],
                                   double *us_out)
{
    uint64_t begin_ns = noise_now_ns();
    xylem_status_t status = XYLEM_OK;
    enum part part;

    for (part = PARTS; part-- > SR && status == XYLEM_OK;)
        if (requests[part] != NULL)
            status = xylem_request_start(requests[part]);
    for (part = SR; part < PARTS && status == XYLEM_OK; part++)
        if (requests[part] != NULL)
            status = xylem_request_wait(requests[part]);
    *us_out = (double)(noise_now_ns() - begin_ns) / 1e3;
    return reported(tasks, status);
}

static xylem_status_t barrier(const struct tasks *tasks)
{
    if (tasks->gate == NULL)
        return reported(tasks, xylem_barrier(tasks->state->world));
    gate_pass(tasks->gate);
    return XYLEM_OK;
}

/* Algorithm 9: a task after a barrier. */
static xylem_status_t run_alone(struct tasks *tasks, unsigned parts,
                                double *us_out)
{
    xylem_request_t *requests[PARTS] = {NULL};
    xylem_status_t status = barrier(tasks);
    enum part part;

    for (part = SR; part < PARTS; part++)
        if ((parts >> part & 1) != 0)
            requests[part] = tasks->requests[part][0];
    return status == XYLEM_OK ? run_together(tasks, requests, us_out) : status;
}

/* Algorithm 10, and on until the pipeline is full. */
static xylem_status_t run_pipeline(struct tasks *tasks, double us[NUMBERS])
{
    enum part first = has_part(tasks, SR) ? SR : IB, part;
    xylem_status_t status = barrier(tasks);
    unsigned step;
    double took;

    us[STEADY] = 0;
    for (step = 0; step < STEPS && status == XYLEM_OK; step++) {
        xylem_request_t *requests[PARTS] = {NULL};
        for (part = first; part < PARTS; part++)
            if (step >= (unsigned)(part - first))
                requests[part] =
                    tasks->requests[part][(step - (part - first)) % SETS];
        status = run_together(tasks, requests, &took);
        if (step >= 1 && step < PARTS)
            us[STEP_FIRST + step - 1] = took;
        if (step >= STEPS - STABLE)
            us[STEADY] += took / STABLE;
    }
    return status;
}

/* Every task once. */
static xylem_status_t run_all(struct tasks *tasks, double us[NUMBERS])
{
    xylem_status_t status = XYLEM_OK;
    unsigned at_once = 0;
    enum part part;

    for (part = SR; part < PARTS && status == XYLEM_OK; part++) {
        us[part] = 0;
        if (has_part(tasks, part))
            status = run_alone(tasks, 1U << part, &us[part]);
        if (is_at_once(tasks, part))
            at_once |= 1U << part;
    }
    if (status == XYLEM_OK)
        status = run_alone(tasks, at_once, &us[AT_ONCE]);
    return status == XYLEM_OK ? run_pipeline(tasks, us) : status;
}

/* Warms up, and agrees on the number of rounds that rank 0 expects to fit. */
static xylem_status_t iterations_agree(struct tasks *tasks)
{
    const struct worker_options *options = tasks->options;
    unsigned i, warmup = options->warmup > 0 ? options->warmup : 1;
    uint64_t begin_ns = noise_now_ns();
    xylem_status_t status = XYLEM_OK;
    double us[NUMBERS] = {0}, fitting;
    uint32_t count;

    for (i = 0; i < warmup && status == XYLEM_OK; i++)
        status = run_all(tasks, us);
    fitting = options->seconds * 1e9 * warmup /
              ((double)(noise_now_ns() - begin_ns) + 1);
    count = fitting > ITERATIONS_MAX   ? ITERATIONS_MAX
            : fitting < ITERATIONS_MIN ? ITERATIONS_MIN
                                       : (uint32_t)fitting;
    if (options->iterations != 0)
        count = options->iterations;
    if (status == XYLEM_OK)
        status = reported(tasks, xylem_bcast(tasks->state->world, &count, 1,
                                             XYLEM_UINT32, 0));
    tasks->iterations = count;
    return status;
}

static xylem_status_t measure(struct tasks *tasks, double mine[GATHERED])
{
    xylem_status_t status = iterations_agree(tasks);
    double us[NUMBERS] = {0};
    unsigned i, n;

    if (status != XYLEM_OK)
        return status;
    tasks->samples =
        calloc((size_t)NUMBERS * tasks->iterations, sizeof *tasks->samples);
    if (tasks->samples == NULL) {
        fprintf(stderr, "%s: no memory for samples\n", tasks->program);
        return XYLEM_ERR_NO_MEMORY;
    }
    for (i = 0; i < tasks->iterations && status == XYLEM_OK; i++) {
        status = run_all(tasks, us);
        for (n = 0; n < NUMBERS; n++)
            tasks->samples[(size_t)n * tasks->iterations + i] = us[n];
    }
    for (n = 0; n < NUMBERS; n++)
        mine[n] = stats_median(tasks->samples + (size_t)n * tasks->iterations,
                               tasks->iterations);
    mine[PLACE] = tasks->leaders != NULL ? (double)tasks->place : -1.0;
    free(tasks->samples);
    return status;
}

/* ---- report ---- */

/* Equation 5.3, in per cent. */
static double overlap(double a, double b, double both)
{
    double least = a < b ? a : b;
    double rate = least > 0 ? (a + b - both) / least : 0;

    return 100 * (rate < 0 ? 0 : rate > 1 ? 1 : rate);
}

static void row(const struct tasks *tasks, struct table *table,
                const double *us)
{
    int is_allreduce = has_part(tasks, SR);
    enum part part, other = is_allreduce ? IR : SB;
    unsigned step;

    table_count(table, tasks->bytes);
    table_count(table, (uint64_t)us[PLACE]);
    for (part = is_allreduce ? SR : IB; part < PARTS; part++)
        table_real(table, us[part], 1);
    table_real(table, us[AT_ONCE], 1);
    for (step = 1; step < (is_allreduce ? 3 : 2); step++)
        table_real(table, us[STEP_FIRST + step - 1], 1);
    table_real(table, us[STEADY], 1);
    table_real(table, overlap(us[IB], us[other], us[AT_ONCE]), 0);
}

static void explain(const struct tasks *tasks)
{
    int is_allreduce = has_part(tasks, SR);

    printf(
        "tasks of HAN's %s on %u nodes, %u ranks: microseconds on the leader "
        "of each node,\nthe median over the runs, by the bytes of a segment\n"
        "  ib, ir     broadcast and reduction between the leaders\n"
        "  sb, sr     the same among the ranks of a node\n"
        "  %-10s both started at once, after a barrier as those alone\n"
        "  %-10s the parts of a pipeline's step, each on a segment of its own;"
        "\n             (1), (2): that step, (s): steps %d ... %d, when it is "
        "full\n"
        "  overlap    of %s: (their sum - both at once) / the lesser, in per "
        "cent\n",
        tasks->options->coll_name, tasks->nodes, tasks->ranks,
        is_allreduce ? "ir+ib" : "ib+sb", is_allreduce ? "sbibirsr" : "sbib",
        STEPS - STABLE, STEPS - 1, is_allreduce ? "ir with ib" : "ib with sb");
}

static void report_begin(const struct tasks *tasks, struct table *table)
{
    static const char *const bcast[] = {"bytes",   "node",   "ib(0)",
                                        "sb(0)",   "ib+sb",  "sbib(1)",
                                        "sbib(s)", "overlap"};
    static const char *const allreduce[] = {
        "bytes", "node",    "sr(0)",     "ir(0)",       "ib(0)",  "sb(0)",
        "ir+ib", "irsr(1)", "ibirsr(2)", "sbibirsr(s)", "overlap"};

    explain(tasks);
    if (has_part(tasks, SR))
        table_begin(table, stdout, TABLE_ALIGNED, allreduce,
                    sizeof allreduce / sizeof allreduce[0], 10);
    else
        table_begin(table, stdout, TABLE_ALIGNED, bcast,
                    sizeof bcast / sizeof bcast[0], 10);
}

static xylem_status_t report(const struct tasks *tasks, struct table *table,
                             const double mine[GATHERED])
{
    double *all = calloc(tasks->ranks, GATHERED * sizeof *all);
    xylem_status_t status;
    uint32_t i;

    if (all == NULL) {
        fprintf(stderr, "%s: no memory for the results\n", tasks->program);
        return XYLEM_ERR_NO_MEMORY;
    }
    status = reported(tasks, xylem_gather(tasks->state->world, mine, all,
                                          GATHERED, XYLEM_FLOAT64, 0));
    for (i = 0; i < tasks->ranks && status == XYLEM_OK && tasks->rank == 0; i++)
        if (all[(size_t)i * GATHERED + PLACE] >= 0)
            row(tasks, table, all + (size_t)i * GATHERED);
    free(all);
    return status;
}

/* ---- all of it ---- */

static xylem_status_t sizes_run(struct tasks *tasks)
{
    const struct worker_options *options = tasks->options;
    xylem_status_t status = XYLEM_OK;
    double mine[GATHERED];
    struct table table;
    size_t i;

    if (tasks->rank == 0)
        report_begin(tasks, &table);
    for (i = 0; i < options->bytes_count && status == XYLEM_OK; i++) {
        tasks->bytes = options->bytes[i];
        status = requests_plan(tasks);
        if (status == XYLEM_OK)
            status = measure(tasks, mine);
        if (status == XYLEM_OK)
            status = report(tasks, &table, mine);
        if (status == XYLEM_OK)
            requests_free(tasks);
    }
    return status;
}

static int is_refused(const char *program, const struct worker_options *options)
{
    const char *why = NULL;

    if (options->colls_count != 1 ||
        (options->colls[0] != XYLEM_COLL_BCAST &&
         options->colls[0] != XYLEM_COLL_ALLREDUCE))
        why = "has those of bcast and allreduce";
    else if (options->impl != impl_event())
        why = "takes implementation " IMPL_XYLEM " only";
    else if (options->tuning.algorithm != NULL)
        why = "takes trees only, for ib and ir";
    else if (options->root != 0)
        why = "has root 0 only";
    if (why != NULL)
        cli_complain(program, "--tasks %s", why);
    return why != NULL;
}

static int run(struct tasks *tasks)
{
    if (teams_make(tasks) != XYLEM_OK)
        return EXIT_FAILURE;
    if (tasks->nodes < 2 || tasks->nodes == tasks->ranks) {
        cli_complain(tasks->program,
                     "--tasks: %u ranks on %u nodes: it takes two nodes, and "
                     "two ranks on one, as xylem-run -n 4 --nodes 2 gives",
                     tasks->ranks, tasks->nodes);
        return CLI_EXIT_USAGE;
    }
    if (gate_open(impl_event(), tasks->state, &tasks->gate) != XYLEM_OK ||
        sizes_run(tasks) != XYLEM_OK)
        return EXIT_FAILURE;
    gate_close(tasks->gate);
    return EXIT_SUCCESS;
}

int tasks_main(const char *program, const struct worker_options *options)
{
    struct tasks tasks = {.program = program, .options = options};
    const struct bench_impl *impl = impl_event();
    void *state;
    int code;

    if (is_refused(program, options))
        return CLI_EXIT_USAGE;
    if (impl->open(&options->tuning, &state) != XYLEM_OK)
        return EXIT_FAILURE;
    tasks.state = state;
    tasks.rank = impl->rank(state);
    tasks.ranks = impl->size(state);
    code = run(&tasks);
    if (code == EXIT_FAILURE)
        return code; /* the others may be stuck: the launcher clears the job */
    (void)xylem_team_destroy(tasks.node);
    (void)xylem_team_destroy(tasks.leaders);
    impl->close(state);
    return code;
}
