/* Counts and times of the program's collectives. The binding keeps them while
 * the program runs, if XYLEM_MPI_VERBOSE or XYLEM_MPI_REPORT asks for them, and
 * reports them at its end. Communicators of one name and one size count as one.
 * Any thread. */
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bindings/mpi/call.h"

enum { NAME_BYTES = 64, GROUPS_MAX = 64, PATH_BYTES = 1024 };

/* The numbers of one collective on a group of communicators, on this rank. */
enum {
    BYTES,   /* of a message, or of all blocks of a call */
    INSIDE,  /* ns in the calls */
    WAITING, /* of that, waiting in blocking calls */
    FLYING,  /* ns from start to end of the other calls */
    FATES,   /* calls of each fate */
    NUMBERS = FATES + XMPI_FATES
};

typedef struct tally {
    _Atomic uint64_t numbers[NUMBERS];
} tally_t;

struct xmpi_group {
    char name[NAME_BYTES];
    int size;
    tally_t tallies[XYLEM_COLL_COUNT];
};

static struct {
    xmpi_group_t *groups[GROUPS_MAX + 1]; /* the last: all others */
    unsigned count;
    pthread_mutex_t lock;
    char path[PATH_BYTES]; /* "": no report */
    uint64_t begin;
} report = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const reasons[XMPI_FATES] = {
    [XMPI_TAKEN] = "taken",
    [XMPI_NOT_SELECTED] = "not selected by XYLEM_MPI_COLLECTIVES",
    [XMPI_NO_INTRA] = "on an inter-communicator",
    [XMPI_OTHER_JOB] = "on a communicator with ranks of another job",
    [XMPI_NO_TOPOLOGY] = "on a communicator without a topology",
    [XMPI_NO_CONTEXT] = "before all ranks were connected",
    [XMPI_NO_TEAM] = "nonblocking, before the communicator's first that blocks",
    [XMPI_NO_KERNEL] = "operation of MPI's that it has not for this type",
    [XMPI_NO_THREADS] = "operation that calls MPI, on a thread of xylem's",
    [XMPI_WRITTEN_TO] = "its functions for Fortran write to such requests",
    [XMPI_UNHOOKED] = "nothing would make it progress",
    [XMPI_OFF] = "the binding is not in use",
};

/* ---- while the program runs ---- */

uint64_t xmpi_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The lock is held. */
static xmpi_group_t *group_find(const char *name, int size)
{
    unsigned i = 0;

    while (i < report.count && (report.groups[i]->size != size ||
                                strcmp(report.groups[i]->name, name) != 0))
        i++;
    if (i == report.count) {
        i = i < GROUPS_MAX ? i : GROUPS_MAX;
        if (report.groups[i] == NULL)
            report.groups[i] = calloc(1, sizeof *report.groups[i]);
        if (report.groups[i] == NULL)
            return NULL;
        if (i < GROUPS_MAX) {
            report.count++;
            report.groups[i]->size = size;
            snprintf(report.groups[i]->name, NAME_BYTES, "%s", name);
        }
    }
    return report.groups[i];
}

/* NULL: no memory. */
static tally_t *tally_of(xmpi_comm_t *comm, xylem_coll_t coll)
{
    static xmpi_group_t nobodys; /* calls on unknown communicators */
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;

    if (comm == NULL)
        return &nobodys.tallies[coll];
    if (comm->group == NULL) {
        xmpi_host.Comm_get_name(xmpi_comm_handle(comm), name, &length);
        pthread_mutex_lock(&report.lock);
        comm->group = group_find(name, comm->size);
        pthread_mutex_unlock(&report.lock);
    }
    return comm->group == NULL ? NULL : &comm->group->tallies[coll];
}

/* NULL: not counted. */
static void add(tally_t *tally, unsigned number, uint64_t what)
{
    if (tally != NULL)
        atomic_fetch_add_explicit(&tally->numbers[number], what,
                                  memory_order_relaxed);
}

static uint64_t side_bytes(const xmpi_call_t *call, const xmpi_side_t *side,
                           int blocks)
{
    uint64_t bytes = 0;
    int i;

    for (i = 0; i < blocks; i++) {
        const xmpi_type_t *type =
            xmpi_type_find(side->types != NULL ? side->types[i] : side->type);
        int64_t count = side->count;
        if (type == NULL)
            return bytes;
        if (side->counts != NULL)
            count = xmpi_number_at(call, side->counts, (uint32_t)i);
        bytes += (uint64_t)count * type->size;
        if (side->counts == NULL)
            return bytes * (uint64_t)blocks;
    }
    return bytes;
}

