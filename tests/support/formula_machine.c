#include "tests/support/formula_machine.h"

#include <math.h>

#include "bench/measure/noise.h"
#include "tests/support/check.h"

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 5381;

    for (; *text != '\0'; text++)
        hash = hash * 33 + (unsigned char)*text;
    return hash;
}

/* Each algorithm has a latency, to fill its pipeline, and a rate of its own;
 * each segment costs something. */
struct rates {
    double fill, rate;
};

static struct rates rates_of(const char *algorithm)
{
    uint64_t hash = text_hash(algorithm);

    return (struct rates){5 + (double)(hash % 97),
                          500 + (double)(hash / 97 % 4000)};
}

/* The time of `steps` steps of `bytes`, one after the other. */
static double steps_us(struct rates rates, double bytes, double steps)
{
    return rates.fill + 0.4 * rates.fill * bytes / rates.rate +
           steps * (1 + bytes / rates.rate);
}

static double formula_alone(const struct tune_plan *plan, size_t bytes)
{
    double segment =
        plan->segment_bytes != 0 ? (double)plan->segment_bytes : (double)bytes;
    double steps = ceil((double)bytes / segment / plan->lanes);

    return steps_us(rates_of(plan->algorithm), plan->lanes * segment,
                    steps < 1 ? 1 : steps);
}

/* Levels go on at the same time once all have begun. */
static double formula_of_levels(const struct tune_plan *plan, size_t bytes)
{
    static const struct tune_shape shape = {16, 8, TUNE_HOST};
    double lane = ceil((double)bytes / plan->lanes), first = 0, rest = 0, all,
           piece, steps;
    struct tune_alone alone;
    unsigned level;

    piece = fmin(lane, (double)plan->segment_bytes);
    for (level = 0; level < TUNE_LEVELS; level++) {
        struct rates rates;
        if (level == TUNE_IR || /* is a part of the next */
            !tune_plan_alone(XYLEM_COLL_ALLREDUCE, plan, &shape,
                             (enum tune_level)level, &alone))
            continue;
        if (level != TUNE_IB && !tune_plan_fits(alone.coll, &alone.plan,
                                                &alone.shape, (size_t)lane))
            tune_plan_by_table(&alone.plan);
        rates = rates_of(alone.plan.algorithm);
        steps = ceil(lane / piece);
        if (level != TUNE_IB)
            steps *= plan->lanes;
        all = steps_us(rates, piece, steps);
        first += steps_us(rates, piece, 1);
        rest = fmax(rest, all - steps_us(rates, piece, 1));
    }
    return first + rest;
}

double formula_us(const struct tune_plan *plan, size_t bytes)
{
    return tune_plan_leaders(XYLEM_COLL_ALLREDUCE, plan) != 0
               ? formula_of_levels(plan, bytes)
               : formula_alone(plan, bytes);
}

/* The factor for a message that does not fit into the caches, which differs
 * between algorithms. */
static double far_factor(const struct tune_plan *plan)
{
    return 1.8 + (double)(text_hash(plan->algorithm) / 7 % 5) / 10;
}

int formula_time(void *state, const struct tune_time *what, double *us_out,
                 double *leader_us)
{
    formula_machine_t *machine = state;
    uint32_t i;

    *us_out = formula_us(&what->plan, what->bytes);
    if (machine->near_bytes != 0 && what->bytes > machine->near_bytes)
        *us_out *= far_factor(&what->plan);
    for (i = 0; i < what->leaders; i++)
        leader_us[i] = *us_out * (1 + i) / what->leaders;
    machine->calls++;
    machine->us += *us_out;
    return 1;
}

int formula_agree(void *state, void *data, size_t bytes)
{
    (void)state;
    (void)data;
    (void)bytes;
    return 1;
}

struct tune_options formula_options(unsigned exhaustive, unsigned heuristics)
{
    struct tune_options options = {.machine = "a formula",
                                   .all = 1,
                                   .minutes = 60,
                                   .confirm = 16,
                                   .quiet = 1,
                                   .exhaustive = exhaustive,
                                   .heuristics = heuristics};
    size_t bytes;

    for (bytes = 1024; bytes <= (size_t)16 << 20; bytes *= 2)
        options.bytes[options.bytes_count++] = bytes;
    return options;
}

void formula_search(const struct tune_options *options,
                    formula_machine_t *machine, struct tune_journal *journal,
                    struct tune_choice *choices)
{
    struct tune_place place = {.shape = {16, 8, TUNE_HOST},
                               .state = machine,
                               .time = formula_time,
                               .agree = formula_agree,
                               .near_bytes = machine->near_bytes,
                               .shares_memory = 1,
                               .is_first = 1};
    struct tune_search search = {
        .options = options, .place = &place, .journal = journal, .begin_ns = 0};

    machine->calls = 0;
    machine->us = 0;
    search.begin_ns = noise_now_ns();
    CHECK(tune_search_run(&search, XYLEM_COLL_ALLREDUCE, TUNE_SYNCHRONISED,
                          choices));
}
