#include "collectives/api/arguments.h"

#include <inttypes.h>

#include "collectives/stages/collective.h"
#include "collectives/stages/edge.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"

/* ---- the structure ---- */

xylem_status_t xyl_arguments_read(const xylem_coll_args_t *given,
                                  const char *call, xylem_coll_args_t *own,
                                  const xylem_coll_args_t **args_out)
{
    xylem_status_t status;

    if (given != NULL && given->struct_bytes == sizeof *given) {
        *args_out = given;
        return XYLEM_OK;
    }
    status = xyl_members_read(call, "args", given,
                              XYL_BYTES_UP_TO(xylem_coll_args_t, algorithm),
                              own, sizeof *own);
    if (status == XYLEM_OK)
        *args_out = own;
    return status;
}

/* ---- flags ---- */

static xylem_status_t check_flags(const xylem_coll_args_t *args,
                                  const char *call)
{
    const xyl_coll_traits_t *t = xyl_coll_traits(args->coll);
    uint32_t orders = XYLEM_FLAG_ARRIVAL_ORDER | XYLEM_FLAG_REPRODUCIBLE;
    uint32_t unknown =
        args->flags & ~(XYLEM_FLAG_PARTS | XYLEM_FLAG_AUTOFREE | orders);

    if (unknown != 0)
        return xyl_refuse(call, "xylem %s has no flag %#" PRIx32,
                          xylem_version(), unknown);
    if ((args->flags & XYLEM_FLAG_PARTS) != 0 && !t->has_segments)
        return xyl_refuse(call,
                          "XYLEM_FLAG_PARTS: the input of %s is not cut into "
                          "segments that could be released",
                          t->name);
    if ((args->flags & orders) != 0 && !t->reduces)
        return xyl_refuse(call, "XYLEM_FLAG_%s: %s combines nothing",
                          (args->flags & XYLEM_FLAG_ARRIVAL_ORDER) != 0
                              ? "ARRIVAL_ORDER"
                              : "REPRODUCIBLE",
                          t->name);
    if ((args->flags & orders) == orders)
        return xyl_refuse(call, "XYLEM_FLAG_ARRIVAL_ORDER and "
                                "XYLEM_FLAG_REPRODUCIBLE: at most one of them");
    if (args->on_segment != NULL && !t->has_segments)
        return xyl_refuse(call,
                          "on_segment: the result of %s is not cut into "
                          "segments; on_complete tells that it is there",
                          t->name);
    return XYLEM_OK;
}

/* ---- buffers ---- */

static xylem_status_t check_arrays(const xylem_coll_args_t *args, int is_root,
                                   const char *call)
{
    const uint16_t flags = xyl_coll_traits(args->coll)->flags;
    const xyl_array_t *array = xyl_arrays(), *end = array + XYL_ARRAYS;

    for (; array < end; array++)
        if (xyl_array_get(array, args) == NULL &&
            (flags & array->needed_by) == array->needed_by &&
            xyl_array_matters(array, args, is_root))
            return xyl_refuse(call, "the array %s is NULL", array->name);
    return XYLEM_OK;
}

static int has_any(const uint64_t *counts, uint32_t ranks)
{
    uint32_t i = 0;

    while (i < ranks && counts[i] == 0)
        i++;
    return i < ranks;
}

/* Refuses buffers that are NULL though arrays count elements in them. An
 * alltoallw's types may hold addresses of their own. */
static xylem_status_t check_varying(const xylem_team_t *team,
                                    const xylem_coll_args_t *args, int is_root,
                                    const char *call)
{
    const xyl_coll_traits_t *t = xyl_coll_traits(args->coll);
    const uint64_t *sent = t->send_varies   ? args->send_counts
                           : t->send_blocks ? args->recv_counts
                                            : NULL;
    const uint64_t *received = t->recv_blocks ? args->recv_counts : NULL;

    if (t->has_own_types)
        return XYLEM_OK;
    if (args->send == NULL && xyl_args_sends(args, is_root) &&
        (sent != NULL ? has_any(sent, team->size) : args->count != 0))
        return xyl_refuse(call,
                          "the send buffer is NULL and not all counts are 0");
    if (t->reduces)
        received = &args->recv_counts[team->rank];
    if (args->recv == NULL && xyl_args_receives(args, is_root) &&
        (received != NULL ? has_any(received, t->reduces ? 1 : team->size)
                          : args->count != 0))
        return xyl_refuse(
            call, "the receive buffer is NULL and not all counts are 0");
    return XYLEM_OK;
}

