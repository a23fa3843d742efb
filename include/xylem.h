/* xylem.h: event-driven collective communication.
 *
 * A collective is a stream of segments through a tree of ranks. Every
 * completion is an event that starts exactly the work which depends on it, so
 * a late rank holds up the ranks that need its data, and no other rank.
 *
 * Ownership words: *borrows* means that the caller keeps the object and leaves
 * it untouched until the operation completes; *returns owned* means that the
 * caller frees it with the named function.
 *
 * Threads: any thread may call any function. One thread at a time progresses a
 * context; a second thread that tries gets no work done, and no error. All
 * ranks of a team start its operations in the same order; if several threads
 * start operations on one team, the program orders them. A thread that calls
 * the library needs a stack of 64 KiB or more.
 *
 * Errors: every function that can fail returns a status and leaves its output
 * arguments untouched when it fails; xylem_last_error() then says in words what
 * was wrong. A rank on which a collective call fails in this way may make the
 * call again. The other ranks wait for that in their calls, and fail the team
 * after some seconds.
 *
 * Structures that the caller fills in begin with struct_bytes and grow from
 * release to release. XYLEM_COLL_ARGS_INIT and its like set struct_bytes, and
 * all other members to 0. Members and flags that this library does not know
 * must be 0 (XYLEM_ERR_UNSUPPORTED for a member, XYLEM_ERR_INVALID_ARG for a
 * flag). docs/interface.md says what holds between releases.
 *
 * Limits: a team has at most 2^20 ranks, and a rank is in at most 16,382 teams
 * of a context at a time; a context has at most 256 operations and 2^24 types
 * of the user's at a time; a message has at most 2^26 segments. Calls beyond
 * these limits are refused (XYLEM_ERR_NO_RESOURCE, XYLEM_ERR_INVALID_ARG). Only
 * memory limits requests, bytes and contexts.
 *
 * exit: nothing keeps a process from ending without xylem_context_destroy, but
 * the other ranks take it for dead. pthread_cancel: a thread in a call that
 * waits is cancelled when the call returns; a thread in any other call must not
 * be cancelled.
 *
 * fork: the child may neither call the library nor free what the library has
 * returned; it may exec or _exit. The parent goes on as before. Parent and
 * child share the memory of xylem_alloc; the child has a copy of all other
 * memory.
 */
#ifndef XYLEM_H
#define XYLEM_H

#include <stddef.h>
#include <stdint.h>

/* xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT: all members 0, but for the
 * size; the same for the other structures that have one. */
