/* The collectives, as the library describes them. Constant; any thread. */
#include "bench/measure/coll.h"

#include <string.h>

#include "bench/common/text.h"

int coll_parse(const char *name, xylem_coll_t *coll_out)
{
    unsigned coll;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++) {
        if (strcmp(xyl_coll_traits((xylem_coll_t)coll)->name, name) != 0)
            continue;
        *coll_out = (xylem_coll_t)coll;
        return 1;
    }
    return 0;
}

static int take_coll(void *values, size_t index, const char *part)
{
    return coll_parse(part, (xylem_coll_t *)values + index);
}

size_t coll_list(const char *names, xylem_coll_t colls[XYLEM_COLL_COUNT])
{
    size_t i;

    if (strcmp(names, "all") != 0)
        return text_list(names, take_coll, colls, XYLEM_COLL_COUNT);
    for (i = 0; i < XYLEM_COLL_COUNT; i++)
        colls[i] = (xylem_coll_t)i;
    return XYLEM_COLL_COUNT;
}

const char *coll_unit(xylem_coll_t coll)
{
    const xyl_coll_traits_t *t = xyl_coll_traits(coll);

    return t->send_blocks || t->recv_blocks ? "block" : "message";
}
