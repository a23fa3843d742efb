/* Calls that are matched by a tag of the user's (xylem_coll_args_t.tag) and not
 * by the order of a team's calls: each tag has sequence numbers of its own, so
 * that ranks need not agree on an order. A team has the room for that from its
 * first such call on. A tag is under way once at a time on each rank, as the
 * messages of two calls with one tag look alike; one after the other they match
 * in order. */
#ifndef XYL_RUNTIME_CORE_TAGS_H
#define XYL_RUNTIME_CORE_TAGS_H

#include <stdatomic.h>

#include "include/xylem.h"

struct xylem_team;

enum {
    XYL_TAG_SEQUENCES = 8,   /* numbers that one tag has */
    XYL_TAG_NUMBER_BITS = 19 /* of all tags, in a message's tag */
};
/* Told apart from those of calls in order. */
#define XYL_SEQUENCE_TAGGED (UINT32_C(1) << 31)

_Static_assert((XYLEM_TAG_MAX + 1) * XYL_TAG_SEQUENCES ==
                   1 << XYL_TAG_NUMBER_BITS,
               "the numbers of tags fill their half");

typedef struct xyl_tags {
    /* [tag]: 1 while it is under way, and 2 more for each time that it was. */
    _Atomic uint16_t uses[XYLEM_TAG_MAX + 1];
} xyl_tags_t;

/* The room. Any thread. */
xylem_status_t xyl_tags_reserve(struct xylem_team *team);
void xyl_tags_fini(struct xylem_team *team);

/* The first number of a call with this tag that begins now, which also tells
 * it apart from those before. Any thread. XYLEM_ERR_BUSY: one is under way. */
xylem_status_t xyl_tag_begin(struct xylem_team *team, uint32_t tag,
                             uint32_t *sequence_out);
/* It is over on this rank. */
void xyl_tag_end(struct xylem_team *team, uint32_t tag);
/* How many calls with this tag are over on this rank, in CALLS_BITS bits.
 * Any thread. */
enum { XYL_TAG_CALLS_BITS = 15 };
uint32_t xyl_tag_calls(struct xylem_team *team, uint32_t tag);

#endif
