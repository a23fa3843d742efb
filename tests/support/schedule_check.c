/* Checks of schedules without running them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/core/team.h"
#include "simulator/random.h"
#include "tests/support/schedule_inside.h"

enum {
    /* Paths are known exactly up to here (2^14 actions: 32 MiB); beyond, only
     * a run can show a hazard. */
    PATHS_ACTIONS_MAX = 1 << 14,
    TEMP_PLACE_SHIFT = 48 /* where TEMP begins among the elements of a rank */
};

/* A stretch of elements that an action touches. */
typedef struct touch {
    uint64_t first, end;
    xyl_action_t action;
    int is_write;
} touch_t;

/* ---- single actions ---- */

typedef struct action_pieces {
    const xyl_position_t *reads[2];
    const xyl_position_t *write; /* NULL: none, as above */
} action_pieces_t;

static action_pieces_t pieces_of(const xyl_action_entry_t *action)
{
    switch (action->kind) {
    case XYL_ACTION_SEND:
        return (action_pieces_t){{&action->left, NULL}, NULL};
    case XYL_ACTION_RECV:
        return (action_pieces_t){{NULL, NULL}, &action->to};
    case XYL_ACTION_REDUCE:
        return (action_pieces_t){{&action->left, &action->right}, &action->to};
    case XYL_ACTION_COPY:
        return (action_pieces_t){{&action->left, NULL}, &action->to};
    case XYL_ACTION_NOTHING:
        break;
    }
    return (action_pieces_t){{NULL, NULL}, NULL};
}

static uint64_t place_of(const schedule_run_rank_t *rank, xyl_position_t piece)
{
    if (piece.buffer == XYL_BUFFER_TEMP)
        return (UINT64_C(1) << TEMP_PLACE_SHIFT) + piece.at;
    return rank->at[piece.buffer] + piece.at;
}

static int piece_check(schedule_run_t *run, uint32_t rank, xyl_action_t number,
                       const xyl_position_t *piece)
{
    static const char *const names[] = {"SEND", "RECV", "TEMP"};
    const schedule_run_rank_t *own = &run->all[rank];
    uint64_t count = own->schedule.actions[number].count;

    if (piece == NULL || count == 0 ||
        (piece->at <= own->count[piece->buffer] &&
         count <= own->count[piece->buffer] - piece->at))
        return 1;
    return schedule_run_mistake(run,
                                "rank %u: action %u touches %s %" PRIu64
                                "+%" PRIu64 ", of %" PRIu64,
                                rank, number, names[piece->buffer], piece->at,
                                count, own->count[piece->buffer]);
}

static int buffers_overlap(const schedule_run_rank_t *rank)
{
    const uint64_t *at = rank->at, *count = rank->count;

    return at[XYL_BUFFER_SEND] < at[XYL_BUFFER_RECV] + count[XYL_BUFFER_RECV] &&
           at[XYL_BUFFER_RECV] < at[XYL_BUFFER_SEND] + count[XYL_BUFFER_SEND];
}

/* Checks that a reduction writes one of its operands, or memory apart from
 * both. */
static int operands_check(schedule_run_t *run, uint32_t rank,
                          xyl_action_t number)
{
    const schedule_run_rank_t *own = &run->all[rank];
    const xyl_action_entry_t *action = &own->schedule.actions[number];
    action_pieces_t pieces = pieces_of(action);
    uint64_t to, from;
    int i;

    if (pieces.write == NULL || action->count == 0)
        return 1;
    if (pieces.write->buffer == XYL_BUFFER_SEND && !buffers_overlap(own))
        return schedule_run_mistake(run, "rank %u: action %u writes to SEND",
                                    rank, number);
    to = place_of(own, *pieces.write);
    for (i = 0; i < 2; i++) {
        if (pieces.reads[i] == NULL)
            continue;
        from = place_of(own, *pieces.reads[i]);
        if (to != from && to < from + action->count &&
            from < to + action->count)
            return schedule_run_mistake(
                run, "rank %u: the operands of action %u overlap", rank,
                number);
    }
    return 1;
}

static int actions_check(schedule_run_t *run, uint32_t rank)
{
    const xyl_schedule_t *schedule = &run->all[rank].schedule;
    xyl_action_t number;

    for (number = 0; number < schedule->count; number++) {
        const xyl_action_entry_t *action = &schedule->actions[number];
        action_pieces_t pieces = pieces_of(action);
        if (!piece_check(run, rank, number, pieces.reads[0]) ||
            !piece_check(run, rank, number, pieces.reads[1]) ||
            !piece_check(run, rank, number, pieces.write) ||
            !operands_check(run, rank, number))
            return 0;
        if (schedule_run_is_message(action) &&
            (action->peer >= run->ranks || action->peer == rank ||
             action->label >= schedule->labels))
            return schedule_run_mistake(
                run, "rank %u: action %u has peer %u and label %u", rank,
                number, action->peer, action->label);
    }
    return 1;
}

