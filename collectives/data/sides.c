#include "collectives/data/sides.h"

#include <stdlib.h>

#include "collectives/data/description.h"
#include "collectives/data/layout_build.h"
#include "collectives/data/types.h"
#include "runtime/base/status.h"

enum { ARRAYS = XYL_SIDES_ARRAYS };

/* One type of a call, and all that counts its elements. */
typedef struct counted {
    xylem_type_t *type;
    size_t *count;
    const uint64_t **arrays[ARRAYS]; /* NULL, or *array is NULL: none */
} counted_t;

/* Products that do not fit become UINT64_MAX, which the checks of lengths
 * refuse. */
static uint64_t times(uint64_t count, uint64_t bytes)
{
    uint64_t product;

    return __builtin_mul_overflow(count, bytes, &product) ? UINT64_MAX
                                                          : product;
}

/* Replaces elements that are longer than a block can be, or have no data, by
 * bytes. */
static xylem_status_t count_in_bytes(uint32_t ranks, uint64_t bytes,
                                     const counted_t *counted,
                                     xyl_sides_t *sides)
{
    uint32_t i, rank;

    *counted->count = times(*counted->count, bytes);
    *counted->type = XYLEM_BYTE;
    for (i = 0; i < ARRAYS; i++) {
        const uint64_t **array = counted->arrays[i];
        if (array == NULL || *array == NULL)
            continue;
        sides->arrays[i] = malloc(ranks * sizeof **array);
        if (sides->arrays[i] == NULL)
            return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for counts");
        for (rank = 0; rank < ranks; rank++)
            sides->arrays[i][rank] = times((*array)[rank], bytes);
        *array = sides->arrays[i];
    }
    return XYLEM_OK;
}

/* Replaces one type, and all that counts its elements, in place. */
static xylem_status_t replace(const xylem_team_t *team,
                              const counted_t *counted, xyl_sides_t *sides,
                              const xyl_layout_t **layout, int *is_empty)
{
    xylem_type_t *type = counted->type;
    uint64_t bytes;
    xylem_status_t status =
        xyl_types_find_layout(team->context, *type, &bytes, layout);

    if (status != XYLEM_OK || !xyl_type_is_user(*type))
        return status;
    *is_empty = bytes == 0;
    if (bytes == 0 || bytes > INT32_MAX)
        return count_in_bytes(team->size, bytes, counted, sides);
    *type = XYLEM_TYPE_BLOCK((uint32_t)bytes);
    return XYLEM_OK;
}

/* 1: the call's type is not read. */
static int has_no_type(const xylem_coll_args_t *args)
{
    return xyl_coll_traits(args->coll)->has_own_types ||
           args->coll == XYLEM_COLL_BARRIER;
}

/* Elements with gaps, and those longer than a block, are not combined. */
static xylem_status_t combined_check(xylem_type_t type,
                                     const xylem_coll_args_t *plain,
                                     const xyl_sides_t *sides)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(plain->coll);

    if (!traits->reduces)
        return XYLEM_OK;
    if (sides->send != NULL || sides->recv != NULL)
        return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                        "%s: elements with gaps cannot be combined",
                        traits->name);
    if (xyl_type_is_user(type) && plain->type == XYLEM_BYTE &&
        !sides->send_is_empty)
        return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                        "%s: elements of more than 2^31 - 1 bytes cannot be "
                        "combined",
                        traits->name);
    return XYLEM_OK;
}

xylem_status_t xyl_sides_replace(const xylem_team_t *team,
                                 xylem_coll_args_t *args, xyl_sides_t *sides)
{
    const xylem_type_t type = args->type;
    int is_one = args->recv_count == 0; /* type, of both sides */
    counted_t sent = {&args->type,
                      &args->count,
                      {&args->send_counts, &args->send_displs,
                       is_one ? &args->recv_counts : NULL,
                       is_one ? &args->recv_displs : NULL}};
    counted_t received = {&args->recv_type,
                          &args->recv_count,
                          {NULL, NULL, &args->recv_counts, &args->recv_displs}};
    xylem_status_t status;

    *sides = (xyl_sides_t){.send = NULL};
    if (has_no_type(args)) {
        args->type = args->recv_type = XYLEM_BYTE;
        return XYLEM_OK;
    }
    status = replace(team, &sent, sides, &sides->send, &sides->send_is_empty);
    if (status == XYLEM_OK && !is_one) {
        status = replace(team, &received, sides, &sides->recv,
                         &sides->recv_is_empty);
    } else if (status == XYLEM_OK) {
        sides->recv_is_empty = sides->send_is_empty;
        sides->recv = sides->send;
        if (sides->recv != NULL)
            xyl_layout_acquire(sides->recv);
    }
    if (status == XYLEM_OK)
        status = combined_check(type, args, sides);
    if (status != XYLEM_OK)
        xyl_sides_release(sides);
    return status;
}

void xyl_sides_release(const xyl_sides_t *sides)
{
    uint32_t i;

    xyl_layout_release(sides->send);
    xyl_layout_release(sides->recv);
    for (i = 0; i < ARRAYS; i++)
        free(sides->arrays[i]);
}
