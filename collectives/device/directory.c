#include "collectives/device/directory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    STATE_BITS = 4,
    STEP_BITS = 4,
    COUNT_BITS = 24, /* chunks; rings may go round several times */
    AHEAD_MAX = 6    /* 2^6 is more than the copies of a step */
};

/* ---- words ---- */

static uint64_t status_word(const xyl_directory_run_t *run,
                            xyl_copy_step_t step, xyl_copy_state_t state)
{
    return run->call.number << (STATE_BITS + STEP_BITS) |
           (uint64_t)step << STATE_BITS | (uint64_t)state;
}

static xyl_copy_state_t state_of(uint64_t word)
{
    return (xyl_copy_state_t)(word & ((1u << STATE_BITS) - 1));
}

static int is_of_step(const xyl_directory_run_t *run, uint64_t word,
                      xyl_copy_step_t step)
{
    return word >> STATE_BITS ==
           status_word(run, step, XYL_COPY_INIT) >> STATE_BITS;
}

static uint64_t count_word(const xyl_directory_run_t *run, uint64_t count)
{
    return run->call.number << COUNT_BITS | count;
}

/* The count in the word; 0 if the word is of another collective. */
static uint64_t count_get(const xyl_directory_run_t *run,
                          const _Atomic uint64_t *word)
{
    uint64_t value = xyl_shm_get(run->directory->shm, word);

    return value >> COUNT_BITS == run->call.number
               ? value & ((UINT64_C(1) << COUNT_BITS) - 1)
               : 0;
}

static xyl_directory_line_t *line_of(const xyl_directory_run_t *run,
                                     uint32_t rank)
{
    return &run->directory->line[rank];
}

static void set_for(const xyl_directory_run_t *run, _Atomic uint64_t *word,
                    uint64_t value, uint32_t reader)
{
    xyl_shm_t *shm = run->directory->shm;

    shm->ops->set(shm, word, value, &run->directory->world[reader], 1);
}

static void set_for_all(const xyl_directory_run_t *run, _Atomic uint64_t *word,
                        uint64_t value)
{
    xyl_shm_t *shm = run->directory->shm;

    shm->ops->set(shm, word, value, run->directory->world,
                  run->directory->ranks);
}

/* Moves a status, which the rank and the leader may change at once, and wakes
 * the other of the two. 0: the status was not `from`. */
static int status_move(const xyl_directory_run_t *run, uint32_t rank,
                       uint64_t from, xyl_copy_step_t step,
                       xyl_copy_state_t state)
{
    xyl_shm_t *shm = run->directory->shm;
    xyl_directory_line_t *line = line_of(run, rank);
    int leads = run->call.rank == run->call.leader;
    _Atomic uint64_t *bell = leads ? &line->rung : &line->bell;

    if (!shm->ops->swap(shm, &line->status, &from,
                        status_word(run, step, state)))
        return 0;
    set_for(run, bell, xyl_shm_get(shm, bell) + 1,
            leads ? rank : run->call.leader);
    return 1;
}

/* ---- steps ---- */

static uint64_t step_bytes(const xyl_directory_run_t *run)
{
    return run->step == XYL_COPY_GATHER ? run->call.given : run->call.gotten;
}

static uint64_t step_chunks(const xyl_directory_run_t *run)
{
    uint64_t chunk = run->directory->chunk;

    return (step_bytes(run) + chunk - 1) / chunk;
}

static xyl_copy_mechanism_t static_mechanism(const xyl_directory_t *directory,
                                             const xyl_directory_call_t *call,
                                             uint32_t rank)
{
    uint32_t behind =
        (rank + directory->ranks - call->leader) % directory->ranks;

    return behind <= call->staged ? XYL_COPY_HS : XYL_COPY_IPC;
}

static xyl_copy_state_t assigned(xyl_copy_mechanism_t mechanism)
{
    return mechanism == XYL_COPY_IPC ? XYL_COPY_IPC_ASGN : XYL_COPY_HS_ASGN;
}

