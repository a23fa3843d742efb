/* The inside of the binding. Every form of a call of MPI's becomes one
 * xmpi_call_t. If the binding takes the call, it makes a call of xylem's out of
 * it; else the host, the program's MPI library, makes the call.
 *
 *   wrappers.c    MPI's functions: each writes an xmpi_call_t
 *   comm.c        what is kept with a communicator
 *   teams.c       teams of communicators; whether a call is taken
 *   tags.c        teams and tags of persistent calls
 *   neighbors.c   topologies
 *   hints.c       info keys
 *   plan.c        buffers, counts and types as xylem wants them
 *   types.c, pattern.c, layout.c, pack.c, ops.c   datatypes and operations
 *   prepare.c     a call before and after its operation
 *   request.c     blocking and nonblocking calls
 *   persistent.c  persistent calls
 *   hook.c        progress; wait.c: functions that wait for requests
 *   windows.c     one-sided communication beside collectives
 *   memory.c      MPI_Alloc_mem
 *   report.c      counts and times of calls
 *   guard.c       ranks without the binding
 *   host.c        the host's functions, and how errors return
 *   basis.c       the binding's own communicator and session
 *   connect.c     connecting the ranks
 *   models.c      MPI_Init and sessions; state.c: settings, begin and end
 *   left.c        calls that the host makes; forms of MPI-4 that it lacks
 *
 * Whether a call is taken depends only on things that are equal on all ranks:
 * the communicator, the collective, the operation, and settings that were
 * compared at the start. Datatypes, places of data, MPI_IN_PLACE and mistakes
 * of the program may differ between ranks: each rank deals with them alone.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "bindings/mpi/host.h"
#include "include/xylem.h"
#include "progress/engine/queue.h"

/* ---- functions that the front finds by name ---- */

#define XMPI_EXPORTED           __attribute__((visibility("default")))
#define XMPI_DECLARE(name, ...) XMPI_EXPORTED int xmpi_##name(__VA_ARGS__);
XMPI_OTHERS(XMPI_DECLARE)
XMPI_ADDED_OF_4(XMPI_DECLARE)
XMPI_OTHERS_OF_4(XMPI_DECLARE)
XMPI_WAITS_OF_41(XMPI_DECLARE)
XMPI_EXTENSIONS(XMPI_DECLARE)
#undef XMPI_DECLARE

/* ---- calls ---- */

typedef struct xmpi_side {
    const void *buf;
    MPI_Count count; /* of a block */
    MPI_Datatype type;
    /* For v-forms, of MPI_Count and MPI_Aint in large calls, else of int. */
    const void *counts;
    const void *displs;
    const MPI_Datatype *types; /* alltoallw */
} xmpi_side_t;

typedef struct xmpi_call {
    xylem_coll_t coll;
    int is_large;
    xmpi_side_t send;
    xmpi_side_t recv;
    MPI_Op op;
    int root;
    MPI_Comm comm;
} xmpi_call_t;

_Static_assert(sizeof(MPI_Count) == sizeof(int64_t) &&
                   sizeof(MPI_Aint) == sizeof(int64_t),
               "large counts and displacements are read alike");

/* A count or a displacement of a call. */
static inline int64_t xmpi_number_at(const xmpi_call_t *call,
                                     const void *numbers, uint32_t i)
{
    int64_t number;

    if (!call->is_large)
        return ((const int *)numbers)[i];
    memcpy(&number, (const char *)numbers + i * sizeof number, sizeof number);
    return number;
}

typedef enum xmpi_form {
    XMPI_BLOCKING,
    XMPI_NONBLOCKING,
    XMPI_PERSISTENT
} xmpi_form_t;

/* Whether a call is taken, or why the host gets it. The report counts the calls
 * of each fate. */
typedef enum xmpi_fate {
    XMPI_TAKEN,
    XMPI_NOT_SELECTED, /* by XYLEM_MPI_COLLECTIVES */
    XMPI_NO_INTRA,     /* inter-communicators */
    XMPI_OTHER_JOB,    /* some ranks were spawned, or connected to */
    XMPI_NO_TOPOLOGY,  /* a neighbourhood call without a topology */
    XMPI_NO_CONTEXT,   /* not all its ranks are connected yet */
    XMPI_NO_TEAM,      /* nonblocking, and the first of its communicator */
    XMPI_NO_KERNEL,    /* xylem cannot apply the operation to the type */
    XMPI_NO_THREADS,   /* xylem's thread would have to call MPI */
    XMPI_WRITTEN_TO,   /* the host's Fortran writes to such requests */
    XMPI_UNHOOKED,     /* nonblocking, and no code would make it progress */
    XMPI_OFF,          /* initialised without the binding, or it failed */
    XMPI_FATES
} xmpi_fate_t;

