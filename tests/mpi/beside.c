/* What programs do beside their collectives, which stay right, and so does it:
 * handlers of signals from before MPI_Init and a timer that interrupts all
 * calls; fork, exec and system, also while a call is under way; files, windows
 * and inter-communicators in turns with collectives; memory that is mapped anew
 * at the same address; memory of MPI_Alloc_mem from before and behind the first
 * collective; many communicators that are held at once; a locale with
 * a decimal comma, if the environment has one.
 *
 *   beside FOLDER [HELD]     where a file may be made; communicators, 40
 *   beside FOLDER windows    these alone, which not every library can */
#include "tests/mpi/mpitest.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOME = 300, MANY = 300000, TICK_US = 2000, HELD = 40 };

static int rank, size;
static volatile sig_atomic_t ticks, asked, ended;

/* ---- what is right ---- */

/* Sums of short and long vectors, and a broadcast. */
static void use(MPI_Comm comm, int by)
{
    static int mine[MANY], sum[MANY];
    int me, n, i, count, right = 0;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    count = by % 8 == 7 ? MANY : by % 2 == 1 ? SOME : 1;
    for (i = 0; i < count; i++)
        mine[i] = me + i % 1000 + by;
    MPI_Allreduce(mine, sum, count, MPI_INT, MPI_SUM, comm);
    for (i = 0; i < count; i++)
        right += sum[i] == n * (n - 1) / 2 + n * (i % 1000 + by);
    CHECK(right == count);
    i = me == by % n ? by : -1;
    MPI_Bcast(&i, 1, MPI_INT, by % n, comm);
    CHECK(i == by);
}

/* ---- signals ---- */

static void tick(int number)
{
    (void)number;
    ticks++;
}

static void ask(int number)
{
    (void)number;
    asked++;
}

static void child_end(int number)
{
    (void)number;
    ended++;
}

/* Without SA_RESTART: whatever waits in the system is interrupted. */
static void handle(int number, void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(number, &action, NULL);
}

static void timer_set(int us)
{
    struct itimerval interval;

    memset(&interval, 0, sizeof interval);
    interval.it_interval.tv_usec = us;
    interval.it_value.tv_usec = us;
    setitimer(ITIMER_REAL, &interval, NULL);
}

/* Before MPI_Init. */
static void signals_take(void)
{
    handle(SIGALRM, tick);
    handle(SIGUSR1, ask);
    handle(SIGCHLD, child_end);
}

static void test_signals(void)
{
    struct sigaction action;
    int i;

    timer_set(TICK_US);
    for (i = 0; i < 64 || (ticks == 0 && i < 1000000); i++)
        if (i < 64)
            use(MPI_COMM_WORLD, i);
    timer_set(0);
    CHECK(ticks > 0);
    raise(SIGUSR1);
    CHECK(asked == 1);
    sigaction(SIGCHLD, NULL, &action);
    CHECK(action.sa_handler == child_end);
}

/* ---- processes ---- */

/* It lives until the pipe ends, and must find its memory as it was. */
static pid_t child_start(int ends[2], const int *memory)
{
    pid_t pid;
    char byte;
    int i, right = 1;

    if (pipe(ends) != 0)
        return -1;
    pid = fork();
    if (pid != 0)
        return pid;
    close(ends[1]);
    while (read(ends[0], &byte, 1) != 0)
        continue;
    for (i = 0; memory != NULL && i < MANY; i++)
        right &= memory[i] == i;
    _exit(right ? 0 : 1);
}

