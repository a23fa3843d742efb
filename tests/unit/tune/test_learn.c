/* The lessons of a long run (XYLEM_TUNING_LEARN), on simulated ranks, whose
 * times are the same everywhere: a wrong row is changed, and a right one is not
 * made worse, however noisy the learning run was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/tune/tune.h"
#include "collectives/data/description.h"
#include "runtime/job/topology.h"
#include "simulator/world.h"
#include "tests/support/check.h"

enum {
    NODES = 4,
    NODE_RANKS = 2,
    RANKS = NODES * NODE_RANKS,
    TEXT_BYTES = 192,
    BYTES = 1 << 16,
    CALLS = 1600,      /* of a run that learns */
    CALLS_TIMED = 100, /* of one that is timed */
    NOISE_SEED = 7
};

/* A job: some calls on each rank, one behind the other. */
struct job {
    sim_world_t *world;
    xylem_coll_t coll;
    unsigned left[RANKS];
    xylem_request_t *request[RANKS];
    char *buffers;
};

struct turn {
    struct job *job;
    uint32_t rank;
};

static char folder[] = "/tmp/xylem-learn-XXXXXX";

static void path_of(char path[TEXT_BYTES], const char *name)
{
    snprintf(path, TEXT_BYTES, "%s/%s", folder, name);
}

static void call_begins(void *arg, uint32_t rank);

static void call_ends(void *arg, xylem_status_t status)
{
    struct turn *turn = arg;
    struct job *job = turn->job;

    CHECK_EQ(status, XYLEM_OK);
    xylem_request_free(job->request[turn->rank]);
    if (--job->left[turn->rank] > 0)
        call_begins(turn, turn->rank);
}

static void call_begins(void *arg, uint32_t rank)
{
    struct turn *turn = arg;
    struct job *job = turn->job;
    xylem_team_t *team =
        xylem_context_world(sim_world_context(job->world, rank));
    char *own = job->buffers + (size_t)rank * 2 * BYTES;
    int is_bcast = job->coll == XYLEM_COLL_BCAST;
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = job->coll,
                              .send = is_bcast ? NULL : own,
                              .recv = is_bcast ? own : own + BYTES,
                              .count = BYTES / sizeof(float),
                              .type = XYLEM_FLOAT32,
                              .op = XYLEM_SUM,
                              .on_complete = call_ends,
                              .arg = turn};

    CHECK_EQ(xylem_coll_start(team, &args, &job->request[rank]), XYLEM_OK);
}

/* Returns the time that a call takes, us. `table` and `record` name files. */
static double job_run(xylem_coll_t coll, const char *table, const char *record,
                      const char *noise_text, uint64_t seed)
{
    char error[TEXT_BYTES], tuning[2 * TEXT_BYTES], learn[2 * TEXT_BYTES];
    const char *settings[] = {tuning, record != NULL ? learn : NULL, NULL};
    unsigned calls = record != NULL ? CALLS : CALLS_TIMED;
    struct job job = {.coll = coll};
    struct turn turns[RANKS];
    sim_noise_trace_t trace;
    sim_machine_t machine;
    sim_noise_t noise;
    sim_options_t options = {.machine = &machine,
                             .nodes = NODES,
                             .ranks_per_node = NODE_RANKS,
                             .shares_memory = 1,
                             .seed = seed,
                             .payload = SIM_PAYLOAD_MOVED,
                             .message_bytes = BYTES,
                             .noise = &noise,
                             .settings = settings};
    uint32_t rank;
    double us;

    snprintf(tuning, sizeof tuning, "TUNING=%s", table);
    snprintf(learn, sizeof learn, "TUNING_LEARN=%s", record);
    job.buffers = calloc(RANKS, 2 * BYTES);
    CHECK(job.buffers != NULL);
    CHECK_EQ(sim_noise_parse(noise_text, NODE_RANKS, &noise, &trace, error,
                             sizeof error),
             XYLEM_OK);
    noise.seed = seed;
    CHECK_EQ(sim_machine_load("nacl", &machine, error, sizeof error), XYLEM_OK);
    CHECK_EQ(sim_world_create(&options, &job.world), XYLEM_OK);
    for (rank = 0; rank < RANKS; rank++) {
        turns[rank] = (struct turn){&job, rank};
        job.left[rank] = calls;
        sim_world_at(job.world, rank, 0, call_begins, &turns[rank]);
    }
    CHECK(sim_world_run(job.world, SIM_NEVER, UINT64_MAX));
    us = (double)sim_world_time(job.world) / (double)SIM_US / calls;
    for (rank = 0; rank < RANKS; rank++)
        CHECK_EQ(job.left[rank], 0);
    CHECK_EQ(sim_world_destroy(job.world), XYLEM_OK);
    sim_noise_trace_free(&trace);
    free(job.buffers);
    return us;
}

