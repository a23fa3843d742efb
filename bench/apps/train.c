/* Steps of data-parallel training: each rank computes the gradients of its own
 * data, layer by layer from the last one, and the ranks' sums are taken while
 * it goes on with the layers before, as Horovod does (Luo, University of
 * Tennessee, 2020, section 6.3.3: AlexNet). The layers have AlexNet's
 * parameters, divided by --divide. The time in which a rank waits for sums is
 * that which communication takes.
 *
 *   xylem-run -n N xylem-train [-i STEPS] [--divide D]
 *   mpirun -n N xylem-train-openmpi ...
 *
 * Gradients are small whole numbers, so that their sums have no rounding and
 * every weight is known. */
#include "bench/apps/comm.h"
#include "bench/common/cli.h"

/* Weights and biases of AlexNet's layers (Krizhevsky, Sutskever, Hinton, 2012),
 * as one tower. */
static const unsigned alexnet[] = {34944,  614656,   885120,   1327488,
                                   884992, 37752832, 16781312, 4097000};

enum { LAYERS = sizeof alexnet / sizeof alexnet[0], WARMUP = 1 };

struct settings {
    unsigned steps, divide, work;
};

struct layer {
    size_t count;
    float *weights, *gradients;
    comm_request_t request;
};

static volatile float sink;

static float gradient(unsigned rank, unsigned step, size_t layer, size_t i)
{
    return (float)((rank * 7 + step * 5 + layer * 3 + i) % 17) - 8;
}

/* The work of a layer: `work` multiplications and additions per parameter. */
static void compute(const struct layer *layer, unsigned work)
{
    float sums[8] = {0};
    unsigned turn;
    size_t i;

    for (turn = 0; turn < work; turn++)
        for (i = 0; i < layer->count; i++)
            sums[i % 8] = sums[i % 8] * 0.999f + layer->weights[i];
    sink = sums[0] + sums[7];
}

/* Returns the seconds of waiting. */
static double step_run(struct comm *comm, const struct settings *settings,
                       struct layer *layers, unsigned step)
{
    double waited = 0, begin;
    size_t l, i;

    for (l = 0; l < LAYERS; l++) /* forward */
        compute(&layers[l], settings->work);
    for (l = LAYERS; l-- > 0;) { /* and back, twice the work */
        compute(&layers[l], 2 * settings->work);
        for (i = 0; i < layers[l].count; i++)
            layers[l].gradients[i] = gradient(comm->rank, step, l, i);
        layers[l].request =
            comm_iallreduce(comm, layers[l].gradients, layers[l].count);
    }
    for (l = LAYERS; l-- > 0;) {
        begin = comm_now();
        comm_wait(layers[l].request);
        waited += comm_now() - begin;
        for (i = 0; i < layers[l].count; i++)
            layers[l].weights[i] -= 0.125f * layers[l].gradients[i];
    }
    return waited;
}

/* How many weights differ from the sums of all steps. */
static double mistakes(const struct comm *comm, const struct layer *layers,
                       unsigned steps)
{
    double wrong = 0;
    unsigned step, rank;
    size_t l, i;

    for (l = 0; l < LAYERS; l++)
        for (i = 0; i < layers[l].count && i < 17; i++) {
            float expected = 0;
            size_t again;

            for (step = 0; step < steps; step++)
                for (rank = 0; rank < comm->ranks; rank++)
                    expected -= 0.125f * gradient(rank, step, l, i);
            /* Equal every 17 parameters. */
            for (again = i; again < layers[l].count; again += 17)
                wrong += layers[l].weights[again] != expected;
        }
    return wrong;
}

static int run(struct comm *comm, const struct settings *settings,
               struct layer *layers)
{
    double begin = 0, waited = 0, one;
    unsigned step;

    for (step = 0; step < WARMUP + settings->steps; step++) {
        if (step <= WARMUP) {
            comm_barrier(comm);
            begin = comm_now();
        }
        one = step_run(comm, settings, layers, step);
        waited += step < WARMUP ? 0 : one;
    }
    return comm_report(comm, "train", settings->steps, comm_now() - begin,
                       waited,
                       mistakes(comm, layers, WARMUP + settings->steps));
}

int main(int argc, char **argv)
{
    static const struct cli_option options[] = {
        {"iterations", 'i', CLI_COUNT, offsetof(struct settings, steps), 1, 1e6,
         "STEPS", "default 10"},
        {"divide", 0, CLI_COUNT, offsetof(struct settings, divide), 1, 1 << 20,
         "D", "AlexNet's parameters by D (default 8: 31 MB)"},
        {"work", 0, CLI_COUNT, offsetof(struct settings, work), 0, 1e6, "W",
         "multiplications per parameter, forward (default 4)"},
    };
    static const struct cli cli = {
        .program = "xylem-train",
        .usage = "[-i STEPS] [--divide D] [--work W]",
        .summary = "Data-parallel training: sums of gradients, layer by layer.",
        .options = options,
        .options_count = sizeof options / sizeof options[0]};
    struct settings settings = {.steps = 10, .divide = 8, .work = 4};
    struct layer layers[LAYERS];
    struct comm comm;
    int code = EXIT_FAILURE, has_memory = 1;
    size_t l;
    enum cli_result parsed;

    parsed = cli_parse(&cli, argc, argv, &settings);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    comm_open(&comm, &argc, &argv);
    for (l = 0; l < LAYERS; l++) {
        layers[l].count = alexnet[l] / settings.divide + 1;
        layers[l].weights = calloc(layers[l].count, sizeof(float));
        layers[l].gradients = calloc(layers[l].count, sizeof(float));
        has_memory &= layers[l].weights != NULL && layers[l].gradients != NULL;
    }
    if (has_memory)
        code = run(&comm, &settings, layers);
    else
        fprintf(stderr, "rank %u: no memory\n", comm.rank);
    for (l = 0; l < LAYERS; l++) {
        free(layers[l].weights);
        free(layers[l].gradients);
    }
    comm_close(&comm);
    return code;
}
