/* A board: the memory that the ranks of a team on one node share, laid out for
 * collectives. A rank of a board is a seat.
 *
 *   done lines    one per seat: how far it is with the team's pieces, and a
 *                 word for the layers above
 *   marks         of seats that wait for done lines to move
 *   a counter     seats that have come, and words for the layers above
 *   slots         SLOTS of them; piece n uses slot n mod SLOTS
 *                   a line per seat: its count of posts, and short payload
 *                   a common line: where the window is, how many have left it
 *                   a word per part of the payload: "this part is there"
 *                   words of sums that several seats add to: combine.h
 *   trees         one per slot, for sums in a fixed order: pairs.h
 *   parcels       a line per slot and seat: parcel.h
 *   windows       a small one beside each slot
 *   berths        which tags have which of the team's other boards: berths.h
 *   the reserve   one window of any size
 *
 * docs/inside/node.md says how pieces get numbers, slots and windows. If no
 * seat alone knows how many pieces a call has, the call has a first piece in
 * which the seats find the number (number.c). A piece with more payload than a
 * slot's window has the numbers of up to WINDOWS_MAX slots, and their windows.
 *
 * The progressing thread calls these functions, except where noted. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "collectives/board/combine.h"
#include "collectives/board/pairs.h"
#include "collectives/board/seats.h"
#include "include/xylem.h"
#include "progress/shm/pool.h"
#include "progress/shm/shm.h"
#include "runtime/base/memory.h"

enum {
    XYL_BOARD_LINE_BYTES = 128,  /* adjacent cache lines are fetched in pairs */
    XYL_BOARD_INLINE_BYTES = 96, /* payload beside a count */
    XYL_BOARD_SLOTS = 256,       /* pieces under way, a power of two */
    XYL_BOARD_WORDS = 64,        /* per slot */
    XYL_BOARD_COUNT_BITS = 16,   /* of a flag, below the piece's number */
    XYL_BOARD_MARK_BITS = 24,    /* of a mark, below the slot's generation */
    XYL_BOARD_SEATS_MAX = 512,
    XYL_BOARD_WINDOWS_MAX = 16 /* slots' windows that one piece may have */
};

/* A seat's line of a slot, which no other seat writes. */
typedef struct xyl_board_line {
    _Alignas(XYL_BOARD_LINE_BYTES) _Atomic uint64_t count;
    _Atomic uint64_t call;   /* word of the seat's call: share.c */
    _Atomic uint64_t past;   /* hash of this call and all before it */
    _Atomic uint64_t handed; /* length of the block that the seat hands */
    union {
        _Alignas(16) char bytes[XYL_BOARD_INLINE_BYTES]; /* aligned for long
                                                            double */
        struct {
            _Atomic uint64_t name; /* 0: the input is in the window */
            _Atomic uint64_t length;
        } input; /* where other seats read this seat's input: share.c */
    };
} xyl_board_line_t;

_Static_assert(sizeof(xyl_board_line_t) == XYL_BOARD_LINE_BYTES,
               "a line is a line");

/* The line that the seats of a slot share, behind their own lines. */
typedef struct xyl_board_common {
    _Alignas(XYL_BOARD_LINE_BYTES) _Atomic uint64_t place; /* where the window
                                                              is */
    _Atomic uint64_t left; /* leaves of windows by seats, over all pieces that
                              have had the slot */
    _Atomic uint64_t user; /* mark of the call whose seats use the window; the
                              first of them swaps the mark in */
    _Atomic uint64_t lent; /* bytes of the pool's window, from when a seat takes
                              it until the last one gives it back */
} xyl_board_common_t;

/* Consecutive pieces with windows of one size. */
typedef struct xyl_board_extent {
    uint64_t number; /* of the first */
    uint64_t pieces;
    uint64_t bytes;  /* of each window; 0: none */
    uint64_t before; /* bytes of the pool that all earlier pieces had */
    uint32_t stride; /* numbers that each piece takes */
    int is_pooled;   /* windows come from the pool */
    int is_marked;   /* a seat begins a piece only if `user` has its own mark */
    int is_sparse;   /* a seat needs few cells of a window */
    uint64_t past;   /* hash of all calls: equal if seats called the same */
} xyl_board_extent_t;

static inline uint64_t xyl_board_number(const xyl_board_extent_t *extent,
                                        uint64_t piece)
{
    return extent->number + piece * extent->stride;
}

/* Where everything is in the memory. */
typedef struct xyl_board_layout {
    size_t starved_at, come_at, slots_at, slot_bytes;
    size_t trees_at, tree_bytes;
    size_t parcels_at;
    size_t windows_at, window_bytes; /* of a slot's; 0: it has none */
    size_t berths_at;                /* words of berths.h */
    size_t reserve_at, reserve_bytes;
} xyl_board_layout_t;

