/* Checks that the actions of a schedule have no needless waits. */
#include <stdlib.h>

#include "tests/support/schedule_inside.h"

/* Elements that an action touches. */
typedef struct stretch {
    uint64_t first, end; /* in memory, or in TEMP */
    int is_temp, is_write;
} stretch_t;

static uint32_t stretches_of(const schedule_run_rank_t *rank,
                             const xyl_action_entry_t *action,
                             stretch_t stretches[3])
{
    int sends = action->kind == XYL_ACTION_SEND;
    int receives = action->kind == XYL_ACTION_RECV;
    int combines = action->kind == XYL_ACTION_REDUCE;
    const xyl_position_t *pieces[] = {receives ? NULL : &action->left,
                                      combines ? &action->right : NULL,
                                      sends ? NULL : &action->to};
    uint32_t i, count = 0;

    for (i = 0; i < 3; i++) {
        int is_temp;
        uint64_t first;
        if (pieces[i] == NULL)
            continue;
        is_temp = pieces[i]->buffer == XYL_BUFFER_TEMP;
        first = pieces[i]->at + (is_temp ? 0 : rank->at[pieces[i]->buffer]);
        stretches[count++] =
            (stretch_t){first, first + action->count, is_temp, i == 2};
    }
    return count;
}

/* 1: one action writes bytes that the other touches. */
static int is_needed(const schedule_run_rank_t *rank, xyl_action_t one,
                     xyl_action_t other)
{
    const xyl_action_entry_t *actions = rank->schedule.actions;
    stretch_t ours[3], theirs[3];
    uint32_t our_count = stretches_of(rank, &actions[one], ours), i;
    uint32_t their_count = stretches_of(rank, &actions[other], theirs), j;

    for (i = 0; i < our_count; i++)
        for (j = 0; j < their_count; j++)
            if ((ours[i].is_write || theirs[j].is_write) &&
                ours[i].is_temp == theirs[j].is_temp &&
                ours[i].first < theirs[j].end && theirs[j].first < ours[i].end)
                return 1;
    return 0;
}

/* Looks at all actions that wait for one action, through those that do nothing;
 * `seen` has the last action from which each was reached, plus 1. */
static int waiting_check(schedule_run_t *run, uint32_t rank, xyl_action_t first,
                         uint32_t *seen, xyl_action_t *joins)
{
    const schedule_run_rank_t *own = &run->all[rank];
    const xyl_schedule_t *schedule = &own->schedule;
    uint32_t join_count = 0, order;
    xyl_action_t number;

    joins[join_count++] = first;
    while (join_count != 0) {
        number = joins[--join_count];
        order = schedule->actions[number].before;
        for (; order != XYL_ACTION_NONE; order = schedule->orders[order].next) {
            xyl_action_t next = schedule->orders[order].action;
            if (seen[next] == first + 1)
                continue;
            seen[next] = first + 1;
            if (schedule->actions[next].kind == XYL_ACTION_NOTHING)
                joins[join_count++] = next;
            else if (!is_needed(own, first, next))
                return schedule_run_mistake(
                    run, "rank %u: action %u waits for %u without need", rank,
                    next, first);
        }
    }
    return 1;
}

int schedule_run_check_waits(schedule_run_t *run)
{
    uint32_t rank;
    xyl_action_t number;
    int is_clean = 1;

    for (rank = 0; rank < run->ranks && is_clean; rank++) {
        const xyl_schedule_t *schedule = &run->all[rank].schedule;
        uint32_t *seen = schedule_run_array(schedule->count, sizeof *seen);
        xyl_action_t *joins =
            schedule_run_array((uint64_t)schedule->count + 1, sizeof *joins);
        for (number = 0; number < schedule->count && is_clean; number++)
            if (schedule->actions[number].kind != XYL_ACTION_NOTHING)
                is_clean = waiting_check(run, rank, number, seen, joins);
        free(seen);
        free(joins);
    }
    return is_clean;
}
