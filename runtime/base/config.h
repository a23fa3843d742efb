/* Settings: one table defines the names in files and environment, their
 * parsing, the output of xylem-info and docs/config.md. Each value is a
 * uint64_t; its type defines how it is read and written. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"
#include "runtime/base/config_file.h"
#include "runtime/base/config_types.h"

/* Values of XYLEM_PROGRESS. */
enum {
    XYL_PROGRESS_AUTO,
    XYL_PROGRESS_CALLER,
    XYL_PROGRESS_BLOCKING,
    XYL_PROGRESS_THREAD
};

/* Values of XYLEM_BOOTSTRAP. */
enum { XYL_BOOTSTRAP_AUTO, XYL_BOOTSTRAP_PMIX, XYL_BOOTSTRAP_SINGLE };

/* Values of XYLEM_REDUCE_ORDER. */
enum { XYL_ORDER_FIXED, XYL_ORDER_ARRIVAL, XYL_ORDER_REPRODUCIBLE };

/* Values of XYLEM_ARRIVALS; all others are the arrivals that rules name. */
enum { XYL_ARRIVALS_AUTO };

/* Values of XYLEM_SHM. */
enum { XYL_SHM_AUTO, XYL_SHM_OFF };

/* Values of XYLEM_CUDA_DIRECT. */
enum { XYL_DIRECT_AUTO, XYL_DIRECT_ON, XYL_DIRECT_OFF };

/* Values of XYLEM_MPI_CONNECT. */
enum { XYL_CONNECT_FIRST, XYL_CONNECT_INIT };

#define XYL_CONFIG_NO_CORE UINT64_MAX

/* A value of XYLEM_NODE_GROUPS; others are seats per group, 0 is off. */
#define XYL_CONFIG_GROUPS_AUTO UINT64_MAX

/* The value of a PATH or TEXT is the address of its text, 0 for none or auto.
 * The text lives as long as the environment, or until xyl_config_release. */

/* field, NAME, type, default, same on all ranks, audience, help. Settings for
 * EXPERTs help to find the cause of a problem. */
