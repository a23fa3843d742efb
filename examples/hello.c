/* The smallest program: every rank contributes a number, all learn the sum. */
#include <stdio.h>
#include <xylem.h>

int main(void)
{
    xylem_context_t *context;
    if (xylem_context_create(NULL, &context) != XYLEM_OK)
        return 1; /* the library has said why */

    xylem_team_t *world = xylem_context_world(context);
    unsigned rank = xylem_team_rank(world), size = xylem_team_size(world);
    double mine = rank + 1, sum = 0;

    xylem_status_t status =
        xylem_reduce(world, &mine, &sum, 1, XYLEM_FLOAT64, XYLEM_SUM, 0);
    if (status == XYLEM_OK)
        status = xylem_bcast(world, &sum, 1, XYLEM_FLOAT64, 0);
    printf("rank %u of %u: the sum is %g\n", rank, size, sum);

    xylem_context_destroy(context);
    return status != XYLEM_OK || sum != size * (size + 1) / 2.0;
}
