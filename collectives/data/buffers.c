#include "collectives/data/buffers.h"

#include <string.h>

#include "runtime/base/copy.h"

enum { BOUNCE_BYTES = 4096 };

void xyl_buffers_bind(xyl_buffers_t *buffers, size_t at, const void *send,
                      void *recv)
{
    union {
        const void *constant;
        char *plain;
    } address = {send};

    /* Stages only read SEND, unless it is the receive buffer as well. */
    buffers->base[XYL_BUFFER_SEND] =
        send == NULL
            ? NULL
            : address.plain + xyl_buffers_length(buffers, XYL_BUFFER_SEND, at);
    buffers->base[XYL_BUFFER_RECV] =
        recv == NULL
            ? NULL
            : (char *)recv + xyl_buffers_length(buffers, XYL_BUFFER_RECV, at);
}

/* ---- elements with gaps ---- */

static void layout_describe(const xyl_layout_t *layout,
                            xyl_pieces_t *pieces_out)
{
    *pieces_out = (xyl_pieces_t){.level_count = layout->level_count,
                                 .block_count = layout->block_count,
                                 .blocks = layout->blocks};
    memcpy(pieces_out->levels, layout->levels, sizeof layout->levels);
}

/* One side may be packed, and both may have gaps. */
static void move_by_host(const xyl_exec_t *exec, const xyl_work_t *work)
{
    const xyl_layout_t *to = work->to_layout, *from = work->left_layout;
    char bounce[BOUNCE_BYTES];
    size_t done, now, bytes = work->bytes;

    if (!xyl_observer_copies(exec->observer, bytes))
        return;
    if (to == NULL)
        xyl_layout_pack(from, work->left, work->left_at, bytes, work->to);
    else if (from == NULL)
        xyl_layout_unpack(to, work->to, work->to_at, bytes, work->left);
    else
        for (done = 0; done < bytes; done += now) {
            now = bytes - done < BOUNCE_BYTES ? bytes - done : BOUNCE_BYTES;
            xyl_layout_pack(from, work->left, work->left_at + done, now,
                            bounce);
            xyl_layout_unpack(to, work->to, work->to_at + done, now, bounce);
        }
}

/* ---- work ---- */

/* Copies plain bytes to the user. */
static int copy_out(const xyl_buffers_t *buffers, xyl_work_t *work, void *to,
                    const void *from, size_t bytes)
{
    if (!buffers->past_caches || !buffers->exec->is_immediate)
        return xyl_exec_copy(buffers->exec, work, to, from, bytes);
    if (xyl_observer_copies(buffers->exec->observer, bytes))
        xyl_copy_past(to, from, bytes);
    return 1;
}

/* Moves bytes between the operands of `given`, of which one or both have
 * gaps. */
static int move(const xyl_buffers_t *buffers, xyl_work_t *work,
                xyl_work_t *given)
{
    given->kind = given->to_layout == NULL     ? XYL_WORK_PACK
                  : given->left_layout == NULL ? XYL_WORK_UNPACK
                                               : XYL_WORK_REPACK;
    given->describe = layout_describe;
    given->by_host = move_by_host;
    if (work == NULL)
        return xyl_exec_do(buffers->exec, given);
    given->event = work->event;
    given->owner = work->owner;
    *work = *given;
    return xyl_exec_do(buffers->exec, work);
}

/* Makes sums of numbers, or numbers of sums. */
static int convert(const xyl_buffers_t *buffers, xyl_work_t *work,
                   const xyl_combiner_t *combiner, void *to, const void *from,
                   size_t count)
{
    return xyl_exec_reduce(buffers->exec, work, combiner, to, from, from,
                           count);
}

int xyl_buffers_pack(const xyl_buffers_t *buffers, xyl_work_t *work,
                     xyl_buffer_t from, uint64_t at, size_t bytes, void *packed)
{
    const xyl_binned_t *binned = buffers->binned[from];

    if (binned != NULL)
        return convert(buffers, work, &binned->deposit, packed,
                       xyl_buffers_address(buffers, from, at),
                       bytes / binned->bytes);
    if (buffers->layout[from] == NULL)
        return xyl_exec_copy(buffers->exec, work, packed,
                             buffers->base[from] + at, bytes);
    return move(buffers, work,
                &(xyl_work_t){.to = packed,
                              .left = buffers->base[from],
                              .left_layout = buffers->layout[from],
                              .left_at = at,
                              .bytes = bytes});
}

int xyl_buffers_unpack(const xyl_buffers_t *buffers, xyl_work_t *work,
                       xyl_buffer_t to, uint64_t at, size_t bytes,
                       const void *packed)
{
    const xyl_binned_t *binned = buffers->binned[to];

    if (binned != NULL)
        return convert(buffers, work, &binned->value,
                       xyl_buffers_address(buffers, to, at), packed,
                       bytes / binned->bytes);
    if (buffers->layout[to] == NULL)
        return copy_out(buffers, work, buffers->base[to] + at, packed, bytes);
    return move(buffers, work,
                &(xyl_work_t){.to = buffers->base[to],
                              .to_layout = buffers->layout[to],
                              .to_at = at,
                              .left = packed,
                              .bytes = bytes});
}

int xyl_buffers_put(const xyl_buffers_t *buffers, xyl_work_t *work,
                    xyl_buffer_t to, uint64_t at, size_t bytes,
                    const void *numbers)
{
    return copy_out(buffers, work, xyl_buffers_address(buffers, to, at),
                    numbers, xyl_buffers_length(buffers, to, bytes));
}

int xyl_buffers_copy(const xyl_buffers_t *buffers, xyl_work_t *work,
                     xyl_buffer_t to, uint64_t to_at, xyl_buffer_t from,
                     uint64_t from_at, size_t bytes)
{
    if (buffers->layout[from] == NULL && buffers->binned[from] == NULL)
        return xyl_buffers_unpack(buffers, work, to, to_at, bytes,
                                  xyl_buffers_address(buffers, from, from_at));
    if (buffers->layout[to] == NULL)
        return xyl_buffers_pack(buffers, work, from, from_at, bytes,
                                xyl_buffers_address(buffers, to, to_at));
    return move(buffers, work,
                &(xyl_work_t){.to = buffers->base[to],
                              .to_layout = buffers->layout[to],
                              .to_at = to_at,
                              .left = buffers->base[from],
                              .left_layout = buffers->layout[from],
                              .left_at = from_at,
                              .bytes = bytes});
}
