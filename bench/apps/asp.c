/* All pairs' shortest paths by Floyd and Warshall, as in table 6.3 of Luo's
 * thesis (University of Tennessee, 2020): ranks have rows in turns, and in
 * iteration k the owner of row k broadcasts it. The time in the broadcasts is
 * the time of communication.
 *
 *   xylem-run -n N xylem-asp [-s VERTICES] [-i ITERATIONS]
 *   mpirun -n N xylem-asp-openmpi ...
 *
 * The thesis ran the first ITERATIONS = ranks of a matrix with 2^20 vertices,
 * rows of 4 MiB, of which each rank keeps as many as it is root of. --rows
 * makes such a run possible if the whole matrix does not fit: each rank then
 * has only so many rows, and ITERATIONS is at most ranks x ROWS. */
#include <string.h>

#include "bench/apps/comm.h"
#include "bench/common/cli.h"

struct settings {
    unsigned vertices, iterations, rows, no_check;
};

struct part {
    const struct settings *settings;
    unsigned rank, ranks;
    unsigned rows;  /* of this rank */
    int32_t *edges; /* [rows][vertices] */
    int32_t *row;   /* that is broadcast */
};

/* Length of the edge between two vertices: small numbers by a hash. */
static int32_t edge(uint32_t from, uint32_t to)
{
    uint32_t x = from * 2654435761u ^ to * 2246822519u;

    x ^= x >> 15;
    x *= 2654435761u;
    x ^= x >> 13;
    return from == to ? 0 : 1 + (int32_t)(x % 1000000);
}

static void row_fill(int32_t *row, unsigned vertices, uint32_t from)
{
    uint32_t to;

    for (to = 0; to < vertices; to++)
        row[to] = edge(from, to);
}

static void row_relax(int32_t *restrict own, const int32_t *restrict row,
                      unsigned vertices, unsigned k)
{
    int32_t through = own[k], length;
    unsigned j;

    for (j = 0; j < vertices; j++) {
        length = through + row[j];
        own[j] = length < own[j] ? length : own[j];
    }
}

/* Returns the seconds that the broadcasts took. */
static double iterate(struct comm *comm, const struct part *part)
{
    unsigned vertices = part->settings->vertices, k, i;
    double waited = 0, begin;

    for (k = 0; k < part->settings->iterations; k++) {
        unsigned owner = k % part->ranks;

        if (owner == part->rank)
            memcpy(part->row,
                   &part->edges[(size_t)(k / part->ranks) * vertices],
                   vertices * sizeof *part->row);
        begin = comm_now();
        comm_bcast(comm, part->row, vertices, owner);
        waited += comm_now() - begin;
        for (i = 0; i < part->rows; i++)
            row_relax(&part->edges[(size_t)i * vertices], part->row, vertices,
                      k);
    }
    return waited;
}

/* Computes the same on one rank; returns how many of this rank's lengths
 * differ. Needs the rows that are broadcast, and this rank's. */
static double mistakes(const struct part *part)
{
    unsigned vertices = part->settings->vertices, k, i, j;
    unsigned all = part->rows * part->ranks;
    int32_t *own = calloc((size_t)all * vertices + 1, sizeof *own);
    double wrong = 0;

    if (own == NULL)
        return 1;
    for (i = 0; i < all; i++)
        row_fill(&own[(size_t)i * vertices], vertices, i);
    for (k = 0; k < part->settings->iterations; k++)
        for (i = 0; i < all; i++)
            if (i != k)
                row_relax(&own[(size_t)i * vertices],
                          &own[(size_t)k * vertices], vertices, k);
    for (i = 0; i < part->rows; i++)
        for (j = 0; j < vertices; j++)
            wrong +=
                own[(size_t)(i * part->ranks + part->rank) * vertices + j] !=
                part->edges[(size_t)i * vertices + j];
    free(own);
    return wrong;
}

static int run(struct comm *comm, struct part *part)
{
    unsigned vertices = part->settings->vertices, i;
    double begin, total, waited;

    for (i = 0; i < part->rows; i++)
        row_fill(&part->edges[(size_t)i * vertices], vertices,
                 i * part->ranks + part->rank);
    memset(part->row, 0, vertices * sizeof *part->row);
    comm_bcast(comm, part->row, vertices, 0); /* connections, plans */
    comm_barrier(comm);
    begin = comm_now();
    waited = iterate(comm, part);
    total = comm_now() - begin;
    return comm_report(comm, "asp", part->settings->iterations, total, waited,
                       part->settings->no_check ? 0 : mistakes(part));
}

int main(int argc, char **argv)
{
    static const struct cli_option options[] = {
        {"size", 's', CLI_COUNT, offsetof(struct settings, vertices), 1,
         1 << 24, "VERTICES", "default 512"},
        {"iterations", 'i', CLI_COUNT, offsetof(struct settings, iterations), 0,
         1e9, "K", "the first K (default 0: as many as there are rows)"},
        {"rows", 0, CLI_COUNT, offsetof(struct settings, rows), 0, 1 << 24,
         "ROWS", "of each rank (default 0: of all vertices)"},
        {"no-check", 0, CLI_FLAG, offsetof(struct settings, no_check), 0, 0,
         NULL, "do not compute all of it again on each rank"},
    };
    static const struct cli cli = {
        .program = "xylem-asp",
        .usage = "[-s VERTICES] [-i K]",
        .summary = "Shortest paths between all pairs, by broadcasts of rows.",
        .options = options,
        .options_count = sizeof options / sizeof options[0]};
    struct settings settings = {.vertices = 512};
    struct part part;
    struct comm comm;
    int code = EXIT_FAILURE;
    enum cli_result parsed;

    parsed = cli_parse(&cli, argc, argv, &settings);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    comm_open(&comm, &argc, &argv);
    /* If ranks do not divide the vertices, rows beyond the last vertex are left
     * out. */
    part = (struct part){.settings = &settings,
                         .rank = comm.rank,
                         .ranks = comm.ranks,
                         .rows = settings.vertices / comm.ranks};
    if (settings.rows != 0 && settings.rows < part.rows)
        part.rows = settings.rows;
    if (settings.iterations == 0 ||
        settings.iterations > part.rows * comm.ranks)
        settings.iterations = part.rows * comm.ranks;
    part.edges =
        calloc((size_t)part.rows * settings.vertices + 1, sizeof *part.edges);
    part.row = calloc(settings.vertices, sizeof *part.row);
    if (part.edges != NULL && part.row != NULL)
        code = run(&comm, &part);
    else
        fprintf(stderr, "rank %u: no memory\n", comm.rank);
    free(part.edges);
    free(part.row);
    comm_close(&comm);
    return code;
}