struct xyl_node_stage;

typedef struct xyl_board {
    xyl_seats_t seats;
    xyl_shm_pool_t *pool;
    uint64_t key;
    char *memory;
    xyl_board_layout_t layout;
    uint64_t next;           /* the next piece's number */
    uint64_t past;           /* hash of all calls so far; use its upper bits */
    uint64_t slots_prepared; /* UINT64_MAX: all */
    /* Bits: consecutive slots' windows get memory in groups. */
    uint64_t windows_prepared[XYL_BOARD_SLOTS / 64];
    uint32_t groups_prepared; /* how many bits are set */
    size_t reserve_prepared;  /* bytes */
    uint64_t pooled_bytes;    /* of all windows of the pool so far */
    uint64_t handed_bytes;    /* of runs that this seat took for parcels */
    /* This seat has retired all pieces below `done`, and those in `retired`. */
    uint64_t done;
    uint64_t retired[XYL_BOARD_SLOTS / 64];
    uint64_t done_by_all; /* as last seen */
    int is_starved;       /* this seat waits for done lines to move */
    /* Stages under way, in the order of their pieces; see stage.c. */
    TAILQ_HEAD(, xyl_node_stage) stages;
    struct xyl_node_stage *unnumbered; /* the first without numbers */
    unsigned polls_from;          /* place of the stage that is polled first */
    LIST_ENTRY(xyl_board) others; /* busy boards of the context */
    struct xyl_board *next_left;  /* see boards.h of node/ */
    uint64_t parent_key;          /* see kept.h */
    int has_place; /* this rank drew a place for the board; see boards.h of
                      node/ */
} xyl_board_t;

/* Bytes that a piece may have beside the slots, on a board whose windows have
 * at most `window_bytes`. More bytes leave fewer slots for other pieces. If
 * each seat waits for all others in the piece (`all_wait`), no seat is far
 * ahead, and few slots are enough. */
uint64_t xyl_board_unpooled(uint32_t seats, uint64_t window_bytes,
                            int all_wait);

/* The bytes of a board whose windows have at most `window_bytes`. */
size_t xyl_board_bytes(uint32_t seats, size_t window_bytes);

/* `ranks` (copied) are in the order of seats. All of them call this with the
 * same key, sizes and pool. A window has at most three eighths of the pool,
 * which outlives the board. XYLEM_ERR_NO_MEMORY: the memory cannot be had. */
xylem_status_t xyl_board_create(xyl_shm_t *shm, xyl_shm_pool_t *pool,
                                uint64_t key, const uint32_t *ranks,
                                uint32_t seats, uint32_t seat,
                                size_t window_bytes, xyl_board_t **board_out);
/* Any thread calls this function. 1: all seats have created the board. No seat
 * may destroy the board before that: seats that create it later must find the
 * same memory. */
int xyl_board_is_complete(const xyl_board_t *board);
void xyl_board_destroy(xyl_board_t *board);

/* Takes the next `pieces` pieces, with windows of `bytes`. */
void xyl_board_take(xyl_board_t *board, uint64_t pieces, uint64_t bytes,
                    int all_wait, xyl_board_extent_t *extent_out);
int xyl_board_begin_slowly(xyl_board_t *board, const xyl_board_extent_t *extent,
                           uint64_t piece, char **window_out);
void xyl_board_slots_prepare(xyl_board_t *board);

/* Takes as many pieces, with the same windows, as the extent had before. */
static inline void xyl_board_take_again(xyl_board_t *board,
                                        xyl_board_extent_t *extent)
{
    extent->number = board->next;
    extent->before = board->pooled_bytes;
    if (extent->is_pooled)
        board->pooled_bytes += extent->pieces * extent->bytes;
    board->next += extent->pieces * extent->stride;
    if (board->next > board->slots_prepared)
        xyl_board_slots_prepare(board);
}

/* 1: the piece begins; *window_out: its window, or NULL. The seat retires the
 * piece later. 0: the piece may not begin yet; the caller tries again when a
 * seat that retires pieces wakes this one. */
static inline int xyl_board_begin(xyl_board_t *board,
                                  const xyl_board_extent_t *extent,
                                  uint64_t piece, char **window_out)
{
    if (extent->bytes != 0 || extent->is_marked || board->is_starved ||
        xyl_board_number(extent, piece) + extent->stride >
            board->done_by_all + XYL_BOARD_SLOTS)
        return xyl_board_begin_slowly(board, extent, piece, window_out);
    *window_out = NULL;
    return 1;
}
/* The memory of a run of the pool. The seat that took the run has told this
 * seat its name, `run`. */