static void begin_copy(xyl_directory_run_t *run, const xyl_copy_t *copy)
{
    run->under_way++;
    if (run->call.begin(run->call.arg, copy))
        xyl_directory_ended(run, copy->kind, copy->rank, copy->slot);
}

static void begin_whole(xyl_directory_run_t *run, xyl_copy_kind_t kind,
                        uint64_t bytes)
{
    const xyl_copy_t copy = {.kind = kind, .bytes = bytes};

    begin_copy(run, &copy);
}

/* Begins the next chunk of a flow, at `place` of ring `ring`. This is the ring
 * of that rank or, if `ring` is the number of ranks, the result's ring, through
 * which the result goes round after round. */
static void begin_chunk(xyl_directory_run_t *run, xyl_directory_flow_t *flow,
                        xyl_copy_kind_t kind, uint32_t ring, uint64_t place)
{
    const xyl_directory_t *directory = run->directory;
    uint64_t all = step_bytes(run), chunks = step_chunks(run);
    uint32_t slot = (uint32_t)(place % XYL_DIRECTORY_SLOTS);
    xyl_copy_t copy = {.kind = kind, .rank = ring, .slot = slot};

    assert(chunks != 0);
    copy.at = place % chunks * directory->chunk;
    copy.bytes = all - copy.at;
    if (copy.bytes > directory->chunk)
        copy.bytes = directory->chunk;
    copy.staged =
        directory->rings +
        ((uint64_t)ring * XYL_DIRECTORY_SLOTS + slot) * directory->chunk;
    flow->begun++;
    run->may_begin = 0;
    begin_copy(run, &copy);
}

/* `first`: the place in the ring of the flow's first chunk. */
static void flow_ended(xyl_directory_flow_t *flow, uint64_t first,
                       uint32_t slot)
{
    flow->late |= 1u << slot;
    for (;;) {
        slot = (uint32_t)((first + flow->ended) % XYL_DIRECTORY_SLOTS);
        if ((flow->late >> slot & 1) == 0 || flow->ended == flow->begun)
            return;
        flow->late &= ~(1u << slot);
        flow->ended++;
    }
}

/* ---- a rank ---- */

/* Puts a chunk into the ring if there is room. */
static unsigned member_fill(xyl_directory_run_t *run)
{
    uint64_t drained = count_get(run, &line_of(run, run->call.rank)->drained);

    if (!run->may_begin || run->fill.begun >= step_chunks(run) ||
        run->fill.begun - drained >= XYL_DIRECTORY_SLOTS)
        return 0;
    begin_chunk(run, &run->fill, XYL_COPY_FILL, run->call.rank,
                run->fill.begun);
    return 1;
}

/* Takes the next published chunk behind those that this rank has taken. */
static unsigned member_take(xyl_directory_run_t *run)
{
    uint64_t published = count_get(run, &run->directory->head->published);
    uint64_t next = run->joins + run->take.begun;

    if (!run->may_begin || run->take.begun >= step_chunks(run) ||
        next >= published ||
        run->take.begun - run->take.ended >= XYL_DIRECTORY_SLOTS)
        return 0;
    begin_chunk(run, &run->take, XYL_COPY_TAKE, run->directory->ranks, next);
    return 1;
}

/* Begins with the mechanism that status `word` assigns to this rank. */
static unsigned member_start(xyl_directory_run_t *run, uint64_t word,
                             xyl_copy_mechanism_t mechanism)
{
    int is_ipc = mechanism == XYL_COPY_IPC;
    uint32_t rank = run->call.rank;

    if (!status_move(run, rank, word, run->step,
                     is_ipc ? XYL_COPY_IPC_INIT : XYL_COPY_HS_INIT))
        return 0;
    if (!is_ipc)
        run->joins = count_get(run, &line_of(run, rank)->joins);
    if (is_ipc && !run->has_begun_ipc[run->step]) {
        run->has_begun_ipc[run->step] = 1;
        begin_whole(run,
                    run->step == XYL_COPY_GATHER ? XYL_COPY_IPC_IN
                                                 : XYL_COPY_IPC_OUT,
                    step_bytes(run));
    }
    return 1;
}

