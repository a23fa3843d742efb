#include "collectives/data/buffers.h"

#include <string.h>

enum { BOUNCE_BYTES = 4096 };

void xyl_buffers_bind(xyl_buffers_t *buffers, size_t at, const void *send,
                      void *recv)
{
    union {
        const void *constant;
        char *plain;
    } address = {send};

    /* Stages only read it, unless it is the receive buffer as well. */
    buffers->base[XYL_BUFFER_SEND] = send == NULL ? NULL : address.plain + at;
    buffers->base[XYL_BUFFER_RECV] = recv == NULL ? NULL : (char *)recv + at;
}

void xyl_buffers_pack(const xyl_buffers_t *buffers, xyl_buffer_t from,
                      uint64_t at, size_t bytes, void *packed)
{
    const xyl_layout_t *layout = buffers->layout[from];

    if (!xyl_copies_begin(buffers->copies, bytes))
        return;
    if (layout == NULL)
        memcpy(packed, buffers->base[from] + at, bytes);
    else
        xyl_layout_pack(layout, buffers->base[from], at, bytes, packed);
}

void xyl_buffers_unpack(const xyl_buffers_t *buffers, xyl_buffer_t to,
                        uint64_t at, size_t bytes, const void *packed)
{
    const xyl_layout_t *layout = buffers->layout[to];

    if (!xyl_copies_begin(buffers->copies, bytes))
        return;
    if (layout == NULL && buffers->past_caches)
        xyl_copy_past(buffers->base[to] + at, packed, bytes);
    else if (layout == NULL)
        memcpy(buffers->base[to] + at, packed, bytes);
    else
        xyl_layout_unpack(layout, buffers->base[to], at, bytes, packed);
}

/* Both sides have gaps. */
static void copy_through(const xyl_buffers_t *buffers, xyl_buffer_t to,
                         uint64_t to_at, xyl_buffer_t from, uint64_t from_at,
                         size_t bytes)
{
    char bounce[BOUNCE_BYTES];
    size_t done, now;

    if (!xyl_copies_begin(buffers->copies, bytes))
        return;
    for (done = 0; done < bytes; done += now) {
        now = bytes - done < BOUNCE_BYTES ? bytes - done : BOUNCE_BYTES;
        xyl_layout_pack(buffers->layout[from], buffers->base[from],
                        from_at + done, now, bounce);
        xyl_layout_unpack(buffers->layout[to], buffers->base[to], to_at + done,
                          now, bounce);
    }
}

void xyl_buffers_copy(const xyl_buffers_t *buffers, xyl_buffer_t to,
                      uint64_t to_at, xyl_buffer_t from, uint64_t from_at,
                      size_t bytes)
{
    if (buffers->layout[from] == NULL)
        xyl_buffers_unpack(buffers, to, to_at, bytes,
                           xyl_buffers_address(buffers, from, from_at));
    else if (buffers->layout[to] == NULL)
        xyl_buffers_pack(buffers, from, from_at, bytes,
                         xyl_buffers_address(buffers, to, to_at));
    else
        copy_through(buffers, to, to_at, from, from_at, bytes);
}
