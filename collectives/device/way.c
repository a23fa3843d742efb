/* Whether the ranks of a team ask each other, in a call, where their buffers
 * lie. All ranks have to know alike whether they do, though one may have met
 * its first buffer in memory of a GPU while others are many calls ahead or
 * behind. So calls that may ever ask are numbered, and a word that the team's
 * ranks share says from which number on they do:
 *
 *   nobody has met such a buffer    the greatest number that any rank may have
 *                                   come to: who is ahead has reserved some
 *   somebody has                    the first number with which ranks ask
 *
 * It goes from the one to the other by a swap, once, to a number that nobody
 * has reserved. Where no rank has a GPU a call costs a count, and now and then
 * a swap. */
#include <stdatomic.h>
#include <string.h>

#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "collectives/data/op.h"
#include "collectives/data/user_op.h"
#include "collectives/device/device.h"
#include "collectives/device/plan.h"
#include "collectives/device/way.h"
#include "collectives/node/node.h"
#include "collectives/stages/collective.h"
#include "runtime/core/context.h"

/* Of the word. */
static const uint64_t they_ask = UINT64_C(1) << 63;

enum { RESERVE_LEAST = 4, RESERVE_MOST = 256 };

/* ---- which calls ---- */

static uint64_t sum_of(const xylem_team_t *team, const uint64_t *counts)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; counts != NULL && i < team->size; i++)
        sum += counts[i];
    return sum;
}

/* What all ranks know alike; of the rest, enough. */
static uint64_t bytes_of(const xylem_team_t *team,
                         const xylem_coll_args_t *args)
{
    uint64_t type_bytes = xylem_type_bytes(args->type);

    switch ((int)args->coll) {
    case XYLEM_COLL_ALLGATHERV:
        return sum_of(team, args->recv_counts) *
               xylem_type_bytes(args->recv_count != 0 ? args->recv_type
                                                      : args->type) /
               team->size;
    case XYLEM_COLL_REDUCE_SCATTER:
        return sum_of(team, args->recv_counts) * type_bytes / team->size;
    case XYLEM_COLL_GATHERV:
    case XYLEM_COLL_SCATTERV:
    case XYLEM_COLL_ALLTOALLV:
        return UINT64_MAX;
    default:
        return args->count * type_bytes;
    }
}

/* That a kernel may exist for it; if none does after all, ranks say so. */
static int is_combined(const xylem_coll_args_t *args)
{
    return !xyl_coll_traits(args->coll)->reduces ||
           (args->op < XYL_USER_OP_BASE && xylem_type_bytes(args->type) != 0 &&
            args->type != XYLEM_LONG_DOUBLE &&
            args->type != XYLEM_COMPLEX_LONG_DOUBLE &&
            args->type != XYLEM_PAIR_LONG_DOUBLE_INT);
}

/* Equal on all ranks. */
static int may_ask_in_turn(const xylem_team_t *team,
                           const xylem_coll_args_t *args)
{
    const xylem_context_t *context = team->context;

    return args->coll < XYLEM_COLL_COUNT && xyl_device_has_tasks(args->coll) &&
           args->algorithm == NULL && args->segment_bytes == 0 &&
           (args->flags & XYLEM_FLAG_REPRODUCIBLE) == 0 &&
           context->shm != NULL && team->may_share && team->size > 1 &&
           team->size <= XYL_CUDA_OPERANDS_MAX && is_combined(args) &&
           bytes_of(team, args) >= xyl_limits_of(context)->device_asks;
}

/* Calls with tags are in no turn. */
static int may_ask(const xylem_team_t *team, const xylem_coll_args_t *args)
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

/* The word, when it says of `number` what it will always say; if all that is
 * said of it is that nobody asks, it says so up to `reserved`. */
