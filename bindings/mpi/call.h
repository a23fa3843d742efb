/* The binding inside: a call of MPI's is written down once, whatever form it
 * came in, decided upon, and turned into a call of xylem's.
 *
 *   wrappers.c    MPI's functions: each writes an xmpi_call_t
 *   comm.c        may it be taken? what is kept with a communicator
 *   neighbors.c   topologies
 *   hints.c       what info keys ask for
 *   plan.c        buffers, counts and types as xylem wants them
 *   types.c, layout.c, ops.c   datatypes and operations
 *   request.c     calls that wait, and that do not
 *   persistent.c  those that come again
 *   hook.c        progress; wait.c: functions that wait for requests
 *   windows.c     one-sided communication beside collectives
 *   report.c      what became of calls
 *   guard.c       ranks without the binding
 *   models.c      MPI_Init and sessions; state.c: what connects the ranks
 *   narrow.c      large counts for a host without, and neighbours' forms of
 * MPI-4
 *
 * Whether a call is taken depends only on what is equal on all ranks of the
 * communicator: itself, the collective, the operation, and settings that were
 * compared at the start. What is particular to a rank (datatypes, places of
 * data, MPI_IN_PLACE) is dealt with on that rank, and so are its mistakes.
 */
#ifndef XMPI_CALL_H
#define XMPI_CALL_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

#include "bindings/mpi/host.h"
#include "include/xylem.h"
#include "progress/engine/queue.h"

/* ---- what the front finds by name ---- */

#define XMPI_EXPORTED      __attribute__((visibility("default")))
#define XMPI_DECLARE(name) XMPI_EXPORTED __typeof__(PMPI_##name) xmpi_##name;
XMPI_OTHERS(XMPI_DECLARE)
#undef XMPI_DECLARE
XMPI_EXPORTED int xmpi_Comm_idup_with_info(MPI_Comm parent, MPI_Info info,
                                           MPI_Comm *made,
                                           MPI_Request *request);
XMPI_EXPORTED int xmpi_Comm_create_from_group(MPI_Group group, const char *name,
                                              MPI_Info info,
                                              MPI_Errhandler handler,
                                              MPI_Comm *made);
XMPI_EXPORTED int xmpi_Session_init(MPI_Info info, MPI_Errhandler handler,
                                    xmpi_session_t *session);
XMPI_EXPORTED int xmpi_Session_finalize(xmpi_session_t *session);
XMPI_EXPORTED int xmpi_Win_create_c(void *base, MPI_Aint bytes, MPI_Aint unit,
                                    MPI_Info info, MPI_Comm comm,
                                    MPI_Win *window);
XMPI_EXPORTED int xmpi_Win_allocate_c(MPI_Aint bytes, MPI_Aint unit,
                                      MPI_Info info, MPI_Comm comm, void *base,
                                      MPI_Win *window);
XMPI_EXPORTED int xmpi_Win_allocate_shared_c(MPI_Aint bytes, MPI_Aint unit,
                                             MPI_Info info, MPI_Comm comm,
                                             void *base, MPI_Win *window);
XMPI_EXPORTED int xmpi_Request_get_status_all(int count, MPI_Request requests[],
                                              int *flag, MPI_Status statuses[]);
XMPI_EXPORTED int xmpi_Request_get_status_any(int count, MPI_Request requests[],
                                              int *index, int *flag,
                                              MPI_Status *status);
XMPI_EXPORTED int xmpi_Request_get_status_some(int count,
                                               MPI_Request requests[],
                                               int *done, int indices[],
                                               MPI_Status statuses[]);
XMPI_EXPORTED int xmpi_Comm_revoke(MPI_Comm handle);

/* ---- calls ---- */

