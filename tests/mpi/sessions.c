/* Communicators of sessions, without MPI_Init, beside it, before and after it.
 *
 *   sessions WAY
 *
 *   alone    sessions only, one of which begins before the other ends
 *   again    one that begins when all others have ended
 *   inside   a session while the program is initialised
 *   around   it is initialised and finalised during a session
 *   across   a session begins before MPI_Finalize and ends after it
 *   threads  two threads with a session each */
#include "tests/mpi/mpi4.h"
#include "tests/mpi/mpitest.h"

#if MPI_VERSION < 4 && (!defined OMPI_MAJOR_VERSION || OMPI_MAJOR_VERSION < 5)
int main(void)
{
    puts("SKIP sessions: this MPI has none");
    return 0;
}
#else
#include <pthread.h>

enum { ROUNDS = 20, RANKS_MAX = 64 };

static int job_rank = -1, job_size;

#undef CHECK
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition) && test_failures++ < 10) {                            \
            printf("# rank %d: %s:%d: %s\n", job_rank, __FILE__, __LINE__,     \
                   #condition);                                                \
            fflush(stdout);                                                    \
        }                                                                      \
    } while (0)

/* ---- what is done with a communicator ---- */

static void use_nonblocking(MPI_Comm comm, int rank, int size)
{
    int sent[RANKS_MAX], got[RANKS_MAX], i;
    MPI_Request request;

    for (i = 0; i < size; i++)
        sent[i] = rank * RANKS_MAX + i;
    MPI_Ialltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < size; i++)
        CHECK(got[i] == i * RANKS_MAX + rank);
}

static void use_blocking(MPI_Comm comm, int rank, int size)
{
    int i, mine, sum, value;

    for (i = 0; i < ROUNDS; i++) {
        mine = rank + i;
        sum = -1;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size * (size - 1) / 2 + size * i);
        value = rank == i % size ? 4711 + i : 0;
        MPI_Bcast(&value, 1, MPI_INT, i % size, comm);
        CHECK(value == 4711 + i);
    }
}

static void use_persistent(MPI_Comm comm, int rank, int size)
{
    int mine = 0, highest = -1, i;
    MPI_Request request;

    MPI_Allreduce_init(&mine, &highest, 1, MPI_INT, MPI_MAX, comm,
                       MPI_INFO_NULL, &request);
    for (i = 0; i < ROUNDS; i++) {
        mine = rank * i;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(highest == (size - 1) * i);
    }
    MPI_Request_free(&request);
}

static void use(MPI_Comm comm)
{
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    use_nonblocking(comm, rank, size);
    use_blocking(comm, rank, size);
    use_persistent(comm, rank, size);
}

/* And with those that are made of it. */
static void use_all(MPI_Comm comm)
{
    MPI_Comm made;
    MPI_Request request;
    int rank;

    use(comm);
    MPI_Comm_dup(comm, &made);
    use(made);
    MPI_Comm_free(&made);
    MPI_Comm_idup(comm, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(made);
    MPI_Comm_free(&made);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_split(comm, rank % 2, -rank, &made);
    use(made);
    MPI_Comm_free(&made);
}

/* ---- communicators ---- */

static MPI_Session session_begin(int level)
{
    MPI_Session session;
    MPI_Group all;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level",
                 level == MPI_THREAD_MULTIPLE ? "MPI_THREAD_MULTIPLE"
                                              : "MPI_THREAD_SINGLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &job_rank);
    MPI_Group_size(all, &job_size);
    MPI_Group_free(&all);
    return session;
}

static MPI_Comm made_of(MPI_Group group, const char *name)
{
    MPI_Comm comm;

    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &comm);
    return comm;
}

static MPI_Comm comm_of(MPI_Session session, const char *pset, const char *name)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Group_from_session_pset(session, pset, &group);
    comm = made_of(group, name);
    MPI_Group_free(&group);
    return comm;
}

