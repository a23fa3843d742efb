#include "collectives/node/board.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/status.h"

/* ---- layout ---- */

_Static_assert((int)XYL_COMBINE_SEGMENTS == (int)XYL_BOARD_WORDS &&
                   (int)XYL_PAIRS_SEGMENTS == (int)XYL_BOARD_WORDS &&
                   (int)XYL_COMBINE_SEATS_MAX == (int)XYL_BOARD_SEATS_MAX &&
                   (int)XYL_PAIRS_SEATS_MAX == (int)XYL_BOARD_SEATS_MAX,
               "a piece has words for its sums");
_Static_assert(XYL_BOARD_WORDS * sizeof(uint64_t) % XYL_BOARD_LINE_BYTES == 0,
               "sums begin with a line");

enum { SLOTS_FIRST = 16 /* that a board begins with; a power of two */ };

typedef struct layout {
    size_t starved_at, come_at, slots_at, slot_bytes;
    size_t trees_at, tree_bytes, ring_at;
} layout_t;

/* One line per seat says how far it is; then who waits for these lines, and how
 * many have come. */
static layout_t layout_of(uint32_t seats)
{
    const size_t line = XYL_BOARD_LINE_BYTES, page = 4096;
    layout_t layout;
    size_t masks = xyl_bits_words(seats) * sizeof(uint64_t);

    layout.starved_at = seats * line;
    layout.come_at = layout.starved_at + (masks + line - 1) / line * line;
    layout.slots_at = layout.come_at + line;
    layout.slot_bytes = (seats + 1) * line +
                        XYL_BOARD_WORDS * sizeof(uint64_t) +
                        sizeof(xyl_combine_words_t);
    layout.trees_at = layout.slots_at + XYL_BOARD_SLOTS * layout.slot_bytes;
    layout.trees_at = (layout.trees_at + page - 1) / page * page;
    layout.tree_bytes = xyl_pairs_words_bytes(seats);
    layout.ring_at = layout.trees_at + XYL_BOARD_SLOTS * layout.tree_bytes;
    layout.ring_at = (layout.ring_at + page - 1) / page * page;
    return layout;
}

size_t xyl_board_bytes(uint32_t seats, size_t ring_bytes)
{
    return layout_of(seats).ring_at + ring_bytes;
}

static _Atomic uint64_t *done_line(const xyl_board_t *board, uint32_t seat)
{
    return (_Atomic uint64_t *)(void *)(board->memory +
                                        (size_t)seat * XYL_BOARD_LINE_BYTES);
}

static _Atomic uint64_t *starved_mask(const xyl_board_t *board, uint32_t seat)
{
    return (_Atomic uint64_t *)(void *)(board->memory +
                                        layout_of(board->seats).starved_at) +
           seat / 64;
}

static _Atomic uint64_t *come_count(const xyl_board_t *board)
{
    return (_Atomic uint64_t *)(void *)(board->memory +
                                        layout_of(board->seats).come_at);
}

/* Any thread, as what follows. */
static void come(const xyl_board_t *board)
{
    uint64_t count = xyl_board_get(board, come_count(board));

    while (!board->shm->ops->swap(board->shm, come_count(board), &count,
                                  count + 1))
        continue; /* each seat comes once */
}

int xyl_board_is_complete(const xyl_board_t *board)
{
    return xyl_board_get(board, come_count(board)) == board->seats;
}

static void board_free(xyl_board_t *board)
{
    free(board->ranks);
    free(board->readers);
    free(board);
}

static xyl_board_t *board_alloc(uint32_t seats)
{
    xyl_board_t *board = calloc(1, sizeof *board);

    if (board == NULL)
        return NULL;
    board->ranks = calloc(seats, sizeof *board->ranks);
    board->readers = calloc(seats, sizeof *board->readers);
    if (board->ranks != NULL && board->readers != NULL)
        return board;
    board_free(board);
    return NULL;
}

/* Small windows are used again before they have left the cache. */
static void rings_lay_out(xyl_board_t *board, size_t at, size_t bytes)
{
    const size_t page = 4096;
    size_t parts[XYL_BOARD_RINGS] = {bytes / 32 / page * page,
                                     bytes / 8 / page * page, 0};
    uint32_t i;

    parts[XYL_BOARD_RINGS - 1] = bytes - parts[0] - parts[1];
    for (i = 0; i < XYL_BOARD_RINGS; i++) {
        board->rings[i].at = at;
        board->rings[i].bytes = parts[i];
        at += parts[i];
    }
}

