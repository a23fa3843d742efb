/* The fastest plans of a size are timed again, in turns with what the library
 * takes: of hundreds the luckiest would win, and of noise. */
#include <stdio.h>

#include "bench/measure/stats.h"
#include "bench/tune/campaign.h"

enum { FINALISTS = 3, TURNS = 7, TURNS_WON = 6 };

/* Those that are timed in turns: the library's own choice, and the fastest. */
struct finalist {
    struct tune_plan plan;
    struct tune_time time;
    double us[TURNS];
};

static size_t finalists_find(const struct campaign *c, size_t s,
                             struct finalist *list)
{
    size_t count = 1, p, best, i;

    list[0].plan = campaign_own_plan;
    for (; count <= FINALISTS; count++) {
        best = c->plans;
        for (p = 0; p < c->plans; p++) {
            double us = *campaign_at(c, c->measured, p, s);
            for (i = 1; i < count; i++)
                if (tune_plan_is_same(&list[i].plan, &c->plan[p]))
                    us = 0;
            if (us > 0 && campaign_gains(c, s, us) &&
                (best == c->plans ||
                 us < *campaign_at(c, c->measured, best, s)))
                best = p;
        }
        if (best == c->plans)
            break;
        list[count].plan = c->plan[best];
    }
    return count;
}

/* By medians, and no plan that has lost more than one turn is faster than the
 * library's own: it may be the same, with luck. */
static void finalists_judge(struct finalist *list, size_t count)
{
    unsigned turn, won[1 + FINALISTS] = {0};
    size_t i;

    for (i = 0; i < count; i++)
        for (turn = 0; turn < TURNS; turn++)
            won[i] += list[i].us[turn] < list[0].us[turn];
    for (i = 0; i < count; i++) { /* which sorts them */
        list[i].time.us = stats_median(list[i].us, TURNS);
        if (i > 0 && won[i] < TURNS_WON && list[i].time.us < list[0].time.us)
            list[i].time.us = list[0].time.us;
    }
}

/* Kept by other names than those of the search. */
static int turns_take(struct campaign *c, size_t s, struct finalist *list,
                      size_t count)
{
    size_t i, turn;

    for (turn = 0; turn < TURNS; turn++)
        for (i = 0; i < count; i++) {
            list[i].time =
                campaign_time(c, &list[i].plan, c->bytes[s], c->spread[s]);
            if (!campaign_time_anew(c, &list[i].time))
                return 0;
            list[i].us[turn] = list[i].time.us;
            c->search->turns_s += list[i].time.cost_s;
            c->search->turns++;
        }
    finalists_judge(list, count);
    for (i = 0; i < count; i++) {
        snprintf(list[i].time.plan.algorithm,
                 sizeof list[i].time.plan.algorithm, "turns/%.120s",
                 list[i].plan.algorithm);
        list[i].time.cost_s = 0;
        if (c->search->place->is_first &&
            !tune_journal_add(c->search->journal, &list[i].time))
            return 0;
    }
    return 1;
}

/* 1 with *known_out 1 when all have been timed in turns before. */
static int turns_find(struct campaign *c, size_t s, struct finalist *list,
                      size_t count, int *known_out)
{
    struct campaign_verdict verdict = {.is_known = 1};
    size_t i;

    for (i = 0; i < count && verdict.is_known; i++) {
        list[i].time =
            campaign_time(c, &list[i].plan, c->bytes[s], c->spread[s]);
        snprintf(list[i].time.plan.algorithm,
                 sizeof list[i].time.plan.algorithm, "turns/%.120s",
                 list[i].plan.algorithm);
        if (!campaign_ask(c, &list[i].time, &verdict))
            return 0;
        list[i].time.us = verdict.us;
    }
    *known_out = verdict.is_known;
    c->is_over |= !verdict.is_known && verdict.is_over;
    return 1;
}

int campaign_settle(struct campaign *c, size_t s, struct tune_choice *choice)
{
    struct finalist list[1 + FINALISTS];
    size_t count = finalists_find(c, s, list), i;
    int known = 0;

    choice->is_known = 0;
    if (count == 1)
        return 1;
    if (!turns_find(c, s, list, count, &known))
        return 0;
    if (!known && c->is_over)
        return 1;
    if (!known && !turns_take(c, s, list, count))
        return 0;
    c->own[s] = list[0].time.us;
    for (i = 1; i < count; i++)
        if (!choice->is_known || list[i].time.us < choice->us)
            *choice = (struct tune_choice){
                .plan = list[i].plan, .us = list[i].time.us, .is_known = 1};
    return 1;
}
