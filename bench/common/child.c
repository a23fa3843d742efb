/* A child process with a time limit. The child leads a process group, so that
 * a launcher ends together with its processes. One thread; the only state
 * of the process is the flag that signals set.
 */
#include "bench/common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/measure/noise.h"

enum { POLL_MS = 50, EXIT_NO_EXEC = 127 };

/* From asking a child to end to forcing it. */
static const uint64_t grace_ns = UINT64_C(3000000000);

/* One of the child's two outputs. */
struct stream {
    int fd; /* -1: at its end */
    int is_output;
    size_t length;
    char line[CHILD_LINE_BYTES];
};

static volatile sig_atomic_t interrupted;

static void interrupt_note(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

void child_signals_install(void)
{
    struct sigaction action = {.sa_handler = interrupt_note};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int child_is_interrupted(void)
{
    return interrupted != 0;
}

static void stream_line(struct child *child, struct stream *stream)
{
    unsigned slot = child->tail_next % CHILD_TAIL_LINES;

    stream->line[stream->length] = '\0';
    stream->length = 0;
    memcpy(child->tail[slot], stream->line, CHILD_LINE_BYTES);
    child->tail_next++;
    if (!stream->is_output)
        return;
    child->heard_ns = noise_now_ns();
    child->on_line(child->arg, stream->line);
}

static void stream_read(struct child *child, struct stream *stream)
{
    char chunk[4096];
    ssize_t got = read(stream->fd, chunk, sizeof chunk);
    ssize_t i;

    if (got <= 0) {
        if (got < 0 && errno == EINTR)
            return;
        close(stream->fd);
        stream->fd = -1;
        if (stream->length > 0)
            stream_line(child, stream);
        return;
    }
    for (i = 0; i < got; i++) {
        int is_full = stream->length == sizeof stream->line - 1;

        if (chunk[i] == '\n' || is_full)
            stream_line(child, stream);
        if (chunk[i] != '\n')
            stream->line[stream->length++] = chunk[i];
    }
}

/* In the child: becomes the program or ends. */
static _Noreturn void become(char *const *argv, int output, int errors)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    int input = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGPIPE, &action, NULL);
    if (input < 0 || dup2(input, STDIN_FILENO) < 0 ||
        dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
        _exit(EXIT_NO_EXEC);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(EXIT_NO_EXEC);
}

static pid_t start(char *const *argv, struct stream streams[2])
{
    int output[2];
    int errors[2];
    pid_t pid = -1;

    if (pipe2(output, O_CLOEXEC) != 0)
        return -1;
    if (pipe2(errors, O_CLOEXEC) != 0)
        goto close_output;
    pid = fork();
    if (pid == 0)
        become(argv, output[1], errors[1]);
    close(errors[1]);
    if (pid < 0)
        close(errors[0]);
close_output:
    close(output[1]);
    if (pid < 0) {
        close(output[0]);
        return -1;
    }
    setpgid(pid, pid); /* the child does so, too: one of the two comes first */
    streams[0] = (struct stream){.fd = output[0], .is_output = 1};
    streams[1] = (struct stream){.fd = errors[0]};
    return pid;
}

static void streams_poll(struct child *child, struct stream streams[2])
{
    struct pollfd fds[2] = {{.fd = streams[0].fd, .events = POLLIN},
                            {.fd = streams[1].fd, .events = POLLIN}};
    int i;

    if (poll(fds, 2, POLL_MS) <= 0)
        return;
    for (i = 0; i < 2; i++) {
        if (streams[i].fd >= 0 && fds[i].revents != 0)
            stream_read(child, &streams[i]);
    }
}

/* The child is gone: reads the rest of its pipes. Does not wait for their ends,
 * as processes of the child may keep them open. */
static void streams_drain(struct child *child, struct stream streams[2])
{
    int i;

    for (i = 0; i < 2; i++) {
        struct pollfd fd = {.fd = streams[i].fd, .events = POLLIN};

        while (streams[i].fd >= 0 && poll(&fd, 1, 0) > 0)
            stream_read(child, &streams[i]);
        if (streams[i].fd >= 0)
            close(streams[i].fd);
    }
}

/* Asks the group to end, and kills it if that did not help. *end_ns: when the
 * group was asked, 0 before. */
static void group_end(pid_t pid, uint64_t *end_ns)
{
    uint64_t now_ns = noise_now_ns();

    if (*end_ns == 0) {
        *end_ns = now_ns;
        kill(-pid, SIGTERM);
    } else if (now_ns - *end_ns > grace_ns) {
        kill(-pid, SIGKILL);
    }
}

static void end_note(struct child *child, int wait_status)
{
    if (child->end != CHILD_EXITED)
        return; /* ended from here */
    if (WIFEXITED(wait_status)) {
        child->code = WEXITSTATUS(wait_status);
    } else {
        child->end = CHILD_KILLED;
        child->code = WTERMSIG(wait_status);
    }
}

int child_run(struct child *child)
{
    struct stream streams[2];
    uint64_t end_ns = 0;
    int wait_status = 0;
    pid_t pid;

    child->end = CHILD_EXITED;
    child->tail_next = 0;
    child->heard_ns = noise_now_ns();
    if (interrupted) {
        child->end = CHILD_INTERRUPTED;
        return 0;
    }
    pid = start(child->argv, streams);
    if (pid < 0) {
        child->end = CHILD_NOT_STARTED;
        child->code = errno;
        return 0;
    }
    while (waitpid(pid, &wait_status, WNOHANG) != pid) {
        double silent_s = (double)(noise_now_ns() - child->heard_ns) / 1e9;

        if (child->end == CHILD_EXITED && interrupted)
            child->end = CHILD_INTERRUPTED;
        else if (child->end == CHILD_EXITED && silent_s > child->limit_s)
            child->end = CHILD_TIMED_OUT;
        if (child->end != CHILD_EXITED)
            group_end(pid, &end_ns);
        streams_poll(child, streams);
    }
    kill(-pid, SIGKILL); /* processes that a launcher may have left */
    streams_drain(child, streams);
    end_note(child, wait_status);
    return child->end == CHILD_EXITED && child->code == 0;
}

void child_describe(const struct child *child, char *text, unsigned bytes)
{
    switch (child->end) {
    case CHILD_EXITED:
        snprintf(text, bytes, "ended with code %d", child->code);
        break;
    case CHILD_KILLED:
        snprintf(text, bytes, "was killed by signal %d (%s)", child->code,
                 strsignal(child->code));
        break;
    case CHILD_TIMED_OUT:
        snprintf(text, bytes, "was ended after %g s without a line",
                 child->limit_s);
        break;
    case CHILD_INTERRUPTED:
        snprintf(text, bytes, "was interrupted");
        break;
    case CHILD_NOT_STARTED:
        snprintf(text, bytes, "could not be started: %s",
                 strerror(child->code));
        break;
    }
}

int child_find(const char *program, char *path, unsigned bytes)
{
    const char *dir = getenv("PATH");

    while (dir != NULL && *dir != '\0') {
        size_t length = strcspn(dir, ":");
        int written =
            snprintf(path, bytes, "%.*s/%s", (int)length, dir, program);

        if (written > 0 && (unsigned)written < bytes && access(path, X_OK) == 0)
            return 1;
        dir += length + (dir[length] == ':');
    }
    return 0;
}