/* ---- datatypes ---- */

/* The class of a type decides which operations of MPI's it allows. */
typedef enum xmpi_class {
    XMPI_OPAQUE,
    XMPI_INTEGER,
    XMPI_FLOATING,
    XMPI_COMPLEX,
    XMPI_LOGICAL,
    XMPI_BITS,
    XMPI_PAIR
} xmpi_class_t;

typedef struct xmpi_type {
    MPI_Datatype handle;
    uint64_t size;
    int64_t extent;
    int64_t true_low, true_extent; /* where its data lie */
    int is_plain; /* elements lie one behind the other, without gaps */
    int is_named; /* in the table, or brief: no user has to hold it */
    int is_mpis;  /* MPI's own type, in the table or not */
    /* A bit per operation: whether the host was asked, and whether it combines
     * elements of the type by it. */
    _Atomic uint32_t asked, combined;
    xmpi_class_t class;
    xylem_type_t kind;      /* xylem's type, unless `class` is opaque */
    _Atomic uint32_t users; /* calls that need it, and 1 until it is freed */
    int is_left;            /* freed by the program, but there are users */
    _Atomic int layout_state;
    xylem_type_t layout; /* of data with gaps */
} xmpi_type_t;

/* layout_state; a layout is made when it is first wanted. */
enum { XMPI_LAYOUT_UNKNOWN, XMPI_LAYOUT_THERE, XMPI_LAYOUT_NONE };

int xmpi_types_open(void); /* 0: good */
/* NULL: the handle is no type, or the type is not committed. */
xmpi_type_t *xmpi_type_find(MPI_Datatype handle);
/* As xmpi_type_find, for a call that ends before the program goes on. A type
 * that the program may free soon is read into `brief`, without layout, and
 * nothing is kept. */
xmpi_type_t *xmpi_type_look(MPI_Datatype handle, xmpi_type_t *brief);

void xmpi_type_hold(xmpi_type_t *type);
void xmpi_type_drop(xmpi_type_t *type);
/* Called when the program frees a type. Returns the type that is kept with the
 * handle, for xmpi_type_leave; NULL: none is kept. */
xmpi_type_t *xmpi_type_goes(MPI_Datatype handle);
int xmpi_type_leave(xmpi_type_t *type, MPI_Datatype *handle);

/* 0: the type has no layout, and must be packed. An element of the layout
 * begins at its first data, true_low bytes behind the beginning of MPI's. */
int xmpi_type_layout(xmpi_type_t *type, xylem_type_t *layout_out);

typedef enum xmpi_way { XMPI_PACK, XMPI_UNPACK } xmpi_way_t;

/* Packs `count` elements at `user`, or unpacks them. Returns MPI's code. */
int xmpi_type_pack(const xmpi_type_t *type, xmpi_way_t way, void *user,
                   uint64_t count, void *packed);
/* ---- operations ---- */

typedef struct xmpi_op xmpi_op_t;

/* XYLEM_OP_COUNT: no operation of MPI's own that xylem knows. */
xylem_op_t xmpi_op_predefined(MPI_Op handle);
int xmpi_op_is_named(MPI_Op handle);
/* Whether the host combines elements that xylem does not: for example 16-byte
 * numbers and characters, in which MPI libraries differ. */
int xmpi_op_is_hosts(xylem_op_t op, xmpi_type_t *type);
/* Whether xylem combines elements of the type by the operation. */
int xmpi_op_fits(xylem_op_t op, const xmpi_type_t *type);
/* An operation applied by MPI_Reduce_local to elements of a type; NULL: no
 * memory. The caller drops it with xmpi_op_drop after its call. */
xmpi_op_t *xmpi_op_hold(MPI_Op handle, xmpi_type_t *type);
void xmpi_op_drop(xmpi_op_t *op);
xylem_op_t xmpi_op_handle(const xmpi_op_t *op);
/* MPI_SUCCESS (also for NULL), or MPI_Reduce_local's error on this rank. */
int xmpi_op_code(const xmpi_op_t *op);
void xmpi_ops_close(void);

/* ---- communicators ---- */