/* Goes on with a copy that has begun. */
static unsigned member_copy(xyl_directory_run_t *run, uint64_t word,
                            int is_staged)
{
    uint32_t rank = run->call.rank;
    unsigned did;

    if (run->has_ended_ipc[run->step])
        return (unsigned)status_move(run, rank, word, run->step,
                                     XYL_COPY_IPC_CMP);
    if (!is_staged)
        return 0;
    if (run->step == XYL_COPY_GATHER)
        return member_fill(run); /* the leader ends it */
    did = member_take(run);
    if (run->take.ended == step_chunks(run))
        did +=
            (unsigned)status_move(run, rank, word, run->step, XYL_COPY_HS_CMP);
    return did;
}

/* Says that this rank is there for a step. */
static unsigned member_ready(xyl_directory_run_t *run)
{
    const xyl_directory_call_t *call = &run->call;
    const xyl_directory_t *directory = run->directory;
    xyl_copy_state_t state = XYL_COPY_RTS;

    if (run->step == XYL_COPY_BROADCAST &&
        xyl_shm_get(directory->shm, &directory->head->completion) !=
            call->number)
        return 0;
    if (!call->is_dynamic)
        state = assigned(static_mechanism(directory, call, call->rank));
    set_for(run, &line_of(run, call->rank)->status,
            status_word(run, run->step, state), call->leader);
    return 1;
}

/* Leaves, and keeps `state`: the leader may not have seen yet how the last copy
 * ended. */
static unsigned member_leave(xyl_directory_run_t *run, xyl_copy_state_t state)
{
    if (run->under_way != 0)
        return 0;
    set_for(run, &line_of(run, run->call.rank)->status,
            status_word(run, XYL_COPY_LEFT, state), run->call.leader);
    run->is_over = 1;
    return 1;
}

/* Goes on to the broadcast, whose first status this rank writes when the result
 * is there: by then the leader has seen the last status of the gather. */
static unsigned member_completed(xyl_directory_run_t *run,
                                 xyl_copy_state_t state)
{
    if (run->step != XYL_COPY_GATHER || run->call.gotten == 0)
        return member_leave(run, state);
    run->step = XYL_COPY_BROADCAST;
    return 1 + member_ready(run);
}

static unsigned member_go(xyl_directory_run_t *run)
{
    uint64_t word =
        xyl_shm_get(run->directory->shm, &line_of(run, run->call.rank)->status);

    if (!is_of_step(run, word, run->step))
        return member_ready(run);
    switch ((int)state_of(word)) {
    case XYL_COPY_IPC_ASGN:
        return member_start(run, word, XYL_COPY_IPC);
    case XYL_COPY_HS_ASGN:
        return member_start(run, word, XYL_COPY_HS);
    case XYL_COPY_IPC_INIT:
        return member_copy(run, word, 0);
    case XYL_COPY_HS_INIT:
        return member_copy(run, word, 1);
    case XYL_COPY_IPC_CMP:
    case XYL_COPY_HS_CMP:
        return member_completed(run, state_of(word));
    default: /* Ready To Send */
        return 0;
    }
}

/* ---- the leader: mechanisms ---- */

/* Allows a mechanism further copies when one of its copies has ended. */
static void allow(xyl_directory_run_t *run, xyl_copy_mechanism_t mechanism)
{
    uint32_t own = run->completed[mechanism];
    uint32_t other = run->completed[1 - mechanism];
    uint32_t ahead = own > other ? own - other : 0;

    run->allowed[mechanism] += UINT32_C(1)
                               << (ahead < AHEAD_MAX ? ahead : AHEAD_MAX);
}

