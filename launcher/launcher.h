/* xylem-run: starts a job of N ranks on this machine, with a PMIx server of its
 * own, so that programs run without any cluster software.
 *
 *   main.c      the order of things, from options to the exit code
 *   complain.c  the launcher's own messages
 *   options.c   the command line
 *   layout.c    which rank is on which (possibly only presented) node
 *   inherited.c limits and signals that the launcher has been started with
 *   binding.c   which cores a rank may use
 *   server.c    the PMIx server; the only file that knows PMIx
 *   children.c  finding programs and starting processes
 *   stand_in.c  processes that connect with PMIx in place of ranks
 *   keeper.c    cleaning up after a launcher that is killed
 *   output.c    forwarding the output of ranks, line by line
 *   job.c       the event loop: ranks, signals, time limits, the verdict
 *
 * Threads: everything runs on the main thread, except for the callbacks of the
 * PMIx server, which run on its thread and only record what happened.
 *
 * Errors: a function that can fail prints one line on standard error and
 * returns the code that the launcher exits with; 0 is success. */
#pragma once

#include <event2/buffer.h>
#include <event2/event.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

enum {
    XYL_RANKS_MAX = 4096,
    XYL_LINE_BYTES = 1024,
    /* Exit codes as in timeout(1) and env(1). */
    XYL_EXIT_TIMEOUT = 124,
    XYL_EXIT_LAUNCHER = 125, /* the launcher itself failed */
    XYL_EXIT_NOT_EXECUTABLE = 126,
    XYL_EXIT_NOT_FOUND = 127,
    XYL_EXIT_SIGNAL = 128 /* plus the signal's number */
};

/* Writes "xylem-run: ", as much of the text as fits, and the end of the line;
 * returns the number of bytes. */
size_t xyl_line_write(char line[XYL_LINE_BYTES], const char *format,
                      va_list args) __attribute__((format(printf, 2, 0)));

/* Prints one line on standard error by one write. Inside the event loop use
 * xyl_sink_print, which prints after the ranks' earlier output. Returns
 * XYL_EXIT_LAUNCHER. */
int xyl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- options ---- */

/* In the order of their names in options.c. */
typedef enum xyl_map { XYL_MAP_BLOCK, XYL_MAP_CYCLIC } xyl_map_t;

typedef enum xyl_bind {
    XYL_BIND_AUTO,
    XYL_BIND_CORE,
    XYL_BIND_NONE
} xyl_bind_t;

typedef struct xyl_options {
    unsigned ranks;
    unsigned nodes; /* 0: this machine under its own name */
    unsigned map;   /* xyl_map_t */
    unsigned bind;  /* xyl_bind_t */
    unsigned tag;
    unsigned no_kill;
    bool done;        /* help or version has been printed: nothing to run */
    double timeout_s; /* 0: none */
    double grace_s;
    char **settings; /* NAME=VALUE, ended by NULL; strings of main's argv */
    char **command;  /* the program and its arguments; part of main's argv */
} xyl_options_t;

int xyl_options_init(xyl_options_t *options, int argc, char **argv);
void xyl_options_fini(xyl_options_t *options);

/* ---- layout ---- */

typedef struct xyl_layout {
    unsigned ranks;
    unsigned nodes; /* 1 ... ranks: no node is empty */
    bool cyclic;
    bool presented; /* nodes are named node0, node1, ... */
    char host[256]; /* the machine's name */
} xyl_layout_t;

int xyl_layout_init(xyl_layout_t *layout, const xyl_options_t *options);
unsigned xyl_layout_node(const xyl_layout_t *layout, unsigned rank);
unsigned xyl_layout_local_rank(const xyl_layout_t *layout, unsigned rank);
unsigned xyl_layout_node_size(const xyl_layout_t *layout, unsigned node);
/* The rank that has the local rank `local` on a node. */
unsigned xyl_layout_rank(const xyl_layout_t *layout, unsigned node,
                         unsigned local);
void xyl_layout_node_name(const xyl_layout_t *layout, unsigned node,
                          char *name_out, size_t bytes);
/* Comma-separated ranks of a node. NULL: no memory. Returns owned (free with
 * free). */
char *xyl_layout_peers(const xyl_layout_t *layout, unsigned node);

/* ---- inherited settings ---- */

/* Settings that the launcher changes for itself; ranks get the old values back.
 * The mask of signals is not among them (bench/common/begin.h). */
typedef struct xyl_inherited {
    struct rlimit files; /* RLIMIT_NOFILE */
    struct rlimit stack; /* RLIMIT_STACK */
    mode_t umask;
    struct sigaction pipe;      /* of SIGPIPE */
    struct sigaction file_size; /* of SIGXFSZ */
} xyl_inherited_t;

/* Raises limits for `ranks` ranks, ignores SIGPIPE and SIGXFSZ (the write fails
 * then), and makes files private. Called before there is a second thread. */
int xyl_inherited_take(xyl_inherited_t *inherited, unsigned ranks);
/* Called in the process of a rank; only makes calls that are safe between fork
 * and exec. 0, or -1 with errno. */
int xyl_inherited_give_back(const xyl_inherited_t *inherited);

/* ---- binding ---- */

/* *sets_out: one set of processors per rank; NULL: ranks are not bound. Returns
 * owned (free with free). */
int xyl_binding_create(const xyl_options_t *options, cpu_set_t **sets_out);

/* ---- server ---- */

typedef struct xyl_server xyl_server_t;

typedef struct xyl_abort {
    unsigned rank;
    int code; /* 1 ... 255 */
    char text[256];
} xyl_abort_t;

/* Borrows the layout until xyl_server_stop. Returns owned (free with
 * xyl_server_stop). */