/* One side: the buffer and what is in it. */
typedef struct xmpi_side {
    const void *buf;
    MPI_Count count; /* of a block */
    MPI_Datatype type;
    /* v-forms; MPI_Count and MPI_Aint in large calls, else int. */
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

/* How a call waits. */
typedef enum xmpi_form {
    XMPI_BLOCKING,
    XMPI_NONBLOCKING,
    XMPI_PERSISTENT
} xmpi_form_t;

/* What became of calls; counted. */
typedef enum xmpi_fate {
    XMPI_TAKEN,
    XMPI_NOT_SELECTED, /* by XYLEM_MPI_COLLECTIVES */
    XMPI_NO_INTRA,     /* inter-communicators */
    XMPI_OTHER_JOB,    /* some ranks were spawned, or connected to */
    XMPI_NO_TOPOLOGY,  /* that neighbours could be known by */
    XMPI_NO_CONTEXT,   /* not all its ranks are connected yet */
    XMPI_NO_TEAM,      /* nonblocking, and the first of its communicator */
    XMPI_NO_KERNEL,    /* such an operation of MPI's on such a type */
    XMPI_NO_THREADS,   /* xylem's thread would have to call MPI */
    XMPI_WRITTEN_TO,   /* the host's Fortran writes to such requests */
    XMPI_UNHOOKED,     /* nonblocking, and nobody would make it progress */
    XMPI_OFF,          /* initialised without the binding, or it failed */
    XMPI_FATES
} xmpi_fate_t;

/* ---- datatypes ---- */

/* Which operations of MPI's are defined on a type. */
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
    int is_named; /* one of the table, which stays */
    int is_mpis;  /* one of MPI's own, also of those that are not in it */
    /* Bits of operations: those that the host was asked about, and combines. */
    _Atomic uint32_t asked, combined;
    xmpi_class_t class;
    xylem_type_t kind;      /* where xylem combines such elements */
    _Atomic uint32_t users; /* calls that need it; 1 for its existence */
    int is_left;            /* freed by the program, but there are users */
    _Atomic int layout_state;
    xylem_type_t layout; /* where its data lie, if they have gaps */
} xmpi_type_t;

/* Of a type's layout; found when it is first wanted. */
enum { XMPI_LAYOUT_UNKNOWN, XMPI_LAYOUT_THERE, XMPI_LAYOUT_NONE };

int xmpi_types_open(void); /* 0: good */
/* NULL: it is none, or not committed. */
xmpi_type_t *xmpi_type_find(MPI_Datatype handle);
/* The same for a call that ends before the program goes on: of a type that may
 * be freed soon nothing is kept, it is read into `brief`, without layout. */
xmpi_type_t *xmpi_type_look(MPI_Datatype handle, xmpi_type_t *brief);
/* One of the table, or NULL; takes no lock. */
xmpi_type_t *xmpi_type_named(MPI_Datatype handle);

/* How many numbers of each kind a type was made with; `counts` where its counts
 * were of MPI_Count. */
typedef struct xmpi_envelope {
    MPI_Count ints, addresses, counts, types;
    int combiner;
} xmpi_envelope_t;

int xmpi_type_envelope(MPI_Datatype handle, xmpi_envelope_t *has); /* 1: good */
/* One of those that MPI_Type_get_contents gives: the caller's, unless named. */
void xmpi_type_give_back(MPI_Datatype *part);
void xmpi_type_hold(xmpi_type_t *type);
void xmpi_type_drop(xmpi_type_t *type);

/* 0: it has none, and has to be packed. The layout's elements begin where their
 * data do, true_low behind MPI's. */
int xmpi_type_layout(xmpi_type_t *type, xylem_type_t *layout_out);
void xmpi_type_layout_drop(xmpi_type_t *type); /* the type goes away */

/* Whether the data lie in their order without gaps, by how the type was made.
 */
int xmpi_type_is_in_a_row(MPI_Datatype handle);

typedef enum xmpi_way { XMPI_PACK, XMPI_UNPACK } xmpi_way_t;

/* `count` elements at `user` to or from `packed`; 0: good, else MPI's code. */
int xmpi_type_pack(const xmpi_type_t *type, xmpi_way_t way, void *user,
                   uint64_t count, void *packed);
/* The same for one element that is too long for MPI_Pack. */
int xmpi_type_pack_parts(const xmpi_type_t *type, xmpi_way_t way,
                         uintptr_t user, uintptr_t packed);

/* ---- operations ---- */

typedef struct xmpi_op xmpi_op_t;

/* XYLEM_OP_COUNT: not one of MPI's own that xylem knows. */
xylem_op_t xmpi_op_predefined(MPI_Op handle);
int xmpi_op_is_named(MPI_Op handle);
/* Whether the host combines them, where xylem does not: 16-byte numbers say,
 * and characters, in which libraries differ. */
int xmpi_op_is_hosts(xylem_op_t op, xmpi_type_t *type);
/* Whether such elements are combined by such an operation of MPI's. */
int xmpi_op_fits(xylem_op_t op, const xmpi_type_t *type);
/* An operation of the program's on elements of a type; NULL: no memory. Has to
 * be dropped when no call needs it any longer. */
xmpi_op_t *xmpi_op_hold(MPI_Op handle, xmpi_type_t *type);
void xmpi_op_drop(xmpi_op_t *op);
/* The type goes away: so does what is kept of it and not in use. */
void xmpi_op_forget_type(const xmpi_type_t *type);
xylem_op_t xmpi_op_handle(const xmpi_op_t *op);
/* MPI_SUCCESS (also of NULL), or what MPI_Reduce_local has said on this rank.
 */