static int child_wait(pid_t pid)
{
    int status = -1;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

static void test_processes(void)
{
    static int from[MANY], sum[MANY];
    MPI_Request request;
    int ends[2], i, right = 0;
    pid_t pid;

    for (i = 0; i < MANY; i++)
        from[i] = i;
    MPI_Iallreduce(from, sum, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    pid = child_start(ends, from);
    CHECK(pid > 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < MANY; i++)
        right += sum[i] == i * size;
    CHECK(right == MANY);
    for (i = 0; i < 16; i++)
        use(MPI_COMM_WORLD, i);
    for (i = 0; i < MANY; i++)
        from[i] = 0;
    MPI_Bcast(from, MANY, MPI_INT, 0, MPI_COMM_WORLD);
    close(ends[1]);
    CHECK(child_wait(pid) == 0);
    close(ends[0]);
    pid = fork();
    if (pid == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(2);
    }
    use(MPI_COMM_WORLD, 3);
    CHECK(child_wait(pid) == 0);
    CHECK(system("exit 7") == 7 << 8);
    use(MPI_COMM_WORLD, 7);
}

/* ---- other parts of MPI ---- */

static void test_inter(void)
{
    MPI_Comm part, inter;
    int i, mine, other, n;

    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 12, &inter);
    MPI_Comm_remote_size(inter, &n);
    for (i = 0; i < 6; i++) {
        mine = rank + i;
        MPI_Allreduce(&mine, &other, 1, MPI_INT, MPI_SUM, inter);
        /* Of the ranks of the other half: 0, 2, ... or 1, 3, ... */
        CHECK(other == n * (n - 1) + n * (1 - rank % 2) + n * i);
        use(part, i);
        MPI_Barrier(inter);
        use(MPI_COMM_WORLD, i);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
}

static void test_files(const char *folder)
{
    char path[1024];
    MPI_File file;
    int i, block[SOME], back[SOME], code;

    snprintf(path, sizeof path, "%s/file.%d", folder, size);
    code = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR,
                         MPI_INFO_NULL, &file);
    CHECK(code == MPI_SUCCESS);
    if (code != MPI_SUCCESS)
        return;
    for (i = 0; i < SOME; i++)
        block[i] = rank * SOME + i;
    MPI_File_write_at_all(file, (MPI_Offset)rank * (MPI_Offset)sizeof block,
                          block, SOME, MPI_INT, MPI_STATUS_IGNORE);
    use(MPI_COMM_WORLD, 1);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    i = (rank + 1) % size;
    MPI_File_read_at_all(file, (MPI_Offset)i * (MPI_Offset)sizeof back, back,
                         SOME, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(back[0] == i * SOME && back[SOME - 1] == i * SOME + SOME - 1);
    MPI_File_close(&file);
    use(MPI_COMM_WORLD, 7);
}

static void test_window_of(int *cell)
{
    int i, next = (rank + 1) % size;
    MPI_Win window;

    MPI_Win_create(cell, sizeof *cell, sizeof *cell, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &window);
    for (i = 0; i < 6; i++) {
        int mine = rank * 10 + i;
        MPI_Win_fence(0, window);
        MPI_Put(&mine, 1, MPI_INT, next, 0, 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        CHECK(*cell == (rank + size - 1) % size * 10 + i);
        use(MPI_COMM_WORLD, i);
    }
    MPI_Win_free(&window);
}

static void test_windows(void)
{
    int cell = -1, i, next = (rank + 1) % size, *base, one = 1;
    MPI_Win window;

    test_window_of(&cell);
    CHECK(MPI_Alloc_mem(sizeof *base, MPI_INFO_NULL, &base) == MPI_SUCCESS);
    test_window_of(base);
    MPI_Free_mem(base);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &window);
    *base = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (i = 0; i < 6; i++) {
        MPI_Accumulate(&one, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, window);
        use(MPI_COMM_WORLD, 7 - i);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    CHECK(*base == 6);
    MPI_Win_unlock(rank, window);
    MPI_Win_free(&window);
}

/* The binding adds the forms for large counts to libraries that lack them. */
static void test_large_windows(void)
{
    int (*allocate)(MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *, MPI_Win *);
    int *base, next = (rank + 1) % size, mine = rank;
    MPI_Win window;

    *(void **)(void *)&allocate = dlsym(RTLD_DEFAULT, "MPI_Win_allocate_c");
    if (allocate == NULL) /* without the binding */
        return;
    allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
             &window);
    MPI_Win_fence(0, window);
    MPI_Put(&mine, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(*base == (rank + size - 1) % size);
    MPI_Win_free(&window);
}

/* A rank sees behind a barrier, at its first look, an access that was completed
 * before it. */
static void test_exposure(void)
{
    int cell = 0, flag = 1, first = 0;
    MPI_Group all, group;
    MPI_Win window;

    if (size < 2)
        return;
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &window);
    MPI_Win_get_group(window, &all);
    if (rank == 0) {
        MPI_Group_excl(all, 1, &first, &group);
        MPI_Win_start(group, 0, window);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_complete(window);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Group_incl(all, 1, &first, &group);
        MPI_Win_post(group, 0, window);
        MPI_Win_test(window, &flag);
        CHECK(!flag);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_test(window, &flag);
        CHECK(flag);
        if (!flag)
            MPI_Win_wait(window);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
}

/* ---- memory ---- */

/* Other pages each time, of this length and at this place. */
static int *map(int *at, size_t bytes)
{
    void *memory =
        mmap(at, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void test_mapped_anew(void)
{
    size_t bytes = 2 * MANY * sizeof(int);
    int *from = map(NULL, bytes), *to, round, i, right;

    CHECK(from != NULL);
    for (round = 0; round < 12; round++) {
        munmap(from, bytes);
        from = map(from, bytes);
        to = from + MANY;
        right = 0;
        for (i = 0; i < MANY; i++)
            from[i] = i + round * (rank + 1);
        if (round % 3 == 0)
            MPI_Bcast(from, MANY, MPI_INT, round % size, MPI_COMM_WORLD);
        MPI_Allreduce(from, to, MANY, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        for (i = 0; i < MANY; i++)
            right +=
                to[i] == i + round * (round % 3 == 0 ? round % size + 1 : size);
        CHECK(right == MANY);
    }
    munmap(from, bytes);
}

enum { BLOCK = MANY / 4 };

static int *allocate(size_t ints, MPI_Info info)
{
    int *memory = NULL;

    CHECK(MPI_Alloc_mem((MPI_Aint)(ints * sizeof(int)), info, &memory) ==
          MPI_SUCCESS);
    return memory;
}

/* Blocks from `from` to `to`, which ranks may have from different places. */
static void move_blocks(int *from, int *to, int by)
{
    int root = by % size, i, right = 0;

    for (i = 0; i < size * BLOCK; i++)
        from[i] = 1000 * rank + i / BLOCK + by;
    MPI_Scatter(from, BLOCK, MPI_INT, to, BLOCK, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(to[0] == 1000 * root + rank + by && to[BLOCK - 1] == to[0]);
    MPI_Alltoall(from, BLOCK, MPI_INT, to, BLOCK, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < size * BLOCK; i++)
        right += to[i] == 1000 * (i / BLOCK) + rank + by;
    CHECK(right == size * BLOCK);
    MPI_Allreduce(MPI_IN_PLACE, from, BLOCK, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(from[0] == 1000 * (size - 1) + by && from[BLOCK - 1] == from[0]);
}

/* `early` was allocated before the first collective. Some ranks have their
 * blocks in memory of malloc. */
static void test_allocated(int *early)
{
    size_t all = (size_t)size * BLOCK;
    int *own = malloc(all * sizeof *own), *later, *informed, by;
    MPI_Info info;

    MPI_Info_create(&info);
    CHECK(own != NULL);
    for (by = 0; by < 6; by++) {
        later = allocate(all, MPI_INFO_NULL);
        informed = allocate(SOME, info);
        informed[SOME - 1] = by;
        move_blocks(later, early, by);
        move_blocks(by % 3 == 0 && rank % 2 == 1 ? own : early, later, by);
        CHECK(informed[SOME - 1] == by);
        CHECK(MPI_Free_mem(informed) == MPI_SUCCESS);
        CHECK(MPI_Free_mem(later) == MPI_SUCCESS);
    }
    CHECK(MPI_Free_mem(early) == MPI_SUCCESS);
    CHECK(MPI_Free_mem(allocate(0, MPI_INFO_NULL)) == MPI_SUCCESS);
    MPI_Info_free(&info);
    free(own);
}

/* ---- communicators ---- */

static void test_held(int count)
{
    MPI_Comm *all = malloc((size_t)count * sizeof *all);
    int i, sum, one = 1;

    for (i = 0; i < count; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    for (i = 0; i < count; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all[i]);
        CHECK(sum == size);
    }
    use(all[0], 7);
    use(all[count - 1], 7);
    for (i = 0; i < count; i++)
        MPI_Comm_free(&all[i]);
    free(all);
}

int main(int argc, char **argv)
{
    int ends[2], *early;
    pid_t pid;

    if (argc < 2)
        return 2;
    setlocale(LC_ALL, "");
    signals_take();
    pid = child_start(ends, NULL); /* lives all the time */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 && strcmp(argv[2], "windows") == 0) {
        test_windows();
        test_large_windows();
        test_exposure();
    } else {
        early = allocate((size_t)size * BLOCK, MPI_INFO_NULL);
        test_signals();
        test_processes();
        test_inter();
        test_files(argv[1]);
        test_mapped_anew();
        test_allocated(early);
        test_held(argc > 2 ? atoi(argv[2]) : HELD);
    }
    close(ends[1]);
    CHECK(child_wait(pid) == 0);
    return test_end("beside");
}
