/* Decides whether the ranks of a team ask each other, in a call, where their
 * buffers lie (XYL_MEMORY_GPUS). All ranks have to decide alike, though one may
 * meet its first buffer in memory of a GPU while others are many calls ahead or
 * behind. So the calls in which ranks may ask are numbered, and the team's
 * ranks share a word:
 *
 *   no rank has met such a buffer   the greatest reserved number: ranks do not
 *                                   ask up to it; a rank ahead reserves more
 *   a rank has met one              the first number with which ranks ask, and
 *                                   whether ranks that share a GPU run kernels
 *                                   side by side there, as that rank knows
 *
 * One swap changes the word from the first kind to the second, with a number
 * that no rank has reserved. */
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

/* Bits of the word beside the number. */
static const uint64_t they_ask = UINT64_C(1) << 63;
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

static _Atomic uint64_t *word_of(xylem_team_t *team, int is_of_tags)
{
    uint32_t ranks[XYL_CUDA_OPERANDS_MAX], seat;
    xyl_group_t seats = {team->size, team->rank, NULL};
    const xyl_levels_t *levels;

    if (!team->is_one_node) {
        levels = xyl_levels_of_team(team); /* not NULL: has_word */
        seats = (xyl_group_t){seats_of(team), levels->seat, ranks};
        for (seat = 0; seat < seats.size; seat++)
            ranks[seat] = xyl_levels_rank(levels, levels->node, seat);
    }
    return xyl_node_team_word(team, &seats, is_of_tags);
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
    return word & ~(they_ask | side_by_side);
}

/* The team's ranks on this machine, which share its GPUs. The machine may be
 * presented as several nodes. */
static uint32_t ranks_at_gpus(const xylem_team_t *team)
{
    const xyl_peer_t *peers = team->context->peers;
    uint32_t rank, count = 0;

    for (rank = 0; rank < team->size; rank++)
        count += peers[xyl_team_world_rank(team, rank)].is_local;
    return count;
}

/* The bits that this rank adds to the word once it has met a buffer in memory
 * of a GPU; 0: it has met none. */
static uint64_t word_of_rank(const xylem_team_t *team,
                             const xylem_coll_args_t *args)
{
    const xyl_cuda_library_t *library =
        xyl_cuda_library_of(xyl_collective_exec(team->context, args));
    xyl_cuda_device_t device = {.is_mps = 0};
    int devices = 0;

    if (library == NULL)
        return 0;
    if (library->devices(&devices) == 0 &&
        (ranks_at_gpus(team) <= (uint32_t)devices ||
         (library->device(0, &device) == 0 && device.is_mps)))
        return they_ask | side_by_side;
    return they_ask;
}

/* Returns the word when it has decided for `number`. If no rank asks so far,
 * and `says` (word_of_rank) is 0, it reserves the numbers up to `reserved`. */
