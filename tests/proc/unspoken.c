/* A rank dies that another has never sent anything to, but has a message from:
 *
 *   unspoken FILE [SECONDS]
 *
 * The last rank begins to send all others a long message, which waits for them,
 * and kills itself. They wait for that before they look at the net, and only
 * then send it something; rank 0 so many seconds later than the others, which
 * wait for it at their end. Each is told of the one death. FILE has the number
 * of the process, and all ranks map it. With XYLEM_SHM=off, and nobody else to
 * notice (XYLEM_LIVENESS_MS). */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { BOUND_S = 60, LOOK_US = 1000, TURNS = 100, WORDS = 30000 };

static _Atomic int32_t *map_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory = MAP_FAILED;

    REQUIRE(fd >= 0 && ftruncate(fd, sizeof(int32_t)) == 0, "no file %s", path);
    memory =
        mmap(NULL, sizeof(int32_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(memory != MAP_FAILED, "%s cannot be mapped", path);
    close(fd);
    return memory;
}

static void begin(const job_t *job, uint64_t *words,
                  xylem_request_t **request_out)
{
    MUST(xylem_ialltoall(job->world, words, words + (size_t)job->ranks * WORDS,
                         WORDS, XYLEM_UINT64, request_out));
}

static _Noreturn void speak_and_die(const job_t *job, uint64_t *words,
                                    _Atomic int32_t *pid)
{
    xylem_request_t *request;
    int i;

    begin(job, words, &request);
    for (i = 0; i < TURNS; i++)
        (void)xylem_progress(job->context);
    atomic_store(pid, getpid());
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Not by way of the library. */
static void wait_for_the_death(_Atomic int32_t *pid)
{
    struct pollfd end = {.events = POLLIN};

    while (atomic_load(pid) == 0)
        usleep(LOOK_US);
    end.fd = (int)syscall(SYS_pidfd_open, atomic_load(pid), 0);
    if (end.fd < 0)
        return; /* it is over already */
    poll(&end, 1, BOUND_S * 1000);
    close(end.fd);
}

int main(int argc, char **argv)
{
    job_t job;
    uint64_t *words;
    _Atomic int32_t *pid;
    xylem_request_t *request;
    xylem_status_t status;
    uint32_t failed = 0, count = 0;

    REQUIRE(argc == 2 || argc == 3, "usage: unspoken FILE [SECONDS]");
    alarm(BOUND_S);
    pid = map_file(argv[1]);
    job_begin(&job);
    words = job_memory(2 * (size_t)job.ranks * WORDS * sizeof *words);
    if (job.rank == job.ranks - 1)
        speak_and_die(&job, words, pid);
    wait_for_the_death(pid);
    if (argc == 3 && job.rank == 0)
        sleep((unsigned)atoi(argv[2]));
    (void)xylem_progress(job.context); /* a second one would mend it */
    begin(&job, words, &request);
    status = xylem_request_wait(request);
    MUST(xylem_request_free(request));
    REQUIRE(status == XYLEM_ERR_PROC_FAILED, "it says %s: %s",
            xylem_status_name(status), xylem_last_error());
    MUST(xylem_team_failed(job.world, &failed, 1, &count));
    REQUIRE(count == 1 && failed == job.ranks - 1, "%u dead, the first is %u",
            count, failed);
    job_end(&job); /* until then messages of what has failed may come */
    free(words);
    printf("rank %u survived\n", job.rank);
    return EXIT_SUCCESS;
}
