/* Calls that a tag of the user's (xylem_coll_args_t.tag) matches, not the order
 * of the team's calls: each tag has sequence numbers of its own, so that ranks
 * need not agree on an order. A team has room for tags from its first such call
 * on. On each rank, a tag is under way once at a time, as the messages of two
 * calls with one tag look alike; successive calls match in order. */
#pragma once

#include <stdatomic.h>

#include "include/xylem.h"

struct xylem_team;

enum {
    XYL_TAG_SEQUENCES = 8,   /* numbers that one tag has */
    XYL_TAG_NUMBER_BITS = 19 /* that the numbers of all tags need */
};
/* Tells these numbers apart from those of calls in order. */
#define XYL_SEQUENCE_TAGGED (UINT32_C(1) << 31)

_Static_assert((XYLEM_TAG_MAX + 1) * XYL_TAG_SEQUENCES ==
                   1 << XYL_TAG_NUMBER_BITS,
               "the numbers of tags fill their half");

typedef struct xyl_tags {
    /* [tag]: 1 while it is under way, plus 2 for each call that is over. */
    _Atomic uint16_t uses[XYLEM_TAG_MAX + 1];
} xyl_tags_t;

/* Makes the team's room for tags. Any thread. */
xylem_status_t xyl_tags_reserve(struct xylem_team *team);
void xyl_tags_fini(struct xylem_team *team);

/* Begins a call with this tag. *sequence_out: its first number, which differs
 * from those of calls before. Any thread. XYLEM_ERR_BUSY: one is under way. */
xylem_status_t xyl_tag_begin(struct xylem_team *team, uint32_t tag,
                             uint32_t *sequence_out);
/* The call is over on this rank. */
void xyl_tag_end(struct xylem_team *team, uint32_t tag);
/* How many calls with this tag are over on this rank, in CALLS_BITS bits.
 * Any thread. */
enum { XYL_TAG_CALLS_BITS = 15 };
uint32_t xyl_tag_calls(struct xylem_team *team, uint32_t tag);
