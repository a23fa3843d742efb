#include "collectives/board/parcel.h"

#include <assert.h>

enum { RUN_BITS = 16 };

static uint64_t value_of(const xyl_parcel_way_t *way, uint64_t parts)
{
    return way->number << XYL_PARCEL_PART_BITS | parts;
}

void xyl_parcel_prepare(const xyl_parcel_way_t *way, uint64_t lies)
{
    /* Partners: the receiver's loads after the count, which is posted later. */
    atomic_store_explicit(&way->line->is.parts.lies, lies,
                          memory_order_relaxed);
    atomic_store_explicit(
        &way->line->is.parts.claim,
        value_of(way, lies == 0 ? XYL_PARCEL_KEPT : XYL_PARCEL_OFFERED),
        memory_order_relaxed);
    atomic_store_explicit(&way->line->is.parts.sent, value_of(way, 0),
                          memory_order_relaxed);
    atomic_store_explicit(&way->line->is.parts.taken, value_of(way, 0),
                          memory_order_relaxed);
}

int xyl_parcel_is_prepared(const xyl_parcel_way_t *way)
{
    return xyl_board_get(way->board, &way->line->is.parts.claim) >>
               XYL_PARCEL_PART_BITS ==
           way->number;
}

/* ---- where it lies ---- */

xyl_parcel_claim_t xyl_parcel_claimed(const xyl_parcel_way_t *way)
{
    return (xyl_parcel_claim_t)(xyl_board_get(way->board,
                                              &way->line->is.parts.claim) -
                                value_of(way, 0));
}

static int claim_swap(const xyl_parcel_way_t *way, xyl_parcel_claim_t from,
                      xyl_parcel_claim_t to)
{
    uint64_t seen = value_of(way, from);

    return xyl_seats_swap(&way->board->seats, &way->line->is.parts.claim, &seen,
                          value_of(way, to));
}

int xyl_parcel_keep(const xyl_parcel_way_t *way)
{
    return claim_swap(way, XYL_PARCEL_OFFERED, XYL_PARCEL_KEPT) ||
           claim_swap(way, XYL_PARCEL_TAKEN, XYL_PARCEL_KEPT);
}

int xyl_parcel_claim(const xyl_parcel_way_t *way, uint64_t *lies_out)
{
    /* Partner: the store in xyl_parcel_prepare. */
    *lies_out =
        atomic_load_explicit(&way->line->is.parts.lies, memory_order_relaxed);
    return xyl_parcel_claimed(way) == XYL_PARCEL_OFFERED &&
           claim_swap(way, XYL_PARCEL_OFFERED, XYL_PARCEL_TAKEN);
}

/* Wakes the sender by storing once more a claim that it no longer changes. */
static void claim_tell(const xyl_parcel_way_t *way, xyl_parcel_claim_t claim)
{
    xyl_board_set(way->board, &way->line->is.parts.claim, value_of(way, claim),
                  way->other);
}

int xyl_parcel_was_read(const xyl_parcel_way_t *way)
{
    if (!claim_swap(way, XYL_PARCEL_TAKEN, XYL_PARCEL_READ))
        return 0;
    claim_tell(way, XYL_PARCEL_READ);
    return 1;
}

void xyl_parcel_refuse(const xyl_parcel_way_t *way)
{
    if (claim_swap(way, XYL_PARCEL_OFFERED, XYL_PARCEL_REFUSED) ||
        claim_swap(way, XYL_PARCEL_TAKEN, XYL_PARCEL_REFUSED))
        claim_tell(way, XYL_PARCEL_REFUSED);
}

/* ---- in parts ---- */

/* The length of the next part: such that all parts can be under way at once, if
 * `most` allows it. */
static uint64_t next_bytes(const xyl_parcel_way_t *way, uint64_t least,
                           uint64_t most, uint64_t begin)
{
    uint64_t bytes = (way->bytes + XYL_PARCEL_PARTS - 1) / XYL_PARCEL_PARTS;

    if (bytes < least)
        bytes = least;
    bytes = xyl_board_whole_lines(bytes);
    if (bytes > most)
        bytes = most;
    return way->bytes - begin < bytes ? way->bytes - begin : bytes;
}

int xyl_parcel_send_next(const xyl_parcel_way_t *way, uint64_t part_bytes,
                         uint64_t most, xyl_parcel_t *parcel)
{
    xyl_board_t *board = way->board;
    uint64_t bytes = next_bytes(way, part_bytes, most, parcel->end);
    uint64_t taken = xyl_board_get(board, &way->line->is.parts.taken);
    uint64_t seats = board->seats.count;

    assert(bytes != 0 && parcel->begin == parcel->end);
    if (value_of(way, parcel->parts) - taken >= XYL_PARCEL_PARTS)
        return 0;
    /* Seats that take runs at the same time begin in different places. */
    parcel->run = xyl_shm_pool_take(board->pool, bytes,
                                    board->handed_bytes * seats +
                                        board->seats.own * bytes);
    if (parcel->run == 0 && taken != value_of(way, parcel->parts))
        return 0;
    if (parcel->run == 0) {
        bytes = bytes < way->cell_bytes ? bytes : way->cell_bytes;
        parcel->memory = way->cell;
    } else {
        board->handed_bytes += bytes;
        parcel->memory = xyl_board_run(board, parcel->run, bytes);
    }
    parcel->end = parcel->begin + bytes;
    return 1;
}

void xyl_parcel_sent(const xyl_parcel_way_t *way, xyl_parcel_t *parcel)
{
    uint64_t bytes = parcel->end - parcel->begin;

    /* Partner: the load in xyl_parcel_take_next, behind `sent`. */
    atomic_store_explicit(
        &way->line->is.parts.places[parcel->parts % XYL_PARCEL_PARTS],
        bytes << RUN_BITS | parcel->run, memory_order_relaxed);
    xyl_board_set(way->board, &way->line->is.parts.sent,
                  value_of(way, ++parcel->parts), way->other);
    parcel->begin = parcel->end;
}

int xyl_parcel_take_next(const xyl_parcel_way_t *way, xyl_parcel_t *parcel)
{
    uint64_t place, bytes;

    assert(parcel->begin == parcel->end);
    if (xyl_board_get(way->board, &way->line->is.parts.sent) <=
        value_of(way, parcel->parts))
        return 0;
    /* Partner: the store in xyl_parcel_sent. */
    place = atomic_load_explicit(
        &way->line->is.parts.places[parcel->parts % XYL_PARCEL_PARTS],
        memory_order_relaxed);
    bytes = place >> RUN_BITS;
    parcel->run = (uint32_t)(place & ((1U << RUN_BITS) - 1));
    /* A seat in another call may have written the place; the team fails. */
    if (bytes == 0 || bytes > way->bytes - parcel->begin ||
        (parcel->run == 0
             ? bytes > way->cell_bytes
             : !xyl_shm_pool_has(way->board->pool, parcel->run, bytes)))
        return 0;
    parcel->memory = parcel->run == 0
                         ? way->cell
                         : xyl_board_run(way->board, parcel->run, bytes);
    parcel->end = parcel->begin + bytes;
    return 1;
}

void xyl_parcel_taken(const xyl_parcel_way_t *way, xyl_parcel_t *parcel)
{
    if (parcel->run != 0)
        xyl_shm_pool_free(way->board->pool, parcel->run,
                          parcel->end - parcel->begin);
    xyl_board_set(way->board, &way->line->is.parts.taken,
                  value_of(way, ++parcel->parts), way->other);
    parcel->begin = parcel->end;
}