/* The bytes that this rank sends, or else those that it receives. */
static uint64_t call_bytes(const xmpi_call_t *call, const xmpi_comm_t *comm)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->coll);
    int is_root = call->root == comm->rank;

    if (traits->has_neighbors)
        return side_bytes(call, &call->send, 1);
    if (xyl_side_matters(traits->sends, is_root) &&
        call->send.buf != MPI_IN_PLACE && call->recv.counts != NULL &&
        traits->reduces)
        return side_bytes(call, &call->recv, comm->size);
    if (xyl_side_matters(traits->sends, is_root) &&
        call->send.buf != MPI_IN_PLACE)
        return side_bytes(call, &call->send,
                          traits->send_blocks ? comm->size : 1);
    if (xyl_side_matters(traits->receives, is_root) &&
        call->recv.buf != MPI_IN_PLACE)
        return side_bytes(call, &call->recv,
                          traits->recv_blocks ? comm->size : 1);
    return 0;
}

static _Thread_local uint64_t waited; /* in the call that this thread is in */

void xmpi_report_waited(uint64_t begin)
{
    waited = xmpi_now() - begin;
}

void xmpi_report_call(const xmpi_call_t *call, xmpi_comm_t *comm,
                      xmpi_fate_t fate, uint64_t begin)
{
    tally_t *tally = tally_of(comm, call->coll);

    add(tally, FATES + fate, 1);
    if (comm != NULL && call->coll != XYLEM_COLL_BARRIER &&
        comm->fate != XMPI_NO_INTRA)
        add(tally, BYTES, call_bytes(call, comm));
    if (fate == XMPI_TAKEN) {
        add(tally, INSIDE, xmpi_now() - begin);
        add(tally, WAITING, waited);
    }
    waited = 0;
}

void xmpi_report_left(const xmpi_call_t *call, uint64_t begin)
{
    add(tally_of(xmpi_comm_find(call->comm), call->coll), INSIDE,
        xmpi_now() - begin);
}

void xmpi_report_flown(xmpi_comm_t *comm, xylem_coll_t coll, uint64_t begin)
{
    add(tally_of(comm, coll), FLYING, xmpi_now() - begin);
}

/* ---- at its end ---- */

/* Adds a tally to `numbers`, where times are in seconds. */
static void tally_add(const tally_t *tally, double *numbers)
{
    unsigned i;

    for (i = 0; i < NUMBERS; i++)
        numbers[i] += (double)tally->numbers[i] *
                      (i == INSIDE || i == WAITING || i == FLYING ? 1e-9 : 1);
}

static double calls_of(const double *numbers)
{
    double calls = 0;
    unsigned fate;

    for (fate = 0; fate < XMPI_FATES; fate++)
        calls += numbers[FATES + fate];
    return calls;
}

static void groups_add(unsigned coll, double *numbers)
{
    unsigned i;

    tally_add(tally_of(NULL, coll), numbers);
    for (i = 0; i <= GROUPS_MAX; i++)
        if (report.groups[i] != NULL)
            tally_add(&report.groups[i]->tallies[coll], numbers);
}

/* Prints the lines that XYLEM_MPI_VERBOSE asks for. */
static void fates_print(void)
{
    unsigned coll, fate, lines = 0;

    fprintf(stderr, "xylem-mpi: xylem %s and %s, %d rank%s; of rank 0:\n",
            xylem_version(), xmpi_front->version, xmpi_state.size,
            xmpi_state.size == 1 ? "" : "s");

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
        double numbers[NUMBERS] = {0};
        groups_add(coll, numbers);
        for (fate = 0; fate < XMPI_FATES; fate++)
            if (numbers[FATES + fate] > 0 && ++lines)
                fprintf(stderr, "xylem-mpi: rank %d: %s: %.0f %s%s\n",
                        xmpi_state.rank, xyl_coll_traits(coll)->name,
                        numbers[FATES + fate],
                        fate == XMPI_TAKEN ? "" : "left to the MPI library: ",
                        reasons[fate]);
    }
    if (lines == 0)
        fprintf(stderr, "xylem-mpi: rank %d: no collectives\n",
                xmpi_state.rank);
}