#define XYL_CONFIG_MAP(X)                                                      \
    X(log, LOG, LEVEL, "warn", 0, USER,                                        \
      "Messages on standard error: none, error, warn, info or debug.")         \
    X(verbose, VERBOSE, VERBOSE, "off", 0, USER,                               \
      "off; select prints which algorithm each operation takes, and why.")     \
    X(bootstrap, BOOTSTRAP, BOOTSTRAP, "auto", 0, USER,                        \
      "How ranks find each other: auto (PMIx under a launcher), pmix or "      \
      "single.")                                                               \
    X(net, NET, TEXT, "auto", 0, EXPERT,                                       \
      "What carries messages between ranks: auto (the first net that works) "  \
      "or the name of one, of those that xylem-info lists.")                   \
    X(progress, PROGRESS, PROGRESS, "auto", 0, USER,                           \
      "The thread that moves data: caller (the waiting thread, which "         \
      "spins), blocking (the waiting thread, which spins for a while and "     \
      "then sleeps), thread (a thread of the library), auto (blocking if "     \
      "ranks outnumber cores, else caller).")                                  \
    X(spin_us, SPIN_US, US, "1000", 0, USER,                                   \
      "Microseconds without work after which a waiting thread sleeps. It "     \
      "sleeps at once while other programs want its core.")                    \
    X(progress_core, PROGRESS_CORE, CORE, "any", 0, USER,                      \
      "Core to which the progress thread is bound: a number of the operating " \
      "system, or any.")                                                       \
    X(liveness_ms, LIVENESS_MS, MS, "100", 0, EXPERT,                          \
      "Milliseconds between two looks at the processes of this node. A dead"   \
      " process fails the operations in which it takes part. 0: no looks.")    \
    X(silence_s, SILENCE_S, S, "300", 0, EXPERT,                               \
      "Seconds without an answer after which a node counts as dead, with "     \
      "all its ranks: its machine is off, or cut off from the net. A "         \
      "process that is stopped or computes answers all the same. 0: no node"   \
      " counts as dead.")                                                      \
    X(stall_s, STALL_S, S, "10", 0, EXPERT,                                    \
      "Seconds without a message after which an operation of any team "        \
      "fails, if a process has died: a process that dies while it writes to"   \
      " shared memory can leave the memory blocked. 0: operations wait for "   \
      "ever.")                                                                 \
    X(hang_s, HANG_S, S, "0", 0, EXPERT,                                       \
      "Seconds without progress after which an operation fails on all ranks"   \
      " of its team (XYLEM_ERR_TIMED_OUT). 0: operations wait for ever.")      \
    X(hang_dump, HANG_DUMP, PATH, "none", 0, EXPERT,                           \
      "File, with the rank's number behind its name, to which each rank adds " \
      "what it waits for when an operation hangs (XYLEM_HANG_S) and when the " \
      "signal SIGUSR1 comes.")                                                 \
    X(timeout_s, TIMEOUT_S, S, "60", 0, USER,                                  \
      "Seconds after which creating or destroying a context gives up on "      \
      "ranks that do not answer.")                                             \
    X(pool_bytes, POOL_BYTES, BYTES, "256M", 0, EXPERT,                        \
      "Memory that is kept for further operations when one is freed.")         \
    X(cuda, CUDA, BOOL, "on", 0, USER,                                         \
      "Buffers may lie in memory of NVIDIA's GPUs. off: no buffer may, and "   \
      "the library looks at none.")                                            \
    X(cuda_direct, CUDA_DIRECT, DIRECT, "auto", 1, USER,                       \
      "GPUs read and write the buffers of a node's ranks where they lie: "     \
      "auto (if that pays; ranks ask each other in each call, from the "       \
      "first buffer in memory of a GPU on), on (in short calls, too; if one"   \
      " rank's buffers of a call lie in memory of GPUs, those of all ranks "   \
      "must, and ranks ask only in collectives with counts) or off (each "     \
      "rank copies its own buffers through the host's memory).")               \
    X(cuda_library, CUDA_LIBRARY, PATH, "none", 0, EXPERT,                     \
      "The library that does what CUDA does, opened at once; none: "           \
      "libxylem-cuda.so.0, beside libxylem or where the system finds it, "     \
      "once "                                                                  \
      "the program has loaded CUDA.")                                          \
    X(shm, SHM, SHM, "auto", 1, USER,                                          \
      "Shared memory for the ranks of a node: auto (where the system allows "  \
      "it) or off.")                                                           \
    X(noise_budget, NOISE_BUDGET, BUDGET, "0", 1, USER,                        \
      "Shared memory of a node in which ranks may run ahead of each other, "   \
      "of all its teams together, in bytes, at most 1T. The system gives it"   \
      " as it is used. 0: 32 MiB per rank of the largest node, from 512 MiB"   \
      " to 1.5 GiB.")                                                          \
    X(share_bytes, SHARE_BYTES, BYTES, "32K", 1, EXPERT,                       \
      "Input of at least this many bytes is read where it lies by the ranks "  \
      "of the node, if it is memory of xylem_alloc; 0: it is always copied.")  \
    X(node_groups, NODE_GROUPS, GROUPS, "auto", 1, EXPERT,                     \
      "Groups of ranks of a node, each with a leader, for the algorithm "      \
      "node_groups: auto (ranks that share a cache), off, or a number of "     \
      "neighbours.")                                                           \
    X(bypass_us, BYPASS_US, US, "200", 1, USER,                                \
      "Microseconds without anything new after which other ranks of the "      \
      "nodes take the place of leaders that are late or held up in a "         \
      "broadcast in levels; a hundred times as many if ranks share cores. "    \
      "0: never.")                                                             \
    X(detach_bytes, DETACH_BYTES, BYTES, "16K", 1, EXPERT,                     \
      "The least bytes of a broadcast or reduction that ends for a rank "      \
      "when its own part is done. The rank sends later what others have not"   \
      " taken yet, of at most XYLEM_NOISE_BUDGET bytes on a node. 0: no "      \
      "operation ends so early.")                                              \
    X(detach_copies, DETACH_COPIES, BOOL, "off", 0, EXPERT,                    \
      "Broadcasts along one tree detach also if ranks share no memory. This"   \
      " costs a copy of the message, and pays under noise on many nodes.")     \
    X(past_caches, PAST_CACHES, BYTES, "0", 0, EXPERT,                         \
      "An operation that writes at least this many bytes on a rank copies "    \
      "them past the caches; 0: an eighth of what a core has of them.")        \
    X(topology, TOPOLOGY, PATH, "none", 1, USER,                               \
      "A file of switches and the nodes below them, for trees between nodes"   \
      " that follow the network; docs/inside/levels.md says what stands in "   \
      "it. Its content must be equal.")                                        \
    X(segment_bytes, SEGMENT_BYTES, BYTES, "0", 1, USER,                       \
      "Bytes of a segment; 0 leaves the choice to the library.")               \
    X(send_window, SEND_WINDOW, WINDOW, "0", 1, EXPERT,                        \
      "N, the sends in flight to one peer (1 ... M); 0: the library's "        \
      "choice.")                                                               \
    X(recv_window, RECV_WINDOW, WINDOW, "0", 1, EXPERT,                        \
      "M, the receives posted from one peer (1 ... 64); 0: the library's "     \
      "choice.")                                                               \
    X(algorithms, ALGORITHMS, TEXT, "auto", 1, USER,                           \
      "Algorithms by collective, and by bytes if wanted: "                     \
      "\"bcast=knomial:4,allreduce@0-4K=recursive_doubling\"; the first that " \
      "fits a call is taken. docs/algorithms.md lists them.")                  \
    X(tuning, TUNING, PATH, "none", 1, USER,                                   \
      "A file of rules that come before those of the built-in table; "         \
      "docs/tuning.md says what stands in it. Its content must be equal. "     \
      "Unless it is set: xylem-tuning.json in the folder where the program "   \
      "runs, in ~/.config or in /etc, if all ranks find the same there.")      \
    X(tuning_learn, TUNING_LEARN, PATH, "none", 1, EXPERT,                     \
      "A file. Calls that follow each other often run in other ways now and"   \
      " then, and at its end each rank writes their times to FILE.RANK, for"   \
      " \"xylem-tune learn\". none: no call tries another way.")               \
    X(arrivals, ARRIVALS, ARRIVALS, "auto", 1, EXPERT,                         \
      "How ranks come to their calls, for tables that have rules for it: "     \
      "synchronised, random, late (one of them), or auto (what the table "     \
      "says was seen, else synchronised).")                                    \
    X(reduce_order, REDUCE_ORDER, ORDER, "fixed", 1, USER,                     \
      "Order in which reductions combine: fixed (equal calls give equal "      \
      "bits), arrival (each rank adds when it comes, and waits for fewer "     \
      "ranks; sums of floating-point numbers may differ from run to run) or"   \
      " reproducible (as arrival, and sums have the same bits in any order "   \
      "and on any number of nodes: docs/reproducible.md; operations without"   \
      " such a form go in a fixed order). Operations whose bits do not "       \
      "depend on the order always take that of arrival, and operations that"   \
      " do not commute never do.")                                             \
    X(mpi_collectives, MPI_COLLECTIVES, SELECTION, "auto", 0, USER,            \
      "Collectives that the binding for MPI takes over: auto (all), none, "    \
      "\"+bcast,-alltoall\" (all but what is taken out), \"bcast,reduce\" "    \
      "(these alone). Equal on all ranks.")                                    \
    X(mpi_connect, MPI_CONNECT, CONNECT, "first", 0, USER,                     \
      "When the binding for MPI connects the ranks: first (in the first call " \
      "that all of them make together and that blocks) or init. Equal on all " \
      "ranks.")                                                                \
    X(mpi_verbose, MPI_VERBOSE, BOOL, "off", 0, USER,                          \
      "on: rank 0 says in MPI_Finalize what was taken from the MPI library, "  \
      "what was left to it, and why.")                                         \
    X(mpi_report, MPI_REPORT, PATH, "none", 0, USER,                           \
      "A file that rank 0 writes in MPI_Finalize: the calls, bytes and times " \
      "of each collective of an MPI program, what was left to the MPI "        \
      "library, and why; xylem-report shows it. none: no report.")             \
    X(trace, TRACE, PATH, "none", 0, USER,                                     \
      "A file: each rank writes what it did to FILE.RANK when it ends, "       \
      "operations, segments and waits, as xylem-sim --trace does; "            \
      "xylem-report --trace puts those of all ranks together. none: no "       \
      "trace.")                                                                \
    X(trace_every, TRACE_EVERY, COUNT, "64", 0, EXPERT,                        \
      "After the first 16384 of a team, XYLEM_TRACE has one of so many short " \
      "blocking calls within a node that end without waiting, the same ones "  \
      "on all ranks; those in which a rank waits it has in any case. 1: all.") \
    X(conf, CONF, TEXT, "auto", 0, EXPERT,                                     \
      "Files of settings in place of /etc/xylem.conf and "                     \
      "~/.config/xylem.conf, separated by colons; none reads no file. In the " \
      "environment only.")

