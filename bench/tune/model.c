#include "bench/tune/model.h"

#include <math.h>

/* The later of the two points between which `at` lies. */
static size_t line_at(const struct tune_point *points, size_t count, double at)
{
    size_t i = 1;

    while (i + 1 < count && points[i].at < at)
        i++;
    return i;
}

static double on_line(struct tune_point a, struct tune_point b, double at)
{
    return a.us + (b.us - a.us) * (at - a.at) / (b.at - a.at);
}

double tune_model_step(const struct tune_point *points, size_t count)
{
    const struct tune_point *a = points + count - 2, *b = points + count - 1;
    double step;

    if (count < 2)
        return 0;
    step = (b->us - a->us) / (b->at - a->at);
    return step > 0 ? step : 0;
}

double tune_model_at(const struct tune_point *points, size_t count, double at)
{
    size_t i;

    if (count == 0)
        return 0;
    if (count == 1 || at <= points[0].at)
        return points[0].us;
    if (at > points[count - 1].at)
        return points[count - 1].us +
               (at - points[count - 1].at) * tune_model_step(points, count);
    i = line_at(points, count, at);
    return on_line(points[i - 1], points[i], at);
}

double tune_model_longer(double sixteenth_us, double quarter_us)
{
    const struct tune_point points[] = {{1, sixteenth_us}, {4, quarter_us}};

    return tune_model_at(points, 2, 16);
}

/* ---- tasks of levels ---- */

static double of_segments(const struct tune_task *task, double segments)
{
    return tune_model_at(task->at, task->count, segments * task->pieces);
}

static double of_first(const struct tune_task *task)
{
    return of_segments(task, 1);
}

/* The time of segment n, which comes behind others. */
static double of_nth(const struct tune_task *task, size_t n)
{
    if (task->count < 2)
        return of_first(task);
    return fmax(0, of_segments(task, (double)n + 1) -
                       of_segments(task, (double)n));
}

double tune_model_stable(const struct tune_task *task)
{
    return task->count < 2
               ? of_first(task)
               : task->pieces * tune_model_step(task->at, task->count);
}

/* The sum of the times of levels, and the longest of these times. */
struct together {
    double sum, most;
};

static void add(struct together *levels, double us)
{
    levels->sum += us;
    levels->most = fmax(levels->most, us);
}

static double overlapping(const struct together *levels, double overlap)
{
    return levels->sum - overlap * (levels->sum - levels->most);
}

double tune_model_overlap(const struct tune_leader *leader, double stable_us)
{
    struct together all = {0, 0};
    unsigned level;

    for (level = 0; level < TUNE_LEVELS; level++)
        add(&all, tune_model_stable(&leader->level[level]));
    if (all.sum <= all.most)
        return 1;
    return fmax(0, fmin(1, (all.sum - stable_us) / (all.sum - all.most)));
}

enum {
    SR = 1 << TUNE_SR,
    IR = 1 << TUNE_IR,
    IB = 1 << TUNE_IB,
    SB = 1 << TUNE_SB
};

/* The time of a task with the levels in `stable`, and the levels in `first` on
 * their first segment. */
static double task_us(const struct tune_leader *leader, unsigned first,
                      unsigned stable)
{
    struct together levels = {0, 0};
    unsigned level;

    for (level = 0; level < TUNE_LEVELS; level++) {
        if ((first >> level & 1) != 0)
            add(&levels, of_first(&leader->level[level]));
        else if ((stable >> level & 1) != 0)
            add(&levels, tune_model_stable(&leader->level[level]));
    }
    return overlapping(&levels, leader->overlap);
}

/* sbib(i), or irsr(i). */
static double task_each(const struct tune_leader *leader, enum tune_level from,
                        size_t i)
{
    struct together levels = {0, 0};

    add(&levels, of_nth(&leader->level[from], i));
    add(&levels, of_nth(&leader->level[from + 1], i));
    return overlapping(&levels, leader->overlap);
}

double tune_model_each(const struct tune_leader *leaders, size_t count,
                       enum tune_level from, size_t u)
{
    double most = 0, us;
    size_t i, segment;

    for (i = 0; i < count; i++) {
        us = of_first(&leaders[i].level[from]);
        for (segment = 1; segment < u; segment++)
            us += task_each(&leaders[i], from, segment);
        us += of_first(&leaders[i].level[from + 1]);
        most = fmax(most, us);
    }
    return most;
}

double tune_model_full(const struct tune_leader *leaders, size_t count,
                       enum tune_level from, size_t u)
{
    const unsigned both = 1U << from | 1U << (from + 1);
    double most = 0, us;
    size_t i;

    for (i = 0; i < count; i++) {
        us = of_first(&leaders[i].level[from]) +
             (double)(u - 1) * task_us(&leaders[i], 0, both) +
             of_first(&leaders[i].level[from + 1]);
        most = fmax(most, us);
    }
    return most;
}

double tune_model_allreduce(const struct tune_leader *leaders, size_t count,
                            size_t u)
{
    const unsigned two = u > 1 ? ~0U : 0, three = u > 2 ? ~0U : 0;
    double most = 0, us;
    size_t i;

    for (i = 0; i < count; i++) {
        const struct tune_leader *leader = &leaders[i];
        us = task_us(leader, SR, 0) +                         /* sr(0) */
             task_us(leader, IR, SR & two) +                  /* irsr(1) */
             task_us(leader, IB, (IR & two) | (SR & three)) + /* ibirsr(2) */
             (u > 3 ? (double)(u - 3) : 0) *
                 task_us(leader, 0, SB | IB | IR | SR) +  /* sbibirsr(s) */
             task_us(leader, 0, (SB | IB | IR) & three) + /* sbibir(u - 1) */
             task_us(leader, 0, (SB | IB) & two) +        /* sbib(u - 1) */
             task_us(leader, SB, 0);                      /* sb(u - 1) */
        most = fmax(most, us);
    }
    return most;
}

double tune_model_middle(double less, double more)
{
    return ceil(sqrt(less * more));
}
