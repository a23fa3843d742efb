/* Teams and tags for the persistent calls of a communicator.
 *
 * Ranks may start persistent collectives in different orders. If the
 * communicator has one node, each collective has a tag of the communicator's
 * team. All ranks make the collectives in the same order and number the tags in
 * it, so a rank makes or frees a collective without the other ranks. When the
 * tags of a team are used up, the ranks make another team. A collective has its
 * own team if there are several nodes, as calls with tags use no levels, or if
 * GPUs would read its buffers directly.
 */
#include <stdlib.h>

#include "bindings/mpi/call.h"

struct xmpi_tags {
    xylem_team_t *team;
    int is_own;    /* the team is not the communicator's */
    uint32_t last; /* the last tag given out */
    _Atomic uint32_t users;
};

xylem_status_t xmpi_team_split(const xmpi_comm_t *parent, uint32_t color,
                               int key, xylem_team_t **team)
{
    xylem_request_t *request;
    xylem_status_t status =
        xylem_team_isplit(parent->team, color, (uint32_t)key, team, &request);

    if (status != XYLEM_OK)
        return status;
    status = xmpi_request_wait(request);
    xylem_request_free(request);
    return status;
}

void xmpi_tags_drop(xmpi_tags_t *tags)
{
    if (tags == NULL ||
        atomic_fetch_sub_explicit(&tags->users, 1, memory_order_acq_rel) != 1)
        return;
    /* The end of a context ends its teams. */
    if (tags->is_own && xmpi_context() != NULL)
        xylem_team_destroy(tags->team);
    free(tags);
}

static int has_one_node(xmpi_comm_t *comm)
{
    xylem_place_t first, place;
    int i;

    if (comm->nodes != XMPI_NODES_UNKNOWN)
        return comm->nodes == XMPI_NODES_ONE;
    comm->nodes = XMPI_NODES_ONE;
    for (i = 0; i < comm->size; i++)
        if (xylem_team_place(comm->team, 0, &first) != XYLEM_OK ||
            xylem_team_place(comm->team, (uint32_t)i, &place) != XYLEM_OK ||
            place.node != first.node)
            comm->nodes = XMPI_NODES_SEVERAL;
    return comm->nodes == XMPI_NODES_ONE;
}

/* Makes a team of all ranks of the communicator; collective over it. */
static xylem_status_t team_join(const xmpi_comm_t *comm, xylem_team_t **team)
{
    return xmpi_team_split(comm, 0, comm->rank, team);
}

/* Gives the communicator fresh tags: of its own team, or of another team if
 * those are used up. */
static xylem_status_t tags_renew(xmpi_comm_t *comm)
{
    xmpi_tags_t *tags = calloc(1, sizeof *tags);
    xylem_status_t status = XYLEM_OK;

    if (tags == NULL)
        return XYLEM_ERR_NO_MEMORY;
    tags->team = comm->team;
    tags->is_own = comm->tags != NULL;
    if (tags->is_own)
        status = team_join(comm, &tags->team);
    if (status != XYLEM_OK) {
        free(tags);
        return status;
    }
    atomic_init(&tags->users, 1);
    xmpi_tags_drop(comm->tags);
    comm->tags = tags;
    return XYLEM_OK;
}

xylem_status_t xmpi_tags_find(xmpi_comm_t *comm, xylem_coll_args_t *args,
                              xmpi_tags_t **tags_out, xylem_team_t **team_out)
{
    xylem_status_t status = XYLEM_OK;
    int suits = 1;

    *tags_out = NULL;
    if (!has_one_node(comm))
        return team_join(comm, team_out);
    if (comm->tags == NULL || comm->tags->last == XYLEM_TAG_MAX)
        status = tags_renew(comm);
    if (status != XYLEM_OK)
        return status;
    args->tag = ++comm->tags->last;
    if (xylem_tag_suits(comm->tags->team, args, &suits) == XYLEM_OK && !suits) {
        args->tag = 0;
        return team_join(comm, team_out);
    }
    *tags_out = comm->tags;
    atomic_fetch_add_explicit(&comm->tags->users, 1, memory_order_relaxed);
    *team_out = comm->tags->team;
    return XYLEM_OK;
}