#ifdef __cplusplus
template <class T> inline T xylem_init_()
{
    T value = T();
    value.struct_bytes = sizeof value;
    return value;
}
#define XYLEM_INIT_(type) xylem_init_<type>()
extern "C" {
#else
/* clang-format off */
#define XYLEM_INIT_(type) {.struct_bytes = sizeof(type)}
/* clang-format on */
#endif

#define XYLEM_VERSION_MAJOR 0
#define XYLEM_VERSION_MINOR 1
#define XYLEM_VERSION_PATCH 0

/* ------------------------------------------------------------------------ */
/* Status                                                                   */

/* Every status: name, value, text. */
#define XYLEM_STATUS_MAP(X)                                                    \
    X(OK, 0, "success")                                                        \
    X(IN_PROGRESS, 1, "not finished yet")                                      \
    X(ERR_INVALID_ARG, 2, "an argument is out of its range")                   \
    X(ERR_INVALID_HANDLE, 3, "the handle is null, freed or of another kind")   \
    X(ERR_NO_MEMORY, 4, "out of memory")                                       \
    X(ERR_NO_RESOURCE, 5, "a limit of the library is exhausted")               \
    X(ERR_UNSUPPORTED, 6, "this combination is not supported")                 \
    X(ERR_BUSY, 7, "the object is still in use by an operation")               \
    X(ERR_IN_CALLBACK, 8, "a callback must not block")                         \
    X(ERR_CONFIG, 9, "a setting has a value that cannot be used")              \
    X(ERR_VERSION, 10, "the ranks run different versions or settings")         \
    X(ERR_BOOTSTRAP, 11, "the ranks could not find each other")                \
    X(ERR_NET, 12, "the network reported an error")                            \
    X(ERR_TRUNCATED, 13, "a message was longer than its buffer")               \
    X(ERR_PROC_FAILED, 14, "a process of the team has died")                   \
    X(ERR_CANCELED, 15, "the operation was canceled")                          \
    X(ERR_TIMED_OUT, 16, "the time limit has passed")                          \
    X(ERR_INTERNAL, 17, "an error of the library itself")                      \
    X(ERR_MISMATCH, 18, "the ranks of the team have made different calls")     \
    X(ERR_REVOKED, 19, "a rank has revoked the team")                          \
    X(ERR_ABORTED, 20, "a rank has given the team up")

typedef enum xylem_status {
#define XYLEM_STATUS_ENUM(name, value, text) XYLEM_##name = (value),
    XYLEM_STATUS_MAP(XYLEM_STATUS_ENUM)
#undef XYLEM_STATUS_ENUM
} xylem_status_t;

/* "XYLEM_ERR_NET" and "the network reported an error"; static strings, also
 * for values that are no status. */
const char *xylem_status_name(xylem_status_t status);
const char *xylem_status_text(xylem_status_t status);

/* Says what was wrong in the last call of this thread that failed; "" if none
 * has failed. The text belongs to the library and changes with the next
 * failure. */
const char *xylem_last_error(void);

/* "0.1.0"; a static string. */
const char *xylem_version(void);

/* Sends the messages that XYLEM_LOG lets pass to `fn`, for all contexts of the
 * process; NULL: to standard error again. `level` is "error", "warning",
 * "info", "debug" or, for messages of XYLEM_VERBOSE, "note"; `text` is a line
 * without its end. Any thread inside the library calls `fn` at any time, also
 * several threads at once; `fn` must not call the library. When xylem_log_set
 * returns, calls of the previous function may still be under way. If several
 * ranks have equal messages while they create a context, only the lowest of
 * these ranks sends them. */
typedef void (*xylem_log_fn)(void *arg, const char *level, const char *text);
void xylem_log_set(xylem_log_fn fn, void *arg);

/* ------------------------------------------------------------------------ */
/* Context                                                                  */

typedef struct xylem_context xylem_context_t;
typedef struct xylem_team xylem_team_t;
typedef struct xylem_request xylem_request_t;

/* How the ranks of a job find each other, for callers with a means of their
 * own. Called only inside xylem_context_create and xylem_context_destroy, on
 * the calling thread. */
typedef struct xylem_bootstrap {
    size_t struct_bytes; /* sizeof(xylem_bootstrap_t) */
    uint32_t rank;       /* of the caller, 0 ... ranks - 1 */
    uint32_t ranks;
    /* Gathers `bytes` bytes of every rank, in rank order, into `all`
     * (ranks * bytes). Blocks. Any status but XYLEM_OK fails the call. */
    xylem_status_t (*allgather)(void *arg, const void *mine, void *all,
                                size_t bytes);
    void *arg;
} xylem_bootstrap_t;
#define XYLEM_BOOTSTRAP_INIT XYLEM_INIT_(xylem_bootstrap_t)

typedef struct xylem_context_params {
    size_t struct_bytes; /* sizeof(xylem_context_params_t) */
    /* Borrowed during the call; NULL: PMIx when a launcher provides it, a job
     * of one rank otherwise. */
    const xylem_bootstrap_t *bootstrap;
    /* "NAME=value" strings ended by NULL, as in the environment but without
     * the XYLEM_ prefix. They overrule the environment, which overrules the
     * files xylem.conf in /etc and ~/.config. Borrowed during the call; may be
     * NULL. */
    const char *const *settings;
} xylem_context_params_t;
#define XYLEM_CONTEXT_PARAMS_INIT XYLEM_INIT_(xylem_context_params_t)

/* Creates the library's state in this process and connects it with the other
 * ranks of the job. Collective over the job; blocks. `params` may be NULL.
 * Returns owned (free with xylem_context_destroy). XYLEM_ERR_PROC_FAILED: a
 * rank has died or ended before its context was made, and the launcher lets the
 * others live and tells them so (xylem-run --no-kill).
 *
 * Descriptors 0 to 2 that are closed become /dev/null, and stay so. Otherwise a
 * connection could get one of these numbers, and what the program prints would
 * go to the connection. For the same reason a program that closes one of them
 * later must open another file in its place at once. */
xylem_status_t xylem_context_create(const xylem_context_params_t *params,
                                    xylem_context_t **context_out);

/* Completes requests with XYLEM_FLAG_AUTOFREE and lets callbacks return, waits
 * for the other ranks, and releases everything: teams, memory, requests that
 * are idle or have completed. Collective over the job; blocks. NULL is allowed.
 * XYLEM_ERR_IN_CALLBACK inside a callback. XYLEM_ERR_BUSY, and the context
 * stays: a request without XYLEM_FLAG_AUTOFREE is active; a request with it is
 * still active after XYLEM_TIMEOUT_S; a remote task has not ended; or a
 * resident kernel was not destroyed. */
xylem_status_t xylem_context_destroy(xylem_context_t *context);

/* Writes the value of a setting, such as "SPIN_US", that a context without
 * settings of its own would take if it were created now: from files, the
 * environment, or the default. docs/config.md lists all settings. Writes at
 * most `bytes` bytes with the final 0; XYLEM_ERR_TRUNCATED: the value is
 * longer. XYLEM_ERR_CONFIG: some value in the environment cannot be used.
 * xylem_context_create logs all that is wrong with settings; this function does
 * not. Any thread. */
xylem_status_t xylem_setting_get(const char *name, char *text, size_t bytes);

/* One turn of the engine: net, sources, ready handlers, timers, callbacks.
 * Returns the number of things done; 0 also if another thread runs turns. */
unsigned xylem_progress(xylem_context_t *context);

/* The team of all ranks of the job; belongs to the context. */
xylem_team_t *xylem_context_world(xylem_context_t *context);

/* Allocates memory that the ranks of a node can read where it lies, so that
 * collectives with buffers in it save a copy. Without shared memory (XYLEM_SHM,
 * or none is left) it is ordinary memory; collectives take both. Aligned to 64
 * bytes, from 2 MiB on to pages; its contents are undefined; 0 bytes are
 * allowed. A forked child shares it. Returns owned (free with xylem_free). Any
 * thread may call these two functions, also in callbacks. */
xylem_status_t xylem_alloc(xylem_context_t *context, size_t bytes,
                           void **memory_out);

/* No operation that uses the memory may be in flight. The end of the context
 * frees memory that is left. NULL is allowed. XYLEM_ERR_INVALID_ARG:
 * xylem_alloc has not returned this address for this context, or it has been
 * freed. */
xylem_status_t xylem_free(xylem_context_t *context, void *memory);

/* ------------------------------------------------------------------------ */
/* Team                                                                     */

#define XYLEM_COLOR_NONE UINT32_MAX /* take part in a split, get no team */

uint32_t xylem_team_rank(const xylem_team_t *team); /* UINT32_MAX: no team */
uint32_t xylem_team_size(const xylem_team_t *team); /* 0: no team */

/* Where a rank of a team sits, as hwloc sees it. UINT32_MAX: unknown. */
typedef struct xylem_place {
    uint32_t node; /* nodes are numbered by their lowest rank in the job */
    uint32_t socket;
    uint32_t numa;
    uint32_t l3;
    uint32_t core;
} xylem_place_t;
xylem_status_t xylem_team_place(const xylem_team_t *team, uint32_t rank,
                                xylem_place_t *place_out);

/* New teams out of an old one. Each is collective over `parent`; the i-forms
 * return at once and write *team_out when their request completes.
 * dup:    the same ranks.
 * subset: the ranks listed, in that order; the same list on every rank of the
 *         parent; ranks that are not in it get NULL.
 * split:  one team per color, ordered by (key, rank in parent);
 *         XYLEM_COLOR_NONE gets NULL.
 * Returns owned (free with xylem_team_destroy). `ranks` is borrowed during the
 * call only. */
xylem_status_t xylem_team_dup(xylem_team_t *parent, xylem_team_t **team_out);
xylem_status_t xylem_team_subset(xylem_team_t *parent, const uint32_t *ranks,
                                 uint32_t count, xylem_team_t **team_out);
xylem_status_t xylem_team_split(xylem_team_t *parent, uint32_t color,
                                uint32_t key, xylem_team_t **team_out);
xylem_status_t xylem_team_idup(xylem_team_t *parent, xylem_team_t **team_out,
                               xylem_request_t **request_out);
xylem_status_t xylem_team_isubset(xylem_team_t *parent, const uint32_t *ranks,
                                  uint32_t count, xylem_team_t **team_out,
                                  xylem_request_t **request_out);
xylem_status_t xylem_team_isplit(xylem_team_t *parent, uint32_t color,
                                 uint32_t key, xylem_team_t **team_out,
                                 xylem_request_t **request_out);

/* Makes a team without a parent, by ranks that reach each other by other means.
 * Each rank draws a ticket, tells it to the others, and then makes the team of
 * all tickets, which all ranks pass in the same order; tickets[rank] is the
 * rank's own. A ticket is good for one team. A rank that makes no team of its
 * ticket, or whose xylem_team_create fails, returns the ticket with
 * xylem_ticket_return. Returns owned, as above. Any thread. */
typedef struct xylem_ticket {
    uint32_t word[4];
} xylem_ticket_t;
xylem_status_t xylem_ticket_draw(xylem_context_t *context,
                                 xylem_ticket_t *ticket_out);
xylem_status_t xylem_ticket_return(xylem_context_t *context,
                                   const xylem_ticket_t *ticket);
xylem_status_t xylem_team_create(xylem_context_t *context,
                                 const xylem_ticket_t *tickets, uint32_t count,
                                 uint32_t rank, xylem_team_t **team_out);

/* Gives the handle up; does not communicate and does not block. The team stays
 * until its operations in flight have completed. NULL is allowed; the world
 * team and a team with persistent requests are refused (XYLEM_ERR_BUSY). */
xylem_status_t xylem_team_destroy(xylem_team_t *team);

/* A team fails as a whole and for good: when an operation fails on any of its
 * ranks, when the process of one dies, or when a rank says so. Then the
 * operations under way on the team fail on every rank with the same status, and
 * each operation that is started later fails at once; xylem_last_error names
 * the cause. A rank that has done its part of an operation before it hears of
 * the failure has completed the operation. If a team fails twice at once, each
 * rank has the failure that it heard of first. Other teams go on.
 *
 * error:  XYLEM_OK, or the status with which the team has failed; *rank_out
 *         (may be NULL): the rank that has caused the failure, UINT32_MAX if it
 *         is no rank of the team.
 * abort:  fails the team on all ranks with XYLEM_ERR_ABORTED and a text, whose
 *         first 100 bytes reach them; the text is borrowed during the call.
 * revoke: the same with XYLEM_ERR_REVOKED, as the first step of a recovery.
 * The last two return at once; any thread may call them, also in callbacks. */
xylem_status_t xylem_team_error(const xylem_team_t *team, uint32_t *rank_out);
xylem_status_t xylem_team_abort(xylem_team_t *team, const char *why);
xylem_status_t xylem_team_revoke(xylem_team_t *team);

/* Calls for the ranks that live, also of a team that has failed. All living
 * ranks make these calls, in the same order. The calls block, and go on if
 * ranks die meanwhile.
 *
 * agree:  *flags becomes the bitwise and of the values that all ranks have
 *         passed; values of ranks that have died may be missing. All living
 *         ranks get the same result.
 * shrink: a team of the ranks that live, in their order. All of them get it.
 *         Returns owned (free with xylem_team_destroy). XYLEM_ERR_PROC_FAILED:
 *         the others take this rank for dead.
 * XYLEM_ERR_IN_CALLBACK inside a callback. runtime/faults/agreement.h describes
 * the method, a rotating coordinator. */
xylem_status_t xylem_team_agree(xylem_team_t *team, uint32_t *flags);
xylem_status_t xylem_team_shrink(xylem_team_t *team, xylem_team_t **team_out);

/* Writes up to `capacity` ranks of the team whose processes have died, and
 * how many there are in all. */
xylem_status_t xylem_team_failed(const xylem_team_t *team, uint32_t *ranks,
                                 uint32_t capacity, uint32_t *count_out);

/* ------------------------------------------------------------------------ */
/* Types and operations                                                     */

/* Predefined types: name, C type. The pairs are laid out as C structures of
 * {value, int}, for MINLOC and MAXLOC. FLOAT16 is IEEE 754's binary16, BFLOAT16
 * the upper half of a FLOAT32, both stored as uint16_t; each operation on them
 * is one on FLOAT32 whose result is rounded to nearest, ties to even. */
typedef uint32_t xylem_type_t;
enum {
    XYLEM_BYTE, /* uint8_t, for data without arithmetic; has bitwise logic */
    XYLEM_INT8,
    XYLEM_INT16,
    XYLEM_INT32,
    XYLEM_INT64,
    XYLEM_UINT8,
    XYLEM_UINT16,
    XYLEM_UINT32,
    XYLEM_UINT64,
    XYLEM_FLOAT32,
    XYLEM_FLOAT64,
    XYLEM_LONG_DOUBLE,
    XYLEM_COMPLEX_FLOAT32,
    XYLEM_COMPLEX_FLOAT64,
    XYLEM_COMPLEX_LONG_DOUBLE,
    XYLEM_BOOL, /* _Bool */
    XYLEM_PAIR_INT16_INT,
    XYLEM_PAIR_INT32_INT,
    XYLEM_PAIR_INT64_INT,
    XYLEM_PAIR_FLOAT32_INT,
    XYLEM_PAIR_FLOAT64_INT,
    XYLEM_PAIR_LONG_DOUBLE_INT,
    XYLEM_FLOAT16,
    XYLEM_BFLOAT16,
    XYLEM_TYPE_COUNT
};
/* An element of `bytes` opaque bytes (1 ... 2^31 - 1), for broadcasts and
 * operations of the user. */
#define XYLEM_TYPE_BLOCK(bytes) ((xylem_type_t)(UINT32_C(0x80000000) | (bytes)))

/* Bytes of one element of a predefined type or a block; 0 for all else. */
size_t xylem_type_bytes(xylem_type_t type);

/* "float64", "pair_int32_int", "block"; static strings. NULL: a type of the
 * user's, or none. */
const char *xylem_type_name(xylem_type_t type);

/* A type of the user's says where the data of an element lie: the bytes of all
 * its parts, one part after the other. The data travel in this order, without
 * the gaps. Element k of a buffer begins k * extent bytes behind the buffer's
 * address. Parts may lie before the element's address, and may touch; in a
 * buffer that is only read they may overlap. An element that is combined has at
 * most 2^31 - 1 bytes. */
typedef struct xylem_type_part {
    int64_t offset; /* bytes from the element's address to the first one */
    uint64_t count; /* elements of `type`, its extent apart */
    xylem_type_t type;
} xylem_type_part_t;

/* The extent from the beginning of the lowest element of the parts to the end
 * of the highest. An element ends where its own extent ends. */
#define XYLEM_EXTENT_AUTO INT64_MIN

/* New types; the handle is good for this context only.
 * create:     any parts; parts_count 0: a type without data. To give a type
 *             another extent, pass the type as the only part.
 * contiguous: `count` elements, their extent apart.
 * vector:     `count` blocks of block_count elements, stride_bytes from the
 *             beginning of one to that of the next.
 * indexed:    counts[i] elements at offsets_bytes[i], for each i below `n`.
 * Arrays are borrowed during the call only. XYLEM_ERR_INVALID_ARG: something
 * does not fit into 63 bits; XYLEM_ERR_NO_RESOURCE: there are more than 2^24
 * blocks that follow no pattern. Types made of others, and requests, keep what
 * they need of them: any type may be destroyed as soon as the call that names
 * it has returned. */
xylem_status_t xylem_type_create(xylem_context_t *context,
                                 const xylem_type_part_t *parts,
                                 size_t parts_count, int64_t extent,
                                 xylem_type_t *type_out);
xylem_status_t xylem_type_contiguous(xylem_context_t *context, uint64_t count,
                                     xylem_type_t type, xylem_type_t *type_out);
xylem_status_t xylem_type_vector(xylem_context_t *context, uint64_t count,
                                 uint64_t block_count, int64_t stride_bytes,
                                 xylem_type_t type, xylem_type_t *type_out);
xylem_status_t xylem_type_indexed(xylem_context_t *context, size_t n,
                                  const uint64_t *counts,
                                  const int64_t *offsets_bytes,
                                  xylem_type_t type, xylem_type_t *type_out);
xylem_status_t xylem_type_destroy(xylem_context_t *context, xylem_type_t type);

/* For any type, the bytes of an element that are data, and its extent. Either
 * output may be NULL. */
xylem_status_t xylem_type_query(xylem_context_t *context, xylem_type_t type,
                                uint64_t *bytes_out, int64_t *extent_out);

typedef uint32_t xylem_op_t;
enum {
    XYLEM_SUM,
    XYLEM_PROD,
    XYLEM_MIN,
    XYLEM_MAX,
    XYLEM_LAND,
    XYLEM_LOR,
    XYLEM_LXOR,
    XYLEM_BAND,
    XYLEM_BOR,
    XYLEM_BXOR,
    XYLEM_MINLOC,
    XYLEM_MAXLOC,
    XYLEM_OP_COUNT
};

/* "sum", "minloc"; static strings. NULL: an operation of the user's, or none.
 */
const char *xylem_op_name(xylem_op_t op);

/* result[i] = left[i] op right[i] for `count` elements. `left` stands for the
 * lower ranks. `result` may be the address of `left` or of `right`. Runs on
 * the progressing thread and must not call the library. */
typedef void (*xylem_op_fn)(void *result, const void *left, const void *right,
                            size_t count, void *arg);
#define XYLEM_OP_COMMUTATIVE 1u

/* Creates an operation of the user's, which must be associative. With
 * XYLEM_OP_COMMUTATIVE, ranks may be combined in any order, without it in rank
 * order. Free with xylem_op_destroy, after every request that names it has been
 * freed. */
xylem_status_t xylem_op_create(xylem_context_t *context, xylem_op_fn fn,
                               void *arg, uint32_t flags, xylem_op_t *op_out);
xylem_status_t xylem_op_destroy(xylem_context_t *context, xylem_op_t op);

/* ------------------------------------------------------------------------ */
/* Collectives                                                              */

/* A *block* is what one rank sends to one rank. */
typedef enum xylem_coll {
    XYLEM_COLL_BCAST,
    XYLEM_COLL_REDUCE,
    XYLEM_COLL_ALLREDUCE,
    XYLEM_COLL_BARRIER,
    XYLEM_COLL_GATHER,
    XYLEM_COLL_GATHERV,
    XYLEM_COLL_SCATTER,
    XYLEM_COLL_SCATTERV,
    XYLEM_COLL_ALLGATHER,
    XYLEM_COLL_ALLGATHERV,
    XYLEM_COLL_ALLTOALL,
    XYLEM_COLL_ALLTOALLV,
    XYLEM_COLL_ALLTOALLW,
    XYLEM_COLL_REDUCE_SCATTER,
    XYLEM_COLL_REDUCE_SCATTER_BLOCK,
    XYLEM_COLL_SCAN,
    XYLEM_COLL_EXSCAN,
    XYLEM_COLL_NEIGHBOR_ALLGATHER,
    XYLEM_COLL_COUNT
} xylem_coll_t;

/* "bcast", "reduce_scatter_block": as in settings and the names of the calls;
 * a static string. NULL: there is no such collective. */
const char *xylem_coll_name(xylem_coll_t coll);

/* In place. XYLEM_IN_PLACE as `send`: this rank's input lies in `recv`, in the
 * place of the result, or of the rank's block in the result. It is allowed for
 * allreduce, allgather(v), alltoall(v, w), reduce_scatter(_block), scan,
 * exscan, and for the root of reduce and gather(v). XYLEM_IN_PLACE_RECV as
 * `recv`, for the root of scatter(v): its block stays where it is in `send`. */
#define XYLEM_IN_PLACE      ((const void *)1)
#define XYLEM_IN_PLACE_RECV ((void *)1)

/* All callbacks run on the progressing thread, never inside the call that
 * starts the operation and never with a lock held. They may start operations,
 * restart or free their own request, and release segments; they must not
 * block. A request has completed when its on_complete is called; see Requests
 * for what any thread may do from then on. */
typedef void (*xylem_complete_fn)(void *arg, xylem_status_t status);
/* Segment `segment`, bytes [offset, offset + bytes) of the data of the result,
 * is final on this rank. For bcast, reduce and allreduce, on ranks that have a
 * result; refused with other collectives. Called once per segment and start, in
 * any order, before on_complete; a message without bytes has no segment.
 * docs/interface.md says which algorithms cut a message into several
 * segments. */
typedef void (*xylem_segment_fn)(void *arg, uint64_t segment, size_t offset,
                                 size_t bytes);

/* The caller releases each segment of its input with xylem_segment_ready(). For
 * the root of a bcast (other ranks may set it, too), and for all ranks of a
 * reduce and an allreduce; refused with other collectives, and if request_out
 * is NULL. */
#define XYLEM_FLAG_PARTS 1u
/* The request frees itself once on_complete has returned. Its handle is good
 * for any thread until on_complete is called, then inside on_complete only. */
#define XYLEM_FLAG_AUTOFREE 2u
/* A commutative reduction may combine contributions as they arrive; the result
 * of floating-point sums may then differ from run to run. Equal on all ranks of
 * a call. Refused with collectives that combine nothing. */
#define XYLEM_FLAG_ARRIVAL_ORDER 4u
/* The result's bits depend on the contributions alone: neither on the order in
 * which they are combined, nor on how many ranks bring how many zeros, nor on
 * how ranks lie on nodes, nor on the algorithm. For sums, minima and maxima of
 * XYLEM_FLOAT16, BFLOAT16, FLOAT32 and FLOAT64, and for sums of COMPLEX_FLOAT32
 * and COMPLEX_FLOAT64, of up to 65,536 ranks; and for operations whose bits
 * never depend on the order (on integers, logical and bitwise). Refused with
 * XYLEM_ERR_UNSUPPORTED for other operations, such as products of
 * floating-point numbers, and with collectives that combine nothing.
 * docs/reproducible.md says how exact sums are. Equal on all ranks of a
 * call. */
#define XYLEM_FLAG_REPRODUCIBLE 8u

/* The members of each collective. Buffers and arrays are borrowed until the
 * request is freed.
 *
 *   bcast                      recv: the buffer; count: of the message
 *   reduce                     send; recv at the root; count
 *   allreduce, scan, exscan    send, recv; count
 *   reduce_scatter_block       send: a block per rank; recv: one; count: of it
 *   reduce_scatter             the same; recv_counts: of each
 *   gather, allgather          send: one block; recv: one per rank; count
 *   scatter                    send at the root: one per rank; recv: one; count
 *   alltoall                   send, recv: one per rank; count
 *   gatherv, allgatherv        count: of this rank's block; recv_counts,
 *                              recv_displs (gatherv: at the root)
 *   scatterv                   send_counts, send_displs at the root; count: of
 *                              this rank's block
 *   alltoallv                  all four arrays
 *   alltoallw                  the same, displacements in bytes, and both
 *                              arrays of types
 *   neighbor_allgather         send: one block, for all of destinations; recv:
 *                              one of each of sources, in their order; count
 *
 * count and type describe both sides of a message. If the receiving side
 * describes the same bytes by another type, it sets recv_count and recv_type
 * (recv_count 0: it does not). Displacements count elements from the beginning
 * of the buffer; NULL: blocks lie one behind the other. A bcast is cut by bytes
 * alone, as its ranks may have different types of the same bytes.
 *
 * Neighbours: every rank of the team makes the call. It names the ranks with
 * which it exchanges blocks, by their ranks in the team: only its own
 * neighbours, of which there may be none. A rank names another one among its
 * sources if and only if that one names it among its destinations. Each
 * received block has the length that recv_count gives, which may differ from
 * the length of the block that the rank sends. UINT32_MAX stands for nobody: at
 * the border of a grid a block stays as it is. A rank that is named several
 * times is sent one message, and its block goes to each of its places. A rank
 * that names itself does so in both lists. Buffers of a rank without
 * destinations, or without sources, may be NULL.
 *
 * The library need not notice lists that contradict each other. A rank that
 * waits for a block which its source does not send may wait until the context's
 * end, get the block that the source has for others, or get an error. A block
 * that nobody takes is kept until the context's end (on a node in its ranks'
 * shared memory), and may hold up its sender. */
typedef struct xylem_coll_args {
    size_t struct_bytes; /* sizeof(xylem_coll_args_t) */
    xylem_coll_t coll;
    uint32_t flags;
    const void *send;
    void *recv;
    size_t count; /* elements */
    xylem_type_t type;
    xylem_op_t op;
    uint32_t root;
    size_t recv_count;
    xylem_type_t recv_type;
    const uint64_t *send_counts, *recv_counts;
    const uint64_t *send_displs, *recv_displs;
    const xylem_type_t *send_types, *recv_types;
    xylem_complete_fn on_complete; /* may be NULL */
    xylem_segment_fn on_segment;   /* may be NULL */
    void *arg;                     /* handed to both */
    /* Tuning; 0 leaves the choice to the library. Equal on all ranks of a call,
     * as are the algorithm, the flags of an order, and the recv_counts of an
     * allgatherv or a reduce_scatter (in bytes). If ranks differ in one of
     * these, the team fails as if they had called different collectives
     * (XYLEM_ERR_MISMATCH), once a rank has waited in the call or in a later
     * one. */
    size_t segment_bytes;
    uint32_t send_window; /* N: sends in flight to a peer, 1 ... recv_window */
    uint32_t recv_window; /* M: receives posted from a peer, 1 ... 64 */
    /* "ring", "bruck:4", "knomial:4": an algorithm or a tree by name, with its
     * number where it takes one, in the same words on all ranks; NULL or "auto"
     * leaves the choice to the library. `xylem-bench --algorithm list` has all.
     */
    const char *algorithm;
    /* Of a neighbor_allgather: ranks, or UINT32_MAX. */
    const uint32_t *destinations, *sources;
    uint32_t destination_count, source_count;
    /* Seconds without any event after which the operation fails, on all ranks
     * (XYLEM_ERR_TIMED_OUT). 0: those of XYLEM_HANG_S; unless that is set, the
     * operation has no limit. */
    uint32_t limit_s;
    /* 0: the call matches the other ranks' calls by the order in which a team's
     * calls are made (or started, if persistent). This order must be the same
     * on all ranks. 1 to XYLEM_TAG_MAX: the call matches the other ranks' calls
     * with this tag, in whatever order calls with other tags, or without a tag,
     * are made. While a call with a tag is under way on this rank, another call
     * with the same tag is refused (XYLEM_ERR_BUSY). On a team of one node
     * calls with tags go through the node's memory, as other calls do, as long
     * as no more than 1,024 tags are in use; on a team of several nodes they go
     * over the net, without levels. A tag is in use from its first call on. A
     * tag that only requests of xylem_coll_init have had is in use until all
     * ranks have freed these requests. */
    uint32_t tag;
} xylem_coll_args_t;
#define XYLEM_TAG_MAX        65535
#define XYLEM_COLL_ARGS_INIT XYLEM_INIT_(xylem_coll_args_t)

/* Blocking. Arguments as in xylem_coll_args_t, with one type on both sides;
 * xylem_coll_start takes all other arguments, too. */
xylem_status_t xylem_barrier(xylem_team_t *team);
xylem_status_t xylem_bcast(xylem_team_t *team, void *buf, size_t count,
                           xylem_type_t type, uint32_t root);
xylem_status_t xylem_reduce(xylem_team_t *team, const void *send, void *recv,
                            size_t count, xylem_type_t type, xylem_op_t op,
                            uint32_t root);
xylem_status_t xylem_allreduce(xylem_team_t *team, const void *send, void *recv,
                               size_t count, xylem_type_t type, xylem_op_t op);
xylem_status_t xylem_scan(xylem_team_t *team, const void *send, void *recv,
                          size_t count, xylem_type_t type, xylem_op_t op);
xylem_status_t xylem_exscan(xylem_team_t *team, const void *send, void *recv,
                            size_t count, xylem_type_t type, xylem_op_t op);
xylem_status_t xylem_reduce_scatter_block(xylem_team_t *team, const void *send,
                                          void *recv, size_t count,
                                          xylem_type_t type, xylem_op_t op);
xylem_status_t xylem_reduce_scatter(xylem_team_t *team, const void *send,
                                    void *recv, const uint64_t *counts,
                                    xylem_type_t type, xylem_op_t op);
xylem_status_t xylem_gather(xylem_team_t *team, const void *send, void *recv,
                            size_t count, xylem_type_t type, uint32_t root);
xylem_status_t xylem_scatter(xylem_team_t *team, const void *send, void *recv,
                             size_t count, xylem_type_t type, uint32_t root);
xylem_status_t xylem_allgather(xylem_team_t *team, const void *send, void *recv,
                               size_t count, xylem_type_t type);
xylem_status_t xylem_alltoall(xylem_team_t *team, const void *send, void *recv,
                              size_t count, xylem_type_t type);
xylem_status_t xylem_gatherv(xylem_team_t *team, const void *send, size_t count,
                             void *recv, const uint64_t *counts,
                             const uint64_t *displs, xylem_type_t type,
                             uint32_t root);
xylem_status_t xylem_scatterv(xylem_team_t *team, const void *send,
                              const uint64_t *counts, const uint64_t *displs,
                              void *recv, size_t count, xylem_type_t type,
                              uint32_t root);
xylem_status_t xylem_allgatherv(xylem_team_t *team, const void *send,
                                size_t count, void *recv,
                                const uint64_t *counts, const uint64_t *displs,
                                xylem_type_t type);
xylem_status_t xylem_alltoallv(xylem_team_t *team, const void *send,
                               const uint64_t *send_counts,
                               const uint64_t *send_displs, void *recv,
                               const uint64_t *recv_counts,
                               const uint64_t *recv_displs, xylem_type_t type);
xylem_status_t xylem_alltoallw(xylem_team_t *team, const void *send,
                               const uint64_t *send_counts,
                               const uint64_t *send_displs,
                               const xylem_type_t *send_types, void *recv,
                               const uint64_t *recv_counts,
                               const uint64_t *recv_displs,
                               const xylem_type_t *recv_types);
xylem_status_t xylem_neighbor_allgather(xylem_team_t *team, const void *send,
                                        const uint32_t *destinations,
                                        uint32_t destination_count, void *recv,
                                        const uint32_t *sources,
                                        uint32_t source_count, size_t count,
                                        xylem_type_t type);

/* Nonblocking: buffers and arrays are borrowed until the request is freed.
 * Returns owned (free with xylem_request_free). */
xylem_status_t xylem_ibarrier(xylem_team_t *team,
                              xylem_request_t **request_out);
xylem_status_t xylem_ibcast(xylem_team_t *team, void *buf, size_t count,
                            xylem_type_t type, uint32_t root,
                            xylem_request_t **request_out);
xylem_status_t xylem_ireduce(xylem_team_t *team, const void *send, void *recv,
                             size_t count, xylem_type_t type, xylem_op_t op,
                             uint32_t root, xylem_request_t **request_out);
xylem_status_t xylem_iallreduce(xylem_team_t *team, const void *send,
                                void *recv, size_t count, xylem_type_t type,
                                xylem_op_t op, xylem_request_t **request_out);
xylem_status_t xylem_iscan(xylem_team_t *team, const void *send, void *recv,
                           size_t count, xylem_type_t type, xylem_op_t op,
                           xylem_request_t **request_out);
xylem_status_t xylem_iexscan(xylem_team_t *team, const void *send, void *recv,
                             size_t count, xylem_type_t type, xylem_op_t op,
                             xylem_request_t **request_out);
xylem_status_t xylem_ireduce_scatter_block(xylem_team_t *team, const void *send,
                                           void *recv, size_t count,
                                           xylem_type_t type, xylem_op_t op,
                                           xylem_request_t **request_out);
xylem_status_t xylem_ireduce_scatter(xylem_team_t *team, const void *send,
                                     void *recv, const uint64_t *counts,
                                     xylem_type_t type, xylem_op_t op,
                                     xylem_request_t **request_out);
xylem_status_t xylem_igather(xylem_team_t *team, const void *send, void *recv,
                             size_t count, xylem_type_t type, uint32_t root,
                             xylem_request_t **request_out);
xylem_status_t xylem_iscatter(xylem_team_t *team, const void *send, void *recv,
                              size_t count, xylem_type_t type, uint32_t root,
                              xylem_request_t **request_out);
xylem_status_t xylem_iallgather(xylem_team_t *team, const void *send,
                                void *recv, size_t count, xylem_type_t type,
                                xylem_request_t **request_out);
xylem_status_t xylem_ialltoall(xylem_team_t *team, const void *send, void *recv,
                               size_t count, xylem_type_t type,
                               xylem_request_t **request_out);
xylem_status_t xylem_igatherv(xylem_team_t *team, const void *send,
                              size_t count, void *recv, const uint64_t *counts,
                              const uint64_t *displs, xylem_type_t type,
                              uint32_t root, xylem_request_t **request_out);
xylem_status_t xylem_iscatterv(xylem_team_t *team, const void *send,
                               const uint64_t *counts, const uint64_t *displs,
                               void *recv, size_t count, xylem_type_t type,
                               uint32_t root, xylem_request_t **request_out);
xylem_status_t xylem_iallgatherv(xylem_team_t *team, const void *send,
                                 size_t count, void *recv,
                                 const uint64_t *counts, const uint64_t *displs,
                                 xylem_type_t type,
                                 xylem_request_t **request_out);
xylem_status_t xylem_ialltoallv(xylem_team_t *team, const void *send,
                                const uint64_t *send_counts,
                                const uint64_t *send_displs, void *recv,
                                const uint64_t *recv_counts,
                                const uint64_t *recv_displs, xylem_type_t type,
                                xylem_request_t **request_out);
xylem_status_t
xylem_ialltoallw(xylem_team_t *team, const void *send,
                 const uint64_t *send_counts, const uint64_t *send_displs,
                 const xylem_type_t *send_types, void *recv,
                 const uint64_t *recv_counts, const uint64_t *recv_displs,
                 const xylem_type_t *recv_types, xylem_request_t **request_out);
xylem_status_t xylem_ineighbor_allgather(xylem_team_t *team, const void *send,
                                         const uint32_t *destinations,
                                         uint32_t destination_count, void *recv,
                                         const uint32_t *sources,
                                         uint32_t source_count, size_t count,
                                         xylem_type_t type,
                                         xylem_request_t **request_out);

/* Operations with all of their arguments. init plans an operation; its request
 * is persistent, and may be started as often as wanted, without allocation.
 * start plans and starts an operation; request_out may be NULL with
 * XYLEM_FLAG_AUTOFREE. */
xylem_status_t xylem_coll_init(xylem_team_t *team,
                               const xylem_coll_args_t *args,
                               xylem_request_t **request_out);
/* Tells whether a call with `args`, which have a tag, moves its data as
 * directly as a call without a tag. In calls without tags the GPUs of a node
 * read each other's memory; in calls with tags their data go through memory of
 * the host. *suits_out is 0 if some rank has called this function with the same
 * or a smaller tag and a buffer in memory of a GPU. Then a call without a tag,
 * on a team of its own, is faster. All ranks get the same answer for one tag if
 * each calls this function before its call with the tag. No message is sent.
 * Any thread. */
xylem_status_t xylem_tag_suits(xylem_team_t *team,
                               const xylem_coll_args_t *args, int *suits_out);
xylem_status_t xylem_coll_start(xylem_team_t *team,
                                const xylem_coll_args_t *args,
                                xylem_request_t **request_out);

/* Starts an operation and waits for it, as the blocking short forms do. While
 * this call waits, it calls `look` with `arg` from time to time (NULL: never),
 * on the calling thread: for a rank that also has to progress another library.
 * Not with on_complete, XYLEM_FLAG_PARTS or XYLEM_FLAG_AUTOFREE. */
typedef void (*xylem_look_fn)(void *arg);
xylem_status_t xylem_coll_run(xylem_team_t *team, const xylem_coll_args_t *args,
                              xylem_look_fn look, void *arg);

/* ------------------------------------------------------------------------ */
/* Requests                                                                 */

/* A request is *active* from its start until it has *completed*. A request with
 * on_complete has completed when on_complete is called, a request without it
 * when its operation is over. From then on, on any thread and whether
 * on_complete has returned or not, test returns the final status, and start and
 * free accept the request. Before that, start and free return XYLEM_ERR_BUSY
 * and do nothing. The calls that wait also wait until on_complete has returned,
 * so memory that its `arg` points to may be freed after them; after test this
 * memory must stay until on_complete has returned. */

/* Starts an idle or completed persistent request again, on any thread. */
xylem_status_t xylem_request_start(xylem_request_t *request);

/* Progresses once unless the request has completed; XYLEM_IN_PROGRESS, or the
 * operation's final status. Also in callbacks. */
xylem_status_t xylem_request_test(xylem_request_t *request);

/* Progresses until the request has completed and its on_complete has returned;
 * returns its final status. XYLEM_ERR_IN_CALLBACK inside a callback. An
 * operation that failed has ended, but messages that were under way may still
 * read or write its buffers: leave the buffers alone until the context is
 * destroyed.
 */
xylem_status_t xylem_request_wait(xylem_request_t *request);

/* The same for about limit_us microseconds, then XYLEM_IN_PROGRESS. It sleeps
 * as xylem_request_wait does, but only if the limit is XYLEM_SPIN_US or more.
 */
xylem_status_t xylem_request_wait_for(xylem_request_t *request,
                                      uint64_t limit_us);

/* The same for many requests of one context; entries that are NULL are skipped.
 * any: until one of them has completed, or is idle; writes its index, and
 *      returns its final status. Set the entry to NULL, or start the request
 *      again, before the next call. XYLEM_ERR_INVALID_ARG: all are NULL.
 * all: until all of them have completed; returns XYLEM_OK, or the final status
 *      of the first in the array that failed. */
xylem_status_t xylem_request_wait_any(xylem_request_t *const *requests,
                                      size_t count, size_t *index_out);
xylem_status_t xylem_request_wait_all(xylem_request_t *const *requests,
                                      size_t count);

/* Frees an idle or completed request, on any thread, even if its callback has
 * not returned yet. NULL is allowed; XYLEM_ERR_BUSY while the request is
 * active, or while a trigger acts on it. */
xylem_status_t xylem_request_free(xylem_request_t *request);

/* The number of segments into which the operation is cut, and the bytes of each
 * but the last. Collectives other than bcast, reduce and allreduce have one
 * segment, or none. */
xylem_status_t xylem_request_segments(const xylem_request_t *request,
                                      uint64_t *segments_out,
                                      size_t *segment_bytes_out);

/* Releases one segment of the input of an active XYLEM_FLAG_PARTS request, in
 * any order, from any thread, once per start. The request may be freed when
 * every such call has returned. */
xylem_status_t xylem_segment_ready(xylem_request_t *request, uint64_t segment);

#ifdef __cplusplus
}
#endif

#include "xylem_task.h"    /* remote tasks */
#include "xylem_trigger.h" /* triggers and proxies */

#endif