static xylem_status_t check_in_place(const xylem_coll_args_t *args, int is_root,
                                     const char *call)
{
    const xyl_coll_traits_t *t = xyl_coll_traits(args->coll);
    int by_recv = t->sends == XYL_SIDE_ROOT; /* scatter(v) */

    if (args->send == XYLEM_IN_PLACE && t->sends != XYL_SIDE_NOBODY &&
        (by_recv || !xyl_side_matters(t->takes_in_place, is_root)))
        return xyl_refuse(call, "XYLEM_IN_PLACE %s",
                          by_recv || t->takes_in_place == XYL_SIDE_NOBODY
                              ? "cannot be the send buffer"
                              : "is for the root only");
    if (args->recv == XYLEM_IN_PLACE_RECV && !(by_recv && is_root))
        return xyl_refuse(call,
                          "XYLEM_IN_PLACE_RECV is for the root of a scatter");
    return XYLEM_OK;
}

/* Checks each side by its own count; for counts that are not in arrays. */
static xylem_status_t check_buffers(const xylem_coll_args_t *args, int sends,
                                    int receives, const char *call)
{
    size_t received = args->recv_count != 0 ? args->recv_count : args->count;

    if (sends && args->send == NULL && args->count != 0)
        return xyl_refuse(call, "the send buffer is NULL and count is %zu",
                          args->count);
    if (receives && args->recv == NULL && received != 0)
        return xyl_refuse(call, "the receive buffer is NULL and count is %zu",
                          received);
    if (sends && receives && args->send == args->recv && args->count != 0)
        return xyl_refuse(
            call, "send and receive buffer are the same; say XYLEM_IN_PLACE");
    return XYLEM_OK;
}

xylem_status_t xyl_arguments_check_frame(const xylem_team_t *team,
                                         const xylem_coll_args_t *args,
                                         const char *call)
{
    const xyl_coll_traits_t *t;
    xylem_status_t status = XYLEM_OK;
    int is_root;

    if (args->coll >= XYLEM_COLL_COUNT)
        return xyl_refuse(call, "there is no collective %d", (int)args->coll);
    if (args->flags != 0 || args->on_segment != NULL)
        status = check_flags(args, call);
    t = xyl_coll_traits(args->coll);
    is_root = xyl_args_is_root(args, team->rank);
    if (status == XYLEM_OK &&
        (args->send == XYLEM_IN_PLACE || args->recv == XYLEM_IN_PLACE_RECV))
        status = check_in_place(args, is_root, call);
    if (status == XYLEM_OK && !t->send_varies && !t->recv_varies)
        status = check_buffers(args, xyl_args_sends(args, is_root),
                               xyl_args_receives(args, is_root), call);
    if (status != XYLEM_OK || !xyl_coll_has_arrays(args->coll))
        return status;
    status = check_arrays(args, is_root, call);
    return status == XYLEM_OK && (t->send_varies || t->recv_varies)
               ? check_varying(team, args, is_root, call)
               : status;
}

/* ---- values ---- */

static xylem_status_t check_tuning(const xylem_coll_args_t *args,
                                   const char *call)
{
    if (args->tag > XYLEM_TAG_MAX)
        return xyl_refuse(call, "tag %u is beyond %d", args->tag,
                          XYLEM_TAG_MAX);
    if (args->recv_window > XYL_WINDOW_MAX ||
        (args->recv_window != 0 && args->send_window > args->recv_window) ||
        args->send_window > XYL_WINDOW_MAX)
        return xyl_refuse(call,
                          "windows: send_window %u may not exceed recv_window "
                          "%u, nor this %d",
                          args->send_window, args->recv_window, XYL_WINDOW_MAX);
    return XYLEM_OK;
}

/* Checks the elements of the larger buffer; 0 also if arrays count them. */
static xylem_status_t check_size(const xylem_team_t *team,
                                 const xylem_coll_args_t *args,
                                 size_t element_bytes, const char *call)
{
    size_t blocks = xyl_args_blocks(args, team->size);

    if (args->count > (size_t)PTRDIFF_MAX / element_bytes / blocks)
        return xyl_refuse(
            call, "%zu elements of %zu bytes%s exceed the address space",
            args->count, element_bytes, blocks > 1 ? " in each block" : "");
    return XYLEM_OK;
}

