#include "collectives/board/board.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/board/berths.h"
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

enum {
    SLOTS_FIRST = 16, /* slots with memory at first; a power of two */
    /* The window beside a slot has the longest window's bytes, divided by
     * WINDOW_PART. But it has at most WINDOW_OF_SEAT for each seat, where this
     * limit lies between WINDOW_LEAST and WINDOW_MOST. */
    WINDOW_PART = 1536,
    WINDOW_OF_SEAT = 2 << 10,
    WINDOW_LEAST = 8 << 10,
    WINDOW_MOST = 32 << 10,
    UNPOOLED_MOST = 128 << 10,   /* most bytes of a piece beside the slots */
    UNPOOLED_OF_ALL = 512 << 10, /* the same, if each seat waits for all */
    ASKED_MAX = 4,       /* most turns of other seats that a seat waits for */
    WINDOWS_AT_ONCE = 2, /* windows of a group, which get memory together */
    GROUPS = (XYL_BOARD_SLOTS + XYL_BOARD_WINDOWS_MAX) / WINDOWS_AT_ONCE,
    RESERVE = (1 << XYL_BOARD_COUNT_BITS) - 1 /* not a name of the pool */
};

_Static_assert(2 * XYL_SHM_POOL_BANKS * XYL_SHM_POOL_GRAINS < (int)RESERVE,
               "names of windows fit into a word");

static size_t to_page(size_t at)
{
    const size_t page = 4096;

    return (at + page - 1) / page * page;
}

/* Boards of many seats have longer windows beside the slots, because a window
 * of the pool costs more there: each seat writes the words that say where the
 * window is and how many seats have left it. */
static size_t slot_window_max(uint32_t seats)
{
    size_t bytes = (size_t)seats * WINDOW_OF_SEAT;

    if (bytes < WINDOW_LEAST)
        return WINDOW_LEAST;
    return bytes < WINDOW_MOST ? bytes : (size_t)WINDOW_MOST;
}

/* One line per seat says how far the seat is; then come marks of seats that
 * wait for these lines, and the count of seats that have come. */
static xyl_board_layout_t layout_of(uint32_t seats, size_t window_bytes)
{
    const size_t line = XYL_BOARD_LINE_BYTES;
    size_t masks = xyl_bits_words(seats) * sizeof(uint64_t);
    xyl_board_layout_t layout;

    layout.starved_at = seats * line;
    layout.come_at = layout.starved_at + (masks + line - 1) / line * line;
    layout.slots_at = layout.come_at + line;
    layout.slot_bytes = (seats + 2) * line +
                        XYL_BOARD_WORDS * sizeof(uint64_t) +
                        sizeof(xyl_combine_words_t);
    layout.trees_at =
        to_page(layout.slots_at + XYL_BOARD_SLOTS * layout.slot_bytes);
    layout.tree_bytes = xyl_pairs_words_bytes(seats);
    layout.parcels_at =
        to_page(layout.trees_at + XYL_BOARD_SLOTS * layout.tree_bytes);
    layout.windows_at =
        to_page(layout.parcels_at + (uint64_t)XYL_BOARD_SLOTS * seats * line);
    layout.window_bytes = window_bytes / WINDOW_PART / line * line;
    if (layout.window_bytes > slot_window_max(seats))
        layout.window_bytes = slot_window_max(seats);
    /* A piece in the last slot may have windows behind that slot's window. */
    layout.berths_at =
        to_page(layout.windows_at + (XYL_BOARD_SLOTS + XYL_BOARD_WINDOWS_MAX) *
                                        layout.window_bytes);
    layout.reserve_at = to_page(layout.berths_at + sizeof(xyl_berth_words_t));
    layout.reserve_bytes = xyl_board_whole_lines(window_bytes);
    return layout;
}

static uint64_t unpooled(const xyl_board_layout_t *layout, int all_wait)
{
    uint64_t all = XYL_BOARD_WINDOWS_MAX * layout->window_bytes;
    uint64_t most = all_wait ? UNPOOLED_OF_ALL : UNPOOLED_MOST;

    return all < most ? all : most;
}

uint64_t xyl_board_unpooled(uint32_t seats, uint64_t window_bytes, int all_wait)
{
    const xyl_board_layout_t layout = layout_of(seats, window_bytes);

    return unpooled(&layout, all_wait);
}