static uint64_t word_settle(_Atomic uint64_t *word, uint64_t number,
                            uint64_t reserved, int is_met)
{
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed), next;

    for (;;) {
        if ((seen & they_ask) != 0 || (!is_met && seen >= number))
            return seen;
        if (is_met)
            next = they_ask | (seen < number ? number : seen + 1);
        else
            next = reserved;
        /* Nothing else is said by it. */
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
    word = xyl_node_team_word(team, 0);
    if (word == NULL) /* no memory: nor has the call any */
        return 0;
    said = word_settle(word, number, reserved_from(number),
                       is_on_gpu(team->context, args));
    if ((said & they_ask) == 0) {
        state->reserved = said;
        return 0;
    }
    state->asks_from = said & ~they_ask;
    return number >= state->asks_from;
}

/* By that of this rank: nobody asks who asks. */
static int goes_by_buffer(const xylem_context_t *context,
                          const xylem_coll_args_t *args)
{
    return context->config.cuda_direct == XYL_DIRECT_ON &&
           args->coll < XYLEM_COLL_COUNT && !xyl_coll_varies(args->coll);
}

uint32_t xyl_device_way_find(xylem_team_t *team, const xylem_coll_args_t *args)
{
    const xylem_context_t *context = team->context;
    xyl_device_team_t *state = xyl_device_of_team(team);
    uint64_t number;

    if (goes_by_buffer(context, args))
        return args->tag == 0 && is_on_gpu(context, args) ? XYL_FLAG_ASKS : 0;
    if (!may_ask(team, args))
        return 0;
    number = ++state->calls;
    if (state->asks_from != 0)
        return number >= state->asks_from ? XYL_FLAG_ASKS : 0;
    if (number <= state->reserved &&
        (context->execs.count == 1 || !is_on_gpu(context, args)))
        return 0;
    return asks_from(team, args, state, number) ? XYL_FLAG_ASKS : 0;
}

/* The numbers of these are the tags, as the calls may come in any order. */
int xyl_device_tag_suits(xylem_team_t *team, const xylem_coll_args_t *args)
{
    const xylem_context_t *context = team->context;
    _Atomic uint64_t *word;
    uint64_t said;

    if (!team->is_one_node || context->config.cuda_direct == XYL_DIRECT_OFF)
        return 1;
    xyl_context_execs_look(team->context);
    if (goes_by_buffer(context, args))
        return !is_on_gpu(context, args);
    if (!may_ask_in_turn(team, args))
        return 1;
    word = xyl_node_team_word(team, 1);
    if (word == NULL) /* no memory: nor has the call any */
        return 1;
    said = word_settle(word, args->tag, args->tag, is_on_gpu(context, args));
    return (said & they_ask) == 0 || args->tag < (said & ~they_ask);
}

int xyl_device_never_asks(const xylem_team_t *team,
                          const xylem_coll_args_t *args)
{
    const xylem_context_t *context = team->context;

    return !team->is_one_node ||
           context->config.cuda_direct == XYL_DIRECT_OFF ||
           (!goes_by_buffer(context, args) && !may_ask(team, args));
}

void xyl_device_way_back(xylem_team_t *team, const xylem_coll_args_t *args)
{
    if (!goes_by_buffer(team->context, args) && may_ask(team, args))
        xyl_device_of_team(team)->calls--;
}

void xyl_device_way_goes_on(xylem_team_t *team, uint64_t word)
{
    xyl_device_team_t *state = xyl_device_of_team(team);

    state->calls = state->reserved = word & ~they_ask;
    state->asks_from = (word & they_ask) != 0 ? state->calls : 0;
}

int xyl_device_is_possible(const xylem_team_t *team,
                           const xylem_coll_args_t *args,
                           const xyl_problem_t *problem)
{
    int is_named =
        args->algorithm != NULL && strncmp(args->algorithm, "cuda_", 5) == 0;

    return ((args->flags & XYL_FLAG_ASKS) != 0 || is_named) &&
           (problem->count != 0 || xyl_coll_varies(args->coll)) &&
           team->size <= XYL_CUDA_OPERANDS_MAX && is_combined(args);
}