/* Checks the receiving side's own type and count. */
static xylem_status_t check_recv_type(const xylem_coll_args_t *args,
                                      int receives, size_t element_bytes,
                                      const char *call)
{
    const xyl_coll_traits_t *t = xyl_coll_traits(args->coll);
    size_t bytes = xylem_type_bytes(args->recv_type);

    if (bytes == 0)
        return xyl_refuse(call, "there is no type %" PRIu32 " to receive",
                          args->recv_type);
    if (t->reduces && args->recv_type != args->type)
        return xyl_refuse(call, "both sides of a reduction are of one type");
    if (!receives || xyl_coll_varies(args->coll))
        return XYLEM_OK;
    if (args->recv_count > (size_t)PTRDIFF_MAX / bytes ||
        args->recv_count * bytes != args->count * element_bytes)
        return xyl_refuse(
            call,
            "%zu elements of %zu bytes are sent and %zu of %zu bytes received",
            args->count, element_bytes, args->recv_count, bytes);
    return XYLEM_OK;
}

/* Checks the blocks of one side; `displs` NULL: one behind the other. */
static xylem_status_t check_blocks(const xylem_team_t *team,
                                   const uint64_t *counts,
                                   const uint64_t *displs, size_t element_bytes,
                                   const char *call)
{
    uint64_t most = (uint64_t)PTRDIFF_MAX / element_bytes, sum = 0, at;
    uint32_t i;

    for (i = 0; i < team->size; i++) {
        at = displs == NULL ? sum : displs[i];
        if (counts[i] > most || (counts[i] != 0 && at > most - counts[i]))
            return xyl_refuse(
                call,
                "block %" PRIu32 " of %" PRIu64
                " elements of %zu bytes exceeds the address space",
                i, counts[i], element_bytes);
        sum += counts[i];
    }
    return XYLEM_OK;
}

/* After the frame: the arrays that matter are there. Arrays of an alltoallw are
 * checked with its types. */
static xylem_status_t check_all_blocks(const xylem_team_t *team,
                                       const xylem_coll_args_t *args,
                                       size_t element_bytes, const char *call)
{
    const xyl_coll_traits_t *t = xyl_coll_traits(args->coll);
    int is_root = xyl_args_is_root(args, team->rank);
    xylem_status_t status = XYLEM_OK;

    if (t->has_own_types)
        return XYLEM_OK;
    if (t->send_varies && xyl_args_sends(args, is_root) &&
        args->send != XYLEM_IN_PLACE)
        status = check_blocks(team, args->send_counts, args->send_displs,
                              element_bytes, call);
    if (args->recv_count != 0)
        element_bytes = xylem_type_bytes(args->recv_type);
    if (status == XYLEM_OK && t->recv_varies &&
        xyl_args_receives(args, is_root))
        status = check_blocks(team, args->recv_counts,
                              t->recv_blocks ? args->recv_displs : NULL,
                              element_bytes, call);
    return status;
}

xylem_status_t xyl_arguments_check_values(const xylem_team_t *team,
                                          const xylem_coll_args_t *args,
                                          const char *call)
{
    const xyl_coll_traits_t *t = xyl_coll_traits(args->coll);
    size_t element_bytes;
    xylem_status_t status;

    if (t->has_root && args->root >= team->size)
        return xyl_refuse(call, "root %u is outside the team's %u ranks",
                          args->root, team->size);
    element_bytes = xylem_type_bytes(args->type);
    if (element_bytes == 0)
        return xyl_refuse(call, "there is no type %" PRIu32, args->type);
    status = check_size(team, args, element_bytes, call);
    if (status == XYLEM_OK && args->recv_count != 0)
        status = check_recv_type(
            args, xyl_args_receives(args, xyl_args_is_root(args, team->rank)),
            element_bytes, call);
    if (status == XYLEM_OK && (t->send_varies || t->recv_varies))
        status = check_all_blocks(team, args, element_bytes, call);
    return status == XYLEM_OK ? check_tuning(args, call) : status;
}