/* `highest`: the maximum over the ranks; NULL: the numbers are of one rank. */
static json_t *json_of(unsigned coll, const double *numbers,
                       const double *highest, double ranks)
{
    json_t *left = json_object(), *row;
    unsigned fate;

    for (fate = XMPI_TAKEN + 1; fate < XMPI_FATES; fate++)
        if (numbers[FATES + fate] > 0)
            json_object_set_new(left, reasons[fate],
                                json_real(numbers[FATES + fate] / ranks));
    row = json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "collective",
                    xyl_coll_traits(coll)->name, "calls",
                    calls_of(numbers) / ranks, "bytes", numbers[BYTES] / ranks,
                    "seconds", numbers[INSIDE] / ranks, "seconds_waiting",
                    numbers[WAITING] / ranks, "seconds_under_way",
                    numbers[FLYING] / ranks, "taken",
                    numbers[FATES + XMPI_TAKEN] / ranks, "left", left);
    if (highest != NULL)
        json_object_set_new(row, "seconds_highest", json_real(highest[INSIDE]));
    return row;
}

static json_t *json_of_group(const xmpi_group_t *group)
{
    json_t *rows = json_array();
    unsigned coll;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
        double numbers[NUMBERS] = {0};
        tally_add(&group->tallies[coll], numbers);
        if (calls_of(numbers) > 0)
            json_array_append_new(rows, json_of(coll, numbers, NULL, 1));
    }
    return json_pack("{s:s, s:i, s:o}", "name", group->name, "ranks",
                     group->size, "collectives", rows);
}

/* Rank 0 writes sums over all groups and ranks. Collective over the job. */
static void report_write(void)
{
    static double mine[XYLEM_COLL_COUNT][NUMBERS],
        sum[XYLEM_COLL_COUNT][NUMBERS], highest[XYLEM_COLL_COUNT][NUMBERS];
    enum { ALL = XYLEM_COLL_COUNT * NUMBERS };
    json_t *rows = json_array(), *groups = json_array(), *all;
    unsigned coll, i;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        groups_add(coll, mine[coll]);
    if (xmpi_reduce_all(mine, sum, ALL, MPI_DOUBLE, MPI_SUM,
                        xmpi_state.world) != MPI_SUCCESS ||
        xmpi_reduce_all(mine, highest, ALL, MPI_DOUBLE, MPI_MAX,
                        xmpi_state.world) != MPI_SUCCESS ||
        xmpi_state.rank != 0)
        return;
    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        if (calls_of(sum[coll]) > 0)
            json_array_append_new(
                rows, json_of(coll, sum[coll], highest[coll], xmpi_state.size));
    for (i = 0; i <= GROUPS_MAX; i++)
        if (report.groups[i] != NULL)
            json_array_append_new(groups, json_of_group(report.groups[i]));
    all = json_pack("{s:s, s:s, s:i, s:f, s:o, s:o}", "xylem", xylem_version(),
                    "library", xmpi_front->version, "ranks", xmpi_state.size,
                    "seconds", (double)(xmpi_now() - report.begin) * 1e-9,
                    "collectives", rows, "communicators_of_rank_0", groups);
    if (json_dump_file(all, report.path,
                       JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0)
        fprintf(stderr, "xylem-mpi: cannot write %s\n", report.path);
    json_decref(all);
}

void xmpi_report_open(const char *path)
{
    report.begin = xmpi_now();
    if (strcmp(path, "none") != 0)
        snprintf(report.path, sizeof report.path, "%s", path);
    xmpi_state.has_report = report.path[0] != '\0';
    xmpi_state.is_watched = xmpi_state.has_report || xmpi_state.is_verbose;
}

void xmpi_report_close(void)
{
    unsigned i;

    if (xmpi_state.is_verbose && xmpi_state.rank == 0)
        fates_print();
    if (xmpi_state.has_report && xmpi_state.world != MPI_COMM_NULL)
        report_write();
    xmpi_state.is_watched = 0;
    for (i = 0; i <= GROUPS_MAX; i++) {
        free(report.groups[i]);
        report.groups[i] = NULL;
    }
    report.count = 0;
    for (i = 0; i < XYLEM_COLL_COUNT; i++)
        memset(tally_of(NULL, i), 0, sizeof(tally_t));
}
