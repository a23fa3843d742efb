/* Decides whether the ranks of a team ask each other, in a call, where their
 * buffers lie (XYL_MEMORY_GPUS). All ranks have to decide alike, though one may
 * meet its first buffer in memory of a GPU while others are many calls ahead or
 * behind. So the calls in which ranks may ask are numbered, and the team's
 * ranks share a word:
 *
 *   no rank has met such a buffer   the greatest reserved number: ranks do not
 *                                   ask up to it; a rank ahead reserves more
 *   a rank has met one              the first number with which ranks ask
 *
 * One swap changes the word from the first kind to the second, with a number
 * that no rank has reserved. A second word of the same kinds says from which
 * number on all ranks know whether some of them share a GPU. Each rank tells
 * its GPU by a word of its own when it meets its first buffer there. */
#include <stdatomic.h>
#include <string.h>

#include "collectives/data/call.h"
#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "collectives/data/op.h"
#include "collectives/data/user_op.h"
#include "collectives/device/device.h"
#include "collectives/device/plan.h"
#include "collectives/device/team.h"
#include "collectives/device/way.h"
#include "collectives/levels/team_levels.h"
#include "collectives/node/boards.h"
#include "collectives/stages/collective.h"
#include "runtime/core/context.h"

/* Bits of a word beside the number. */
static const uint64_t is_decided = UINT64_C(1) << 63;
static const uint64_t side_by_side = UINT64_C(1) << 62;

enum { RESERVE_LEAST = 4, RESERVE_MOST = 256 };

/* ---- which calls ---- */

/* The call's bytes as rules count them, equal on all ranks. */
static uint64_t bytes_of(const xylem_team_t *team,
                         const xylem_coll_args_t *args)
{
    return xyl_coll_varies(args->coll)
               ? xyl_call_common_bytes(team, args)
               : args->count * xylem_type_bytes(args->type);
}

/* 1: a kernel may exist for the call; a rank that has none says so (is_bad). */
static int is_combined(const xylem_coll_args_t *args)
{
    return !xyl_coll_traits(args->coll)->reduces ||
           (args->op < XYL_USER_OP_BASE && xylem_type_bytes(args->type) != 0 &&
            args->type != XYLEM_LONG_DOUBLE &&
            args->type != XYLEM_COMPLEX_LONG_DOUBLE &&
            args->type != XYLEM_PAIR_LONG_DOUBLE_INT);
}

/* The team's ranks on this node. */
static uint32_t seats_of(xylem_team_t *team)
{
    xyl_device_team_t *state = xyl_gpus_of_team(team);
    const xyl_levels_t *levels;

    if (state->seats != 0)
        return state->seats;
    if (team->is_one_node) {
        state->seats = team->size;
        return state->seats;
    }
    levels = xyl_levels_of_team(team);
    if (levels == NULL)
        return 1; /* no call of the team can be planned */
    state->seats = xyl_levels_seats(levels, levels->node);
    return state->seats;
}

/* 1: this node's ranks have memory in common, and are not too many. */
static int has_word(xylem_team_t *team)
{
    uint32_t seats = seats_of(team);

    return team->context->shm != NULL && team->may_share && seats > 1 &&
           seats <= XYL_CUDA_OPERANDS_MAX;
}

/* The board of this node's ranks. NULL: no memory; calls have none, either. */
static xyl_board_t *board_of(xylem_team_t *team)
{
    uint32_t ranks[XYL_CUDA_OPERANDS_MAX], seat;
    xyl_group_t seats = {team->size, team->rank, NULL};
    const xyl_levels_t *levels;
    xyl_board_t *board;

    if (!team->is_one_node) {
        levels = xyl_levels_of_team(team); /* not NULL: has_word */
        seats = (xyl_group_t){seats_of(team), levels->seat, ranks};
        for (seat = 0; seat < seats.size; seat++)
            ranks[seat] = xyl_levels_rank(levels, levels->node, seat);
    }
    return xyl_node_board_of(team, &seats, &board) == XYLEM_OK ? board : NULL;
}

