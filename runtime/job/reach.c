#include "runtime/job/reach.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/status.h"

/* A rank's blob is this struct, then its places, then its address. */
typedef struct reach {
    uint32_t status;  /* not XYLEM_OK: the rank gives up, and of the fields
                         below only `culprit` is set */
    uint32_t culprit; /* the rank at fault; XYL_NO_CULPRIT: itself */
    uint32_t address_bytes;
    uint32_t place_count;
    xyl_machine_t machine;
    xyl_lookout_address_t lookout;
    char net[XYL_REACH_NET_BYTES];
} reach_t;

_Static_assert(sizeof(reach_t) % 8 == 0, "what follows is aligned");

/* A multiple of 8, which aligns the address behind the places. */
static size_t places_bytes(uint32_t count)
{
    return (count * sizeof(xylem_place_t) + 7) & ~(size_t)7;
}

static size_t reach_bytes(const xyl_reach_mine_t *mine)
{
    return sizeof(reach_t) + places_bytes(mine->place_count) +
           mine->address_bytes;
}

static reach_t *reach_create(const xyl_reach_mine_t *mine)
{
    reach_t *reach = calloc(1, reach_bytes(mine));

    if (reach == NULL)
        return NULL;
    reach->address_bytes = (uint32_t)mine->address_bytes;
    reach->place_count = mine->place_count;
    reach->machine = *mine->machine;
    reach->lookout = mine->lookout;
    memcpy(reach->net, mine->net, strnlen(mine->net, sizeof reach->net));
    if (mine->place_count != 0)
        memcpy(reach + 1, mine->places,
               mine->place_count * sizeof *mine->places);
    if (mine->address_bytes != 0)
        memcpy((char *)(reach + 1) + places_bytes(mine->place_count),
               mine->address, mine->address_bytes);
    return reach;
}

/* ---- reading the others' blobs ---- */

static xylem_status_t check_net(const reach_t *mine, const reach_t *theirs,
                                uint32_t rank)
{
    if (strncmp(mine->net, theirs->net, sizeof mine->net) == 0)
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_NET,
                    "rank %u sends by the net \"%.*s\" and this rank by "
                    "\"%.*s\": set XYLEM_NET to one that all have",
                    rank, XYL_REACH_NET_BYTES, theirs->net, XYL_REACH_NET_BYTES,
                    mine->net);
}

/* How many ranks the node of `rank` has if `rank` is its lowest; else 0. */
static uint32_t ranks_of_node(const xyl_peer_t *peers, uint32_t ranks,
                              uint32_t rank)
{
    uint32_t node = peers[rank].place.node, other, count = 0;

    for (other = 0; other < rank; other++)
        if (peers[other].place.node == node)
            return 0;
    for (; other < ranks; other++)
        count += peers[other].place.node == node;
    return count;
}

static xylem_status_t check_bytes(const reach_t *mine, const reach_t *theirs,
                                  size_t bytes, const xyl_peer_t *peers,
                                  uint32_t ranks, uint32_t rank)
{
    size_t left = bytes - sizeof *theirs;

    if ((theirs->place_count == 0 ||
         theirs->place_count == ranks_of_node(peers, ranks, rank)) &&
        (theirs->address_bytes == 0) == (mine->address_bytes == 0) &&
        left >= places_bytes(theirs->place_count) &&
        left - places_bytes(theirs->place_count) >= theirs->address_bytes)
        return XYLEM_OK;
    return xyl_peer_is_incomplete(rank);
}

/* Takes over the places that a rank has read for the ranks of its node. */
static void places_take(const reach_t *theirs, xyl_peer_t *peers,
                        uint32_t ranks, uint32_t rank)
{
    const xylem_place_t *places = (const void *)(theirs + 1);
    uint32_t node = peers[rank].place.node, i = 0, other;

    for (other = rank; other < ranks && i < theirs->place_count; other++)
        if (peers[other].place.node == node) {
            peers[other].place = places[i++];
            peers[other].place.node = node;
        }
}

static xylem_status_t reach_read(xyl_bootstrap_t *bootstrap,
                                 const reach_t *mine, xyl_peer_t *peers,
                                 xyl_reach_t *reach, uint32_t rank,
                                 uint32_t *places)
{
    const size_t *offsets = reach->blobs.offsets;
    const reach_t *theirs = (const void *)(reach->blobs.memory + offsets[rank]);
    size_t bytes = offsets[rank + 1] - offsets[rank];
    xylem_status_t status = XYLEM_OK;

    if (bytes < sizeof *theirs)
        return xyl_peer_is_incomplete(rank);
    if (theirs->status != XYLEM_OK)
        return xyl_peer_gives_up(bootstrap, rank, theirs->status,
                                 theirs->culprit);
    status = check_net(mine, theirs, rank);
    if (status == XYLEM_OK)
        status =
            check_bytes(mine, theirs, bytes, peers, bootstrap->ranks, rank);
    if (status != XYLEM_OK)
        return status;
    *places += theirs->place_count;
    places_take(theirs, peers, bootstrap->ranks, rank);
    if (theirs->place_count != 0 &&
        peers[rank].place.node == peers[bootstrap->rank].place.node)
        reach->machine = theirs->machine;
    reach->addresses[rank] =
        (const char *)(theirs + 1) + places_bytes(theirs->place_count);
    return XYLEM_OK;
}

xylem_status_t xyl_reach_exchange(xyl_bootstrap_t *bootstrap,
                                  const xyl_reach_mine_t *mine,
                                  xyl_peer_t *peers, xyl_reach_t *reach_out)
{
    uint32_t rank, ranks = bootstrap->ranks, places = 0;
    reach_t *reach = NULL, last_words = {0};
    xylem_status_t status = mine->status, told;

    *reach_out =
        (xyl_reach_t){.addresses = calloc(ranks, sizeof *reach_out->addresses)};
    if (status == XYLEM_OK)
        reach = reach_create(mine);
    if (status == XYLEM_OK && (reach == NULL || reach_out->addresses == NULL))
        status = xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for %u peers", ranks);
    last_words.status = (uint32_t)status;
    last_words.culprit = bootstrap->culprit;
    told = xyl_bootstrap_exchange(
        bootstrap, status == XYLEM_OK ? reach : &last_words,
        status == XYLEM_OK ? reach_bytes(mine) : sizeof last_words,
        &reach_out->blobs);
    if (status == XYLEM_OK)
        status = told;
    for (rank = 0; rank < ranks && status == XYLEM_OK; rank++)
        status = reach_read(bootstrap, reach, peers, reach_out, rank, &places);
    if (status == XYLEM_OK && places != ranks)
        status = xyl_fail(XYLEM_ERR_BOOTSTRAP,
                          "nobody has said where %u of the ranks are",
                          ranks - places);
    free(reach);
    return status;
}

const xyl_lookout_address_t *xyl_reach_lookout(const xyl_blobs_t *blobs,
                                               uint32_t rank)
{
    const reach_t *reach = (const void *)(blobs->memory + blobs->offsets[rank]);

    return &reach->lookout;
}