int xmpi_op_code(const xmpi_op_t *op);
/* Frees what is kept of operations that nobody needs. */
void xmpi_ops_close(void);

/* ---- communicators ---- */

typedef enum xmpi_comm_state {
    XMPI_COMM_NEW,
    XMPI_COMM_JOINING, /* there will be a team; nobody has used it yet */
    XMPI_COMM_READY,
    XMPI_COMM_HOST /* not taken; asked again from time to time */
} xmpi_comm_state_t;

typedef struct xmpi_group xmpi_group_t; /* report.c */
typedef struct xmpi_tags xmpi_tags_t;   /* persistent.c */
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
    xmpi_fate_t fate; /* of calls that are not taken */
    int is_for_good;  /* HOST */
    int rank, size;
    int spans_world;
    int is_world;      /* MPI_COMM_WORLD, as the context has it */
    int is_of_session; /* it does not come from MPI_Init */
    uint32_t calls;    /* blocking ones since it was asked */
    uint32_t calls_to_retry;
    xylem_team_t *team;
    int is_world_team;  /* which belongs to the context */
    xmpi_nodes_t nodes; /* of the team */
    xmpi_tags_t *tags;  /* for persistent calls; NULL: there was none */
    xylem_request_t *joining;
    LIST_ENTRY(xmpi_comm) others; /* of those that join */
    _Atomic int is_freed; /* by the program, and `handle` is nothing any more */
    _Atomic uint32_t users; /* persistent calls; 1 for the communicator */
    /* By its topology; `sources` is the memory of both lists, NULL: none. */
    uint32_t *sources, *destinations;
    uint32_t source_count, destination_count;
} xmpi_comm_t;

int xmpi_comms_open(void); /* 0: good */
void xmpi_comms_close(void);
/* NULL: no communicator that anything is known of. */
xmpi_comm_t *xmpi_comm_find(MPI_Comm handle);
/* Whose error handler hears of it: what has been freed by the program stands
 * for requests that are left, but MPI has no handler for it but
 * MPI_COMM_SELF's. */
MPI_Comm xmpi_comm_handle(const xmpi_comm_t *comm);
/* Whether the call is taken; may exchange messages with the other ranks of the
 * communicator if the call may block. */
xmpi_fate_t xmpi_comm_decide(xmpi_comm_t *comm, xylem_coll_t coll,
                             xmpi_form_t form);
/* Looks after the teams that are made while the program goes on; by the hook.
 */
void xmpi_comms_join(void);
/* A team of those of the ranks that name one color, in the order of their keys;
 * NULL: XYLEM_COLOR_NONE. All ranks of the communicator, which is READY. */
xylem_status_t xmpi_team_split(const xmpi_comm_t *parent, uint32_t color,
                               int key, xylem_team_t **team);
/* Finds its neighbours, if it has a topology; 0: the host has failed. */
int xmpi_neighbors_find(xmpi_comm_t *comm);
/* Whether there are sources that are nobody, whose blocks stay as they are. */
int xmpi_neighbors_have_gaps(const xmpi_comm_t *comm);
/* The lists of a call and the lengths of its blocks. */
void xmpi_neighbors_set(const xmpi_comm_t *comm, uint64_t sent_bytes,
                        uint64_t received_bytes, xylem_coll_args_t *args);
/* Takes what an info object says to xylem; collective over the communicator. */
void xmpi_hints_take(MPI_Comm handle, MPI_Info info);
void xmpi_hints_set(xmpi_comm_t *comm, MPI_Info info);
void xmpi_hints_drop(xmpi_hints_t *hints);
void xmpi_hints_follow(const xmpi_hints_t *hints, xylem_coll_args_t *args);
/* A call that has failed so is begun again, if it had hints, without them. */
typedef xylem_status_t (*xmpi_begin_fn)(xylem_team_t *team,
                                        const xylem_coll_args_t *args,
                                        xylem_request_t **request_out);
xylem_status_t xmpi_hints_leave(xmpi_comm_t *comm, xmpi_begin_fn begin,
                                xylem_team_t *team, xylem_coll_args_t *args,
                                xylem_status_t status,
                                xylem_request_t **request_out);
/* Makes its team without a call; collective over it, blocks. */
void xmpi_comm_connect(MPI_Comm handle);
void xmpi_comm_hold(xmpi_comm_t *comm);
void xmpi_comm_drop(xmpi_comm_t *comm);
/* MPI's code for a status. */
int xmpi_code_of(xylem_status_t status);
/* Tells the error handler; returns the code. */
int xmpi_comm_fail(MPI_Comm handle, xylem_status_t status);

