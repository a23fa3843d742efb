/* The short forms of the collectives: each fills in the arguments of one call
 * and hands them on, blocking or not. */
#include "collectives/choose/compose.h"
#include "collectives/data/description.h"

/* As many parameters as MPI's. NOLINTBEGIN(readability-function-size) */

#define SHORT_FORMS(ID, name, Mpi, Impi, LIKE, ...)                            \
    xylem_status_t xylem_##name(                                               \
        xylem_team_t *team XYL_LIST_##LIKE(XYL_PARAMETER))                     \
    {                                                                          \
        xylem_coll_args_t args = {.struct_bytes = sizeof args,                 \
                                  .coll = XYLEM_COLL_##ID,                     \
                                  XYL_LIST_##LIKE(XYL_INITIAL)};               \
                                                                               \
        return xyl_coll_run(team, &args, "xylem_" #name);                      \
    }                                                                          \
                                                                               \
    xylem_status_t xylem_i##name(                                              \
        xylem_team_t *team XYL_LIST_##LIKE(XYL_PARAMETER),                     \
        xylem_request_t **request_out)                                         \
    {                                                                          \
        xylem_coll_args_t args = {.struct_bytes = sizeof args,                 \
                                  .coll = XYLEM_COLL_##ID,                     \
                                  XYL_LIST_##LIKE(XYL_INITIAL)};               \
                                                                               \
        return xyl_coll_begin(team, &args, "xylem_i" #name, request_out);      \
    }
XYL_COLL_MAP(SHORT_FORMS)

/* NOLINTEND(readability-function-size) */

const char *xylem_coll_name(xylem_coll_t coll)
{
    return (unsigned)coll < XYLEM_COLL_COUNT ? xyl_coll_traits(coll)->name
                                             : NULL;
}