typedef enum xmpi_comm_state {
    XMPI_COMM_NEW,
    XMPI_COMM_JOINING, /* its team is being made; no call has used it yet */
    XMPI_COMM_READY,
    XMPI_COMM_HOST /* calls are the host's; retried from time to time */
} xmpi_comm_state_t;

typedef struct xmpi_group xmpi_group_t; /* report.c */
typedef struct xmpi_tags xmpi_tags_t;   /* tags.c */
typedef enum xmpi_nodes {
    XMPI_NODES_UNKNOWN,
    XMPI_NODES_ONE,
    XMPI_NODES_SEVERAL
} xmpi_nodes_t;
typedef struct xmpi_hints xmpi_hints_t; /* hints.c */

typedef struct xmpi_comm {
    MPI_Comm handle;
    xmpi_group_t *group; /* NULL: not asked yet */
    xmpi_hints_t *hints; /* NULL: none */
    xmpi_comm_state_t state;
    xmpi_fate_t fate; /* of its calls while it is not READY */
    int is_for_good;  /* HOST, never retried */
    int rank, size;
    int spans_world;
    int is_world;      /* MPI_COMM_WORLD, as the context has it */
    int is_of_session; /* it does not come from MPI_Init */
    uint32_t calls;    /* that may block, since the last try for a team */
    uint32_t calls_to_retry;
    xylem_team_t *team;
    int is_world_team;  /* the context owns the team */
    xmpi_nodes_t nodes; /* of the team */
    xmpi_tags_t *tags;  /* for persistent calls; NULL: none so far */
    xylem_request_t *joining;
    LIST_ENTRY(xmpi_comm) others; /* communicators that join */
    _Atomic int is_freed;         /* by the program; `handle` is invalid */
    _Atomic uint32_t users;       /* requests, and 1 for the communicator */
    /* Neighbours; `sources` is the memory of both lists, NULL: no topology. */
    uint32_t *sources, *destinations;
    uint32_t source_count, destination_count;
} xmpi_comm_t;

int xmpi_comms_open(void); /* 0: good */
void xmpi_comms_close(void);
/* NULL: the binding is closed, the handle is null, or there is an error. */
xmpi_comm_t *xmpi_comm_find(MPI_Comm handle);
/* The same for a communicator just made; `is_of_parent`: the ranks are of the
 * job, as those of its parent are. */
xmpi_comm_t *xmpi_comm_found(MPI_Comm handle, int is_of_parent);
/* Makes the state of a communicator; MPI_COMM_NULL: it has no handle yet. */
xmpi_comm_t *xmpi_comm_new(MPI_Comm handle);
/* The duplicate that this thread makes next takes over the state. The second
 * function, called after that, tells whether it has. */
void xmpi_comm_offer_copy(xmpi_comm_t *comm);
int xmpi_comm_copy_is_taken(void);
/* The communicator whose error handler is called: this one, or MPI_COMM_SELF if
 * the program has freed this one and only requests still hold it. */
MPI_Comm xmpi_comm_handle(const xmpi_comm_t *comm);
/* Whether the call is taken; may exchange messages with the other ranks of the
 * communicator if the call may block. */
xmpi_fate_t xmpi_comm_decide(xmpi_comm_t *comm, xylem_coll_t coll,
                             xmpi_form_t form);
/* Called by the hook: finishes duplicates whose teams have been made. */
void xmpi_comms_join(void);
/* Finds the neighbours in a topology, if any; 0: the host has failed. */
int xmpi_neighbors_find(xmpi_comm_t *comm);
/* Whether a source is MPI_PROC_NULL, whose block stays as it is. */
int xmpi_neighbors_have_gaps(const xmpi_comm_t *comm);
/* Sets the neighbours of a call and the lengths of its blocks. */
void xmpi_neighbors_set(const xmpi_comm_t *comm, uint64_t sent_bytes,
                        uint64_t received_bytes, xylem_coll_args_t *args);
/* Takes xylem's hints from an info object. */
void xmpi_hints_set(xmpi_comm_t *comm, MPI_Info info);
void xmpi_hints_drop(xmpi_hints_t *hints);
/* Writes hints into an info object of the host's; NULL: there are none. */
void xmpi_hints_tell(const xmpi_hints_t *hints, MPI_Info info);
void xmpi_hints_follow(const xmpi_hints_t *hints, xylem_coll_args_t *args);
/* Begins a call that has failed with `status` once more, without its hints.
 * Returns `status` if the call had no hints. */
typedef xylem_status_t (*xmpi_begin_fn)(xylem_team_t *team,
                                        const xylem_coll_args_t *args,
                                        xylem_request_t **request_out);