/* ---- plans ---- */

typedef struct xmpi_block {
    int64_t displ; /* bytes */
    uint64_t count;
    xmpi_type_t *type;
} xmpi_block_t;

/* A side whose elements have gaps: it goes through `packed`. */
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
    int packs_recv; /* there is input in `recv`, */
    int packs_own;  /* but only in this rank's block */
    uint32_t own_rank;
    xmpi_op_t *op;
    int is_brief; /* the call ends before the program goes on */
    uint32_t memories;
    uint32_t words;
    void *memory[12];                /* from here on nothing is cleared */
    xmpi_type_t briefs[2];           /* what is sent, and received */
    uint64_t small[XMPI_PLAN_SMALL]; /* arrays of small teams */
} xmpi_plan_t;

/* XMPI_TAKEN, and *error_out MPI's code; or why the host gets the call. */
xmpi_fate_t xmpi_plan_make(xmpi_plan_t *plan, const xmpi_call_t *call,
                           const xmpi_comm_t *comm, xmpi_form_t form,
                           int *error_out);
/* Before each start: input with gaps; after the end: output. */
int xmpi_plan_pack(const xmpi_plan_t *plan);
int xmpi_plan_unpack(const xmpi_plan_t *plan);
void xmpi_plan_drop(xmpi_plan_t *plan);

/* ---- requests ---- */

/* Moves data and finishes work; returns the number of things done. */
unsigned xmpi_hook(void);
/* Moves the host's messages. */
void xmpi_progress(void);
/* Gives the host a turn if the program has windows: windows.c. */
void xmpi_windows_progress(void);
/* Whether somebody calls xmpi_hook while the program is in MPI. */
int xmpi_hook_install(void);
void xmpi_hook_remove(void);
/* `self` goes away, and is no longer the binding's. */
void xmpi_hook_leave(MPI_Comm self);

/* The call, which the communicator takes; *fate_out: unless its operands have
 * it left to the host. MPI's code, of which the error handler has been told. */
int xmpi_take(const xmpi_call_t *call, xmpi_form_t form, xmpi_comm_t *comm,
              MPI_Request *request, xmpi_fate_t *fate_out);

/* Something that completes on the progressing thread and is finished by a
 * thread of the program's: there its task is run. */
typedef struct xmpi_work {
    xyl_task_t task;
    xylem_status_t status;
} xmpi_work_t;
void xmpi_work_done(void *arg, xylem_status_t status); /* xylem_complete_fn */
/* Around the start of one; nothing is finished in between. */
void xmpi_work_begin(void);
void xmpi_work_begun(void);
void xmpi_work_end(void);
/* Something is under way, until xmpi_work_end, that nobody finishes here. */
void xmpi_work_flies(void);
int xmpi_work_is_active(void);
/* 1: a call has an operation that calls MPI when it combines; -1: no longer. */
void xmpi_work_has_host_op(int more);
/* What is not waited for is finished. */
void xmpi_requests_close(void);

/* As xylem_request_wait; looks after the host meanwhile. */
xylem_status_t xmpi_request_wait(xylem_request_t *request);
/* 1: the call is planned, and its input is packed, unless it is to be started
 * later. Else it is the host's, or the program's mistake, of which its error
 * handler is told. */
int xmpi_call_plan(xmpi_plan_t *plan, const xmpi_call_t *call,
                   const xmpi_comm_t *comm, xmpi_form_t form,
                   xmpi_fate_t *fate_out, int *code_out);
/* Before the call has begun here. A mistake of the program's is made by all
 * ranks; of what one of them lacks the others, who wait for it, are told.
 * Returns the code. */
int xmpi_call_fail(const xmpi_call_t *call, const xmpi_comm_t *comm, int code);
/* It is over: the result goes where it belongs. MPI's code. */
int xmpi_plan_result(xmpi_plan_t *plan);
/* Where the program's operation could not be applied the others, who may have
 * been sent what came of it, are told by the team. */
void xmpi_op_failure_tell(const xmpi_plan_t *plan, xylem_team_t *team);

/* ---- persistent collectives ---- */

typedef struct xmpi_persistent xmpi_persistent_t;

/* The call, which the communicator takes; as xmpi_take. */
int xmpi_persist(const xmpi_call_t *call, xmpi_comm_t *comm,
                 MPI_Request *request, xmpi_fate_t *fate_out);
/* NULL: it is not the binding's; or is not started, or the program was told of
 * its end. */
xmpi_persistent_t *xmpi_persistent_find(MPI_Request handle);
xmpi_persistent_t *xmpi_persistent_started(MPI_Request handle);
/* Of one that is started: whether its result is there; then the program is
 * told, and may start it again, the outcome being MPI's code. */
