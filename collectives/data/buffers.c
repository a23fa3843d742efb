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

static void pack_by_host(const xyl_exec_t *exec, const xyl_work_t *work)
{
    if (xyl_observer_copies(exec->observer, work->bytes))
        xyl_layout_pack(work->left_layout, work->left, work->left_at,
                        work->bytes, work->to);
}

static void unpack_by_host(const xyl_exec_t *exec, const xyl_work_t *work)
{
    if (xyl_observer_copies(exec->observer, work->bytes))
        xyl_layout_unpack(work->to_layout, work->to, work->to_at, work->bytes,
                          work->left);
}

/* Both sides have gaps. */
static void repack_by_host(const xyl_exec_t *exec, const xyl_work_t *work)
{
    char bounce[BOUNCE_BYTES];
    size_t done, now;

    if (!xyl_observer_copies(exec->observer, work->bytes))
        return;
    for (done = 0; done < work->bytes; done += now) {
        now = work->bytes - done < BOUNCE_BYTES ? work->bytes - done
                                                : BOUNCE_BYTES;
        xyl_layout_pack(work->left_layout, work->left, work->left_at + done,
                        now, bounce);
        xyl_layout_unpack(work->to_layout, work->to, work->to_at + done, now,
                          bounce);
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
    xyl_work_t own;

    if (binned != NULL)
        return convert(buffers, work, &binned->deposit, packed,
                       xyl_buffers_address(buffers, from, at),
                       bytes / binned->bytes);
    if (buffers->layout[from] == NULL)
        return xyl_exec_copy(buffers->exec, work, packed,
                             buffers->base[from] + at, bytes);
    if (work == NULL)
        work = &own;
    work->to_layout = NULL;
    work->kind = XYL_WORK_PACK;
    work->to = packed;
    work->left = buffers->base[from];
    work->left_layout = buffers->layout[from];
    work->left_at = at;
    work->bytes = bytes;
    work->describe = layout_describe;
    work->by_host = pack_by_host;
    return xyl_exec_do(buffers->exec, work);
}

int xyl_buffers_unpack(const xyl_buffers_t *buffers, xyl_work_t *work,
                       xyl_buffer_t to, uint64_t at, size_t bytes,
                       const void *packed)
{
    const xyl_binned_t *binned = buffers->binned[to];
    xyl_work_t own;

    if (binned != NULL)
        return convert(buffers, work, &binned->value,
                       xyl_buffers_address(buffers, to, at), packed,
                       bytes / binned->bytes);
    if (buffers->layout[to] == NULL)
        return copy_out(buffers, work, buffers->base[to] + at, packed, bytes);
    if (work == NULL)
        work = &own;
    work->left_layout = NULL;
    work->kind = XYL_WORK_UNPACK;
    work->to = buffers->base[to];
    work->to_layout = buffers->layout[to];
    work->to_at = at;
    work->left = packed;
    work->bytes = bytes;
    work->describe = layout_describe;
    work->by_host = unpack_by_host;
    return xyl_exec_do(buffers->exec, work);
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
    xyl_work_t own;

    if (buffers->layout[from] == NULL && buffers->binned[from] == NULL)
        return xyl_buffers_unpack(buffers, work, to, to_at, bytes,
                                  xyl_buffers_address(buffers, from, from_at));
    if (buffers->layout[to] == NULL)
        return xyl_buffers_pack(buffers, work, from, from_at, bytes,
                                xyl_buffers_address(buffers, to, to_at));
    if (work == NULL)
        work = &own;
    work->kind = XYL_WORK_REPACK;
    work->to = buffers->base[to];
    work->to_layout = buffers->layout[to];
    work->to_at = to_at;
    work->left = buffers->base[from];
    work->left_layout = buffers->layout[from];
    work->left_at = from_at;
    work->bytes = bytes;
    work->describe = layout_describe;
    work->by_host = repack_by_host;
    return xyl_exec_do(buffers->exec, work);
}