xylem_status_t xmpi_hints_leave(xmpi_comm_t *comm, xmpi_begin_fn begin,
                                xylem_team_t *team, xylem_coll_args_t *args,
                                xylem_status_t status,
                                xylem_request_t **request_out);
/* Makes the team of a NEW communicator; collective over it, blocks. */
void xmpi_comm_connect(MPI_Comm handle);
void xmpi_comm_hold(xmpi_comm_t *comm);
void xmpi_comm_drop(xmpi_comm_t *comm);
int xmpi_code_of(xylem_status_t status);
/* Calls the error handler with MPI's code for a status; returns the code. */
int xmpi_comm_fail(MPI_Comm handle, xylem_status_t status);

/* ---- teams and tags of persistent calls ---- */

/* Makes a team of the ranks with the same color, in the order of their keys;
 * NULL for XYLEM_COLOR_NONE. All ranks of the READY parent call it. */
xylem_status_t xmpi_team_split(const xmpi_comm_t *parent, uint32_t color,
                               int key, xylem_team_t **team);
/* Finds the team for a call and sets the call's tag. *tags_out: the tags that
 * this tag belongs to, held for the call; NULL: the team is the call's own. */
xylem_status_t xmpi_tags_find(xmpi_comm_t *comm, xylem_coll_args_t *args,
                              xmpi_tags_t **tags_out, xylem_team_t **team_out);
void xmpi_tags_drop(xmpi_tags_t *tags);

/* ---- plans ---- */

typedef struct xmpi_block {
    int64_t displ; /* bytes */
    uint64_t count;
    xmpi_type_t *type;
} xmpi_block_t;

/* A side whose data go through `packed`, mostly because elements have gaps. */
typedef struct xmpi_buffer {
    char *packed; /* NULL: not needed */
    char *user;
    uint32_t count; /* of blocks */
    xmpi_block_t *blocks;
} xmpi_buffer_t;

enum { XMPI_PLAN_SMALL = 64 };

typedef struct xmpi_plan {
    xylem_coll_args_t args;
    xmpi_buffer_t send;
    xmpi_buffer_t recv;
    int packs_recv; /* `recv` has input, */
    int packs_own;  /* but only in this rank's block */
    uint32_t own_rank;
    xmpi_op_t *op;
    int is_brief; /* the call ends before the program goes on */
    uint32_t memories;
    uint32_t words;
    void *memory[12];                /* xmpi_plan_make clears up to here */
    xmpi_type_t briefs[2];           /* types of the sides: send, receive */
    uint64_t small[XMPI_PLAN_SMALL]; /* arrays of small teams */
} xmpi_plan_t;

/* XMPI_TAKEN, with MPI's code in *error_out; or why the host gets the call. */
xmpi_fate_t xmpi_plan_make(xmpi_plan_t *plan, const xmpi_call_t *call,
                           const xmpi_comm_t *comm, xmpi_form_t form,
                           int *error_out);
/* Before each start, packs input with gaps; after the end, unpacks output.
 * Both return MPI's code. */
int xmpi_plan_pack(const xmpi_plan_t *plan);
int xmpi_plan_unpack(const xmpi_plan_t *plan);
void xmpi_plan_drop(xmpi_plan_t *plan);

/* ---- requests ---- */

/* Moves data and finishes work; returns how much xylem_progress has done. */
unsigned xmpi_hook(void);
/* Moves the host's messages. */
void xmpi_progress(void);
/* Gives the host a turn if the program has windows: windows.c. */
void xmpi_windows_progress(void);
/* The hook calls `turn_end` at the end of each turn. Called before there is a
 * context. */
void xmpi_hook_at_turn_end(void (*turn_end)(void));
/* From now on xmpi_hook is called while the program is in MPI. 0: no code would
 * call it. `thread_level` is the level that MPI has granted. */
int xmpi_hook_install(int thread_level);
/* Whether the functions that wait for requests have to call the hook. */
int xmpi_hook_is_polled(void);
void xmpi_hook_remove(void);
/* Called before `self` is freed: the hook goes on with xmpi_state.self. */
void xmpi_hook_leave(MPI_Comm self);

/* Makes a call that xmpi_comm_decide has taken. *fate_out: XMPI_TAKEN, or why
 * the host gets the call because of its operands. Returns MPI's code, after
 * calling the error handler. */
int xmpi_take(const xmpi_call_t *call, xmpi_form_t form, xmpi_comm_t *comm,
              MPI_Request *request, xmpi_fate_t *fate_out);