/* The mechanism of the next copy; XYL_COPY_MECHANISMS: none is allowed. */
static xyl_copy_mechanism_t next_mechanism(const xyl_directory_run_t *run)
{
    int ipc = run->allowed[XYL_COPY_IPC] != 0;
    int staged = run->allowed[XYL_COPY_HS] != 0;

    if (ipc && (!staged ||
                run->completed[XYL_COPY_IPC] >= run->completed[XYL_COPY_HS]))
        return XYL_COPY_IPC;
    return staged ? XYL_COPY_HS : XYL_COPY_MECHANISMS;
}

static void note_assigned(xyl_directory_run_t *run, uint32_t rank,
                          xyl_copy_mechanism_t mechanism)
{
    run->member[rank].is_assigned = 1;
    run->member[rank].mechanism = mechanism;
}

/* Has the rank take the result from the next published chunk on. */
static void leader_joins(xyl_directory_run_t *run, uint32_t rank)
{
    xyl_directory_member_t *member = &run->member[rank];

    member->joins = run->publish.begun;
    run->publish_end = run->publish.begun + step_chunks(run);
    set_for(run, &line_of(run, rank)->joins, count_word(run, member->joins),
            rank);
}

/* Assigns mechanisms to waiting ranks; first come, first served. */
static unsigned leader_assign(xyl_directory_run_t *run)
{
    unsigned did = 0;

    for (; run->waiting_first != run->waiting_end; did++) {
        xyl_copy_mechanism_t mechanism = next_mechanism(run);
        uint32_t rank = run->waiting[run->waiting_first];
        if (mechanism == XYL_COPY_MECHANISMS)
            break;
        run->allowed[mechanism]--;
        run->waiting_first++;
        note_assigned(run, rank, mechanism);
        if (run->step == XYL_COPY_BROADCAST && mechanism == XYL_COPY_HS)
            leader_joins(run, rank);
        /* Cannot fail: a rank that is Ready To Send leaves its status alone. */
        (void)status_move(run, rank, status_word(run, run->step, XYL_COPY_RTS),
                          run->step, assigned(mechanism));
    }
    return did;
}

/* Final Copy Completion: assigns the last copy of all to the other mechanism,
 * if its own has ended none yet. */
static unsigned leader_reassign(xyl_directory_run_t *run, uint32_t rank,
                                uint64_t word)
{
    xyl_directory_member_t *member = &run->member[rank];
    xyl_copy_mechanism_t other =
        member->mechanism == XYL_COPY_IPC ? XYL_COPY_HS : XYL_COPY_IPC;

    if (!run->call.is_dynamic || run->step != XYL_COPY_GATHER ||
        run->is_reassigned || run->incomplete != 1 || !member->is_assigned ||
        run->completed[member->mechanism] != 0 || run->completed[other] == 0)
        return 0;
    if (!status_move(run, rank, word, run->step, assigned(other)))
        return 0; /* the rank has changed its status: try again soon */
    run->is_reassigned = 1;
    note_assigned(run, rank, other);
    return 1;
}

/* ---- the leader: a rank's copies ---- */

static unsigned leader_drain(xyl_directory_run_t *run, uint32_t rank)
{
    xyl_directory_member_t *member = &run->member[rank];

    if (!run->may_begin ||
        member->drain.begun >= count_get(run, &line_of(run, rank)->filled))
        return 0;
    begin_chunk(run, &member->drain, XYL_COPY_DRAIN, rank, member->drain.begun);
    return 1;
}

static unsigned leader_completed(xyl_directory_run_t *run, uint32_t rank,
                                 xyl_copy_mechanism_t mechanism)
{
    run->member[rank].is_complete = 1;
    run->incomplete--;
    run->completed[mechanism]++;
    allow(run, mechanism);
    return 1;
}

