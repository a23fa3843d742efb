/* Seeds: each draws a world, operations on it and a fault, plays that, and
 * checks every result. A seed that fails prints the command that plays it
 * again, alone, and the next one goes on.
 *
 *   test_seeds [--first S] [--seeds N] [--late US] [--faulty N]
 *
 * Under sanitizers a third of these seeds.
 *
 * With --late no work on bytes is done in the call: copies, sums, packing and
 * unpacking end up to so many microseconds later, in any order. Some of these
 * worlds share memory.
 *
 * With --faulty something goes wrong in one world of so many that have several
 * ranks (1: in each).
 *
 * Without a fault all data are right on every rank. With one no rank hangs, the
 * fault explains the statuses, and ranks that succeed have the right data. In
 * both cases the net's rules hold and all memory comes back.
 *
 * One of the faults is a call that differs from that of the other ranks. All
 * ranks are told if any waits; later calls of the others are right
 * nevertheless. Without a fault ranks may be seconds late, and tell each other
 * in which call they wait: that is no fault.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/unit/simulator/seeds_play.h"

enum { SEEDS_PRESET = 10000, FAILURES_MAX = 20 };

static uint64_t first_seed = 1, seeds = SEEDS_PRESET;
static seeds_how_t how = {.faulty_one_in = SEEDS_FAULTY_ONE_IN};
static const char *program;
static char replay[512]; /* the line for the seed that is played */
static seeds_tally_t tally;

static void print_tally(uint64_t played, uint64_t fingerprint)
{
    printf("# %" PRIu64 " seeds from %" PRIu64 ", fingerprint %016" PRIx64
           ". Passed:\n",
           played, first_seed, fingerprint);
#define KIND_PRINT(name, text) printf("# %6" PRIu64 " %s\n", tally.name, text);
    SEEDS_KIND_MAP(KIND_PRINT)
#undef KIND_PRINT
}

static void test_seeds(void)
{
    uint64_t fingerprint = 0, played;
    uint64_t wanted = CHECK_IS_SLOW ? check_cases((uint32_t)seeds) : seeds;
    unsigned failures, failed = 0;

    for (played = 0; played < wanted && failed < FAILURES_MAX; played++) {
        failures = check_failures();
        snprintf(replay, sizeof replay,
                 "# replay: %s --first %" PRIu64 " --seeds 1 --late %" PRIu64
                 " --mirrored %d --faulty %" PRIu64 "\n",
                 program, first_seed + played, how.work_late_us,
                 how.are_mirrored, how.faulty_one_in);
        fingerprint = random_mix(fingerprint ^
                                 seeds_play(&how, first_seed + played, &tally));
        if (check_failures() != failures) {
            fputs(replay, stdout);
            failed++;
        }
    }
    print_tally(played, fingerprint);
}

/* In all of these a rank without memory could not start a persistent broadcast
 * again. */
static void test_refused(void)
{
    static const uint64_t refused[] = {1005767, 1021874, 1080438, 1185873};
    const seeds_how_t usual = {.faulty_one_in = SEEDS_FAULTY_ONE_IN};
    size_t i;

    for (i = 0; i < sizeof refused / sizeof refused[0]; i++)
        (void)seeds_play(&usual, refused[i], &tally);
}

/* In all of these seeds a rank made another call, no rank waited for it, and
 * its call was taken for a later one of the others: by eight bits of its
 * earlier calls on the board; because calls over the net did not count there,
 * nor calls on the board over the net; or because it wrote to a window in which
 * others had a broadcast. */
static void test_taken_for_another(void)
{
    static const uint64_t taken[] = {40026257, 40050133, 40120242, 42177952,
                                     42297771, 42325120, 42344752, 42395260,
                                     43064619, 43065612};
    const seeds_how_t late = {.faulty_one_in = 1, .work_late_us = 40};
    size_t i;

    for (i = 0; i < sizeof taken / sizeof taken[0]; i++)
        (void)seeds_play(&late, taken[i], &tally);
}

/* An assertion does not return; this still prints the seed. */
static void died(int number)
{
    if (write(STDOUT_FILENO, replay, strlen(replay)) < 0)
        _exit(1);
    signal(number, SIG_DFL);
    raise(number);
}

static int parse(int argc, char **argv)
{
    char *end;
    int i;

    for (i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], &end, 10);
        if (*end != '\0' || end == argv[i + 1])
            return 0;
        if (strcmp(argv[i], "--first") == 0)
            first_seed = value;
        else if (strcmp(argv[i], "--seeds") == 0)
            seeds = value;
        else if (strcmp(argv[i], "--late") == 0)
            how.work_late_us = value;
        else if (strcmp(argv[i], "--faulty") == 0)
            how.faulty_one_in = value != 0 ? value : 1;
        else if (strcmp(argv[i], "--mirrored") == 0)
            how.are_mirrored = value != 0;
        else
            return 0;
    }
    return i == argc;
}

static const check_case_t cases[] = {
    {"seeds: a rank whose start is refused makes no more calls", test_refused},
    {"seeds: a rank that has called something else is not taken for another",
     test_taken_for_another},
    {"seeds: worlds, operations and faults", test_seeds},
};

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) {
        fprintf(stderr,
                "usage: %s [--first S] [--seeds N] [--late US] "
                "[--mirrored 1] [--faulty N]\n",
                argv[0]);
        return 2;
    }
    program = argv[0];
    signal(SIGABRT, died);
    signal(SIGSEGV, died);
    return check_run(cases, sizeof cases / sizeof cases[0], 1, argv);
}