size_t xyl_board_bytes(uint32_t seats, size_t window_bytes)
{
    xyl_board_layout_t layout = layout_of(seats, window_bytes);

    return layout.reserve_at + layout.reserve_bytes;
}

static _Atomic uint64_t *done_line(const xyl_board_t *board, uint32_t seat)
{
    return (_Atomic uint64_t *)(void *)(board->memory +
                                        (size_t)seat * XYL_BOARD_LINE_BYTES);
}

static _Atomic uint64_t *starved_marks(const xyl_board_t *board)
{
    return (_Atomic uint64_t *)(void *)(board->memory +
                                        board->layout.starved_at);
}

static _Atomic uint64_t *come_count(const xyl_board_t *board)
{
    return (_Atomic uint64_t *)(void *)(board->memory + board->layout.come_at);
}

/* The number of seats that have left the board. The word lies in the counter's
 * line, behind the first word for the layers above. */
static _Atomic uint64_t *left_count(const xyl_board_t *board)
{
    return come_count(board) + 2;
}

/* The largest `next` of all seats that have left; in the same line. */
static _Atomic uint64_t *furthest(const xyl_board_t *board)
{
    return come_count(board) + 3;
}

int xyl_board_is_complete(const xyl_board_t *board)
{
    return xyl_board_get(board, come_count(board)) == board->seats.count;
}

static void board_free(xyl_board_t *board)
{
    free(board->seats.ranks);
    free(board->seats.readers);
    free(board);
}

static xyl_board_t *board_alloc(const xyl_seats_t *seats, const uint32_t *ranks)
{
    xyl_board_t *board = calloc(1, sizeof *board);

    if (board == NULL)
        return NULL;
    board->seats = *seats;
    board->seats.ranks = calloc(seats->count, sizeof *ranks);
    board->seats.readers = calloc(seats->count, sizeof *ranks);
    if (board->seats.ranks == NULL || board->seats.readers == NULL) {
        board_free(board);
        return NULL;
    }
    memcpy(board->seats.ranks, ranks, seats->count * sizeof *ranks);
    TAILQ_INIT(&board->stages);
    return board;
}

/* Takes the page faults of this seat's part; other seats do the other parts. */
static void part_prepare(const xyl_board_t *board, char *memory, size_t bytes)
{
    xyl_shm_t *shm = board->seats.shm;
    size_t part = bytes / board->seats.count;

    if (shm->ops->prepare != NULL)
        shm->ops->prepare(shm, memory + board->seats.own * part, part);
}

/* Takes the page faults of all the memory, from this seat's part on. Seats that
 * do so at the same time take different faults, and find the others taken. */
static void prepare(const xyl_board_t *board, char *memory, size_t bytes)
{
    xyl_shm_t *shm = board->seats.shm;
    size_t before = bytes / board->seats.count * board->seats.own;

    if (shm->ops->prepare == NULL)
        return;
    shm->ops->prepare(shm, memory + before, bytes - before);
    shm->ops->prepare(shm, memory, before);
}

/* Doubles the number of slots with memory, so that a team with few calls takes
 * little memory. Trees and parcels get memory page by page, when they are used.
 */
static void slots_prepare(xyl_board_t *board)
{
    uint64_t from = board->slots_prepared;
    uint64_t to = from == 0 ? (uint64_t)SLOTS_FIRST : 2 * from;

    prepare(board, xyl_board_slot(board, from),
            (to - from) * board->layout.slot_bytes);
    board->slots_prepared = to == XYL_BOARD_SLOTS ? UINT64_MAX : to;
}