/* Looks at a rank that has begun the step and has not completed it. */
static unsigned leader_watch(xyl_directory_run_t *run, uint32_t rank,
                             uint64_t word)
{
    xyl_directory_member_t *member = &run->member[rank];
    unsigned did = 0;

    switch ((int)state_of(word)) {
    case XYL_COPY_RTS:
        if (member->is_heard)
            return 0;
        run->member[rank].is_heard = 1; /* once */
        run->waiting[run->waiting_end++] = rank;
        return 1;
    case XYL_COPY_HS_INIT:
        if (run->step == XYL_COPY_GATHER)
            did = leader_drain(run, rank);
        if (run->step == XYL_COPY_GATHER &&
            member->drain.ended == step_chunks(run))
            return did + (unsigned)status_move(run, rank, word, run->step,
                                               XYL_COPY_HS_CMP);
        break;
    case XYL_COPY_IPC_CMP:
        return leader_completed(run, rank, XYL_COPY_IPC);
    case XYL_COPY_HS_CMP:
        return leader_completed(run, rank, XYL_COPY_HS);
    default:
        break;
    }
    return did + leader_reassign(run, rank, word);
}

static unsigned leader_look_at(xyl_directory_run_t *run, uint32_t rank)
{
    uint64_t word =
        xyl_shm_get(run->directory->shm, &line_of(run, rank)->status);

    if (is_of_step(run, word, XYL_COPY_LEFT))
        return leader_completed(
            run, rank,
            state_of(word) == XYL_COPY_IPC_CMP ? XYL_COPY_IPC : XYL_COPY_HS);
    return is_of_step(run, word, run->step) ? leader_watch(run, rank, word) : 0;
}

static unsigned leader_look(xyl_directory_run_t *run)
{
    unsigned did = 0;
    uint32_t rank;

    for (rank = 0; rank < run->directory->ranks; rank++)
        if (rank != run->call.rank && !run->member[rank].is_complete)
            did += leader_look_at(run, rank);
    return did + leader_assign(run);
}

/* ---- the leader: the result ---- */

/* 1: the next chunk would overwrite no chunk that a rank still needs. */
static int leader_may_publish(const xyl_directory_run_t *run)
{
    uint32_t rank;

    if (run->publish.begun >= run->publish_end)
        return 0;
    for (rank = 0; rank < run->directory->ranks; rank++) {
        const xyl_directory_member_t *member = &run->member[rank];
        uint64_t taken;
        if (rank == run->call.rank || member->is_complete ||
            !member->is_assigned || member->mechanism != XYL_COPY_HS)
            continue;
        taken = count_get(run, &line_of(run, rank)->taken);
        if (taken < member->joins)
            taken = member->joins; /* it has taken none yet */
        if (run->publish.begun - taken >= XYL_DIRECTORY_SLOTS &&
            taken < member->joins + step_chunks(run))
            return 0;
    }
    return run->publish.begun - run->publish.ended < XYL_DIRECTORY_SLOTS;
}

static unsigned leader_publish(xyl_directory_run_t *run)
{
    if (!run->may_begin || !leader_may_publish(run))
        return 0;
    begin_chunk(run, &run->publish, XYL_COPY_PUBLISH, run->directory->ranks,
                run->publish.begun);
    return 1;
}

/* ---- the leader: steps ---- */

/* In Static, notes the mechanisms of all ranks. */
static void leader_presets(xyl_directory_run_t *run)
{
    uint32_t rank;

    for (rank = 0; rank < run->directory->ranks && !run->call.is_dynamic;
         rank++) {
        xyl_copy_mechanism_t mechanism =
            static_mechanism(run->directory, &run->call, rank);
        if (rank == run->call.rank)
            continue;
        note_assigned(run, rank, mechanism);
        if (run->step == XYL_COPY_BROADCAST && mechanism == XYL_COPY_HS)
            run->publish_end = step_chunks(run);
    }
}

/* Allows each mechanism one copy or, after a gather, as many as its copies
 * there have earned it. */
