/* The topology-aware tree. At each level the groups of that level inside one
 * group of the level above form a party; their leaders are joined by a tree of
 * the level's shape. Inside an innermost group the members are single ranks.
 *
 *   level 0:   all ranks      -> nodes          (for example)
 *   level 1:   each node      -> its sockets
 *   level 2:   each socket    -> its ranks
 *
 * A group is a range of positions of the map, so a party is a range that is
 * cut into members, and member i is the i-th cut. In the party which holds the
 * root, the root's member changes place with the first; place 0 is thus always
 * the top of a party's tree. A rank takes part in the parties from the
 * outermost level at which it leads its group down to the innermost one.
 *
 * Pure functions over a borrowed map; any thread. One call looks at each
 * member of a rank's parties a constant number of times. */
#include "trees/topology_tree.h"

#include <assert.h>
#include <stddef.h>

typedef struct party {
    const xyl_topology_map_t *map;
    uint32_t level;
    uint32_t begin; /* positions of its ranks */
    uint32_t end;
    uint32_t members;
    uint32_t mine;   /* the member that holds the rank in question */
    uint32_t rooted; /* the member that holds the root; 0 when none does */
} party_t;

/* Walks over the members of a party. */
typedef struct cursor {
    uint32_t member;
    uint32_t begin; /* its first position */
} cursor_t;

/* Where the member of `level` at `position` begins; at level `levels` the
 * members are single positions. */
static uint32_t member_begin(const xyl_topology_map_t *map, uint32_t level,
                             uint32_t position)
{
    if (level == map->levels)
        return position;
    return map->group[(size_t)level * map->ranks + position];
}

/* Where the member ends, at most `bound`. Steps that double, then halve, make
 * the cost logarithmic in the member's size and not in the party's. */
static uint32_t member_end(const xyl_topology_map_t *map, uint32_t level,
                           uint32_t position, uint32_t bound)
{
    uint32_t begin = member_begin(map, level, position);
    uint32_t inside = position, outside, middle, step = 1;

    while (step < bound - inside &&
           member_begin(map, level, inside + step) == begin) {
        inside += step;
        step *= 2;
    }
    outside = step < bound - inside ? inside + step : bound;
    while (outside - inside > 1) {
        middle = inside + (outside - inside) / 2;
        if (member_begin(map, level, middle) == begin)
            inside = middle;
        else
            outside = middle;
    }
    return outside;
}

static uint32_t leader_in_group(const xyl_topology_map_t *map, uint32_t level,
                                uint32_t position, uint32_t root)
{
    uint32_t begin = member_begin(map, level, position);

    if (member_begin(map, level, map->position[root]) == begin)
        return root;
    return map->order[begin];
}

/* The outermost level at which the rank leads its member of the party. */
static uint32_t level_first(const xyl_topology_map_t *map, uint32_t rank,
                            uint32_t root)
{
    uint32_t level = 0;

    while (level < map->levels &&
           leader_in_group(map, level, map->position[rank], root) != rank)
        level++;
    return level;
}

/* The party of `rank` at a level at which it leads its member. */
static party_t party_of(const xyl_topology_map_t *map, uint32_t level,
                        uint32_t rank, uint32_t root)
{
    party_t party = {map, level, 0, map->ranks, 0, 0, 0};
    uint32_t at = map->position[rank], root_at = map->position[root];
    uint32_t next, end;

    if (level > 0) {
        party.begin = member_begin(map, level - 1, at);
        party.end = member_end(map, level - 1, at, map->ranks);
    }
    if (level == map->levels) { /* the common case, without a walk */
        party.members = party.end - party.begin;
        party.mine = at - party.begin;
        if (root_at >= party.begin && root_at < party.end)
            party.rooted = root_at - party.begin;
        return party;
    }
    for (next = party.begin; next < party.end; next = end) {
        end = member_end(map, level, next, party.end);
        if (at >= next && at < end)
            party.mine = party.members;
        if (root_at >= next && root_at < end)
            party.rooted = party.members;
        party.members++;
    }
    return party;
}

/* Swaps the root's member and the first member. Its own inverse. */
static uint32_t swap_rooted(const party_t *party, uint32_t member)
{
    if (member == party->rooted)
        return 0;
    return member == 0 ? party->rooted : member;
}

/* Moves the cursor to a member, from its place or from the nearer end. Shapes
 * list children with few changes of direction, or alternately near both ends,
 * so a list costs a constant number of walks through the party. */
static void cursor_seek(cursor_t *cursor, const party_t *party, uint32_t member)
{
    const xyl_topology_map_t *map = party->map;

    if (party->level == map->levels) {
        cursor->begin = party->begin + member;
        cursor->member = member;
        return;
    }
    if (member < cursor->member && member < cursor->member - member) {
        cursor->member = 0;
        cursor->begin = party->begin;
    } else if (member > cursor->member &&
               party->members - 1 - member < member - cursor->member) {
        cursor->member = party->members - 1;
        cursor->begin = member_begin(map, party->level, party->end - 1);
    }
    for (; cursor->member < member; cursor->member++)
        cursor->begin =
            member_end(map, party->level, cursor->begin, party->end);
    for (; cursor->member > member; cursor->member--)
        cursor->begin = member_begin(map, party->level, cursor->begin - 1);
}

static unsigned half_of(xyl_shape_t shape, unsigned half)
{
    return half < shape.tree->halves ? half : 0;
}

uint32_t xyl_topology_tree_parent(const xyl_topology_map_t *map,
                                  const xyl_shape_t *shapes, unsigned half,
                                  uint32_t rank, uint32_t root)
{
    uint32_t level, place;
    party_t party;
    cursor_t cursor;

    assert(rank < map->ranks && root < map->ranks);
    if (rank == root)
        return XYL_TREE_NONE;
    level = level_first(map, rank, root);
    party = party_of(map, level, rank, root);
    place = xyl_tree_parent(shapes[level], half_of(shapes[level], half),
                            party.members, swap_rooted(&party, party.mine), 0);
    assert(place < party.members);
    cursor = (cursor_t){0, party.begin};
    cursor_seek(&cursor, &party, swap_rooted(&party, place));
    return leader_in_group(map, level, cursor.begin, root);
}

uint32_t xyl_topology_tree_children(const xyl_topology_map_t *map,
                                    const xyl_shape_t *shapes, unsigned half,
                                    uint32_t rank, uint32_t root,
                                    uint32_t *children, uint32_t capacity)
{
    uint32_t level, i, found, written = 0, count = 0;
    party_t party;
    cursor_t cursor;

    assert(rank < map->ranks && root < map->ranks);
    /* Outermost level first: the slowest links have the most ranks behind. */
    for (level = level_first(map, rank, root); level <= map->levels; level++) {
        party = party_of(map, level, rank, root);
        cursor = (cursor_t){0, party.begin};
        found = xyl_tree_children(
            shapes[level], half_of(shapes[level], half), party.members,
            swap_rooted(&party, party.mine), 0,
            written < capacity ? &children[written] : NULL, capacity - written);
        count += found;
        /* Turns the new entries from places into ranks. */
        for (i = 0; i < found && written < capacity; i++, written++) {
            cursor_seek(&cursor, &party,
                        swap_rooted(&party, children[written]));
            children[written] = leader_in_group(map, level, cursor.begin, root);
        }
    }
    return count;
}

const xyl_tree_t xyl_tree_topology = {
    .name = "topology",
    .help = "by node, socket, NUMA, L3, core, each K-nomial (1: a chain)",
    .radix = {1, 1, XYL_TREE_RADIX_MAX},
    .halves = 1,
};
