/* Who shares a node with whom is what the host names say, and nodes are
 * numbered by their lowest rank, wherever the launcher has put the ranks:
 *
 *   places NODES */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { NAME_BYTES = 64 };

/* The lowest rank with the same name. */
static uint32_t first_on_node(const char *names, uint32_t rank)
{
    uint32_t first = 0;

    while (strcmp(names + (size_t)first * NAME_BYTES,
                  names + (size_t)rank * NAME_BYTES) != 0)
        first++;
    return first;
}

static uint32_t node_of(const job_t *job, uint32_t rank)
{
    xylem_place_t place;

    MUST(xylem_team_place(job->world, rank, &place));
    return place.node;
}

int main(int argc, char **argv)
{
    uint32_t nodes = 0, rank;
    char own[NAME_BYTES] = "", *names;
    job_t job;

    REQUIRE(argc == 2, "usage: places NODES");
    job_begin(&job);
    REQUIRE(gethostname(own, sizeof own - 1) == 0, "no host name");
    names = job_memory((size_t)job.ranks * NAME_BYTES);
    MUST(xylem_allgather(job.world, own, names, NAME_BYTES, XYLEM_BYTE));
    for (rank = 0; rank < job.ranks; rank++) {
        uint32_t first = first_on_node(names, rank);
        uint32_t wanted = first == rank ? nodes++ : node_of(&job, first);
        REQUIRE(node_of(&job, rank) == wanted,
                "rank %u on %s is said to be on node %u, not %u", rank,
                names + (size_t)rank * NAME_BYTES, node_of(&job, rank), wanted);
    }
    REQUIRE(nodes == strtoul(argv[1], NULL, 10), "there are %u nodes", nodes);
    free(names);
    job_end(&job);
    return EXIT_SUCCESS;
}