/* 1: GPUs do the collective or, on several nodes, its levels within nodes. */
static int has_tasks(const xylem_team_t *team, xylem_coll_t coll)
{
    return coll < XYLEM_COLL_COUNT &&
           (team->is_one_node ? xyl_device_has_tasks(coll)
                              : (XYL_DEVICE_LEVEL_COLLS >> coll & 1) != 0);
}

/* 1: ranks may ask in the call if its tag allows; equal on all ranks. */
static int may_ask_in_turn(xylem_team_t *team, const xylem_coll_args_t *args)
{
    const xylem_context_t *context = team->context;

    return has_tasks(team, args->coll) && args->algorithm == NULL &&
           args->segment_bytes == 0 &&
           (args->flags & XYLEM_FLAG_REPRODUCIBLE) == 0 && is_combined(args) &&
           bytes_of(team, args) >=
               xyl_tuned_of(context)->gpus_from[args->coll] &&
           has_word(team);
}

/* Calls with tags have no numbers. */
static int may_ask(xylem_team_t *team, const xylem_coll_args_t *args)
{
    return args->tag == 0 && may_ask_in_turn(team, args);
}

static int is_on_gpu(const xylem_context_t *context,
                     const xylem_coll_args_t *args)
{
    return xyl_cuda_library_of(xyl_collective_exec(context, args)) != NULL;
}

/* ---- the numbers ---- */

static uint64_t reserved_from(uint64_t number)
{
    uint64_t some = number / 8 + RESERVE_LEAST;

    return number + (some < RESERVE_MOST ? some : RESERVE_MOST);
}

static uint64_t number_in(uint64_t word)
{
    return word & ~(is_decided | side_by_side);
}

/* Returns the word when it has decided for `number`. If no rank has decided so
 * far, and `says`, this rank's bits, is 0, it reserves the numbers up to
 * `reserved`. */
static uint64_t word_settle(_Atomic uint64_t *word, uint64_t number,
                            uint64_t reserved, uint64_t says)
{
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed), next;

    for (;;) {
        if ((seen & is_decided) != 0 || (says == 0 && seen >= number))
            return seen;
        if (says != 0)
            next = says | (seen < number ? number : seen + 1);
        else
            next = reserved;
        /* Relaxed: the word publishes no other memory. */
        if (atomic_compare_exchange_weak_explicit(
                word, &seen, next, memory_order_relaxed, memory_order_relaxed))
            return next;
    }
}

/* 1: ranks ask in the call. */
static int asks_in(xylem_team_t *team, const xylem_coll_args_t *args,
                   xyl_device_team_t *state, uint64_t number)
{
    xyl_board_t *board;
    uint64_t said;

    xyl_context_execs_look(team->context);
    board = board_of(team);
    if (board == NULL)
        return 0;
    said = word_settle(xyl_board_spare(board, XYL_SPARE_CALLS), number,
                       reserved_from(number),
                       is_on_gpu(team->context, args) ? is_decided : 0);
    if ((said & is_decided) == 0) {
        state->reserved = said;
        return 0;
    }
    state->asks_from = number_in(said);
    return number >= state->asks_from;
}

/* ---- which ranks share a GPU ---- */

/* Finds the device of a buffer of the call's. 0: no buffer lies on one. */
static int device_find(const xyl_cuda_library_t *library,
                       const xylem_coll_args_t *args, int *device_out)
{
    const void *buffers[] = {args->send, args->recv};
    xyl_cuda_place_t place;
    size_t i;

    for (i = 0; i < 2; i++) {
        if (buffers[i] == NULL || buffers[i] == XYLEM_IN_PLACE)
            continue;
        library->find(buffers[i], &place);
        *device_out = place.device;
        if (place.kind == XYL_CUDA_KIND_DEVICE ||
            place.kind == XYL_CUDA_KIND_MANAGED)
            return 1;
    }
    return 0;
}

