/* Plans beside the fastest one, and lengths between two sizes that have
 * different plans. */
#include "bench/tune/campaign.h"

/* A plan is near the faster one if it takes at most this times as long. */
static const double near_best = 1.05;

static int measure_if_asked(struct campaign *c, size_t p, size_t s)
{
    return p == c->plans || !campaign_asks_for(c, p, s) ||
           campaign_measure(c, p, s);
}

/* From the fastest to a faster one, as long as there is one beside it. */
static int refine(struct campaign *c, size_t s)
{
    struct tune_plan list[TUNE_NEIGHBOURS_MAX];
    size_t p = campaign_fastest(c, s), before = c->plans, count, i;

    while (p < c->plans && p != before && !c->is_over) {
        before = p;
        count = tune_plan_neighbours(c->coll, &c->plan[p],
                                     &c->search->place->shape, list);
        for (i = 0; i < count; i++)
            if (!measure_if_asked(c, campaign_add(c, &list[i]), s))
                return 0;
        p = campaign_fastest(c, s);
    }
    return 1;
}

int campaign_refine(struct campaign *c)
{
    size_t s;

    for (s = 0; s < c->sizes; s++)
        if (!refine(c, s))
            return 0;
    return 1;
}

/* The border lies on the side of the plan that is slower in the middle between
 * the sizes. */
int campaign_cross_check(struct campaign *c, size_t s,
                         struct tune_choice *smaller,
                         const struct tune_choice *larger)
{
    struct tune_search *search = c->search;
    double from = (double)c->bytes[s], to = (double)c->bytes[s + 1],
           middle = tune_model_middle(from, to), smaller_us, larger_us;
    size_t bytes = (size_t)middle / sizeof(float) * sizeof(float);

    if (!smaller->is_known || !larger->is_known ||
        tune_plan_is_same(&smaller->plan, &larger->plan))
        return 1;
    if (!campaign_time_plan(c, &smaller->plan, bytes, &smaller_us) ||
        !campaign_time_plan(c, &larger->plan, bytes, &larger_us))
        return 0;
    if (smaller_us <= 0 || larger_us <= 0)
        return 1;
    search->checked++;
    search->near_best += larger_us <= near_best * smaller_us;
    if (larger_us / smaller_us > search->worst)
        search->worst = larger_us / smaller_us;
    smaller->end =
        (size_t)(smaller_us < larger_us ? tune_model_middle(middle, to)
                                        : tune_model_middle(from, middle));
    return 1;
}