static void leader_allow_first(xyl_directory_run_t *run)
{
    uint32_t ipc = run->completed[XYL_COPY_IPC];
    uint32_t staged = run->completed[XYL_COPY_HS];

    run->allowed[XYL_COPY_IPC] = run->allowed[XYL_COPY_HS] = 1;
    if (ipc + staged == 0)
        return;
    run->allowed[XYL_COPY_IPC] = run->allowed[XYL_COPY_HS] = 0;
    /* A mechanism that has ended no copy is slow, and avoided. */
    if (ipc != 0)
        allow(run, XYL_COPY_IPC);
    if (staged != 0)
        allow(run, XYL_COPY_HS);
}

static void leader_step(xyl_directory_run_t *run, xyl_copy_step_t step)
{
    uint32_t rank;

    run->step = step;
    run->incomplete = run->directory->ranks - 1;
    run->waiting_first = run->waiting_end = 0;
    for (rank = 0; rank < run->directory->ranks; rank++)
        run->member[rank].is_heard = run->member[rank].is_assigned =
            run->member[rank].is_complete = 0;
    if (step == XYL_COPY_LEFT)
        return;
    leader_allow_first(run);
    leader_presets(run);
}

static void leader_result_is_there(xyl_directory_run_t *run)
{
    set_for_all(run, &run->directory->head->completion, run->call.number);
    if (run->call.gotten == 0) {
        leader_step(run, XYL_COPY_LEFT);
        return;
    }
    leader_step(run, XYL_COPY_BROADCAST);
    if (run->call.takes_own)
        begin_whole(run, XYL_COPY_OWN_OUT, run->call.gotten);
}

/* Goes on when all contributions are there. */
static unsigned leader_gathered(xyl_directory_run_t *run)
{
    if (run->owes_own)
        return 0;
    if (run->owes_kernel) {
        if (run->has_begun_kernel)
            return 0;
        run->has_begun_kernel = 1;
        begin_whole(run, XYL_COPY_KERNEL, run->call.given);
        return 1;
    }
    leader_result_is_there(run);
    return 1;
}

static unsigned leader_go(xyl_directory_run_t *run)
{
    unsigned did = leader_look(run);

    if (run->step == XYL_COPY_BROADCAST)
        did += leader_publish(run);
    if (run->incomplete != 0)
        return did;
    if (run->step == XYL_COPY_GATHER)
        return did + leader_gathered(run);
    if (run->step == XYL_COPY_BROADCAST) {
        leader_step(run, XYL_COPY_LEFT);
        return did + 1;
    }
    if (run->under_way != 0)
        return did;
    set_for_all(run, &run->directory->head->over, run->call.number);
    run->is_over = 1;
    return did + 1;
}

/* ---- all ---- */

size_t xyl_directory_bytes(uint32_t ranks, uint64_t chunk)
{
    return sizeof(xyl_directory_head_t) + ranks * sizeof(xyl_directory_line_t) +
           (ranks + UINT64_C(1)) * XYL_DIRECTORY_SLOTS * chunk;
}

void xyl_directory_init(xyl_directory_t *directory, xyl_shm_t *shm,
                        void *memory, const uint32_t *world, uint32_t ranks,
                        uint64_t chunk)
{
    assert(ranks <= XYL_DIRECTORY_RANKS_MAX);
    *directory = (xyl_directory_t){
        .shm = shm, .world = world, .ranks = ranks, .chunk = chunk};
    directory->head = memory;
    directory->line = (xyl_directory_line_t *)(void *)(directory->head + 1);
    directory->rings = (char *)(directory->line + ranks);
}

int xyl_directory_is_free(const xyl_directory_t *directory, uint64_t number)
{
    return xyl_shm_get(directory->shm, &directory->head->over) == number - 1;
}

void xyl_directory_begin(xyl_directory_run_t *run, xyl_directory_t *directory,
                         const xyl_directory_call_t *call)
{
    xyl_copy_step_t first =
        call->given != 0 ? XYL_COPY_GATHER : XYL_COPY_BROADCAST;

    memset(run, 0, sizeof *run);
    run->call = *call;
    run->directory = directory;
    run->step = first;
    if (call->rank != call->leader)
        return;
    run->owes_own = call->keeps_own;
    run->owes_kernel = call->combines;
    leader_step(run, XYL_COPY_GATHER);
    if (first != XYL_COPY_GATHER)
        run->incomplete = 0; /* no rank contributes */
    if (call->keeps_own)
        begin_whole(run, XYL_COPY_OWN_IN,
                    call->given != 0 ? call->given : call->gotten);
}