/* Tells this node's ranks the GPU of the first buffer that this rank meets. */
static void gpu_tell(xylem_team_t *team, const xylem_coll_args_t *args,
                     xyl_device_team_t *state, const xyl_board_t *board)
{
    const xyl_cuda_library_t *library =
        xyl_cuda_library_of(xyl_collective_exec(team->context, args));
    xyl_cuda_device_t found = {.is_mps = 0};
    int device;

    if (state->gpu != 0 || library == NULL ||
        !device_find(library, args, &device))
        return;
    state->gpu = xyl_device_gpu(team->context, library, device);
    state->is_mps = library->device(device, &found) == 0 && found.is_mps;
    if (library->devices(&state->devices) != 0)
        state->devices = 0;
    /* Relaxed: the word publishes no other memory. */
    atomic_store_explicit(xyl_board_seat_spare(board, board->seats.own),
                          state->gpu, memory_order_relaxed);
}

/* 1: the machine is presented as several nodes, so that ranks on other ones use
 * its GPUs, too, and there are more ranks than GPUs. */
static int others_may_share(const xylem_team_t *team,
                            const xyl_device_team_t *state)
{
    const xyl_peer_t *peers = team->context->peers;
    uint32_t rank, here = 0;

    for (rank = 0; rank < team->size; rank++)
        here += peers[xyl_team_world_rank(team, rank)].is_local;
    return here != state->seats && here > (uint32_t)state->devices;
}

/* The bits that this rank adds to the word; 0: it knows too little. */
static uint64_t apart_says(const xylem_team_t *team,
                           const xyl_device_team_t *state,
                           const xyl_board_t *board)
{
    uint64_t gpu[XYL_CUDA_OPERANDS_MAX];
    uint32_t seat, other;

    if (state->gpu == 0)
        return 0;
    if (state->is_mps)
        return is_decided | side_by_side;
    for (seat = 0; seat < state->seats; seat++) {
        gpu[seat] = atomic_load_explicit(xyl_board_seat_spare(board, seat),
                                         memory_order_relaxed);
        if (gpu[seat] == 0)
            return 0;
        for (other = 0; other < seat; other++)
            if (gpu[other] == gpu[seat])
                return is_decided;
    }
    return others_may_share(team, state) ? is_decided
                                         : is_decided | side_by_side;
}

/* The memory of a call in which ranks ask. */
static xyl_memory_t memory_of_gpus(xylem_team_t *team,
                                   const xylem_coll_args_t *args,
                                   xyl_device_team_t *state, uint64_t number)
{
    xyl_board_t *board;
    uint64_t said;

    if (state->apart_from == 0 &&
        (state->gpu == 0 || number > state->apart_reserved) && has_word(team) &&
        (board = board_of(team)) != NULL) {
        gpu_tell(team, args, state, board);
        said =
            word_settle(xyl_board_spare(board, XYL_SPARE_APART), number,
                        reserved_from(number), apart_says(team, state, board));
        state->apart_reserved = said;
        if ((said & is_decided) != 0) {
            state->apart_from = number_in(said);
            state->is_apart = (said & side_by_side) != 0;
        }
    }
    return state->is_apart && number >= state->apart_from
               ? XYL_MEMORY_GPUS_APART
               : XYL_MEMORY_GPUS;
}

/* 1: this rank's buffer alone decides, and ranks do not ask. */
static int goes_by_buffer(const xylem_team_t *team,
                          const xylem_coll_args_t *args)
{
    return team->context->config.cuda_direct == XYL_DIRECT_ON &&
           has_tasks(team, args->coll) && !xyl_coll_varies(args->coll);
}

/* 1: the call has a number: ranks may ask in it, or its buffer decides and lies
 * in memory of a GPU, as those of all ranks do. */
static int has_number(xylem_team_t *team, const xylem_coll_args_t *args)
{
    return goes_by_buffer(team, args)
               ? args->tag == 0 && is_on_gpu(team->context, args)
               : may_ask(team, args);
}