/* Moves xylem's data until the nonblocking call of `request` is over, or for
 * about a millisecond. 0: the request is none of xylem's newest calls. */
int xmpi_pending_hasten(MPI_Request request);

/* An operation that completes on the progressing thread; xmpi_hook runs its
 * task, which finishes it with calls of MPI's. */
typedef struct xmpi_work {
    xyl_task_t task;
    xylem_status_t status;
} xmpi_work_t;
void xmpi_work_done(void *arg, xylem_status_t status); /* xylem_complete_fn */
/* Called before and after the start of work; in between no thread finishes
 * work. */
void xmpi_work_begin(void);
void xmpi_work_begun(void);
void xmpi_work_end(void);
/* Counts work without a task, which is under way until xmpi_work_end. */
void xmpi_work_flies(void);
int xmpi_work_is_active(void);
/* `more` 1: a call holds an operation that calls MPI; -1: a call drops one. */
void xmpi_work_count_host_op(int more);
/* Finishes the requests that the program has left under way. */
void xmpi_requests_close(void);

/* As xylem_request_wait; gives the host turns meanwhile. */
xylem_status_t xmpi_request_wait(xylem_request_t *request);
/* 1: the call is planned, and its input is packed unless it is persistent. 0:
 * the host gets the call (*fate_out), or it has failed (*code_out) and the
 * error handler has been called. */
int xmpi_call_plan(xmpi_plan_t *plan, const xmpi_call_t *call,
                   const xmpi_comm_t *comm, xmpi_form_t form,
                   xmpi_fate_t *fate_out, int *code_out);
/* Fails a call that has not begun: calls the error handler, returns the code.
 * MPI_ERR_NO_MEM also aborts the team, because other ranks wait in the call.
 * Other codes are mistakes of the program, which all ranks make alike. */
int xmpi_call_fail(const xmpi_call_t *call, const xmpi_comm_t *comm, int code);
/* Unpacks the result of a call that is over. Returns MPI's code. */
int xmpi_plan_result(xmpi_plan_t *plan);
/* Aborts the team if MPI_Reduce_local has failed here, as other ranks may have
 * been sent its results. */
void xmpi_op_failure_tell(const xmpi_plan_t *plan, xylem_team_t *team);

/* ---- persistent collectives ---- */

typedef struct xmpi_persistent xmpi_persistent_t;

/* As xmpi_take, for a persistent call. */
int xmpi_persist(const xmpi_call_t *call, xmpi_comm_t *comm,
                 MPI_Request *request, xmpi_fate_t *fate_out);
/* NULL: the request is not the binding's. xmpi_persistent_started also returns
 * NULL if the call is not started, or the program has been told of its end. */
xmpi_persistent_t *xmpi_persistent_find(MPI_Request handle);
xmpi_persistent_t *xmpi_persistent_started(MPI_Request handle);
/* Whether the result of a started call is there. Then xmpi_persistent_end tells
 * the program: it returns MPI's code, and the call may be started again. */
int xmpi_persistent_is_over(xmpi_persistent_t *persistent);
int xmpi_persistent_end(xmpi_persistent_t *persistent);
/* Waits for the result of a started call, then ends it in the same way. */
int xmpi_persistent_wait(xmpi_persistent_t *persistent);
/* MPI_Request_free of a persistent call. */
int xmpi_persistent_free(xmpi_persistent_t *persistent, MPI_Request *request);
/* Ends calls that the program has freed under way. Called by the hook. */
void xmpi_persistents_look(void);
void xmpi_persistents_close(void);
/* Revokes the teams of a communicator's persistent calls. */
void xmpi_persistents_revoke(const xmpi_comm_t *comm);

/* From now on the program's calls go to the functions of wait.c. `shall_poll`:
 * these call the hook, as the host does not. */
void xmpi_waits_take(int shall_poll);

/* ---- state ---- */

typedef struct xmpi_state {
    int is_open;       /* MPI is open: models.c */
    uint64_t selected; /* a bit per XYLEM_COLL_ */
    int is_verbose;
    int has_report; /* XYLEM_MPI_REPORT, on all ranks */
    int is_watched; /* is_verbose or has_report: calls are counted */
    uint64_t job;   /* equal on all ranks of the job only */
    int rank, size;
    MPI_Group job_group;
    int has_world;  /* between MPI_Init and MPI_Finalize */
    MPI_Comm world; /* the binding's, of all ranks, once they have connected */
    int is_world_of_session;
    _Atomic(MPI_Comm) self; /* the binding's, of this rank; errors return */
    _Atomic(xylem_context_t *) context;
    int has_thread;    /* XYLEM_PROGRESS=thread */
    int shares_cores;  /* there are more ranks than cores */
    int has_failed;    /* there will be no context */
    int must_not_call; /* on some rank xylem's thread must not call MPI */
    int is_written_to; /* some rank's Fortran writes to alltoallw requests */
    int is_hooked;     /* xmpi_hook is called on all ranks */
} xmpi_state_t;