int xmpi_persistent_is_over(xmpi_persistent_t *persistent);
int xmpi_persistent_end(xmpi_persistent_t *persistent);
/* Both. */
int xmpi_persistent_wait(xmpi_persistent_t *persistent);
/* What MPI_Request_free does with it. */
int xmpi_persistent_free(xmpi_persistent_t *persistent, MPI_Request *request);
/* Frees those that the program has left under way; by the hook. */
void xmpi_persistents_look(void);
void xmpi_persistents_close(void);
/* The teams of a communicator's fail with it. */
void xmpi_persistents_revoke(const xmpi_comm_t *comm);
void xmpi_tags_drop(xmpi_tags_t *tags);

/* Has the functions of wait.c called; `shall_poll`: the host calls nobody. */
void xmpi_waits_take(int shall_poll);

/* ---- state ---- */

typedef struct xmpi_state {
    int is_open;       /* MPI is, by models.c */
    uint64_t selected; /* a bit per XYLEM_COLL_ */
    int is_verbose;
    int has_report; /* XYLEM_MPI_REPORT, on all ranks */
    int is_watched; /* either: calls are counted */
    uint64_t job;   /* equal on all ranks of the job only */
    int rank, size;
    MPI_Group job_group;
    int has_world;  /* between MPI_Init and MPI_Finalize */
    MPI_Comm world; /* of all ranks, from the first exchange on */
    int is_world_of_session;
    _Atomic(MPI_Comm) self; /* of this one; errors return */
    _Atomic(xylem_context_t *) context;
    int shares_cores;  /* there are more ranks than cores */
    int has_failed;    /* there will be no context */
    int must_not_call; /* some rank's own thread of xylem's: MPI */
    int is_written_to; /* requests of alltoallw, by some rank's Fortran */
    int is_hooked;
} xmpi_state_t;

extern xmpi_state_t xmpi_state;

/* Set by each error on the binding's own communicators: behind a handler MPICH
 * returns MPI_SUCCESS by its standard ABI. */
extern _Thread_local int xmpi_has_erred;

/* MPI has been started, and ends. */
void xmpi_state_open(void);
void xmpi_state_close(void);
/* Behind MPI_Init. */
void xmpi_state_begin_world(void);
/* A handler by which errors return; MPI's code. */
int xmpi_errhandler_make(MPI_Errhandler *handler);
void xmpi_errors_return(MPI_Comm comm);
/* MPI_THREAD_MULTIPLE, or less. */
int xmpi_thread_level(void);
/* Of a session of the binding's own; collective over it. MPI_COMM_NULL: there
 * is no session. */
MPI_Comm xmpi_comm_of_session(const char *pset, const char *name);
/* Whether all ranks of this node have the binding, as far as can be known; else
 * it is said, and 0 on all of them, or the job ends. */
int xmpi_guard_passes(void);

/* The host's collectives, for the binding's own use: whoever waits leaves its
 * core to others, which MPICH by itself never does. MPI's code. */
int xmpi_gather_all(const void *mine, void *all, size_t bytes, MPI_Comm comm);
int xmpi_reduce_all(const void *mine, void *all, int count, MPI_Datatype type,
                    MPI_Op op, MPI_Comm comm);
/* The context; collective over `over`, which has all ranks of the job. NULL:
 * there is none, on all of them. */
xylem_context_t *xmpi_context_make(MPI_Comm over);

/* ---- the report ---- */

/* Only where xmpi_state.is_watched; times are in ns, by xmpi_now(). */
uint64_t xmpi_now(void);
void xmpi_report_open(const char *path);
/* Tells what is wanted; collective over the job if the report is. */
void xmpi_report_close(void);
/* A call that has begun then is over for its caller, or goes to the host; comm
 * may be NULL. */
void xmpi_report_call(const xmpi_call_t *call, xmpi_comm_t *comm,
                      xmpi_fate_t fate, uint64_t begin);
/* The host is done with it. */
void xmpi_report_left(const xmpi_call_t *call, uint64_t begin);
/* The thread's current call has waited since then. */
void xmpi_report_waited(uint64_t begin);
/* What does not block is complete. */
void xmpi_report_flown(xmpi_comm_t *comm, xylem_coll_t coll, uint64_t begin);

/* Large counts for a host that knows none. */
int xmpi_narrow(const xmpi_call_t *call, xmpi_form_t form, MPI_Info info,
                MPI_Request *request);
/* Adds MPI-4's forms of the neighbourhood collectives that are the host's. */
void xmpi_neighbors_take(void);

#endif
