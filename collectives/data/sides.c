#include "collectives/data/sides.h"

#include "collectives/data/description.h"
#include "collectives/data/layout_build.h"
#include "collectives/data/types.h"
#include "runtime/base/status.h"

/* One type: replaced in place, with its count. */
static xylem_status_t replace(xylem_context_t *context, size_t *count,
                              xylem_type_t *type, const xyl_layout_t **layout,
                              int *is_empty)
{
    uint64_t bytes;
    xylem_status_t status = xyl_layout_find(context, *type, &bytes, layout);

    if (status != XYLEM_OK || !xyl_type_is_user(*type))
        return status;
    if (bytes == 0) {
        *is_empty = 1;
        *count = 0;
        *type = XYLEM_BYTE;
        return XYLEM_OK;
    }
    if (bytes > INT32_MAX) {
        xyl_layout_release(*layout);
        *layout = NULL;
        return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                        "an element of %llu bytes: more than 2^31 - 1; use "
                        "more elements of a smaller type",
                        (unsigned long long)bytes);
    }
    *type = XYLEM_TYPE_BLOCK((uint32_t)bytes);
    return XYLEM_OK;
}

/* Nobody looks at it. */
static int has_no_type(const xylem_coll_args_t *args)
{
    return xyl_coll_traits(args->coll)->has_own_types ||
           args->coll == XYLEM_COLL_BARRIER;
}

xylem_status_t xyl_sides_find(xylem_context_t *context,
                              const xylem_coll_args_t *args,
                              xylem_coll_args_t *args_out,
                              xyl_sides_t *sides_out)
{
    xyl_sides_t sides = {.send = NULL};
    xylem_coll_args_t plain = *args;
    xylem_status_t status;

    if (has_no_type(args)) {
        plain.type = plain.recv_type = XYLEM_BYTE;
        *args_out = plain;
        *sides_out = sides;
        return XYLEM_OK;
    }
    status = replace(context, &plain.count, &plain.type, &sides.send,
                     &sides.send_is_empty);
    if (status != XYLEM_OK)
        return status;
    if (args->recv_count != 0) {
        status = replace(context, &plain.recv_count, &plain.recv_type,
                         &sides.recv, &sides.recv_is_empty);
    } else {
        sides.recv_is_empty = sides.send_is_empty;
        sides.recv = sides.send;
        if (sides.recv != NULL)
            xyl_layout_acquire(sides.recv);
    }
    if (status == XYLEM_OK && (sides.send != NULL || sides.recv != NULL) &&
        xyl_coll_traits(args->coll)->reduces)
        status = xyl_fail(XYLEM_ERR_UNSUPPORTED,
                          "%s: elements with gaps cannot be combined",
                          xyl_coll_traits(args->coll)->name);
    if (status != XYLEM_OK) {
        xyl_sides_release(&sides);
        return status;
    }
    *args_out = plain;
    *sides_out = sides;
    return XYLEM_OK;
}

void xyl_sides_release(const xyl_sides_t *sides)
{
    xyl_layout_release(sides->send);
    xyl_layout_release(sides->recv);
}
