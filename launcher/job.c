/* The job: its ranks, the event loop, and the verdict.
 *
 * A rank's life:
 *
 *   NEW -> RUNNING -> EXITED -> DONE
 *             |          '- its outputs are closed, or the grace has passed
 *             '- the process has ended; it stays a zombie for now
 *
 * While a rank is a zombie, no other process group gets its number, so a signal
 * to the group only reaches processes that the rank has left behind. A rank is
 * judged when its process ends. The first failure decides the exit code and
 * ends the job, unless ranks are allowed to fail alone.
 *
 * Everything here runs on the main thread. */
#include "launcher/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

typedef enum rank_state {
    RANK_NEW,
    RANK_RUNNING,
    RANK_EXITED,
    RANK_DONE
} rank_state_t;

enum { RANK_STREAMS = 2 };

typedef struct job_rank {
    xyl_job_t *job;
    unsigned rank;
    rank_state_t state;
    pid_t pid; /* also its process group */
    unsigned streams_open;
    xyl_stream_t streams[RANK_STREAMS]; /* its output and error */
    struct event *settle; /* ends the grace of processes left behind */
    bool stood_in;        /* a stand-in (launcher.h) was started for it */
    pid_t stand_in;       /* the stand-in that runs; 0: none */
} job_rank_t;