/* ---- hazards ---- */

static int touch_compare(const void *one, const void *other)
{
    const touch_t *a = one, *b = other;

    return a->first < b->first ? -1 : a->first > b->first;
}

/* Everything that a rank's actions touch, by place. */
static touch_t *touches_of(const schedule_run_rank_t *rank, uint32_t *count_out)
{
    const xyl_schedule_t *schedule = &rank->schedule;
    touch_t *touches =
        schedule_run_array(3 * (uint64_t)schedule->count, sizeof *touches);
    uint32_t count = 0;
    xyl_action_t number;
    int i;

    for (number = 0; number < schedule->count; number++) {
        const xyl_action_entry_t *action = &schedule->actions[number];
        action_pieces_t pieces = pieces_of(action);
        const xyl_position_t *all[] = {pieces.reads[0], pieces.reads[1],
                                       pieces.write};
        for (i = 0; i < 3 && action->count != 0; i++) {
            uint64_t first;
            if (all[i] == NULL)
                continue;
            first = place_of(rank, *all[i]);
            touches[count++] =
                (touch_t){first, first + action->count, number, i == 2};
        }
    }
    qsort(touches, count, sizeof *touches, touch_compare);
    *count_out = count;
    return touches;
}

/* Row `a` of the result: the actions that are finished before `a` starts. */
static uint64_t *paths_of(const xyl_schedule_t *schedule, size_t words)
{
    uint64_t *paths =
        schedule_run_array((uint64_t)schedule->count * words, sizeof *paths);
    xyl_action_t number;
    uint32_t order;
    size_t i;

    /* Actions wait for earlier ones only. */
    for (number = 0; number < schedule->count; number++) {
        const uint64_t *from = paths + number * words;
        order = schedule->actions[number].before;
        for (; order != XYL_ACTION_NONE; order = schedule->orders[order].next) {
            uint64_t *to = paths + schedule->orders[order].action * words;
            for (i = 0; i <= number / 64; i++)
                to[i] |= from[i];
            xyl_bits_set(to, number);
        }
    }
    return paths;
}

static int is_ordered(const uint64_t *paths, size_t words, xyl_action_t one,
                      xyl_action_t other)
{
    xyl_action_t first = one < other ? one : other;
    xyl_action_t second = one < other ? other : one;

    return first == second || xyl_bits_test(paths + second * words, first);
}

/* Goes through the touches from left to right, with those that reach up to the
 * present one at hand. */
static int hazards_check(schedule_run_t *run, uint32_t rank)
{
    const schedule_run_rank_t *own = &run->all[rank];
    size_t words = xyl_bits_words(own->schedule.count);
    uint64_t *paths;
    touch_t *touches;
    uint32_t *open, open_count = 0, kept, count, i, j;
    int is_clean = 1;

    if (own->schedule.count > PATHS_ACTIONS_MAX)
        return 1;
    paths = paths_of(&own->schedule, words);
    touches = touches_of(own, &count);
    open = schedule_run_array(count, sizeof *open);
    for (i = 0; i < count && is_clean; i++) {
        const touch_t *now = &touches[i];
        for (j = kept = 0; j < open_count; j++) {
            const touch_t *other = &touches[open[j]];
            if (other->end <= now->first)
                continue;
            open[kept++] = open[j];
            if ((now->is_write || other->is_write) && is_clean &&
                !is_ordered(paths, words, now->action, other->action))
                is_clean = schedule_run_mistake(
                    run, "rank %u: hazard between actions %u and %u", rank,
                    now->action, other->action);
        }
        open_count = kept;
        open[open_count++] = i;
    }
    free(open);
    free(touches);
    free(paths);
    return is_clean;
}

/* ---- messages ---- */

/* Messages by (source, target, label); 0: free, else 1 + its number. */
typedef struct message_map {
    uint32_t *slots;
    uint64_t mask;
} message_map_t;

static uint32_t *slot_of(const schedule_run_t *run, const message_map_t *map,
                         uint32_t source, uint32_t target, uint32_t label)
{
    uint64_t at =
        random_mix(random_mix((uint64_t)source << 32 | target) + label);

    for (;; at++) {
        uint32_t *slot = &map->slots[at & map->mask];
        const schedule_run_message_t *message;
        if (*slot == 0)
            return slot;
        message = &run->messages[*slot - 1];
        if (message->source == source && message->target == target &&
            run->all[source].schedule.actions[message->send].label == label)
            return slot;
    }
}

