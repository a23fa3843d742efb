/* What a call will take, from some times of the same plan. Pure. */
#ifndef XYL_BENCH_TUNE_MODEL_H
#define XYL_BENCH_TUNE_MODEL_H

#include <stddef.h>

struct tune_point {
    double at; /* steps, or bytes; rising */
    double us;
};

/* Plans in segments: a call of u steps, in each of which every lane has a
 * segment, takes what a pipeline takes to be filled and emptied, and the stable
 * time of a step for each that comes between. These are equations 5.4 and 5.5
 * of Luo's thesis (University of Tennessee, 2020), whose tasks are what happens
 * when stages overlap: of a broadcast,
 *
 *     T(u) = ib(0) + (u - 1) sbib(s) + sb(u - 1),
 *
 * and of an allreduce
 *
 *     T(u) = sr(0) + irsr(1) + ibirsr(2) + (u - 3) sbibirsr(s) + sbibir(u - 1)
 *            + sbib(u - 1) + sb(u - 1).
 *
 * `points` are times of few steps, or, where a plan has no segments, of few
 * sizes. Between two of them the time is a line; on from the last, with the
 * pipeline full, it rises as between the last two: by the stable time of a
 * step. 0 without a point. */
double tune_model_at(const struct tune_point *points, size_t count, double at);
/* The stable time of a step; 0 with fewer than two points. */
double tune_model_step(const struct tune_point *points, size_t count);

/* From the times of as many steps with segments a quarter and a sixteenth as
 * long: a latency, and a time per byte. */
double tune_model_longer(double sixteenth_us, double quarter_us);

/* Plans in levels, from what each level takes by itself: `fill` until its first
 * output, all levels together, and from there to the end `within` nodes and
 * `between` them, which go on at the same time as far as `overlap` says (0: not
 * at all, 1: as far as both last). Equation 5.4 with the overlap of 5.3. */
double tune_model_levels(double fill_us, double within_us, double between_us,
                         double overlap);
/* Equation 5.3: both together take all_us. 1 where either takes nothing. */
double tune_model_overlap(double within_us, double between_us, double all_us);

/* Where the rows of two neighbouring values meet: halfway in log space. The
 * first of the larger's. */
double tune_model_middle(double less, double more);

#endif
