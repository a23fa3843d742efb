/* The keeper is a process that cleans up after a launcher that is killed. It
 * kills the processes that ranks have started, which do not die with the ranks,
 * and removes the launcher's folder. The keeper reads a pipe that only the
 * launcher writes to, so the pipe ends however the launcher ends. */
#include "launcher/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPEN_MAX_COUNT = 8, FAREWELL = 0 };

static int keeper_fd = -1; /* the launcher's end of the pipe; -1: none */

static int entry_remove(const char *path, const struct stat *info, int type,
                        struct FTW *position)
{
    (void)info;
    (void)type;
    (void)position;
    (void)remove(path);
    return 0; /* go on with the other entries */
}

void xyl_folder_remove(const char *path)
{
    (void)nftw(path, entry_remove, OPEN_MAX_COUNT, FTW_DEPTH | FTW_PHYS);
}

/* ---- the keeper ---- */

/* Adds group `news`, or removes group -`news`. */
static void groups_update(pid_t groups[XYL_RANKS_MAX], pid_t news)
{
    const pid_t from = news > 0 ? 0 : -news;
    const pid_t to = news > 0 ? news : 0;
    for (size_t i = 0; i < XYL_RANKS_MAX; i++) {
        if (groups[i] == from) {
            groups[i] = to;
            return;
        }
    }
}

static _Noreturn void keeper_run(int fd, const char *folder)
{
    static pid_t groups[XYL_RANKS_MAX];
    pid_t news;
    ssize_t bytes;
    do {
        bytes = read(fd, &news, sizeof(news));
        if (bytes == (ssize_t)sizeof(news) && news == FAREWELL)
            _exit(0);
        if (bytes == (ssize_t)sizeof(news))
            groups_update(groups, news);
    } while (bytes > 0 || (bytes < 0 && errno == EINTR));
    for (size_t i = 0; i < XYL_RANKS_MAX; i++) {
        if (groups[i] != 0)
            (void)kill(-groups[i], SIGKILL);
    }
    xyl_folder_remove(folder);
    _exit(0);
}

/* Drops the launcher's descriptors and group, and blocks all signals. */
static _Noreturn void keeper_begin(const int fds[2], const char *folder)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setpgid(0, 0);
    if (dup2(fds[0], 0) < 0)
        _exit(XYL_EXIT_LAUNCHER);
    /* The kernel may lack close_range or refuse it; this end of the pipe must
     * be closed anyway, or the pipe never ends. */
    (void)close(fds[1]);
    (void)close_range(1, ~0U, 0);
    (void)chdir("/");
    keeper_run(0, folder);
}

/* ---- the launcher ---- */

int xyl_keeper_start(const char *folder)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -1;
    const pid_t pid = fork();
    if (pid == 0)
        keeper_begin(fds, folder);
    (void)close(fds[0]);
    if (pid < 0) {
        (void)close(fds[1]);
        return -1;
    }
    keeper_fd = fds[1];
    return 0;
}

void xyl_keeper_tell(pid_t news)
{
    ssize_t bytes;
    do {
        bytes = keeper_fd < 0 ? 0 : write(keeper_fd, &news, sizeof(news));
    } while (bytes < 0 && errno == EINTR);
}

void xyl_keeper_leave(void)
{
    xyl_keeper_tell(FAREWELL);
    if (keeper_fd >= 0)
        (void)close(keeper_fd);
    keeper_fd = -1;
}