/* Each seat has its part made, so that all work at it, and then sees to the
 * whole. */
static void prepare(const xyl_board_t *board, size_t at, size_t bytes)
{
    xyl_shm_t *shm = board->shm;
    size_t part = bytes / board->seats;

    if (shm->ops->prepare == NULL || bytes == 0)
        return;
    shm->ops->prepare(shm, board->memory + at + board->seat * part, part);
    shm->ops->prepare(shm, board->memory + at, bytes);
}

/* As the rings: see xyl_board_prepare. Trees come page by page. */
static void slots_prepare(xyl_board_t *board)
{
    uint64_t from = board->slots_prepared;
    uint64_t to = from == 0 ? (uint64_t)SLOTS_FIRST : 2 * from;

    prepare(board, board->slots_at + from * board->slot_bytes,
            (to - from) * board->slot_bytes);
    board->slots_prepared = to == XYL_BOARD_SLOTS ? UINT64_MAX : to;
}

xylem_status_t xyl_board_create(xyl_shm_t *shm, uint64_t key,
                                const uint32_t *ranks, uint32_t seats,
                                uint32_t seat, size_t ring_bytes,
                                xyl_board_t **board_out)
{
    xyl_board_t *board = board_alloc(seats);
    layout_t layout = layout_of(seats);

    if (board == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a board");
    board->memory = shm->ops->attach(shm, key, layout.ring_at + ring_bytes);
    if (board->memory == NULL) {
        board_free(board);
        return xyl_fail(XYLEM_ERR_NO_MEMORY,
                        "no shared memory for %u ranks of a node: %zu bytes",
                        seats, layout.ring_at + ring_bytes);
    }
    memcpy(board->ranks, ranks, seats * sizeof *ranks);
    board->shm = shm;
    board->key = key;
    board->seats = seats;
    board->seat = seat;
    board->slots_at = layout.slots_at;
    board->slot_bytes = layout.slot_bytes;
    board->trees_at = layout.trees_at;
    board->tree_bytes = layout.tree_bytes;
    rings_lay_out(board, layout.ring_at, ring_bytes);
    board->next = board->done = board->done_by_all = 1;
    prepare(board, 0, board->slots_at);
    slots_prepare(board);
    come(board);
    *board_out = board;
    return XYLEM_OK;
}

void xyl_board_destroy(xyl_board_t *board)
{
    board->shm->ops->detach(board->shm, board->key);
    board_free(board);
}

/* ---- windows ---- */

uint64_t xyl_board_at(const xyl_board_t *board,
                      const xyl_board_extent_t *extent, uint64_t piece)
{
    uint64_t ring = board->rings[extent->ring].bytes, bytes = extent->bytes;
    uint64_t in_first_lap, per_lap;

    if (bytes == 0 || piece == 0)
        return extent->at;
    in_first_lap = (ring - extent->at % ring) / bytes;
    if (piece < in_first_lap)
        return extent->at + piece * bytes;
    piece -= in_first_lap;
    per_lap = ring / bytes;
    return (extent->at / ring + 1 + piece / per_lap) * ring +
           piece % per_lap * bytes;
}

static uint32_t ring_for(const xyl_board_t *board, uint64_t bytes,
                         xyl_pace_t pace)
{
    uint32_t ring = 0;

    while (ring < XYL_BOARD_RINGS - 1 &&
           bytes > board->rings[ring].bytes / pace)
        ring++;
    return ring;
}

xyl_board_extent_t xyl_board_take(xyl_board_t *board, uint64_t pieces,
                                  uint64_t bytes, xyl_pace_t pace)
{
    const uint64_t line = XYL_BOARD_LINE_BYTES;
    xyl_board_extent_t extent = {.number = board->next,
                                 .pieces = pieces,
                                 .ring = XYL_BOARD_RINGS - 1, /* never empty */
                                 .bytes = (bytes + line - 1) / line * line};
    xyl_board_ring_t *ring;

    assert(pieces != 0);
    board->next += pieces;
    while (board->next > board->slots_prepared)
        slots_prepare(board);
    if (extent.bytes == 0)
        return extent;
    extent.ring = ring_for(board, extent.bytes, pace);
    ring = &board->rings[extent.ring];
    assert(extent.bytes <= ring->bytes);
    extent.at = ring->next;
    /* A window does not go around the end of the ring. */
    if (ring->bytes - extent.at % ring->bytes < extent.bytes)
        extent.at = (extent.at / ring->bytes + 1) * ring->bytes;
    ring->next = xyl_board_at(board, &extent, pieces - 1) + extent.bytes;
    ring->log[ring->logged++ % XYL_BOARD_LOG] = extent;
    return extent;
}

/* How many pieces of an extent begin below `at`. */
static uint64_t pieces_below(const xyl_board_t *board,
                             const xyl_board_extent_t *extent, uint64_t at)
{
    uint64_t low = 0, high = extent->pieces;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (xyl_board_at(board, extent, middle) < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* All pieces below the returned number must be done before anything is written
 * below `at` + the ring's bytes. Extents that are forgotten lie further back.
 */
static uint64_t first_not_below(const xyl_board_t *board,
                                const xyl_board_ring_t *ring, uint64_t at)
{
    uint64_t kept =
        ring->logged < XYL_BOARD_LOG ? ring->logged : (uint64_t)XYL_BOARD_LOG;
    uint64_t low = ring->logged - kept, high = ring->logged;
    const xyl_board_extent_t *extent;

    while (low < high) { /* the first extent that begins at `at` or later */
        uint64_t middle = low + (high - low) / 2;
        if (ring->log[middle % XYL_BOARD_LOG].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == ring->logged - kept) /* none before it is remembered */
        return kept < XYL_BOARD_LOG ? 0 : ring->log[low % XYL_BOARD_LOG].number;
    extent = &ring->log[(low - 1) % XYL_BOARD_LOG];
    return extent->number + pieces_below(board, extent, at);
}

/* All pieces below the returned number must be done before this one begins. */
static uint64_t needs(const xyl_board_t *board,
                      const xyl_board_extent_t *extent, uint64_t piece)
{
    const xyl_board_ring_t *ring = &board->rings[extent->ring];
    uint64_t number = extent->number + piece;
    uint64_t needed =
        number < XYL_BOARD_SLOTS ? 0 : number - XYL_BOARD_SLOTS + 1;
    uint64_t end, for_window;

    if (extent->bytes == 0)
        return needed;
    end = xyl_board_at(board, extent, piece) + extent->bytes;
    if (end <= ring->bytes)
        return needed;
    for_window = first_not_below(board, ring, end - ring->bytes);
    if (for_window > number) /* forgotten itself: those before it will do */
        for_window = number;
    return for_window > needed ? for_window : needed;
}

void xyl_board_prepare(xyl_board_t *board, const xyl_board_extent_t *extent)
{
    xyl_board_ring_t *ring = &board->rings[extent->ring];
    uint64_t to = 2 * ring->prepared;

    if (ring->prepared >= ring->bytes || ring->prepared >= ring->next)
        return;
    if (to < ring->next)
        to = ring->next;
    if (to > ring->bytes)
        to = ring->bytes;
    prepare(board, ring->at + ring->prepared, to - ring->prepared);
    ring->prepared = to;
}

/* ---- how far everyone is ---- */

static uint64_t look_around(const xyl_board_t *board)
{
    uint64_t least = board->done, value;
    uint32_t seat;

    for (seat = 0; seat < board->seats; seat++) {
        value = xyl_board_get(board, done_line(board, seat));
        if (value == 0)
            value = 1; /* it has retired nothing yet */
        if (seat != board->seat && value < least)
            least = value;
    }
    return least;
}

static void starved_set(xyl_board_t *board, int is_starved)
{
    _Atomic uint64_t *mask = starved_mask(board, board->seat);
    uint64_t bit = UINT64_C(1) << (board->seat % 64);
    uint64_t old = xyl_board_get(board, mask);

    board->is_starved = is_starved;
    while (!board->shm->ops->swap(board->shm, mask, &old,
                                  is_starved ? old | bit : old & ~bit))
        continue; /* another seat was faster; there are only so many */
}

static int is_known_free(const xyl_board_t *board,
                         const xyl_board_extent_t *extent, uint64_t piece)
{
    const xyl_board_ring_t *ring = &board->rings[extent->ring];
    uint64_t end;

    if (extent->number + piece >= board->done_by_all + XYL_BOARD_SLOTS)
        return 0;
    if (extent->bytes == 0)
        return 1;
    end = xyl_board_at(board, extent, piece) + extent->bytes;
    return end <= ring->bytes || end <= ring->free_to;
}

/* All windows before that of the first piece that is not done by all may be
 * used again, so that for those no extent need be looked up. Pieces of extents
 * that are forgotten are done if the oldest that is not begins below. */
static void note_free(const xyl_board_t *board, xyl_board_ring_t *ring)
{
    uint64_t kept =
        ring->logged < XYL_BOARD_LOG ? ring->logged : (uint64_t)XYL_BOARD_LOG;
    uint64_t low = ring->logged - kept, high = ring->logged;
    uint64_t done = board->done_by_all;
    const xyl_board_extent_t *extent;

    if (kept == 0 || ring->log[low % XYL_BOARD_LOG].number > done)
        return;
    while (low < high) { /* the first extent that is not done */
        uint64_t middle = low + (high - low) / 2;
        extent = &ring->log[middle % XYL_BOARD_LOG];
        if (extent->number + extent->pieces <= done)
            low = middle + 1;
        else
            high = middle;
    }
    extent = &ring->log[low % XYL_BOARD_LOG];
    if (low == ring->logged)
        ring->free_to = ring->next + ring->bytes;
    else
        ring->free_to =
            ring->bytes +
            xyl_board_at(board, extent,
                         done > extent->number ? done - extent->number : 0);
}

int xyl_board_is_free(xyl_board_t *board, const xyl_board_extent_t *extent,
                      uint64_t piece)
{
    uint64_t needed;

    if (!board->is_starved && is_known_free(board, extent, piece))
        return 1;
    needed = needs(board, extent, piece);
    if (board->done_by_all < needed)
        board->done_by_all = look_around(board);
    if (board->done_by_all < needed && !board->is_starved) {
        starved_set(board, 1); /* then look again: see xyl_board_retire */
        board->done_by_all = look_around(board);
    }
    if (board->done_by_all < needed)
        return 0;
    if (board->is_starved)
        starved_set(board, 0);
    if (extent->bytes != 0)
        note_free(board, &board->rings[extent->ring]);
    return 1;
}

/* Ranks of the seats that wait for done lines. */
static uint32_t find_starved(const xyl_board_t *board)
{
    uint32_t base, seat, count = 0;

    for (base = 0; base < board->seats; base += 64) {
        uint64_t mask = xyl_board_get(board, starved_mask(board, base));
        for (; mask != 0; mask &= mask - 1) {
            seat = base + (uint32_t)__builtin_ctzll(mask);
            if (seat != board->seat)
                board->readers[count++] = board->ranks[seat];
        }
    }
    return count;
}

void xyl_board_retire(xyl_board_t *board, uint64_t number)
{
    _Atomic uint64_t *line = done_line(board, board->seat);
    uint32_t count;

    assert(number >= board->done && number < board->done + XYL_BOARD_SLOTS);
    if (number != board->done) {
        xyl_bits_set(board->retired, number % XYL_BOARD_SLOTS);
        return;
    }
    board->done++;
    while (xyl_bits_test(board->retired, board->done % XYL_BOARD_SLOTS)) {
        xyl_bits_clear(board->retired, board->done % XYL_BOARD_SLOTS);
        board->done++;
    }
    /* Store, then look who waits; they mark themselves, then look. */
    board->shm->ops->set(board->shm, line, board->done, NULL, 0);
    count = find_starved(board);
    if (count != 0)
        board->shm->ops->set(board->shm, line, board->done, board->readers,
                             count);
}

/* ---- flags ---- */

void xyl_board_set(const xyl_board_t *board, _Atomic uint64_t *flag,
                   uint64_t value, uint32_t seat)
{
    if (seat == XYL_BOARD_ALL)
        board->shm->ops->set(board->shm, flag, value, board->ranks,
                             board->seats);
    else
        board->shm->ops->set(board->shm, flag, value, &board->ranks[seat], 1);
}