extern xmpi_state_t xmpi_state;

/* NULL: there is no context, not yet or not any more. */
static inline xylem_context_t *xmpi_context(void)
{
    return atomic_load_explicit(&xmpi_state.context, memory_order_acquire);
}

/* Set by each error on the binding's own communicators. It is needed because
 * MPICH with the standard ABI returns MPI_SUCCESS after an error handler. */
extern _Thread_local int xmpi_has_erred;

/* After MPI has been started, and before it ends. */
void xmpi_state_open(void);
void xmpi_state_close(void);
/* After MPI_Init. */
void xmpi_state_begin_world(void);
/* Makes an error handler that returns to the caller. Returns MPI's code. */
int xmpi_errhandler_make(MPI_Errhandler *handler);
void xmpi_errors_return(MPI_Comm comm);
/* ---- basis.c: the binding's own communicator, group and session ---- */

/* 0: good. */
int xmpi_basis_of_world(void);
/* Opens the binding's session with the arguments of the program's; 0: good. */
int xmpi_basis_of_session(MPI_Info info, MPI_Errhandler handler);
int xmpi_basis_has_session(void);
/* MPI_Finalize begins: frees what comes from MPI_Init. */
void xmpi_basis_without_world(void);
/* Frees the binding's communicators, group and session, when neither MPI_Init
 * nor a session of the program is open any more. */
void xmpi_basis_drop(void);
/* The level that MPI has granted: MPI_THREAD_MULTIPLE, or less. */
int xmpi_thread_level(void);
/* A communicator of the binding's own session; collective over it.
 * MPI_COMM_NULL: there is no session, or an error. */
MPI_Comm xmpi_comm_of_session(const char *pset, const char *name);
/* 1: all ranks of this node have the binding, as far as can be known. 0, on all
 * ranks: one lacks it, as a line says. If ranks might differ, the job ends. */
int xmpi_guard_passes(void);

/* The host's collectives, for the binding's own use, and the wait for one that
 * does not block. A waiting rank yields a shared core, which MPICH by itself
 * never does. All return MPI's code. */
int xmpi_exchange_finish(MPI_Request *request);
int xmpi_gather_all(const void *mine, void *all, size_t bytes, MPI_Comm comm);
int xmpi_reduce_all(const void *mine, void *all, int count, MPI_Datatype type,
                    MPI_Op op, MPI_Comm comm);
/* Makes the context, or finds it; collective over `over`, which has all ranks
 * of the job. NULL on all ranks if there is none. */
xylem_context_t *xmpi_context_make(MPI_Comm over);
/* Connects the ranks of MPI_COMM_WORLD, without a context; collective. */
void xmpi_job_connect(void);

/* ---- the report ---- */

/* Called only if xmpi_state.is_watched. Times are in ns, by xmpi_now(). */
uint64_t xmpi_now(void);
void xmpi_report_open(const char *path);
/* Prints and writes what the settings ask for; collective over the job if they
 * ask for a report. */
void xmpi_report_close(void);
/* A call that began at `begin` returns to its caller, or goes to the host;
 * `comm` may be NULL. */
void xmpi_report_call(const xmpi_call_t *call, xmpi_comm_t *comm,
                      xmpi_fate_t fate, uint64_t begin);
/* The host has made a call that was left to it. */
void xmpi_report_left(const xmpi_call_t *call, uint64_t begin);
/* The thread's current call has waited since `begin`. */
void xmpi_report_waited(uint64_t begin);
/* A nonblocking or persistent call is complete. */
void xmpi_report_flown(xmpi_comm_t *comm, xylem_coll_t coll, uint64_t begin);

/* Has the host make a call. Returns MPI's code. */
int xmpi_leave(const xmpi_call_t *call, xmpi_form_t form, MPI_Info info,
               MPI_Request *request);
/* Adds forms of MPI-4 that the host's neighbourhood collectives lack. */
void xmpi_neighbors_take(void);