unsigned xyl_directory_go(xyl_directory_run_t *run)
{
    if (run->is_over)
        return 0;
    run->may_begin = 1;
    return run->call.rank == run->call.leader ? leader_go(run) : member_go(run);
}

static void ring_ended(xyl_directory_run_t *run, xyl_copy_kind_t kind,
                       uint32_t rank, uint32_t slot)
{
    const xyl_directory_call_t *call = &run->call;

    if (kind == XYL_COPY_DRAIN) {
        xyl_directory_flow_t *drain = &run->member[rank].drain;
        flow_ended(drain, 0, slot);
        set_for(run, &line_of(run, rank)->drained,
                count_word(run, drain->ended), rank);
    } else if (kind == XYL_COPY_PUBLISH) {
        flow_ended(&run->publish, 0, slot);
        set_for_all(run, &run->directory->head->published,
                    count_word(run, run->publish.ended));
    } else if (kind == XYL_COPY_FILL) {
        flow_ended(&run->fill, 0, slot);
        set_for(run, &line_of(run, call->rank)->filled,
                count_word(run, run->fill.ended), call->leader);
    } else {
        flow_ended(&run->take, run->joins, slot);
        set_for(run, &line_of(run, call->rank)->taken,
                count_word(run, run->joins + run->take.ended), call->leader);
    }
}

void xyl_directory_ended(xyl_directory_run_t *run, xyl_copy_kind_t kind,
                         uint32_t rank, uint32_t slot)
{
    run->under_way--;
    switch ((int)kind) {
    case XYL_COPY_OWN_IN:
        run->owes_own = 0;
        break;
    case XYL_COPY_KERNEL:
        run->owes_kernel = 0;
        break;
    case XYL_COPY_OWN_OUT:
        break;
    case XYL_COPY_IPC_IN:
        run->has_ended_ipc[XYL_COPY_GATHER] = 1;
        break;
    case XYL_COPY_IPC_OUT:
        run->has_ended_ipc[XYL_COPY_BROADCAST] = 1;
        break;
    default:
        ring_ended(run, kind, rank, slot);
    }
}

/* ---- for reports of calls that hang ---- */

static const char *state_text(const xyl_directory_run_t *run, uint32_t rank)
{
    static const char *const texts[] = {"INIT",    "RTS",      "IPC_ASGN",
                                        "HS_ASGN", "IPC_INIT", "HS_INIT",
                                        "IPC_CMP", "HS_CMP"};
    uint64_t word =
        xyl_shm_get(run->directory->shm, &line_of(run, rank)->status);

    if (is_of_step(run, word, XYL_COPY_LEFT))
        return "left";
    return is_of_step(run, word, run->step) ? texts[state_of(word) & 7] : "-";
}

void xyl_directory_describe(const xyl_directory_run_t *run, char *text,
                            size_t bytes)
{
    static const char *const steps[] = {"gather", "broadcast", "end"};
    uint32_t rank, leads = run->call.rank == run->call.leader;
    size_t at = (size_t)snprintf(text, bytes, "%s, %u copies under way",
                                 steps[run->step], run->under_way);

    if (!leads && at < bytes)
        snprintf(text + at, bytes - at, ", %s, rank %u leads",
                 state_text(run, run->call.rank),
                 run->directory->world[run->call.leader]);
    for (rank = 0; leads && rank < run->directory->ranks && at + 24 < bytes;
         rank++)
        if (rank != run->call.rank && !run->member[rank].is_complete)
            at += (size_t)snprintf(text + at, bytes - at, ", rank %u %s",
                                   run->directory->world[rank],
                                   state_text(run, rank));
}