xylem_status_t xyl_board_create(xyl_shm_t *shm, xyl_shm_pool_t *pool,
                                uint64_t key, const uint32_t *ranks,
                                uint32_t seats, uint32_t seat,
                                size_t window_bytes, xyl_board_t **board_out)
{
    const xyl_seats_t of = {.shm = shm, .count = seats, .own = seat};
    xyl_board_t *board = board_alloc(&of, ranks);
    size_t bytes = xyl_board_bytes(seats, window_bytes);

    if (board == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a board");
    board->memory = shm->ops->attach(shm, key, bytes);
    if (board->memory == NULL) {
        board_free(board);
        return xyl_fail(XYLEM_ERR_NO_MEMORY,
                        "no shared memory for %u ranks of a node: %zu bytes",
                        seats, bytes);
    }
    board->pool = pool;
    board->key = key;
    board->layout = layout_of(seats, window_bytes);
    board->next = board->done = board->done_by_all = 1;
    prepare(board, board->memory, board->layout.slots_at);
    slots_prepare(board);
    (void)xyl_seats_add(&board->seats, come_count(board));
    *board_out = board;
    return XYLEM_OK;
}

/* Gives back the windows of pieces that some seats never retired, because a
 * call has failed. All seats have left the board. */
static void windows_give_back(const xyl_board_t *board)
{
    uint64_t i, bytes, place, end = xyl_board_get(board, furthest(board));

    /* A slot that no piece has used may have no memory; skip it. */
    if (end > XYL_BOARD_SLOTS)
        end = XYL_BOARD_SLOTS;
    for (i = 0; i < end; i++) {
        char *slot = xyl_board_slot(board, i);
        bytes = xyl_board_get(board, &xyl_board_common(board, slot)->lent);
        place = xyl_board_get(board, &xyl_board_common(board, slot)->place) &
                RESERVE;
        if (bytes != 0 && place != RESERVE)
            xyl_shm_pool_free(board->pool, (uint32_t)place, bytes);
    }
}

void xyl_board_destroy(xyl_board_t *board)
{
    uint64_t seen = xyl_board_get(board, furthest(board));

    while (seen < board->next &&
           !xyl_seats_swap(&board->seats, furthest(board), &seen, board->next))
        continue; /* another seat has left */
    if (xyl_seats_add(&board->seats, left_count(board)) == board->seats.count)
        windows_give_back(board);
    board->seats.shm->ops->detach(board->seats.shm, board->key);
    board_free(board);
}

/* ---- numbers ---- */

void xyl_board_take(xyl_board_t *board, uint64_t pieces, uint64_t bytes,
                    int all_wait, xyl_board_extent_t *extent_out)
{
    const uint64_t each = board->layout.window_bytes;
    xyl_board_extent_t *extent = extent_out;

    assert(pieces != 0 && bytes <= board->layout.reserve_bytes);
    extent->pieces = pieces;
    extent->bytes = bytes;
    extent->stride = 1;
    extent->past = 0;
    extent->is_sparse = 0;
    extent->is_pooled = extent->is_marked =
        bytes > unpooled(&board->layout, all_wait);
    if (bytes > each && !extent->is_pooled)
        extent->stride = (uint32_t)((bytes + each - 1) / each);
    xyl_board_take_again(board, extent);
}

void xyl_board_slots_prepare(xyl_board_t *board)
{
    while (board->next > board->slots_prepared)
        slots_prepare(board);
}

/* ---- how far everyone is ---- */

static uint64_t look_around(const xyl_board_t *board)
{
    uint64_t least = board->done, value;
    uint32_t seat;

    for (seat = 0; seat < board->seats.count; seat++) {
        value = xyl_board_get(board, done_line(board, seat));
        if (value == 0)
            value = 1; /* the seat has retired nothing yet */
        if (seat != board->seats.own && value < least)
            least = value;
    }
    return least;
}

/* ---- windows ---- */

/* Prepares groups of windows from `first` on, about as many as are prepared:
 * many page faults at once cost less than one after the other. */
static void windows_prepare(xyl_board_t *board, size_t first)
{
    size_t bytes = WINDOWS_AT_ONCE * board->layout.window_bytes, end = first;

    while (end < GROUPS && end <= first + board->groups_prepared &&
           !xyl_bits_test(board->windows_prepared, end))
        xyl_bits_set(board->windows_prepared, end++);
    board->groups_prepared += (uint32_t)(end - first);
    prepare(board, board->memory + board->layout.windows_at + first * bytes,
            (end - first) * bytes);
}

static char *slots_window(xyl_board_t *board, const xyl_board_extent_t *extent,
                          uint64_t number)
{
    size_t each = board->layout.window_bytes, first = number % XYL_BOARD_SLOTS;
    size_t last = (first + extent->stride - 1) / WINDOWS_AT_ONCE;
    size_t group;

    for (group = first / WINDOWS_AT_ONCE; !extent->is_sparse && group <= last;
         group++)
        if (!xyl_bits_test(board->windows_prepared, group))
            windows_prepare(board, group);
    return board->memory + board->layout.windows_at + first * each;
}

static char *reserve_window(xyl_board_t *board, size_t bytes)
{
    char *reserve = board->memory + board->layout.reserve_at;

    if (bytes > board->reserve_prepared) {
        prepare(board, reserve + board->reserve_prepared,
                bytes - board->reserve_prepared);
        board->reserve_prepared = bytes;
    }
    return reserve;
}

static char *window_at(xyl_board_t *board, uint32_t place, size_t bytes)
{
    int is_new;
    char *window;

    if (place == RESERVE)
        return reserve_window(board, bytes);
    window = xyl_shm_pool_address(board->pool, place, bytes, &is_new);
    if (is_new) /* a long window, and this seat may need little of it */
        part_prepare(board, window, bytes);
    return window;
}

char *xyl_board_run(const xyl_board_t *board, uint32_t run, size_t bytes)
{
    const xyl_shm_t *shm = board->seats.shm;
    int is_new;
    char *memory = xyl_shm_pool_address(board->pool, run, bytes, &is_new);

    if (is_new && shm->ops->prepare != NULL)
        shm->ops->prepare(board->seats.shm, memory, bytes);
    return memory;
}

/* Reads the word that says where a piece's window is. If each seat that begins
 * the piece took a window, and all but one gave theirs back, the same window
 * would not stay in the caches. So seats have turns, which begin with another
 * seat in each piece, and a seat waits a moment for those before it. */
static uint64_t place_seen(const xyl_board_t *board, uint64_t number,
                           const _Atomic uint64_t *word)
{
    uint32_t count = board->seats.count;
    uint32_t asked =
        (board->seats.own + count - (uint32_t)(number % count)) % count;
    uint32_t looks = (asked < ASKED_MAX ? asked : (uint32_t)ASKED_MAX) *
                     board->seats.shm->patience;
    uint64_t seen = xyl_board_get(board, word);

    for (; looks != 0 && seen < xyl_board_value(number, 0); looks--) {
        xyl_shm_pause();
        seen = xyl_board_get(board, word);
    }
    return seen;
}

/* 1: this seat may use the window. A seat that calls something else would use a
 * window of another size, or write to another place in the window. */
static int is_for(const xyl_board_t *board, uint64_t number, uint64_t past)
{
    _Atomic uint64_t *word =
        &xyl_board_common(board, xyl_board_slot(board, number))->user;
    uint64_t mine = xyl_board_mark(number, past);
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);

    while (seen < xyl_board_mark(number, 0))
        if (atomic_compare_exchange_weak_explicit(
                word, &seen, mine, memory_order_relaxed, memory_order_relaxed))
            return 1;
    return seen == mine;
}