typedef struct xyl_config {
#define XYL_CONFIG_FIELD(field, name, type, preset, same, tier, help)          \
    uint64_t field;
    XYL_CONFIG_MAP(XYL_CONFIG_FIELD)
#undef XYL_CONFIG_FIELD
    char *content[XYL_CONFIG_FILES_MAX]; /* of files; texts point into it */
    char *settings;      /* copies of the caller's; texts point into them */
    int tuning_is_found; /* XYLEM_TUNING is not set, but a table was found */
} xyl_config_t;

/* One row of the table, for programs that print it. */
typedef struct xyl_config_row {
    const char *name; /* without XYLEM_ */
    const char *preset;
    const char *help;
    int same_on_all_ranks;
    int is_for_experts;
    size_t offset; /* of the uint64_t in xyl_config_t */
    const xyl_config_type_t *type;
} xyl_config_row_t;

size_t xyl_config_row_count(void);
const xyl_config_row_t *xyl_config_row(size_t index);

static inline uint64_t xyl_config_value(const xyl_config_t *config,
                                        const xyl_config_row_t *row)
{
    return *(const uint64_t *)(const void *)((const char *)config +
                                             row->offset);
}

/* The origin of a value: "default", "environment", "settings", or the path of a
 * file, with the number of the line. */
typedef struct xyl_config_origin {
    const char *from;
    unsigned line; /* 0: not from a file */
} xyl_config_origin_t;

/* Loads the defaults, then files, then the environment, then `settings`
 * ("NAME=value", ended by NULL); later values replace earlier ones. `files`,
 * `settings` and `origins`, one for each row, may be NULL. Unusable lines of
 * files and unknown XYLEM_ variables are skipped with a warning. An unknown
 * name in `settings`, or an unreadable value there or in the environment, fails
 * with XYLEM_ERR_CONFIG and a text; *config_out then has the numbers that could
 * be read, but its texts must not be used. Free with xyl_config_release. */
xylem_status_t xyl_config_load(const xyl_config_files_t *files,
                               const char *const *settings,
                               xyl_config_t *config_out,
                               xyl_config_origin_t *origins);
void xyl_config_release(const xyl_config_t *config);

/* Sets only the level of messages, so that it holds while the other settings
 * are read. xyl_config_load complains of an unreadable value. */
void xyl_config_apply_log(const xyl_config_files_t *files,
                          const char *const *settings);

/* "128K", "4M", "8": bytes. */
xylem_status_t xyl_config_parse_bytes(const char *text, uint64_t *value_out);
