/* Expects the time of a call from some times of the same plan. Pure. */
#pragma once

#include <stddef.h>

enum { TUNE_TASK_POINTS = 3 };

struct tune_point {
    double at; /* steps, or bytes; rising */
    double us;
};

/* Plans in segments: in each of the u steps of a call every lane has a segment.
 * The call takes the time to fill and to empty the pipeline, and for each step
 * between the stable time of a step. These are equations 5.4 and 5.5 of Luo's
 * thesis (University of Tennessee, 2020); here calls of the plan itself, whose
 * stages overlap, stand for its tasks.
 *
 * `points` are times of few steps, or of few sizes if a plan has no segments.
 * Between two points the time is a line; behind the last, with the pipeline
 * full, it rises as between the last two: by the stable time of a step. 0
 * without a point. */
double tune_model_at(const struct tune_point *points, size_t count, double at);
/* The stable time of a step; 0 with fewer than two points. */
double tune_model_step(const struct tune_point *points, size_t count);

/* From the times of as many steps with segments a quarter and a sixteenth as
 * long: a latency, and a time per byte. */
double tune_model_longer(double sixteenth_us, double quarter_us);

/* ---- tasks of levels ---- */

/* The levels of a plan, in the order in which a segment goes through them. The
 * name of a task in the thesis has its levels, each of which works on a segment
 * of its own: sbib(i) is the broadcast of segment i between nodes and of
 * segment i - 1 within nodes. */
enum tune_level {
    TUNE_SR, /* a reduction to the leader of a node */
    TUNE_IR, /* a reduction among the leaders */
    TUNE_IB, /* a broadcast among them, or another step behind the reductions */
    TUNE_SB, /* a broadcast from the leader of a node */
    TUNE_LEVELS
};

/* The times of a level by itself on one leader, for calls of few pieces. There
 * is no point if the plan has no such level. */
struct tune_task {
    struct tune_point at[TUNE_TASK_POINTS];
    size_t count;
    double pieces; /* of a segment */
};

/* The levels of a task share time: `overlap` is the part of all levels but the
 * longest that passes while the longest one runs. */
struct tune_leader {
    struct tune_task level[TUNE_LEVELS];
    double overlap;
};

/* The stable time of a segment: with one point, that of the first. */
double tune_model_stable(const struct tune_task *task);

/* Equation 5.3, if all levels at once take stable_us: (t_inter + t_intra -
 * t_total) / min(t_inter, t_intra). For more than two levels the sum of all but
 * the longest stands for the minimum. 1 if one level takes all. */
double tune_model_overlap(const struct tune_leader *leader, double stable_us);

/* The time of a call of u segments: the longest that a leader needs for all its
 * tasks. The first two functions are for pipelines of two levels: `from`
 * TUNE_IB is a broadcast, and TUNE_SR a reduction. For that the thesis has no
 * equation; sr and ir stand for ib and sb.
 *
 * Equation 5.1, max(T(ib(0)) + T(sbib(1)) + ... + T(sbib(u - 1)) +
 * T(sb(u - 1))), where T(sb(u - 1)) is T(sb(0)). */
double tune_model_each(const struct tune_leader *leaders, size_t count,
                       enum tune_level from, size_t u);
/* Equation 5.4, max(T(ib(0)) + (u - 1) T(sbib(s)) + T(sb(u - 1))). */
double tune_model_full(const struct tune_leader *leaders, size_t count,
                       enum tune_level from, size_t u);
/* Equation 5.5, max(T(sr(0)) + T(irsr(1)) + T(ibirsr(2)) +
 * (u - 3) T(sbibirsr(s)) + T(sbibir(u - 1)) + T(sbib(u - 1)) + T(sb(u - 1))).
 * Of fewer segments than three, tasks lack the levels that have none. */
double tune_model_allreduce(const struct tune_leader *leaders, size_t count,
                            size_t u);

/* The border between the rows of two neighbouring values: halfway in log space.
 * Returns the first value of the larger one's row. */
double tune_model_middle(double less, double more);
