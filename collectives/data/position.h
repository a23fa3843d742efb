/* Positions in buffers, for actions of schedules and steps of node programs.
 * Buffers have no addresses there, so that one schedule or program serves any
 * number of starts with other buffers. */
#pragma once

#include <stdint.h>

typedef enum xyl_buffer {
    XYL_BUFFER_SEND, /* the user's; in place: the same memory as RECV */
    XYL_BUFFER_RECV,
    XYL_BUFFER_TEMP, /* a schedule's own */
    XYL_BUFFER_PRIVATE_COUNT,
    /* On the board of a node: */
    XYL_BUFFER_LINE = XYL_BUFFER_PRIVATE_COUNT, /* of a seat:
                                  XYL_BOARD_INLINE_BYTES beside its count */
    XYL_BUFFER_INPUT, /* of a seat: the input that it has published, in the
                         window or where it lies */
    XYL_BUFFER_BOARD  /* the window behind all inputs */
} xyl_buffer_t;

/* `at` counts elements in a schedule, and packed bytes in a node program. A
 * program's `at` of SEND and RECV is for piece 0. */
typedef struct xyl_position {
    xyl_buffer_t buffer;
    uint32_t seat; /* LINE, INPUT */
    uint64_t at;
} xyl_position_t;

static inline int xyl_buffer_is_private(xyl_buffer_t buffer)
{
    return buffer < XYL_BUFFER_PRIVATE_COUNT;
}

#define xyl_position_of(buffer, seat, at) ((xyl_position_t){buffer, seat, at})
#define xyl_position(buffer, at)          xyl_position_of(buffer, 0, at)
#define xyl_in_send(at)                   xyl_position(XYL_BUFFER_SEND, at)
#define xyl_in_recv(at)                   xyl_position(XYL_BUFFER_RECV, at)

static inline xyl_position_t xyl_position_plus(xyl_position_t position,
                                               uint64_t count)
{
    position.at += count;
    return position;
}

/* Moves a position of SEND or RECV to where these begin further on. */
static inline void xyl_position_shift(xyl_position_t *position,
                                      uint64_t send_at, uint64_t recv_at)
{
    if (position->buffer == XYL_BUFFER_SEND)
        position->at += send_at;
    else if (position->buffer == XYL_BUFFER_RECV)
        position->at += recv_at;
}