static const double soon_s = 0.2;
static const int forwarded[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
enum { FORWARDED = sizeof(forwarded) / sizeof(forwarded[0]) };

struct xyl_job {
    const xyl_options_t *options;
    xyl_server_t *server;
    struct event_base *base;
    struct event *signals[FORWARDED];
    struct event *child;   /* SIGCHLD */
    struct event *wake;    /* the server has news */
    struct event *timeout; /* of the whole job */
    struct event *grace;   /* from SIGTERM to SIGKILL */
    struct event *soon;    /* from a rank's failure to SIGTERM */
    struct event *missed;  /* from a rank's end to its stand-in */
    xyl_sink_t sinks[RANK_STREAMS];
    job_rank_t *ranks;
    unsigned running;   /* ranks in RANK_RUNNING */
    unsigned left;      /* ranks that are neither new nor done */
    unsigned stand_ins; /* running */
    int code;           /* of the first failure */
    bool started;       /* no more ranks will be started */
    bool stopping;
    size_t written;            /* bytes of output when the grace began */
    unsigned interrupts;       /* SIGINTs that came */
    xyl_inherited_t inherited; /* for the ranks */
};

static struct timeval interval(double seconds)
{
    const time_t whole = (time_t)seconds;
    return (struct timeval){.tv_sec = whole,
                            .tv_usec =
                                (suseconds_t)((seconds - (double)whole) * 1e6)};
}

/* ---- ending ---- */

static void job_signal(const xyl_job_t *job, int number)
{
    for (unsigned i = 0; i < job->options->ranks; i++) {
        const job_rank_t *rank = &job->ranks[i];
        if (rank->state == RANK_RUNNING || rank->state == RANK_EXITED)
            (void)kill(-rank->pid, number);
    }
}

static size_t job_written(const xyl_job_t *job)
{
    return job->sinks[0].written + job->sinks[1].written;
}

/* Starts the grace, in which ranks may end before they are killed. */
static void grace_start(xyl_job_t *job)
{
    job->stopping = true;
    job->written = job_written(job);
    const struct timeval grace = interval(job->options->grace_s);
    (void)event_add(job->grace, &grace);
}

/* Asks all ranks to end, once. */
static void job_stop(xyl_job_t *job)
{
    if (job->stopping)
        return;
    job_signal(job, SIGTERM);
    grace_start(job);
}

static void soon_over(evutil_socket_t fd, short events, void *arg)
{
    (void)fd;
    (void)events;
    job_stop(arg);
}

/* Stops the job after a moment: the failure of one rank may end the others,
 * too, and each should print its own message. */
static void job_stop_soon(xyl_job_t *job)
{
    const struct timeval moment = interval(soon_s);
    if (!job->stopping && !event_pending(job->soon, EV_TIMEOUT, NULL))
        (void)event_add(job->soon, &moment);
}

/* Ends the loop if all ranks have ended and all output has been passed on. */
static void job_check(xyl_job_t *job)
{
    if (job->started && job->left == 0 && xyl_sink_empty(&job->sinks[0]) &&
        xyl_sink_empty(&job->sinks[1]))
        (void)event_base_loopbreak(job->base);
}

static void sink_drained(void *arg)
{
    job_check(arg);
}

/* Whether no reader has taken output during the grace. */
static bool job_is_stuck(const xyl_job_t *job)
{
    return job->written == job_written(job) &&
           (!xyl_sink_empty(&job->sinks[0]) || !xyl_sink_empty(&job->sinks[1]));
}

static void grace_over(evutil_socket_t fd, short events, void *arg)
{
    xyl_job_t *job = arg;
    (void)fd;
    (void)events;
    /* Gives up output that no reader takes once all ranks have ended, though
     * some of it is still in their pipes: a user who stops a job does not wait
     * for it. */
    if (job->left == 0 || (job->running == 0 && job_is_stuck(job)))
        (void)event_base_loopbreak(job->base);
    job_signal(job, SIGKILL);
    grace_start(job); /* to look for such output again */
}

static void timeout_over(evutil_socket_t fd, short events, void *arg)
{
    xyl_job_t *job = arg;
    (void)fd;
    (void)events;
    if (job->code == 0) {
        job->code = XYL_EXIT_TIMEOUT;
        xyl_sink_print(&job->sinks[1],
                       "the time limit of %g s has passed: the job is ended",
                       job->options->timeout_s);
    }
    job_stop(job);
}

/* ---- the verdict ---- */

static void rank_fail(job_rank_t *rank, int code, const char *why)
{
    xyl_job_t *job = rank->job;
    const bool first = job->code == 0;
    if (first)
        job->code = code;
    if (first || (job->options->no_kill && !job->stopping))
        xyl_sink_print(&job->sinks[1], "rank %u (pid %ld) %s", rank->rank,
                       (long)rank->pid, why);
    if (!job->options->no_kill)
        job_stop_soon(job);
}

/* An abort ends the whole job, even if ranks may fail alone. */
static void abort_judge(xyl_job_t *job)
{
    xyl_abort_t asked;
    char why[sizeof(asked.text) + 64];
    if (!xyl_server_aborted(job->server, &asked) || job->stopping)
        return;
    (void)snprintf(why, sizeof(why), "aborted the job with code %d%s%s",
                   asked.code, asked.text[0] != '\0' ? ": " : "", asked.text);
    rank_fail(&job->ranks[asked.rank], asked.code, why);
    job_stop(job);
}

static void rank_judge(job_rank_t *rank, const siginfo_t *info)
{
    char why[128];
    if (info->si_code != CLD_EXITED) {
        (void)snprintf(why, sizeof(why), "was ended by signal %d (%s%s)",
                       info->si_status, strsignal(info->si_status),
                       info->si_code == CLD_DUMPED ? ", core dumped" : "");
        rank_fail(rank, XYL_EXIT_SIGNAL + info->si_status, why);
    } else if (info->si_status != 0) {
        (void)snprintf(why, sizeof(why), "exited with code %d",
                       info->si_status);
        rank_fail(rank, info->si_status, why);
    } else if (rank->job->running > 0 &&
               xyl_server_connected(rank->job->server, rank->rank)) {
        /* The other ranks would wait for this rank forever. */
        rank_fail(rank, 1,
                  "exited without xylem_context_destroy or MPI_Finalize while "
                  "others still run");
    }
}

/* ---- missed ranks ---- */

/* Whether a running rank uses PMIx: it may wait for a rank that PMIx does not
 * know. A job whose ranks never use PMIx needs no stand-ins. */
static bool job_waits(const xyl_job_t *job)
{
    for (unsigned i = 0; i < job->options->ranks; i++) {
        if (job->ranks[i].state == RANK_RUNNING &&
            xyl_server_connected(job->server, i))
            return true;
    }
    return false;
}

static bool rank_is_missed(const job_rank_t *rank)
{
    return rank->state == RANK_DONE && !rank->stood_in &&
           !xyl_server_connected(rank->job->server, rank->rank);
}

static void missed_replace(evutil_socket_t fd, short events, void *arg)
{
    enum { AT_ONCE = 8 };
    xyl_job_t *job = arg;
    (void)fd;
    (void)events;
    if (job->stopping || !job_waits(job))
        return;
    for (unsigned i = 0; i < job->options->ranks && job->stand_ins < AT_ONCE;
         i++) {
        job_rank_t *rank = &job->ranks[i];
        if (!rank_is_missed(rank))
            continue;
        rank->stood_in = true;
        if (xyl_stand_in_start(job->server, i, &job->inherited,
                               &rank->stand_in) == 0) {
            xyl_keeper_tell(rank->stand_in);
            job->stand_ins++;
        }
    }
}

/* Starts stand-ins after a moment, in which the other ranks may end, too: ranks
 * usually end together. */
static void missed_replace_soon(xyl_job_t *job)
{
    const struct timeval moment = interval(soon_s);
    bool is_missed = false;
    for (unsigned i = 0; i < job->options->ranks && !is_missed; i++)
        is_missed = rank_is_missed(&job->ranks[i]);
    if (is_missed && !event_pending(job->missed, EV_TIMEOUT, NULL))
        (void)event_add(job->missed, &moment);
}

static void stand_in_reap(job_rank_t *rank)
{
    if (rank->stand_in == 0 || waitpid(rank->stand_in, NULL, WNOHANG) == 0)
        return;
    xyl_keeper_tell(-rank->stand_in);
    rank->stand_in = 0;
    rank->job->stand_ins--;
    missed_replace_soon(rank->job);
}

/* ---- ranks ---- */

static void rank_finish(job_rank_t *rank)
{
    xyl_job_t *job = rank->job;
    (void)event_del(rank->settle);
    (void)kill(-rank->pid, SIGKILL);
    (void)waitpid(rank->pid, NULL, 0);
    xyl_keeper_tell(-rank->pid);
    rank->state = RANK_DONE;
    job->left--;
    missed_replace_soon(job);
    job_check(job);
}

static void rank_stream_closed(void *arg)
{
    job_rank_t *rank = arg;
    rank->streams_open--;
    if (rank->streams_open == 0 && rank->state == RANK_EXITED)
        rank_finish(rank);
}

/* Kills processes that the rank has left behind: the grace has passed, and they
 * still hold its outputs. */
static void rank_settle(evutil_socket_t fd, short events, void *arg)
{
    job_rank_t *rank = arg;
    (void)fd;
    (void)events;
    (void)kill(-rank->pid, SIGKILL);
    for (size_t i = 0; i < RANK_STREAMS; i++)
        xyl_stream_finish(&rank->streams[i]);
}

static void rank_exited(job_rank_t *rank, const siginfo_t *info)
{
    xyl_job_t *job = rank->job;
    rank->state = RANK_EXITED;
    job->running--;
    xyl_server_ended(job->server, rank->rank);
    abort_judge(job);
    rank_judge(rank, info);
    if (rank->streams_open == 0) {
        rank_finish(rank);
        return;
    }
    const struct timeval grace = interval(job->options->grace_s);
    (void)evtimer_add(rank->settle, &grace);
}

static void rank_look(job_rank_t *rank, bool only_killed)
{
    siginfo_t info = {.si_pid = 0};
    if (rank->state == RANK_RUNNING &&
        waitid(P_PID, (id_t)rank->pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
            0 &&
        info.si_pid == rank->pid &&
        !(only_killed && info.si_code == CLD_EXITED))
        rank_exited(rank, &info);
}

/* Judges killed ranks before all others, which may have given up because of
 * these deaths. */
static void child_ended(evutil_socket_t fd, short events, void *arg)
{
    xyl_job_t *job = arg;
    (void)fd;
    (void)events;
    for (unsigned i = 0; i < job->options->ranks; i++)
        rank_look(&job->ranks[i], true);
    for (unsigned i = 0; i < job->options->ranks; i++) {
        rank_look(&job->ranks[i], false);
        stand_in_reap(&job->ranks[i]);
    }
}

static void signal_forward(evutil_socket_t number, short events, void *arg)
{
    xyl_job_t *job = arg;
    (void)events;
    if (number == SIGINT)
        job->interrupts++;
    if (number == SIGINT && job->interrupts > 1) {
        if (job->left == 0)
            (void)event_base_loopbreak(job->base);
        job_signal(job, SIGKILL);
        grace_start(job);
        return;
    }
    job_signal(job, (int)number);
    if (number == SIGTSTP)
        (void)raise(SIGSTOP); /* the shell waits for the launcher to stop */
}

static void server_wake(evutil_socket_t fd, short events, void *arg)
{
    eventfd_t count;
    (void)events;
    (void)eventfd_read(fd, &count);
    abort_judge(arg);
    missed_replace_soon(arg);
}

/* ---- starting ---- */

/* Rank 0 gets the launcher's standard input, unless that is a terminal, which
 * would stop a process group in the background that reads from it. */
static int input_open(unsigned rank)
{
    if (rank == 0 && isatty(STDIN_FILENO) != 1) {
        const int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        if (fd >= 0)
            return fd;
    }
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Makes a pipe: the job watches one end, *fd_out is the end for the rank. */
static int output_open(job_rank_t *rank, size_t which, int *fd_out)
{
    xyl_job_t *job = rank->job;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return xyl_complain("cannot make a pipe: %s", strerror(errno));
    xyl_stream_t *stream = &rank->streams[which];
    const int code =
        xyl_stream_init(stream, job->base, ends[0], &job->sinks[which]);
    if (code != 0) {
        (void)close(ends[1]);
        return code;
    }
    stream->closed = rank_stream_closed;
    stream->arg = rank;
    if (job->options->tag)
        (void)snprintf(stream->tag, sizeof(stream->tag), "[%u] ", rank->rank);
    *fd_out = ends[1];
    return 0;
}

static int rank_start(job_rank_t *rank, xyl_spawn_t *spawn)
{
    xyl_job_t *job = rank->job;
    char **env = NULL;
    int code = XYL_EXIT_LAUNCHER;
    for (size_t i = 0; i < 3; i++)
        spawn->fds[i] = -1;
    rank->settle = evtimer_new(job->base, rank_settle, rank);
    spawn->fds[0] = input_open(rank->rank);
    if (rank->settle == NULL || spawn->fds[0] < 0) {
        xyl_complain("cannot prepare rank %u: %s", rank->rank, strerror(errno));
        goto close_fds;
    }
    code = output_open(rank, 0, &spawn->fds[1]);
    if (code == 0)
        code = output_open(rank, 1, &spawn->fds[2]);
    if (code == 0)
        code = xyl_server_environment(job->server, rank->rank,
                                      job->options->settings, &env);
    if (code != 0)
        goto close_fds;
    spawn->env = env;
    code = xyl_child_start(spawn, &rank->pid);
    if (code == 0) {
        xyl_keeper_tell(rank->pid);
        rank->state = RANK_RUNNING;
        rank->streams_open = RANK_STREAMS;
        job->running++;
        job->left++;
    }
    xyl_environment_destroy(env);
close_fds:
    for (size_t i = 0; i < 3; i++) {
        if (spawn->fds[i] >= 0)
            (void)close(spawn->fds[i]);
    }
    return code;
}

static void ranks_start(xyl_job_t *job, const char *path,
                        const cpu_set_t *processors)
{
    xyl_spawn_t spawn = {
        .path = path,
        .argv = job->options->command,
        .inherited = &job->inherited,
    };
    for (unsigned i = 0; i < job->options->ranks; i++) {
        spawn.processors = processors != NULL ? &processors[i] : NULL;
        const int code = rank_start(&job->ranks[i], &spawn);
        if (code != 0) {
            job->code = code;
            job_stop(job);
            break;
        }
    }
    job->started = true;
}

/* A job whose output could not be written must not look like a success. */
static void sinks_judge(xyl_job_t *job)
{
    for (size_t i = 0; i < RANK_STREAMS; i++) {
        const int error = job->sinks[i].error;
        if (job->code == 0 && error != 0 && error != EPIPE) {
            xyl_complain("cannot write the output of the job: %s",
                         strerror(error));
            job->code = XYL_EXIT_LAUNCHER;
        }
    }
}

int xyl_job_run(xyl_job_t *job, xyl_server_t *server, const char *path,
                const cpu_set_t *processors)
{
    job->server = server;
    job->wake = event_new(job->base, xyl_server_wake_fd(server),
                          EV_READ | EV_PERSIST, server_wake, job);
    if (job->wake == NULL || event_add(job->wake, NULL) != 0)
        return xyl_complain("cannot watch the server");
    if (job->options->timeout_s > 0) {
        const struct timeval timeout = interval(job->options->timeout_s);
        (void)evtimer_add(job->timeout, &timeout);
    }
    ranks_start(job, path, processors);
    if (job->left > 0 && event_base_dispatch(job->base) < 0) {
        xyl_complain("the event loop fails: %s", strerror(errno));
        job_signal(job, SIGKILL);
        job->code = XYL_EXIT_LAUNCHER;
    }
    sinks_judge(job);
    return job->code;
}

/* ---- life ---- */

static int signals_take(xyl_job_t *job)
{
    struct sigaction old;
    job->child = evsignal_new(job->base, SIGCHLD, child_ended, job);
    if (job->child == NULL || event_add(job->child, NULL) != 0)
        return -1;
    for (size_t i = 0; i < FORWARDED; i++) {
        /* The job keeps ignoring SIGHUP under nohup(1), and SIGTSTP under a
         * shell without job control. */
        if ((forwarded[i] == SIGHUP || forwarded[i] == SIGTSTP) &&
            sigaction(forwarded[i], NULL, &old) == 0 &&
            old.sa_handler == SIG_IGN)
            continue;
        job->signals[i] =
            evsignal_new(job->base, forwarded[i], signal_forward, job);
        if (job->signals[i] == NULL || event_add(job->signals[i], NULL) != 0)
            return -1;
    }
    return 0;
}

static int job_init(xyl_job_t *job)
{
    const unsigned ranks = job->options->ranks;
    job->base = event_base_new();
    job->ranks = calloc(ranks, sizeof(*job->ranks));
    if (job->base == NULL || job->ranks == NULL)
        return xyl_complain("out of memory");
    for (unsigned i = 0; i < ranks; i++) {
        job->ranks[i].job = job;
        job->ranks[i].rank = i;
        for (size_t k = 0; k < RANK_STREAMS; k++)
            job->ranks[i].streams[k].fd = -1;
    }
    for (size_t i = 0; i < RANK_STREAMS; i++) {
        const int fd = i == 0 ? STDOUT_FILENO : STDERR_FILENO;
        const int code = xyl_sink_init(&job->sinks[i], job->base, fd);
        if (code != 0)
            return code;
        job->sinks[i].drained = sink_drained;
        job->sinks[i].arg = job;
    }
    job->timeout = evtimer_new(job->base, timeout_over, job);
    job->grace = evtimer_new(job->base, grace_over, job);
    job->soon = evtimer_new(job->base, soon_over, job);
    job->missed = evtimer_new(job->base, missed_replace, job);
    if (job->timeout == NULL || job->grace == NULL || job->soon == NULL ||
        job->missed == NULL || signals_take(job) != 0)
        return xyl_complain("cannot prepare the event loop");
    return xyl_inherited_take(&job->inherited, ranks);
}

/* Drops warnings of libevent. The PMIx library uses it, too, and may close the
 * connection of a dead rank before it stops watching it. Failures of the
 * launcher's own calls show in their results. */
static void warning_drop(int severity, const char *text)
{
    (void)severity;
    (void)text;
}

int xyl_job_create(const xyl_options_t *options, xyl_job_t **job_out)
{
    xyl_job_t *job = calloc(1, sizeof(*job));
    if (job == NULL)
        return xyl_complain("out of memory");
    job->options = options;
    event_set_log_callback(warning_drop);
    const int code = job_init(job);
    if (code != 0) {
        xyl_job_destroy(job);
        return code;
    }
    *job_out = job;
    return 0;
}

static void event_release(struct event *event)
{
    if (event != NULL)
        event_free(event);
}

void xyl_job_destroy(xyl_job_t *job)
{
    if (job == NULL)
        return;
    for (unsigned i = 0; job->ranks != NULL && i < job->options->ranks; i++) {
        event_release(job->ranks[i].settle);
        if (job->ranks[i].stand_in != 0) {
            (void)kill(job->ranks[i].stand_in, SIGKILL);
            (void)waitpid(job->ranks[i].stand_in, NULL, 0);
        }
        for (size_t k = 0; k < RANK_STREAMS; k++)
            xyl_stream_fini(&job->ranks[i].streams[k]);
    }
    for (size_t i = 0; i < RANK_STREAMS; i++)
        xyl_sink_fini(&job->sinks[i]);
    for (size_t i = 0; i < FORWARDED; i++)
        event_release(job->signals[i]);
    event_release(job->child);
    event_release(job->wake);
    event_release(job->timeout);
    event_release(job->grace);
    event_release(job->soon);
    event_release(job->missed);
    if (job->base != NULL)
        event_base_free(job->base);
    free(job->ranks);
    free(job);
}