/* The piece's window, the same for all seats; NULL: none is free. */
static char *pooled_window(xyl_board_t *board, const xyl_board_extent_t *extent,
                           uint64_t number)
{
    _Atomic uint64_t *word =
        &xyl_board_common(board, xyl_board_slot(board, number))->place;
    uint64_t seen, bytes = extent->bytes;
    uint32_t place;

    seen = place_seen(board, number, word);

    if (seen < xyl_board_value(number, 0)) {
        place = xyl_shm_pool_take(board->pool, bytes,
                                  extent->before +
                                      (number - extent->number) * bytes);
        if (place == 0 && board->done_by_all == number)
            place = RESERVE;
        if (place == 0)
            return NULL;
        /* Partner: the load in windows_give_back. */
        atomic_store_explicit(
            &xyl_board_common(board, xyl_board_slot(board, number))->lent,
            bytes, memory_order_relaxed);
        if (xyl_seats_swap(&board->seats, word, &seen,
                           xyl_board_value(number, place)))
            return window_at(board, place, bytes);
        if (place != RESERVE) /* another seat was faster */
            xyl_shm_pool_free(board->pool, place, bytes);
    }
    assert(seen > xyl_board_value(number, 0) &&
           seen <= xyl_board_value(number, RESERVE));
    return window_at(board, (uint32_t)(seen - xyl_board_value(number, 0)),
                     bytes);
}

/* The last seat to leave gives the window back before its done line moves, so a
 * seat that waits for the line then finds the window free. */