int xyl_server_start(const xyl_layout_t *layout, xyl_server_t **server_out);
/* Removes the server's files. The server itself, once it has started, lasts as
 * long as the process, which has to end soon. NULL is allowed. */
void xyl_server_stop(xyl_server_t *server);
/* Readable when a rank has begun to use PMIx, or has asked to abort the job. */
int xyl_server_wake_fd(const xyl_server_t *server);
/* Whether a rank has asked to abort the job; the first such rank counts. The
 * answer is there before the process of that rank can end. */
bool xyl_server_aborted(xyl_server_t *server, xyl_abort_t *abort_out);
/* Records that a rank's process has ended. Ranks may ask which ranks have
 * ended, and get them in this order. */
void xyl_server_ended(xyl_server_t *server, unsigned rank);
/* Whether the rank has a PMIx session that it has not finalized. */
bool xyl_server_connected(xyl_server_t *server, unsigned rank);
/* The environment of a rank: the launcher's, `settings` and what PMIx needs.
 * Returns owned (free with xyl_environment_destroy). */
int xyl_server_environment(xyl_server_t *server, unsigned rank,
                           char *const *settings, char ***env_out);
void xyl_environment_destroy(char **env);
/* Connects with the server as the rank whose environment this process has, and
 * exits. Returns only if it cannot connect. */
void xyl_server_come_and_go(void);

/* ---- children ---- */

typedef struct xyl_spawn {
    const char *path;
    char *const *argv;
    char *const *env;
    int fds[3];                  /* become descriptors 0, 1 and 2 */
    const cpu_set_t *processors; /* NULL: not bound */
    const xyl_inherited_t *inherited;
} xyl_spawn_t;

/* Looks a program up as the shell does. Returns owned (free with free). */
int xyl_program_find(const char *name, char **path_out);
/* Starts a process that leads a group of its own and dies with the launcher.
 * On return the program runs, or there is no process. */
int xyl_child_start(const xyl_spawn_t *spawn, pid_t *pid_out);

/* ---- stand-ins ---- */

/* A fence of the server (PMIx 4.2.2) ends when a rank is lost that has
 * connected and has not finalized. It waits for ever for a rank that has never
 * connected: a stand-in process connects in place of that rank, and exits. */

/* The only argument of a stand-in process; no option for users. */
#define XYL_STAND_IN "--stand-in"

int xyl_stand_in_start(xyl_server_t *server, unsigned rank,
                       const xyl_inherited_t *inherited, pid_t *pid_out);

/* ---- keeper ---- */

/* Starts the keeper. If this process is killed, the keeper kills the process
 * groups of ranks and removes the folder. Called while there is one thread. */
int xyl_keeper_start(const char *folder);
/* Tells the keeper that process `news` has been started as leader of a group,
 * or that the group of process -`news` has gone. */
void xyl_keeper_tell(pid_t news);
/* Ends the keeper: nothing is left to clean up. */
void xyl_keeper_leave(void);
/* Removes a folder with all its contents. */
void xyl_folder_remove(const char *path);

/* ---- output ---- */

typedef struct xyl_stream xyl_stream_t;

/* Standard output or standard error of the launcher. */
typedef struct xyl_sink {
    int fd;
    bool waits;     /* a write may block, so poll is asked before it */
    bool dangling;  /* a rank's last line lacks a newline; next text adds it */
    int error;      /* why no write is possible any more; 0: writes are */
    size_t written; /* bytes so far */
    struct evbuffer *queue;
    struct event *writable;
    xyl_stream_t *parked; /* streams that wait until the queue is shorter */
    void (*drained)(void *arg); /* called when the queue has become empty */
    void *arg;
} xyl_sink_t;

int xyl_sink_init(xyl_sink_t *sink, struct event_base *base, int fd);
void xyl_sink_fini(xyl_sink_t *sink);
bool xyl_sink_empty(const xyl_sink_t *sink);
/* Prints a line of the launcher itself. */
void xyl_sink_print(xyl_sink_t *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum { XYL_TAG_BYTES = 16 };

/* One of the two outputs of a rank. */
struct xyl_stream {
    int fd; /* -1: closed */
    struct event *readable;
    xyl_sink_t *sink;
    xyl_stream_t *parked_next;
    char tag[XYL_TAG_BYTES]; /* begins every line; may be "" */
    char *line;              /* the bytes so far of an unfinished line */
    size_t line_bytes;
    size_t left_bytes; /* to read before closing; SIZE_MAX: until the end */
    bool in_line;      /* the beginning of the line has been passed on */
    bool parked;
    void (*closed)(void *arg); /* called when the sink has got everything */
    void *arg;
};

/* Takes `fd`, also on failure. */
int xyl_stream_init(xyl_stream_t *stream, struct event_base *base, int fd,
                    xyl_sink_t *sink);
void xyl_stream_fini(xyl_stream_t *stream);
/* Passes on the bytes written up to now and closes, even if some process still
 * holds the other end. */
void xyl_stream_finish(xyl_stream_t *stream);

/* ---- job ---- */

typedef struct xyl_job xyl_job_t;

/* Creates the job, which handles signals from here on. Borrows the options
 * until xyl_job_destroy. Returns owned (free with xyl_job_destroy). */
int xyl_job_create(const xyl_options_t *options, xyl_job_t **job_out);
/* Starts the ranks and runs until all of them have ended and their output has
 * been passed on. Returns the exit code of the job. */
int xyl_job_run(xyl_job_t *job, xyl_server_t *server, const char *path,
                const cpu_set_t *processors);
/* NULL is allowed. */
void xyl_job_destroy(xyl_job_t *job);