static int sends_enter(schedule_run_t *run, const message_map_t *map,
                       uint32_t rank)
{
    const xyl_schedule_t *schedule = &run->all[rank].schedule;
    xyl_action_t number;
    uint32_t *slot;

    for (number = 0; number < schedule->count; number++) {
        const xyl_action_entry_t *action = &schedule->actions[number];
        if (action->kind != XYL_ACTION_SEND)
            continue;
        slot = slot_of(run, map, rank, action->peer, action->label);
        if (*slot != 0)
            return schedule_run_mistake(
                run, "rank %u: two sends to rank %u have label %u", rank,
                action->peer, action->label);
        run->all[rank].message_of[number] = run->message_count;
        run->messages[run->message_count++] =
            (schedule_run_message_t){.source = rank,
                                     .target = action->peer,
                                     .send = number,
                                     .recv = XYL_ACTION_NONE};
        *slot = run->message_count;
    }
    return 1;
}

static int recvs_match(schedule_run_t *run, const message_map_t *map,
                       uint32_t rank)
{
    const xyl_schedule_t *schedule = &run->all[rank].schedule;
    const xyl_action_entry_t *send;
    schedule_run_message_t *message;
    xyl_action_t number;
    uint32_t slot;

    for (number = 0; number < schedule->count; number++) {
        const xyl_action_entry_t *action = &schedule->actions[number];
        if (action->kind != XYL_ACTION_RECV)
            continue;
        slot = *slot_of(run, map, action->peer, rank, action->label);
        if (slot == 0)
            return schedule_run_mistake(
                run, "rank %u: nothing comes from rank %u with label %u", rank,
                action->peer, action->label);
        message = &run->messages[slot - 1];
        if (message->recv != XYL_ACTION_NONE)
            return schedule_run_mistake(
                run, "rank %u: two receives from rank %u have label %u", rank,
                action->peer, action->label);
        send = &run->all[action->peer].schedule.actions[message->send];
        if (send->count != action->count)
            return schedule_run_mistake(
                run,
                "rank %u: %" PRIu64 " elements come from rank %u with label "
                "%u, %" PRIu64 " are awaited",
                rank, send->count, action->peer, action->label, action->count);
        message->recv = number;
        run->all[rank].message_of[number] = slot - 1;
    }
    return 1;
}

static int messages_match(schedule_run_t *run, const message_map_t *map)
{
    uint32_t i;

    for (i = 0; i < run->ranks; i++)
        if (!sends_enter(run, map, i))
            return 0;
    for (i = 0; i < run->ranks; i++)
        if (!recvs_match(run, map, i))
            return 0;
    for (i = 0; i < run->message_count; i++) {
        const schedule_run_message_t *message = &run->messages[i];
        if (message->recv == XYL_ACTION_NONE)
            return schedule_run_mistake(
                run, "rank %u: nobody receives what action %u sends to rank %u",
                message->source, message->send, message->target);
    }
    return 1;
}

/* The engine gives an operation as many sequence numbers as its labels take, on
 * each rank by that rank's schedule. */
static int sequences_check(schedule_run_t *run)
{
    uint32_t first = run->all[0].schedule.labels / XYL_TEAM_SEGMENT_TAGS, own;
    uint32_t i;

    for (i = 1; i < run->ranks; i++) {
        own = run->all[i].schedule.labels / XYL_TEAM_SEGMENT_TAGS;
        if (own != first)
            return schedule_run_mistake(
                run, "ranks 0 and %u take %u and %u sequence numbers", i,
                first + 1, own + 1);
    }
    return 1;
}

static int messages_check(schedule_run_t *run)
{
    message_map_t map = {NULL, 15};
    uint64_t total = 0;
    int is_matched;
    uint32_t i;

    for (i = 0; i < run->ranks; i++) {
        schedule_run_rank_t *rank = &run->all[i];
        total += rank->schedule.count;
        rank->message_of =
            schedule_run_array(rank->schedule.count, sizeof(uint32_t));
    }
    while (map.mask < 2 * total)
        map.mask = 2 * map.mask + 1;
    map.slots = schedule_run_array(map.mask + 1, sizeof *map.slots);
    run->messages = schedule_run_array(total, sizeof *run->messages);
    is_matched = messages_match(run, &map);
    free(map.slots);
    return is_matched;
}

/* ---- all of it ---- */

int schedule_run_check(schedule_run_t *run)
{
    uint64_t elements = 0;
    uint32_t i;

    for (i = 0; i < run->ranks; i++) {
        schedule_run_rank_t *rank = &run->all[i];
        rank->count[XYL_BUFFER_TEMP] = rank->schedule.temp_count;
        if (rank->schedule.status != XYLEM_OK)
            return schedule_run_mistake(run, "rank %u: not written", i);
        if (!actions_check(run, i) || !hazards_check(run, i))
            return 0;
    }
    if (!sequences_check(run) || !messages_check(run))
        return 0;
    for (i = 0; i < run->message_count; i++) {
        schedule_run_message_t *message = &run->messages[i];
        const schedule_run_rank_t *source = &run->all[message->source];
        message->payload_at = (size_t)elements * run->element_bytes;
        elements += source->schedule.actions[message->send].count;
    }
    schedule_run_prepare(run, elements);
    return 1;
}