static void pooled_leave(const xyl_board_t *board, uint64_t number,
                         size_t bytes)
{
    char *slot = xyl_board_slot(board, number);
    uint64_t place;

    if (xyl_seats_add(&board->seats, &xyl_board_common(board, slot)->left) %
            board->seats.count !=
        0)
        return;
    place = xyl_board_get(board, &xyl_board_common(board, slot)->place) -
            xyl_board_value(number, 0);
    atomic_store_explicit(&xyl_board_common(board, slot)->lent, 0,
                          memory_order_relaxed);
    if (place != RESERVE)
        xyl_shm_pool_free(board->pool, (uint32_t)place, bytes);
}

/* ---- beginning ---- */

/* As xyl_board_begin, with the done lines as this seat last saw them. */
static inline int try_to_begin(xyl_board_t *board,
                               const xyl_board_extent_t *extent,
                               uint64_t number, char **window_out)
{
    if (number + extent->stride > board->done_by_all + XYL_BOARD_SLOTS)
        return 0;
    *window_out = NULL;
    if (extent->is_marked && !is_for(board, number, extent->past))
        return 0;
    if (extent->bytes == 0)
        return 1;
    if (extent->is_pooled)
        *window_out = pooled_window(board, extent, number);
    else
        *window_out = slots_window(board, extent, number);
    return *window_out != NULL;
}

/* Looks at all done lines. If the piece may not begin, says that this seat
 * waits, then looks once more. */
static int look_and_begin(xyl_board_t *board, const xyl_board_extent_t *extent,
                          uint64_t number, char **window_out)
{
    int may_begin, was_starved;

    do {
        was_starved = board->is_starved;
        board->done_by_all = look_around(board);
        may_begin = try_to_begin(board, extent, number, window_out);
        if (may_begin == board->is_starved) {
            board->is_starved = !may_begin;
            /* Mark before the next look; see xyl_board_retire.
             */
            xyl_seats_mark(&board->seats, starved_marks(board), !may_begin);
        }
    } while (!may_begin && !was_starved);
    return may_begin;
}

int xyl_board_begin_slowly(xyl_board_t *board, const xyl_board_extent_t *extent,
                           uint64_t piece, char **window_out)
{
    uint64_t number = xyl_board_number(extent, piece);

    if (!board->is_starved && try_to_begin(board, extent, number, window_out))
        return 1;
    return look_and_begin(board, extent, number, window_out);
}

/* ---- retiring ---- */

/* 1: this seat's done line moves. */
static int note_retired(xyl_board_t *board, uint64_t number, uint32_t stride)
{
    uint64_t i;

    assert(number >= board->done &&
           number + stride <= board->done + XYL_BOARD_SLOTS);
    if (number != board->done) {
        for (i = number; i < number + stride; i++)
            xyl_bits_set(board->retired, i % XYL_BOARD_SLOTS);
        return 0;
    }
    board->done += stride;
    while (xyl_bits_test(board->retired, board->done % XYL_BOARD_SLOTS)) {
        xyl_bits_clear(board->retired, board->done % XYL_BOARD_SLOTS);
        board->done++;
    }
    return 1;
}

void xyl_board_retire(xyl_board_t *board, const xyl_board_extent_t *extent,
                      uint64_t piece)
{
    _Atomic uint64_t *line = done_line(board, board->seats.own);
    uint64_t number = xyl_board_number(extent, piece);

    if (extent->is_pooled)
        pooled_leave(board, number, extent->bytes);
    if (!note_retired(board, number, extent->stride))
        return;
    /* Store, then look for marks; waiting seats mark themselves, then look. */
    board->seats.shm->ops->set(board->seats.shm, line, board->done, NULL, 0);
    xyl_seats_wake(&board->seats, starved_marks(board), line, board->done);
}

/* ---- flags ---- */

void xyl_board_set(const xyl_board_t *board, _Atomic uint64_t *flag,
                   uint64_t value, uint32_t seat)
{
    if (seat == XYL_BOARD_ALL)
        board->seats.shm->ops->set(board->seats.shm, flag, value,
                                   board->seats.ranks, board->seats.count);
    else
        board->seats.shm->ops->set(board->seats.shm, flag, value,
                                   &board->seats.ranks[seat], 1);
}