static uint64_t word_settle(_Atomic uint64_t *word, uint64_t number,
                            uint64_t reserved, uint64_t says)
{
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed), next;

    for (;;) {
        if ((seen & they_ask) != 0 || (says == 0 && seen >= number))
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

static int asks_from(xylem_team_t *team, const xylem_coll_args_t *args,
                     xyl_device_team_t *state, uint64_t number)
{
    _Atomic uint64_t *word;
    uint64_t said;

    xyl_context_execs_look(team->context);
    word = word_of(team, 0);
    if (word == NULL) /* no memory for a board: the call has none, either */
        return 0;
    said = word_settle(word, number, reserved_from(number),
                       word_of_rank(team, args));
    if ((said & they_ask) == 0) {
        state->reserved = said;
        return 0;
    }
    state->asks_from = number_in(said);
    state->side_by_side = (said & side_by_side) != 0;
    return number >= state->asks_from;
}

/* 1: this rank's buffer alone decides, and ranks do not ask. */
static int goes_by_buffer(const xylem_team_t *team,
                          const xylem_coll_args_t *args)
{
    return team->context->config.cuda_direct == XYL_DIRECT_ON &&
           has_tasks(team, args->coll) && !xyl_coll_varies(args->coll);
}

/* A call that goes by its buffer has no number. The word only says how ranks
 * share GPUs. */
static xyl_memory_t memory_by_buffer(xylem_team_t *team,
                                     const xylem_coll_args_t *args,
                                     xyl_device_team_t *state)
{
    if (args->tag != 0 || !is_on_gpu(team->context, args))
        return XYL_MEMORY_HOST;
    if (state->asks_from == 0 && has_word(team))
        (void)asks_from(team, args, state, state->calls + 1);
    return XYL_MEMORY_GPUS;
}

static xyl_memory_t memory_if(int they_do)
{
    return they_do ? XYL_MEMORY_GPUS : XYL_MEMORY_HOST;
}

xyl_memory_t xyl_device_memory_find(xylem_team_t *team,
                                    const xylem_coll_args_t *args)
{
    const xylem_context_t *context = team->context;
    xyl_device_team_t *state = xyl_gpus_of_team(team);
    uint64_t number;

    if (goes_by_buffer(team, args))
        return memory_by_buffer(team, args, state);
    if (!may_ask(team, args))
        return XYL_MEMORY_HOST;
    number = ++state->calls;
    if (state->asks_from != 0)
        return memory_if(number >= state->asks_from);
    if (number <= state->reserved &&
        (context->execs.count == 1 || !is_on_gpu(context, args)))
        return XYL_MEMORY_HOST;
    return memory_if(asks_from(team, args, state, number));
}

/* Calls with tags come in any order, so their tags serve as numbers. */
int xyl_device_tag_suits(xylem_team_t *team, const xylem_coll_args_t *args)
{
    const xylem_context_t *context = team->context;
    _Atomic uint64_t *word;
    uint64_t said;

    if (!team->is_one_node || context->config.cuda_direct == XYL_DIRECT_OFF)
        return 1;
    xyl_context_execs_look(team->context);
    if (goes_by_buffer(team, args))
        return !is_on_gpu(context, args);
    if (!may_ask_in_turn(team, args))
        return 1;
    word = word_of(team, 1);
    if (word == NULL) /* no memory for a board: the call has none, either */
        return 1;
    said = word_settle(word, args->tag, args->tag,
                       is_on_gpu(context, args) ? they_ask : 0);
    return (said & they_ask) == 0 || args->tag < number_in(said);
}

int xyl_device_never_asks(xylem_team_t *team, const xylem_coll_args_t *args)
{
    return team->context->config.cuda_direct == XYL_DIRECT_OFF ||
           (!goes_by_buffer(team, args) && !may_ask(team, args));
}

void xyl_device_memory_back(xylem_team_t *team, const xylem_coll_args_t *args)
{
    if (!goes_by_buffer(team, args) && may_ask(team, args))
        xyl_gpus_of_team(team)->calls--;
}

void xyl_device_memory_goes_on(xylem_team_t *team, uint64_t word)
{
    xyl_device_team_t *state = xyl_gpus_of_team(team);

    state->calls = state->reserved = number_in(word);
    state->asks_from = (word & they_ask) != 0 ? state->calls : 0;
    state->side_by_side = (word & side_by_side) != 0;
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
    if (problem->off_device == NULL && memory != XYL_MEMORY_GPUS)
        problem->off_device = "needs buffers in memory of GPUs, and "
                              "XYLEM_CUDA_DIRECT";
    problem->on_device = problem->off_device == NULL;
    problem->is_unasked = problem->on_device && goes_by_buffer(team, args);
    problem->side_by_side =
        problem->on_device && xyl_gpus_of_team(team)->side_by_side;
}

void xyl_device_outline_level(xylem_team_t *team, const xylem_coll_args_t *args,
                              xyl_memory_t memory, xyl_problem_t *problem)
{
    problem->ranks = seats_of(team);
    problem->shares_memory = has_word(team) && has_tasks(team, args->coll);
    xyl_device_outline(team, args, memory, problem);
}
