/* The floors of noise: against bounds from its share, against each other, and
 * against times by another model (10 bursts of 0 to 20 ms per second and rank).
 * Seeded, so results are the same in each run. */
#include "simulator/noise/floor.h"

#include <math.h>

#include "tests/support/check.h"

static const sim_noise_t ten_percent = {.kind = SIM_NOISE_UNIFORM,
                                        .mhz = 10000,
                                        .max = 20 * SIM_MS,
                                        .last = UINT32_MAX,
                                        .seed = 1};

static double floor_of(sim_needs_t needs, uint32_t ranks, double ms,
                       uint64_t depth)
{
    const sim_floor_t floor = {.needs = needs,
                               .ranks = ranks,
                               .columns = 4,
                               .work = (sim_time_t)(ms * (double)SIM_MS),
                               .depth = depth,
                               .noise = &ten_percent};

    return sim_floor(&floor) * ms;
}

static int is_near(double value, double expected)
{
    return fabs(value / expected - 1) < 0.1;
}

static void test_quiet(void)
{
    static const sim_noise_t quiet = {.kind = SIM_NOISE_NONE};
    sim_floor_t floor = {
        .needs = SIM_NEEDS_ALL, .ranks = 5, .work = SIM_US, .noise = &quiet};

    CHECK(fabs(sim_floor(&floor) - 1) < 1e-9);
    floor.needs = SIM_NEEDS_BELOW;
    CHECK(fabs(sim_floor(&floor) - 1) < 1e-9);
}

/* A rank alone loses its own noise: a tenth of the time. */
static void test_alone(void)
{
    CHECK(is_near(floor_of(SIM_NEEDS_ALL, 1, 1, 0), 1 / 0.9));
    CHECK(is_near(floor_of(SIM_NEEDS_ALL, 1, 0.001, 0), 0.001 / 0.9));
    CHECK(is_near(floor_of(SIM_NEEDS_ROOT, 16, 1, 0), 1 / 0.9));
    CHECK(is_near(floor_of(SIM_NEEDS_FOR_ROOT, 16, 1, 0), 1 / 0.9));
}

static void test_one_wait(void)
{
    CHECK(is_near(floor_of(SIM_NEEDS_ALL, 16, 1.6, 0), 7.6));
    CHECK(is_near(floor_of(SIM_NEEDS_ALL, 60, 3.1, 0), 18.3));
    CHECK(is_near(floor_of(SIM_NEEDS_ALL, 60, 0.17, 0), 12.1));
}

/* More room never costs time, and a rank that needs less is faster. */
static void test_order(void)
{
    double depth_1 = floor_of(SIM_NEEDS_ROOT, 16, 1, 1);
    double depth_4 = floor_of(SIM_NEEDS_ROOT, 16, 1, 4);
    double depth_64 = floor_of(SIM_NEEDS_ROOT, 16, 1, 64);
    double any = floor_of(SIM_NEEDS_ROOT, 16, 1, 0);
    double all = floor_of(SIM_NEEDS_ALL, 16, 1, 0);
    double below = floor_of(SIM_NEEDS_BELOW, 16, 1, 0);
    double grid = floor_of(SIM_NEEDS_GRID, 16, 1, 0);

    CHECK(depth_1 > depth_4 && depth_4 > depth_64 && depth_64 >= any);
    CHECK(all > below && all > grid && below > any && grid > any);
}

static const check_case_t cases[] = {
    {"without noise", test_quiet},
    {"ranks that wait for nobody", test_alone},
    {"one wait per call", test_one_wait},
    {"depth and needs", test_order},
};

CHECK_MAIN(cases)
