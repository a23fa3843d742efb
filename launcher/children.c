/* Finding and starting programs.
 *
 * A child leads a process group, so that a signal to the group also reaches the
 * processes that it has started. The kernel kills the child when the launcher
 * dies. Between fork and exec a child only makes calls that are safe in the
 * copy of a process with several threads. */
#include "launcher/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0, or the errno that says why the file cannot be run. */
static int program_check(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return errno;
    if (!S_ISREG(info.st_mode))
        return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static int program_refuse(const char *name, int error)
{
    if (error == ENOENT || error == ENOTDIR) {
        if (strchr(name, '/') == NULL && program_check(name) == 0)
            xyl_complain("program not found in PATH: %s; there is ./%s", name,
                         name);
        else
            xyl_complain("program not found: %s", name);
        return XYL_EXIT_NOT_FOUND;
    }
    xyl_complain("cannot run %s: %s", name, strerror(error));
    return XYL_EXIT_NOT_EXECUTABLE;
}

/* Looks into one directory of PATH. NULL: the program is not there, and
 * `*error` keeps the best reason so far. */
static char *directory_search(const char *directory, size_t bytes,
                              const char *name, int *error)
{
    char *path = NULL;
    if (bytes == 0) { /* an empty entry is the working directory */
        directory = ".";
        bytes = 1;
    }
    if (asprintf(&path, "%.*s/%s", (int)bytes, directory, name) < 0) {
        *error = ENOMEM;
        return NULL;
    }
    const int reason = program_check(path);
    if (reason == 0)
        return path;
    if (reason == EACCES)
        *error = EACCES;
    free(path);
    return NULL;
}

int xyl_program_find(const char *name, char **path_out)
{
    char *path = NULL;
    int error = ENOENT;
    if (strchr(name, '/') != NULL) {
        error = program_check(name);
        if (error == 0)
            path = strdup(name);
    } else if (name[0] != '\0') {
        const char *search = getenv("PATH");
        if (search == NULL)
            search = "/usr/local/bin:/usr/bin:/bin";
        while (path == NULL) {
            const size_t bytes = strcspn(search, ":");
            path = directory_search(search, bytes, name, &error);
            if (search[bytes] == '\0')
                break;
            search += bytes + 1;
        }
    }
    if (path == NULL)
        return program_refuse(name, error);
    *path_out = path;
    return 0;
}

/* Moves `fds` to 0, 1 and 2. They may have any numbers, also 0, 1 and 2. */
static int child_streams(const int fds[3])
{
    int moved[3];
    for (int i = 0; i < 3; i++) {
        moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
        if (moved[i] < 0)
            return -1;
    }
    for (int i = 0; i < 3; i++) {
        if (dup2(moved[i], i) < 0)
            return -1;
    }
    return 0;
}

/* Resets the launcher's handlers, which must not run in the child: they would
 * write into descriptors that the child shares with the launcher. */
static void child_signals(const sigset_t *mask)
{
    struct sigaction action;
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &action) == 0 &&
            action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL) {
            action = (struct sigaction){.sa_handler = SIG_DFL};
            (void)sigaction(number, &action, NULL);
        }
    }
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Never returns; an error goes through `report_fd`. */
static void child_run(const xyl_spawn_t *spawn, pid_t launcher,
                      const sigset_t *mask, int report_fd)
{
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        goto report;
    if (getppid() != launcher)
        _exit(XYL_EXIT_LAUNCHER); /* the launcher died before prctl */
    if (child_streams(spawn->fds) != 0)
        goto report;
    /* On a kernel without close_range only descriptors that already have
     * O_CLOEXEC are closed. */
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (xyl_inherited_give_back(spawn->inherited) != 0)
        goto report;
    if (spawn->processors != NULL &&
        sched_setaffinity(0, sizeof(cpu_set_t), spawn->processors) != 0)
        goto report;
    child_signals(mask);
    (void)execve(spawn->path, spawn->argv, spawn->env);
report:;
    const int error = errno;
    const ssize_t written = write(report_fd, &error, sizeof(error));
    _exit(written == (ssize_t)sizeof(error) ? XYL_EXIT_NOT_EXECUTABLE
                                            : XYL_EXIT_LAUNCHER);
}

/* Waits until the child runs its program. 0, or an errno: it does not. */
static int report_read(int fd)
{
    int error = 0;
    ssize_t bytes;
    do {
        bytes = read(fd, &error, sizeof(error));
    } while (bytes < 0 && errno == EINTR);
    return bytes == (ssize_t)sizeof(error) ? error : 0;
}

int xyl_child_start(const xyl_spawn_t *spawn, pid_t *pid_out)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return xyl_complain("cannot make a pipe: %s", strerror(errno));
    sigset_t all;
    sigset_t mask;
    (void)sigfillset(&all);
    const pid_t launcher = getpid();
    (void)sigprocmask(SIG_SETMASK, &all, &mask);
    const pid_t pid = fork();
    const int fork_error = errno;
    if (pid == 0)
        child_run(spawn, launcher, &mask, report[1]);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)close(report[1]);
    const int error = pid > 0 ? report_read(report[0]) : fork_error;
    (void)close(report[0]);
    if (pid < 0)
        return xyl_complain("cannot start a process: %s", strerror(error));
    if (error != 0) {
        (void)waitpid(pid, NULL, 0);
        return program_refuse(spawn->path, error);
    }
    *pid_out = pid;
    return 0;
}
