/* Fourier transforms of a square of complex numbers, there and back, again and
 * again: ranks transform their rows, and turn the square over by an alltoall,
 * whose time is the time of communication.
 *
 *   xylem-run -n N xylem-fft [-s SIDE] [-i ITERATIONS]
 *   mpirun -n N xylem-fft-openmpi ...
 *
 * The side is a power of two, which the number of ranks must divide. */
#include <math.h>
#include <string.h>

#include "bench/apps/comm.h"
#include "bench/common/cli.h"

struct settings {
    unsigned side, iterations;
};

/* Complex numbers are pairs of doubles. */
struct square {
    unsigned side, rows, first;
    double *data, *sent, *got; /* [rows][side][2] */
    double *roots;             /* [side / 2][2] */
};

static double waited;

static void reverse(double *row, size_t n)
{
    size_t i, j = 0, bit;

    for (i = 0; i < n; i++) {
        if (i < j) {
            double re = row[2 * i], im = row[2 * i + 1];
            row[2 * i] = row[2 * j];
            row[2 * i + 1] = row[2 * j + 1];
            row[2 * j] = re;
            row[2 * j + 1] = im;
        }
        for (bit = n >> 1; bit != 0 && (j & bit) != 0; bit >>= 1)
            j ^= bit;
        j |= bit;
    }
}

static void transform(const struct square *s, double *row, double sign)
{
    size_t n = s->side, half, step, i, k;

    reverse(row, n);
    for (half = 1, step = n / 2; half < n; half *= 2, step /= 2)
        for (i = 0; i < n; i += 2 * half)
            for (k = 0; k < half; k++) {
                double *a = &row[2 * (i + k)], *b = a + 2 * half;
                double c = s->roots[2 * k * step];
                double d = sign * s->roots[2 * k * step + 1];
                double re = b[0] * c - b[1] * d, im = b[0] * d + b[1] * c;
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
}

/* Column becomes row: blocks of rows x rows numbers to each rank. */
static void turn(struct comm *comm, struct square *s)
{
    size_t n = s->rows, side = s->side, block = 2 * n * n;
    size_t to, i, j;
    double begin;

    for (to = 0; to < comm->ranks; to++)
        for (i = 0; i < n; i++)
            memcpy(&s->sent[to * block + 2 * i * n],
                   &s->data[2 * (i * side + to * n)], 2 * n * sizeof(double));
    begin = comm_now();
    comm_alltoall(comm, s->sent, s->got, block);
    waited += comm_now() - begin;
    for (to = 0; to < comm->ranks; to++)
        for (i = 0; i < n; i++)
            for (j = 0; j < n; j++)
                memcpy(&s->data[2 * (j * side + to * n + i)],
                       &s->got[to * block + 2 * (i * n + j)],
                       2 * sizeof(double));
}

static void there_or_back(struct comm *comm, struct square *s, double sign)
{
    unsigned i, pass;

    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < s->rows; i++)
            transform(s, &s->data[2 * (size_t)i * s->side], sign);
        turn(comm, s);
    }
}

static double value_at(const struct square *s, size_t i)
{
    return (double)((s->first * (size_t)s->side * 2 + i) * 7919 % 1009) / 1009;
}

static int run(struct comm *comm, struct square *s, unsigned iterations)
{
    size_t numbers = 2 * (size_t)s->rows * s->side, i;
    double begin, total, wrong = 0;
    double scale = 1.0 / ((double)s->side * s->side);
    unsigned k;

    for (i = 0; i < s->side / 2; i++) {
        double angle = -2 * acos(-1.0) * (double)i / s->side;
        s->roots[2 * i] = cos(angle);
        s->roots[2 * i + 1] = sin(angle);
    }
    for (i = 0; i < numbers; i++)
        s->data[i] = value_at(s, i);
    turn(comm, s); /* connections, plans */
    turn(comm, s);
    comm_barrier(comm);
    waited = 0;
    begin = comm_now();
    for (k = 0; k < iterations; k++) {
        there_or_back(comm, s, 1);
        there_or_back(comm, s, -1);
        for (i = 0; i < numbers; i++)
            s->data[i] *= scale;
    }
    total = comm_now() - begin;
    for (i = 0; i < numbers; i++)
        wrong += !(fabs(s->data[i] - value_at(s, i)) < 1e-9);
    return comm_report(comm, "fft", iterations, total, waited, wrong);
}

int main(int argc, char **argv)
{
    static const struct cli_option options[] = {
        {"size", 's', CLI_COUNT, offsetof(struct settings, side), 1, 1 << 14,
         "SIDE", "of the square, a power of two; default 512"},
        {"iterations", 'i', CLI_COUNT, offsetof(struct settings, iterations), 1,
         1e9, "K", "there and back; default 20"},
    };
    static const struct cli cli = {
        .program = "xylem-fft",
        .usage = "[-s SIDE] [-i K]",
        .summary = "Fourier transforms of a square, by alltoalls.",
        .options = options,
        .options_count = sizeof options / sizeof options[0]};
    struct settings settings = {.side = 512, .iterations = 20};
    struct square s = {.first = 0};
    struct comm comm;
    size_t numbers;
    int code = EXIT_FAILURE;
    enum cli_result parsed;

    parsed = cli_parse(&cli, argc, argv, &settings);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    comm_open(&comm, &argc, &argv);
    s.side = settings.side;
    s.rows = s.side / comm.ranks;
    s.first = s.rows * comm.rank;
    numbers = 2 * (size_t)s.rows * s.side;
    s.data = calloc(3 * numbers + s.side + 2, sizeof *s.data);
    s.sent = s.data + numbers;
    s.got = s.sent + numbers;
    s.roots = s.got + numbers;
    if ((s.side & (s.side - 1)) != 0 || s.rows * comm.ranks != s.side)
        fprintf(stderr, "rank %u: %u rows cannot be spread over %u ranks\n",
                comm.rank, s.side, comm.ranks);
    else if (s.data == NULL)
        fprintf(stderr, "rank %u: no memory\n", comm.rank);
    else
        code = run(&comm, &s, settings.iterations);
    free(s.data);
    comm_close(&comm);
    return code;
}
