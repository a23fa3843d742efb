/* Goes on without ranks that die: sums numbers in rounds, and when a round
 * fails makes a team of those that live and does the round again.
 *
 *   xylem-run -n 5 --no-kill ./recovery
 *
 * Ranks 1 and 3 (of three ranks and more) kill themselves on the way. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xylem.h>

enum { ROUNDS = 1000, FIRST_DEATH = 100, SECOND_DEATH = 600 };

/* Whose turn it is to die, by its rank in the job. */
static void maybe_die(uint32_t rank, uint32_t ranks, int round)
{
    if (ranks >= 3 && ((rank == 1 && round == FIRST_DEATH) ||
                       (rank == 3 && round == SECOND_DEATH)))
        kill(getpid(), SIGKILL);
}

/* All that live come here: those that have noticed, and those that hear of the
 * revocation. They go back to the earliest round that any of them is in. */
static int recover(xylem_team_t **team, xylem_team_t *world, int *round)
{
    xylem_team_t *living = NULL;
    uint64_t mine = (uint64_t)*round, least = 0;

    (void)xylem_team_revoke(*team);
    if (xylem_team_shrink(*team, &living) != XYLEM_OK)
        return 0;
    if (*team != world)
        (void)xylem_team_destroy(*team);
    *team = living;
    if (xylem_allreduce(living, &mine, &least, 1, XYLEM_UINT64, XYLEM_MIN) !=
        XYLEM_OK)
        return 1; /* somebody else has died: the next round fails, too */
    *round = (int)least;
    return 1;
}

int main(void)
{
    xylem_context_t *context;
    xylem_team_t *world, *team;
    uint32_t rank, ranks;
    int round, failures = 0, wrong = 0;

    if (xylem_context_create(NULL, &context) != XYLEM_OK)
        return EXIT_FAILURE; /* the library has said why */
    team = world = xylem_context_world(context);
    rank = xylem_team_rank(world);
    ranks = xylem_team_size(world);
    for (round = 0; round < ROUNDS; round++) {
        uint64_t one = 1, sum = 0;

        maybe_die(rank, ranks, round);
        if (xylem_allreduce(team, &one, &sum, 1, XYLEM_UINT64, XYLEM_SUM) ==
            XYLEM_OK) {
            wrong += sum != xylem_team_size(team);
            continue;
        }
        failures++;
        if (!recover(&team, world, &round)) {
            fprintf(stderr, "rank %u: %s\n", rank, xylem_last_error());
            return EXIT_FAILURE;
        }
        round--; /* once more */
    }
    printf("rank %u: %u of %u ranks have done %d rounds, %d failures\n", rank,
           xylem_team_size(team), ranks, ROUNDS, failures);
    if (team != world)
        (void)xylem_team_destroy(team);
    xylem_context_destroy(context);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