char *xyl_board_run(const xyl_board_t *board, uint32_t run, size_t bytes);
/* This seat no longer looks at the piece. */
void xyl_board_retire(xyl_board_t *board, const xyl_board_extent_t *extent,
                      uint64_t piece);

/* Words for the layers above, in the line of the counter. */
typedef enum xyl_board_spare {
    XYL_SPARE_CALLS = 1, /* their place in the line */
    XYL_SPARE_TAGS = 4,
    XYL_SPARE_APART = 5
} xyl_board_spare_t;

static inline _Atomic uint64_t *xyl_board_spare(const xyl_board_t *board,
                                                xyl_board_spare_t which)
{
    return (_Atomic uint64_t *)(void *)(board->memory + board->layout.come_at) +
           which;
}

/* A word of the seat's for the layers above, in its done line. */
static inline _Atomic uint64_t *xyl_board_seat_spare(const xyl_board_t *board,
                                                     uint32_t seat)
{
    return (_Atomic uint64_t *)(void *)(board->memory +
                                        (size_t)seat * XYL_BOARD_LINE_BYTES) +
           1;
}

static inline char *xyl_board_slot(const xyl_board_t *board, uint64_t number)
{
    return board->memory + board->layout.slots_at +
           number % XYL_BOARD_SLOTS * board->layout.slot_bytes;
}

static inline xyl_board_line_t *xyl_board_line(char *slot, uint32_t seat)
{
    return (xyl_board_line_t *)(void *)slot + seat;
}

static inline xyl_board_common_t *xyl_board_common(const xyl_board_t *board,
                                                   char *slot)
{
    return (xyl_board_common_t *)(void *)xyl_board_line(slot,
                                                        board->seats.count);
}

static inline _Atomic uint64_t *xyl_board_word(const xyl_board_t *board,
                                               char *slot, uint32_t word)
{
    return (_Atomic uint64_t *)(void *)(slot +
                                        ((size_t)board->seats.count + 2) *
                                            XYL_BOARD_LINE_BYTES) +
           word;
}

static inline xyl_combine_words_t *xyl_board_sums(const xyl_board_t *board,
                                                  char *slot)
{
    return (xyl_combine_words_t *)(void *)(slot + board->layout.slot_bytes -
                                           sizeof(xyl_combine_words_t));
}

static inline xyl_pairs_words_t *xyl_board_tree(const xyl_board_t *board,
                                                uint64_t number)
{
    return (xyl_pairs_words_t *)(void *)(board->memory +
                                         board->layout.trees_at +
                                         number % XYL_BOARD_SLOTS *
                                             board->layout.tree_bytes);
}

/* Rounds up to whole lines, so that other data lie in other lines. */
static inline uint64_t xyl_board_whole_lines(uint64_t bytes)
{
    return (bytes + XYL_BOARD_LINE_BYTES - 1) / XYL_BOARD_LINE_BYTES *
           XYL_BOARD_LINE_BYTES;
}

/* The lines of a slot for parcels: parcel.h. */
static inline char *xyl_board_parcels(const xyl_board_t *board, uint64_t number)
{
    return board->memory + board->layout.parcels_at +
           number % XYL_BOARD_SLOTS * board->seats.count * XYL_BOARD_LINE_BYTES;
}

/* The value of a flag of a piece. */
static inline uint64_t xyl_board_value(uint64_t number, uint64_t count)
{
    return number << XYL_BOARD_COUNT_BITS | count;
}

/* The value by which a seat claims a word for its call: the slot's generation,
 * so that values grow, and the upper bits of `past`, so that a seat with a
 * different call finds the word claimed by another. Seats that make the same
 * call have equal marks. Bit 0 of a mark is 0; a posted word has it set. */
static inline uint64_t xyl_board_mark(uint64_t number, uint64_t past)
{
    return (1 + number / XYL_BOARD_SLOTS) << XYL_BOARD_MARK_BITS |
           (past >> (64 - XYL_BOARD_MARK_BITS) & ~UINT64_C(1));
}

/* Stores a flag that only `seat` waits for, or (XYL_BOARD_ALL) any seat. */
#define XYL_BOARD_ALL UINT32_MAX
void xyl_board_set(const xyl_board_t *board, _Atomic uint64_t *flag,
                   uint64_t value, uint32_t seat);

static inline uint64_t xyl_board_get(const xyl_board_t *board,
                                     const _Atomic uint64_t *flag)
{
    return xyl_shm_get(board->seats.shm, flag);
}