/* Takes lessons as `xylem-tune -o TABLE learn RECORD.0 ...` does. */
static void lessons_take(const char *record, const char *table)
{
    char paths[RANKS][TEXT_BYTES + 16], machine[TEXT_BYTES];
    char where[2 * TEXT_BYTES];
    char *words[RANKS + 2] = {(char[]){"learn"}};
    struct tune_options options = {
        .program = "test_learn", .output = table, .words = words, .quiet = 1};
    uint32_t rank;

    xyl_machine_name(machine, sizeof machine);
    snprintf(where, sizeof where, "%s, xylem %s", machine, xylem_version());
    for (rank = 0; rank < RANKS; rank++) {
        snprintf(paths[rank], sizeof paths[rank], "%s.%u", record, rank);
        words[1 + rank] = paths[rank];
    }
    CHECK_EQ(tune_learn_main(&options, where), EXIT_SUCCESS);
    for (rank = 0; rank < RANKS; rank++)
        unlink(paths[rank]);
}

/* A table for this machine: others are left as they are. */
static void table_write(const char *path, const char *rules)
{
    char machine[TEXT_BYTES];
    FILE *file = fopen(path, "w");

    xyl_machine_name(machine, sizeof machine);
    CHECK(file != NULL &&
          fprintf(file, "{\"machine\": \"%s\", \"rules\": [%s]}", machine,
                  rules) >= 0 &&
          fclose(file) == 0);
}

struct gain {
    double before, after; /* us of a call, quiet */
};

/* A run under noise learns into a table. */
static struct gain learn(xylem_coll_t coll, const char *table,
                         const char *noise)
{
    char record[TEXT_BYTES];
    struct gain gain;

    path_of(record, "record");
    gain.before = job_run(coll, table, NULL, "none", 1);
    (void)job_run(coll, table, record, noise, NOISE_SEED);
    lessons_take(record, table);
    gain.after = job_run(coll, table, NULL, "none", 1);
    printf("# %s, noise %s: %.2f us before, %.2f after\n",
           xyl_coll_traits(coll)->name, noise, gain.before, gain.after);
    return gain;
}

/* A table by which calls are slow, and how much of their time is left at most
 * when a run has learnt. */
static const struct {
    xylem_coll_t coll;
    const char *wrong;
    double left;
} rows[] = {
    {XYLEM_COLL_BCAST,
     "{\"for\": \"bcast\", \"use\": \"chain\", \"segment\": \"1K\", "
     "\"windows\": [1, 1]}",
     0.6},
    {XYLEM_COLL_ALLREDUCE,
     "{\"for\": \"allreduce\", \"use\": \"knomial:2\", \"segment\": "
     "\"512\", \"windows\": [1, 1]}",
     0.3},
};

static const char *const noises[] = {"none", "poisson:1000Hz,200us"};

/* Times are the same everywhere: sanitizers have the noisy runs only, and once.
 */
enum {
    ROWS = sizeof rows / sizeof *rows,
    NOISES = sizeof noises / sizeof *noises,
    FIRST_NOISE = CHECK_IS_SLOW ? NOISES - 1 : 0,
    RUNS = CHECK_IS_SLOW ? 1 : 2
};

static void test_wrong(void)
{
    char table[TEXT_BYTES];
    struct gain gain;
    size_t r, n;

    path_of(table, "wrong.json");
    for (r = 0; r < ROWS; r++)
        for (n = FIRST_NOISE; n < NOISES; n++) {
            table_write(table, rows[r].wrong);
            gain = learn(rows[r].coll, table, noises[n]);
            CHECK(gain.after < rows[r].left * gain.before);
        }
    unlink(table);
}

/* The built-in table's rows, and those that a quiet run has made. */
static void test_right(void)
{
    char table[TEXT_BYTES];
    struct gain gain;
    size_t r, n, again;

    path_of(table, "right.json");
    for (r = 0; r < ROWS; r++) {
        table_write(table, "");
        for (again = 0; again < RUNS; again++)
            for (n = FIRST_NOISE; n < NOISES; n++) {
                gain = learn(rows[r].coll, table, noises[n]);
                CHECK(gain.after < 1.03 * gain.before);
            }
    }
    unlink(table);
}

int main(int argc, char **argv)
{
    static const check_case_t cases[] = {
        {"wrong", test_wrong},
        {"right", test_right},
    };
    int code;

    if (mkdtemp(folder) == NULL)
        return EXIT_FAILURE;
    code = check_run(cases, sizeof cases / sizeof *cases, argc, argv);
    rmdir(folder);
    return code;
}
