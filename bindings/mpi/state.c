/* Settings of the binding, its begin and its end. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bindings/mpi/call.h"

/* ---- settings ---- */

/* A bit per collective; UINT64_MAX: there is no such name. */
static uint64_t bits_of(const char *name, size_t bytes)
{
    xylem_coll_t coll = xyl_coll_named(name, bytes);

    if ((bytes == 3 && strncmp(name, "all", 3) == 0) ||
        (bytes == 4 && strncmp(name, "auto", 4) == 0))
        return (UINT64_C(1) << XYLEM_COLL_COUNT) - 1;
    if (bytes == 4 && strncmp(name, "none", 4) == 0)
        return 0;
    return coll == XYLEM_COLL_COUNT ? UINT64_MAX : UINT64_C(1) << coll;
}

/* "bcast,reduce": these alone; "+bcast,-alltoall": all with changes. */
static uint64_t selection_of(const char *text)
{
    uint64_t chosen = bits_of("all", 3), bits;
    const char *at = text;
    int is_first = 1;

    while (at != NULL && *at != '\0') {
        int sign = *at == '+' || *at == '-' ? *at++ : ' ';
        size_t bytes = strcspn(at, ",");
        bits = bits_of(at, bytes);
        if (bits == UINT64_MAX && xmpi_state.rank == 0)
            fprintf(stderr,
                    "xylem-mpi: XYLEM_MPI_COLLECTIVES: there is no collective "
                    "'%.*s', so nothing is taken or left by this word\n",
                    (int)bytes, at);
        if (bits == UINT64_MAX)
            bits = 0;
        if (sign == '-')
            chosen &= ~bits;
        else if (sign == ' ' && is_first)
            chosen = bits;
        else
            chosen |= bits;
        is_first = 0;
        at += bytes;
        at += *at == ',';
    }
    return chosen;
}

/* The value of a setting. A wrong value is found again when the context is
 * created, where all ranks learn of it. */
static const char *setting(const char *name, const char *otherwise)
{
    static char text[1024];

    return xylem_setting_get(name, text, sizeof text) == XYLEM_OK ? text
                                                                  : otherwise;
}

static int is_set_to(const char *name, const char *value)
{
    return strcmp(setting(name, ""), value) == 0;
}

/* ---- the end of the context ---- */

static int has_lost_ranks(xylem_context_t *context)
{
    uint32_t dead = 0;

    (void)xylem_team_failed(xylem_context_world(context), NULL, 0, &dead);
    return dead != 0;
}

/* Waits for all ranks before the context ends. The end of the context waits for
 * them, too, but gives no turns to the host, which may still hold messages that
 * the program takes for sent. A rank that learns of a dead rank stops waiting,
 * as the host may not know of the death. */
static void meet_the_others(xylem_context_t *context)
{
    static int mine, all; /* the host may use them after the end */
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0, code = MPI_SUCCESS;

    if (!has_lost_ranks(context))
        code = xmpi_host.Iallreduce(&mine, &all, 1, MPI_INT, MPI_MAX,
                                    xmpi_state.world, &request);
    while (code == MPI_SUCCESS && !flag && !has_lost_ranks(context)) {
        code = xmpi_host.Test(&request, &flag, MPI_STATUS_IGNORE);
        xmpi_hook();
        if (!flag && xmpi_state.shares_cores)
            sched_yield();
    }
}

static void context_close(void)
{
    xylem_context_t *context = xmpi_context();

    if (context == NULL)
        return;
    meet_the_others(context);
    xmpi_requests_close();
    xmpi_hook_remove();
    xmpi_ops_close();
    atomic_store_explicit(&xmpi_state.context, NULL, memory_order_release);
    if (xylem_context_destroy(context) != XYLEM_OK)
        fprintf(stderr, "xylem-mpi: rank %d: %s\n", xmpi_state.rank,
                xylem_last_error());
}

/* ---- begin and end ---- */

static void turn_end(void)
{
    xmpi_comms_join();
    xmpi_persistents_look();
}

void xmpi_state_open(void)
{
    xmpi_state.has_failed = 0;
    xmpi_state.selected = selection_of(setting("MPI_COLLECTIVES", "auto"));
    xmpi_state.is_verbose = is_set_to("MPI_VERBOSE", "on");
    xmpi_report_open(setting("MPI_REPORT", "none"));
    xmpi_neighbors_take();
    xmpi_state.has_thread = is_set_to("PROGRESS", "thread");
    xmpi_state.shares_cores =
        (long)xmpi_state.size * (1 + xmpi_state.has_thread) >
        sysconf(_SC_NPROCESSORS_ONLN);
    xmpi_hook_at_turn_end(turn_end);
    xmpi_state.is_open = xmpi_types_open() == 0 && xmpi_comms_open() == 0;
}

void xmpi_state_begin_world(void)
{
    if (xmpi_thread_level() == MPI_THREAD_MULTIPLE)
        xmpi_job_connect();
    if (is_set_to("MPI_CONNECT", "init"))
        xmpi_comm_connect(MPI_COMM_WORLD);
}

void xmpi_state_close(void)
{
    context_close();
    xmpi_state.is_open = 0;
    xmpi_comms_close();
    xmpi_report_close();
    if (xmpi_state.world != MPI_COMM_NULL)
        xmpi_host.Comm_free(&xmpi_state.world);
    xmpi_state.is_world_of_session = 0;
}
