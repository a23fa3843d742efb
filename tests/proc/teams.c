/* Mode teams: many teams made by dup, split and subset, of the world and of
 * one another, dozens of them alive at once. Each is used when it is made and
 * again before it goes; all ranks make the same random choices. */
#include <stdlib.h>

#include "tests/proc/modes.h"

enum { ALIVE_MAX = 40, RANKS_MAX = 64 };

typedef struct member {
    xylem_team_t *team; /* NULL: this rank is not in it */
    uint32_t size;
    uint32_t ranks[RANKS_MAX]; /* of the world, in the team's order */
} member_t;

/* The team is what it should be, and carries data. */
static void use(const job_t *job, const member_t *member, uint32_t round)
{
    uint64_t sum = 0, wanted = 0, mine;
    uint32_t i, rank, root = round % member->size, own = UINT32_MAX;

    if (member->team == NULL)
        return;
    for (i = 0; i < member->size; i++) {
        wanted += member->ranks[i] + 1;
        if (member->ranks[i] == job->rank)
            own = i;
    }
    rank = xylem_team_rank(member->team);
    REQUIRE(rank == own, "rank %u in the team, wanted %u", rank, own);
    REQUIRE(xylem_team_size(member->team) == member->size,
            "the team has %u ranks, wanted %u", xylem_team_size(member->team),
            member->size);
    mine = job->rank + 1;
    MUST(xylem_reduce(member->team, &mine, &sum, 1, XYLEM_UINT64, XYLEM_SUM,
                      root));
    MUST(xylem_bcast(member->team, &sum, 1, XYLEM_UINT64, root));
    REQUIRE(sum == wanted, "the ranks of a team sum up to %llu, wanted %llu",
            (unsigned long long)sum, (unsigned long long)wanted);
}

static int contains(const member_t *member, uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < member->size; i++)
        if (member->ranks[i] == rank)
            return 1;
    return 0;
}

static void make_dup(const member_t *parent, member_t *child)
{
    *child = *parent;
    child->team = NULL;
    if (parent->team != NULL)
        MUST(xylem_team_dup(parent->team, &child->team));
}

/* A random selection, in reverse order. */
static void make_subset(const job_t *job, const member_t *parent,
                        member_t *child, uint64_t *state)
{
    uint32_t list[RANKS_MAX], count = 0, i, pick;

    pick = job_random(state) % parent->size;
    for (i = parent->size; i-- > 0;)
        if (i == pick || job_random(state) % 2 == 0) {
            child->ranks[count] = parent->ranks[i];
            list[count++] = i;
        }
    child->size = count;
    if (parent->team == NULL)
        return;
    child->team = parent->team; /* to be overwritten, with NULL or a team */
    MUST(xylem_team_subset(parent->team, list, count, &child->team));
    REQUIRE((child->team != NULL) == contains(child, job->rank),
            "a subset gave a team to the wrong ranks");
}

/* By random colors; the keys turn the order around. The members of the color
 * of the parent's rank 0 are followed further. */
static void make_split(const job_t *job, const member_t *parent,
                       member_t *child, uint64_t *state)
{
    uint32_t colors[RANKS_MAX], i, own = 0;
    xylem_team_t *team = NULL;

    for (i = 0; i < parent->size; i++) {
        colors[i] = job_random(state) % 3;
        if (colors[i] == 2 && i != 0)
            colors[i] = XYLEM_COLOR_NONE;
        if (parent->ranks[i] == job->rank)
            own = i;
    }
    for (i = parent->size; i-- > 0;)
        if (colors[i] == colors[0])
            child->ranks[child->size++] = parent->ranks[i];
    if (parent->team == NULL)
        return;
    MUST(
        xylem_team_split(parent->team, colors[own], parent->size - own, &team));
    REQUIRE((team == NULL) == (colors[own] == XYLEM_COLOR_NONE),
            "a split gave a team to the wrong ranks");
    if (colors[own] == colors[0])
        child->team = team;
    else
        MUST(xylem_team_destroy(team));
}

static void make(const job_t *job, const member_t *parent, member_t *child,
                 uint64_t *state)
{
    uint32_t way = job_random(state) % 3;

    *child = (member_t){.team = NULL};
    if (way == 0)
        make_dup(parent, child);
    else if (way == 1)
        make_subset(job, parent, child, state);
    else
        make_split(job, parent, child, state);
}

/* Three at once, finished in the order of the requests' answers. */
static void make_at_once(const job_t *job)
{
    xylem_team_t *teams[3] = {NULL, NULL, NULL};
    xylem_request_t *requests[3];
    uint32_t zero = 0, i;

    MUST(xylem_team_idup(job->world, &teams[0], &requests[0]));
    MUST(xylem_team_isubset(job->world, &zero, 1, &teams[1], &requests[1]));
    MUST(xylem_team_isplit(job->world, job->rank % 2, 0, &teams[2],
                           &requests[2]));
    for (i = 3; i-- > 0;) {
        MUST(xylem_request_wait(requests[i]));
        MUST(xylem_request_free(requests[i]));
    }
    REQUIRE(xylem_team_size(teams[0]) == job->ranks, "idup lost ranks");
    REQUIRE((teams[1] != NULL) == (job->rank == 0), "isubset chose wrongly");
    REQUIRE(xylem_team_rank(teams[2]) == job->rank / 2, "isplit misordered");
    for (i = 0; i < 3; i++)
        MUST(xylem_team_destroy(teams[i]));
}

void mode_teams(job_t *job, uint32_t number)
{
    member_t *alive = job_memory(ALIVE_MAX * sizeof *alive);
    member_t world = {.team = job->world, .size = job->ranks};
    uint64_t state = 17;
    uint32_t i, slot;

    REQUIRE(job->ranks <= RANKS_MAX, "too many ranks for this mode");
    for (i = 0; i < job->ranks; i++)
        world.ranks[i] = i;
    for (i = 0; i < number; i++) {
        const member_t *parent = &world;
        member_t child;
        slot = job_random(&state) % ALIVE_MAX;
        if (alive[slot].size != 0 && job_random(&state) % 2 == 0)
            parent = &alive[slot];
        make(job, parent, &child, &state);
        use(job, &child, i);
        slot = job_random(&state) % ALIVE_MAX;
        if (alive[slot].size != 0)
            use(job, &alive[slot], i);
        MUST(xylem_team_destroy(alive[slot].team));
        alive[slot] = child;
    }
    make_at_once(job);
    for (i = 0; i < ALIVE_MAX; i += 2) /* the context destroys the others */
        MUST(xylem_team_destroy(alive[i].team));
    free(alive);
}