xyl_memory_t xyl_device_memory_find(xylem_team_t *team,
                                    const xylem_coll_args_t *args)
{
    const xylem_context_t *context = team->context;
    xyl_device_team_t *state = xyl_gpus_of_team(team);
    uint64_t number;

    if (!has_number(team, args))
        return XYL_MEMORY_HOST;
    number = ++state->calls;
    if (goes_by_buffer(team, args))
        return memory_of_gpus(team, args, state, number);
    if (state->asks_from == 0 && number <= state->reserved &&
        (context->execs.count == 1 || !is_on_gpu(context, args)))
        return XYL_MEMORY_HOST;
    if (state->asks_from == 0 ? asks_in(team, args, state, number)
                              : number >= state->asks_from)
        return memory_of_gpus(team, args, state, number);
    return XYL_MEMORY_HOST;
}

/* Calls with tags come in any order, so their tags serve as numbers. */
int xyl_device_tag_suits(xylem_team_t *team, const xylem_coll_args_t *args)
{
    const xylem_context_t *context = team->context;
    xyl_board_t *board;
    uint64_t said;

    if (!team->is_one_node || context->config.cuda_direct == XYL_DIRECT_OFF)
        return 1;
    xyl_context_execs_look(team->context);
    if (goes_by_buffer(team, args))
        return !is_on_gpu(context, args);
    if (!may_ask_in_turn(team, args))
        return 1;
    board = board_of(team);
    if (board == NULL)
        return 1;
    said = word_settle(xyl_board_spare(board, XYL_SPARE_TAGS), args->tag,
                       args->tag, is_on_gpu(context, args) ? is_decided : 0);
    return (said & is_decided) == 0 || args->tag < number_in(said);
}

int xyl_device_never_asks(xylem_team_t *team, const xylem_coll_args_t *args)
{
    return team->context->config.cuda_direct == XYL_DIRECT_OFF ||
           (!goes_by_buffer(team, args) && !may_ask(team, args));
}

void xyl_device_memory_back(xylem_team_t *team, const xylem_coll_args_t *args)
{
    if (has_number(team, args))
        xyl_gpus_of_team(team)->calls--;
}

void xyl_device_memory_goes_on(xylem_team_t *team, uint64_t word)
{
    xyl_device_team_t *state = xyl_gpus_of_team(team);

    state->calls = state->reserved = number_in(word);
    state->asks_from = (word & is_decided) != 0 ? state->calls : 0;
}

/* ---- the fields of a problem ---- */

/* Says why kernels cannot run the problem, wherever buffers lie, or NULL. */
static const char *what_keeps_off(const xylem_team_t *team,
                                  const xylem_coll_args_t *args,
                                  const xyl_problem_t *problem)
{
    if (!problem->shares_memory)
        return "needs ranks on one node that share memory";
    if (problem->has_tag)
        return "goes by the order of calls, which a tag leaves open";
    if (xyl_call_is_reproducible(team, args))
        return "has no reproducible order";
    if (problem->ranks > XYL_CUDA_OPERANDS_MAX)
        return "needs at most 64 ranks";
    if (!is_combined(args))
        return "needs an operation and a type that GPUs have";
    if (problem->count == 0 && !xyl_coll_varies(args->coll))
        return "needs a message that is not empty";
    return NULL;
}

void xyl_device_outline(const xylem_team_t *team, const xylem_coll_args_t *args,
                        xyl_memory_t memory, xyl_problem_t *problem)
{
    problem->off_device = what_keeps_off(team, args, problem);
    if (problem->off_device == NULL && memory == XYL_MEMORY_HOST)
        problem->off_device = "needs buffers in memory of GPUs, and "
                              "XYLEM_CUDA_DIRECT";
    problem->on_device = problem->off_device == NULL;
    problem->is_unasked = goes_by_buffer(team, args) &&
                          (problem->on_device ||
                           (!team->is_one_node && memory != XYL_MEMORY_HOST));
    problem->side_by_side =
        problem->on_device && memory == XYL_MEMORY_GPUS_APART;
}

void xyl_device_outline_level(xylem_team_t *team, const xylem_coll_args_t *args,
                              xyl_memory_t memory, xyl_problem_t *problem)
{
    problem->ranks = seats_of(team);
    problem->shares_memory = has_word(team) && has_tasks(team, args->coll);
    xyl_device_outline(team, args, memory, problem);
}
