/* How many descriptors are left: as many as can then be opened, and asking does
 * not make the system's table of them grow, nor does the start of a context on
 * a node of many ranks, since the table has its room from the beginning. */
#include "runtime/base/descriptors.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/check.h"

enum { LIMIT = 96, SOME = 40, ROOM = 1024 };

/* The room of this process's table; 0: the system does not tell. */
static unsigned table_room(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    unsigned room = 0;
    char line[256];

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "FDSize:", 7) == 0)
            sscanf(line + 7, "%u", &room);
    if (file != NULL)
        fclose(file);
    return room;
}

static void limit_set(rlim_t soft)
{
    struct rlimit limit;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = soft;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static unsigned open_all(int *fds, unsigned max)
{
    unsigned opened = 0;

    while (opened < max &&
           (fds[opened] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
        opened++;
    return opened;
}

static void close_all(const int *fds, unsigned opened)
{
    while (opened > 0)
        close(fds[--opened]);
}

static void test_counted(void)
{
    int some[SOME], all[LIMIT];
    unsigned left;

    limit_set(LIMIT);
    CHECK(open_all(some, SOME) == SOME);
    close(some[SOME / 2]); /* a gap */
    left = open_all(all, LIMIT);
    close_all(all, left);
    CHECK(left > 0 && left < LIMIT);
    CHECK(xyl_descriptors_are_left(left));
    CHECK(!xyl_descriptors_are_left(left + 1));
    some[SOME / 2] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    close_all(some, SOME);
}

static void test_asking_opens_nothing(void)
{
    struct rlimit limit;
    unsigned room = table_room();

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit_set(limit.rlim_max < 4 * ROOM ? limit.rlim_max : 4 * ROOM);
    if (room != 0 && limit.rlim_max >= 4 * ROOM) {
        CHECK(xyl_descriptors_are_left(3 * ROOM));
        CHECK(table_room() == room);
    }
}

/* A sanitizer may have a thread of its own before anything else runs. */
static void test_room_from_the_beginning(void)
{
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    struct rlimit limit;
    unsigned room = table_room();

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(room == 0 || limit.rlim_cur < ROOM || room >= ROOM);
#endif
}

static const check_case_t cases[] = {
    {"descriptors: room from the beginning", test_room_from_the_beginning},
    {"descriptors: asking opens nothing", test_asking_opens_nothing},
    {"descriptors: as many as can be opened", test_counted},
};

CHECK_MAIN(cases)
