/* Conjugate gradients: a sparse symmetric system whose rows are spread over the
 * ranks, so that each iteration gathers the whole direction on all ranks and
 * sums two numbers; the time in these two is the time of communication.
 *
 *   xylem-run -n N xylem-cg [-s UNKNOWNS] [-i ITERATIONS]
 *   mpirun -n N xylem-cg-openmpi ...
 *
 * Row r has 2 BAND + 1 on the diagonal and -1 at BAND places on either side,
 * the same distances for all rows, around the ends. In the solution all
 * unknowns are 1. It takes some 30 iterations; then the solver starts anew. */
#include <math.h>
#include <string.h>

#include "bench/apps/comm.h"
#include "bench/common/cli.h"

enum { BAND = 8, ITERATIONS = 50 };

struct settings {
    unsigned unknowns, iterations;
};

struct system {
    unsigned first, rows, all; /* this rank's rows */
    size_t distance[BAND];
    double *direction;                     /* [all] */
    double *x, *residual, *product, *mine; /* [rows] */
};

/* Communication, and how long it took. */
static double waited;

static double sum(struct comm *comm, double value)
{
    double begin = comm_now();

    comm_sum(comm, &value, 1);
    waited += comm_now() - begin;
    return value;
}

static void gather(struct comm *comm, struct system *s)
{
    double begin = comm_now();

    comm_allgather(comm, s->mine, s->direction, s->rows);
    waited += comm_now() - begin;
}

static void multiply(struct system *s)
{
    unsigned i, k;

    for (i = 0; i < s->rows; i++) {
        size_t row = s->first + i;
        double value = (2 * BAND + 1) * s->direction[row];
        for (k = 0; k < BAND; k++) {
            size_t up = row + s->distance[k];
            size_t down = row + s->all - s->distance[k];
            value -= s->direction[up < s->all ? up : up - s->all];
            value -= s->direction[down < s->all ? down : down - s->all];
        }
        s->product[i] = value;
    }
}

static double dot(const double *a, const double *b, unsigned n)
{
    double result = 0;
    unsigned i;

    for (i = 0; i < n; i++)
        result += a[i] * b[i];
    return result;
}

/* The right side of a row is 1, so that all unknowns are; it begins far off. */
static void set_out(struct system *s)
{
    unsigned i;

    for (i = 0; i < s->rows; i++) {
        s->residual[i] = 1;
        s->mine[i] = 1 + (double)((s->first + i) * 7919 % 101) / 50;
        s->x[i] = -s->mine[i];
    }
}

/* Solves the system, in at most `iterations`. */
static void solve(struct comm *comm, struct system *s, unsigned iterations)
{
    double rho, next, alpha;
    unsigned n, i;

    set_out(s);
    gather(comm, s); /* r = b - A x, where x = -mine */
    multiply(s);
    for (i = 0; i < s->rows; i++)
        s->mine[i] = s->residual[i] += s->product[i];
    rho = sum(comm, dot(s->residual, s->residual, s->rows));
    for (n = 0; n < iterations; n++) {
        gather(comm, s);
        multiply(s);
        alpha = rho / sum(comm, dot(s->mine, s->product, s->rows));
        for (i = 0; i < s->rows; i++) {
            s->x[i] += alpha * s->mine[i];
            s->residual[i] -= alpha * s->product[i];
        }
        next = sum(comm, dot(s->residual, s->residual, s->rows));
        for (i = 0; i < s->rows; i++)
            s->mine[i] = s->residual[i] + next / rho * s->mine[i];
        rho = next;
    }
}

static double mistakes(const struct system *s)
{
    double wrong = 0;
    unsigned i;

    for (i = 0; i < s->rows; i++)
        wrong += !(fabs(s->x[i] - 1) < 1e-6);
    return wrong;
}

static int run(struct comm *comm, struct system *s, unsigned iterations)
{
    double at, total;
    unsigned k, left;

    for (k = 0; k < BAND; k++)
        s->distance[k] = ((size_t)1 << k) * 17 % s->all;
    gather(comm, s); /* connections, plans */
    sum(comm, 0);
    comm_barrier(comm);
    waited = 0;
    at = comm_now();
    for (left = iterations; left > 0; left -= k) {
        k = left < 2 * ITERATIONS ? left : ITERATIONS;
        solve(comm, s, k);
    }
    total = comm_now() - at;
    return comm_report(comm, "cg", iterations, total, waited,
                       iterations < 40 ? 0 : mistakes(s));
}

int main(int argc, char **argv)
{
    static const struct cli_option options[] = {
        {"size", 's', CLI_COUNT, offsetof(struct settings, unknowns), 1,
         1 << 28, "UNKNOWNS", "default 65536"},
        {"iterations", 'i', CLI_COUNT, offsetof(struct settings, iterations), 1,
         1e9, "K", "default 500; from 40 on the result is checked"},
    };
    static const struct cli cli = {
        .program = "xylem-cg",
        .usage = "[-s UNKNOWNS] [-i K]",
        .summary = "Conjugate gradients, by allgathers and sums.",
        .options = options,
        .options_count = sizeof options / sizeof options[0]};
    struct settings settings = {.unknowns = 65536, .iterations = 500};
    struct system s = {.first = 0};
    struct comm comm;
    double *memory;
    int code = EXIT_FAILURE;
    enum cli_result parsed;

    parsed = cli_parse(&cli, argc, argv, &settings);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    comm_open(&comm, &argc, &argv);
    s.rows = (settings.unknowns + comm.ranks - 1) / comm.ranks;
    s.all = s.rows * comm.ranks;
    s.first = s.rows * comm.rank;
    memory = calloc((size_t)s.all + (size_t)s.rows * 4, sizeof *memory);
    if (memory != NULL) {
        s.direction = memory;
        s.x = memory + s.all;
        s.residual = s.x + s.rows;
        s.product = s.residual + s.rows;
        s.mine = s.product + s.rows;
        code = run(&comm, &s, settings.iterations);
    } else {
        fprintf(stderr, "rank %u: no memory\n", comm.rank);
    }
    free(memory);
    comm_close(&comm);
    return code;
}