/* All ranks, one, all but the first, and all in the opposite order. */
static void session_use(MPI_Session session)
{
    int back[1][3] = {{job_size - 1, 0, -1}}, first = 0;
    MPI_Group all, part;
    MPI_Comm comm;

    comm = comm_of(session, "mpi://WORLD", "tests.all");
    use_all(comm);
    MPI_Comm_free(&comm);
    comm = comm_of(session, "mpi://SELF", "tests.self");
    use_all(comm);
    MPI_Comm_free(&comm);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_excl(all, 1, &first, &part);
    if (job_rank != 0) {
        comm = made_of(part, "tests.others");
        use_all(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&part);
    MPI_Group_range_incl(all, 1, back, &part);
    comm = made_of(part, "tests.back");
    use_all(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&part);
    MPI_Group_free(&all);
}

/* Sums the failures of all ranks. */
static int session_report(MPI_Session session)
{
    MPI_Comm comm = comm_of(session, "mpi://WORLD", "tests.end");
    int sum = 0;

    MPI_Allreduce(&test_failures, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    if (job_rank == 0)
        printf("%s sessions on %d ranks\n", sum == 0 ? "PASS" : "FAIL",
               job_size);
    fflush(stdout);
    return sum != 0;
}

/* ---- ways ---- */

static int alone(void)
{
    MPI_Session session = session_begin(MPI_THREAD_SINGLE), other;
    int code;

    session_use(session);
    other = session_begin(MPI_THREAD_SINGLE);
    MPI_Session_finalize(&session);
    session_use(other);
    code = session_report(other);
    MPI_Session_finalize(&other);
    return code;
}

static int again(void)
{
    MPI_Session session = session_begin(MPI_THREAD_SINGLE);

    session_use(session);
    MPI_Session_finalize(&session);
    return alone();
}

static int inside(void)
{
    MPI_Session session;
    int code;

    MPI_Init(NULL, NULL);
    use(MPI_COMM_WORLD);
    session = session_begin(MPI_THREAD_SINGLE);
    session_use(session);
    use(MPI_COMM_WORLD);
    code = session_report(session);
    MPI_Session_finalize(&session);
    use_all(MPI_COMM_WORLD);
    MPI_Finalize();
    return code;
}

/* `is_before`: the session begins before MPI_Init. */
static int overlap(int is_before)
{
    MPI_Session session;
    MPI_Comm comm;
    int code;

    if (is_before) {
        session = session_begin(MPI_THREAD_SINGLE);
        session_use(session);
    }
    MPI_Init(NULL, NULL);
    use(MPI_COMM_WORLD);
    if (!is_before)
        session = session_begin(MPI_THREAD_SINGLE);
    comm = comm_of(session, "mpi://WORLD", "tests.overlap");
    use_all(comm);
    use_all(MPI_COMM_WORLD);
    MPI_Finalize();
    use_all(comm);
    MPI_Comm_free(&comm);
    session_use(session);
    code = session_report(session);
    MPI_Session_finalize(&session);
    return code;
}

static int around(void)
{
    return overlap(1);
}

static int across(void)
{
    return overlap(0);
}

static void *thread_run(void *arg)
{
    MPI_Session session = session_begin(MPI_THREAD_MULTIPLE);
    MPI_Comm comm = comm_of(session, "mpi://WORLD", arg);

    use_all(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return NULL;
}

static int threads(void)
{
    static char first[] = "tests.first", second[] = "tests.second";
    MPI_Session session = session_begin(MPI_THREAD_MULTIPLE);
    pthread_t others[2];
    int code;

    pthread_create(&others[0], NULL, thread_run, first);
    pthread_create(&others[1], NULL, thread_run, second);
    pthread_join(others[0], NULL);
    pthread_join(others[1], NULL);
    code = session_report(session);
    MPI_Session_finalize(&session);
    return code;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {{"alone", alone},   {"again", again},   {"inside", inside},
                {"around", around}, {"across", across}, {"threads", threads}};
    size_t way;

    for (way = 0; argc > 1 && way < sizeof ways / sizeof *ways; way++)
        if (strcmp(argv[1], ways[way].name) == 0)
            return ways[way].run();
    return 2;
}
#endif
