#include "tests/proc/short_forms.h"

#include <stddef.h>

int short_form_exists(const xylem_coll_args_t *args)
{
    return args->recv_count == 0 && args->algorithm == NULL &&
           args->segment_bytes == 0;
}

xylem_status_t short_form_blocking(xylem_team_t *team,
                                   const xylem_coll_args_t *args)
{
    switch (args->coll) {
#define BLOCKING(ID, name, Mpi, Impi, LIKE, ...)                               \
    case XYLEM_COLL_##ID:                                                      \
        return xylem_##name(team XYL_LIST_##LIKE(XYL_PASSED));
        XYL_COLL_MAP(BLOCKING)
    case XYLEM_COLL_COUNT:
        break;
    }
    return XYLEM_ERR_INTERNAL; /* there is no other */
}

xylem_status_t short_form_nonblocking(xylem_team_t *team,
                                      const xylem_coll_args_t *args,
                                      xylem_request_t **out)
{
    switch (args->coll) {
#define NONBLOCKING(ID, name, Mpi, Impi, LIKE, ...)                            \
    case XYLEM_COLL_##ID:                                                      \
        return xylem_i##name(team XYL_LIST_##LIKE(XYL_PASSED), out);
        XYL_COLL_MAP(NONBLOCKING)
    case XYLEM_COLL_COUNT:
        break;
    }
    return XYLEM_ERR_INTERNAL; /* there is no other */
}
