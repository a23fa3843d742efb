/* The collectives, as the library describes them. Constant; any thread. */
#include "bench/measure/coll.h"

#include <string.h>

#include "bench/common/text.h"

int coll_parse(const char *name, xylem_coll_t *coll_out)
{
    *coll_out = xyl_coll_named(name, strlen(name));
    return *coll_out != XYLEM_COLL_COUNT;
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
