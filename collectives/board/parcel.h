/* Parcels: blocks that one seat hands another in a piece, of a length that the
 * sender alone knows for sure. Parcels have lines of their own, one per seat
 * and slot, in which nothing else is ever written. Both sides of a parcel know
 * by whose line it goes; if a block has several receivers, all look at the line
 * of the sender. A parcel has one of the forms of program.h (xyl_form_t). This
 * file has the protocol of parcels in parts, and of parcels that the receiver
 * may read in the sender's memory.
 *
 *   the sender                             the receiver
 *     resets sent and taken                  waits for the count,
 *     says past, length, posts the count     compares past and length
 *     part k: takes a run, writes,           waits for sent k + 1,
 *       places[k mod PARTS] = run            reads, gives the run back,
 *       sent = k + 1                         taken = k + 1
 *
 * The sender waits for the receiver only if PARTS parts are not taken yet, or
 * if the pool has no run. In the latter case it waits until all parts are
 * taken, and puts the next part into the cell. So when both sides have come to
 * the piece, the parcel goes on whatever other seats and teams do.
 *
 * A sender may offer its memory before it makes parts. A word that both sides
 * swap says which of them has the block:
 *
 *   offered --receiver--> taken --receiver--> read
 *      |  \                 |  \
 *      |   `----receiver----|---`--> refused: it cannot read there
 *      `-------sender-------'---> kept: it goes in parts
 *
 * The sender is done when the receiver has read the block. The sender takes the
 * block back if the receiver does not come or does not get on, and if its own
 * call fails. Then the receiver discards the bytes that it has read, because
 * the sender may have left meanwhile.
 *
 * A parcel's line has the hash of its sender's calls, as a seat's line has
 * (share.c). The progressing thread calls these functions. */
#pragma once

#include "collectives/board/board.h"

enum {
    XYL_PARCEL_SHORT = 96, /* bytes */
    /* The least room behind the line of a cell between two seats. Parts for
     * which the pool has no run go through that room. */
    XYL_PARCEL_CELL_LEAST = 128,
    XYL_PARCEL_PARTS = 8,     /* of a parcel under way, at most */
    XYL_PARCEL_PART_BITS = 24 /* of a word, below the piece's number */
};

typedef struct xyl_parcel_line {
    _Alignas(XYL_BOARD_LINE_BYTES) _Atomic uint64_t count;
    _Atomic uint64_t past; /* as in a seat's line */
    _Atomic uint64_t length;
    _Atomic uint64_t longest; /* of the sender's blocks for later pieces */
    union {
        char bytes[XYL_PARCEL_SHORT];
        struct {
            /* The piece's number, then a count of parts; values only grow. */
            _Atomic uint64_t sent, taken;
            _Atomic uint64_t lies;  /* the sender's offer */
            _Atomic uint64_t claim; /* number of the piece, then the claim */
            /* A part's length, and its run; run 0: the part is in the cell. */
            _Atomic uint64_t places[XYL_PARCEL_PARTS];
        } parts;
    } is;
} xyl_parcel_line_t;

_Static_assert(sizeof(xyl_parcel_line_t) == XYL_BOARD_LINE_BYTES,
               "a parcel's head is a line");

/* The least bytes of a cell between two seats, with its line. */
enum {
    XYL_PARCEL_BETWEEN_LEAST = sizeof(xyl_parcel_line_t) + XYL_PARCEL_CELL_LEAST
};

/* A cell with a head. */
typedef struct xyl_parcel_head {
    _Atomic uint64_t length;
    char bytes[];
} xyl_parcel_head_t;

/* How far an offered block is: see the drawing above. */
typedef enum xyl_parcel_claim {
    XYL_PARCEL_KEPT,
    XYL_PARCEL_OFFERED,
    XYL_PARCEL_TAKEN,
    XYL_PARCEL_READ,
    XYL_PARCEL_REFUSED
} xyl_parcel_claim_t;

/* How far one side is with a parcel that goes in parts. */
typedef struct xyl_parcel {
    int has_begun;
    int reads;           /* the receiver reads it in the sender's memory */
    uint64_t lies;       /* the sender's offer of it */
    uint64_t since;      /* when the sender offered it */
    uint32_t run;        /* of the present part */
    uint64_t parts;      /* that this side has sent or taken */
    uint64_t begin, end; /* of the part, in the parcel; equal: there is none */
    char *memory;        /* of the part, or of a whole block that is mapped */
} xyl_parcel_t;

typedef struct xyl_parcel_way {
    xyl_board_t *board;
    uint64_t number; /* piece */
    xyl_parcel_line_t *line;
    char *cell;
    uint64_t cell_bytes, bytes; /* `bytes`: of the whole parcel */
    uint32_t other;             /* seat at the other end */
} xyl_parcel_way_t;

static inline xyl_parcel_line_t *xyl_parcel_line(const xyl_board_t *board,
                                                 uint64_t number, uint32_t seat)
{
    return (xyl_parcel_line_t *)(void *)xyl_board_parcels(board, number) + seat;
}

/* Called by the sender before it posts the count. `lies` is the sender's offer
 * of the block (progress/shm/shm.h), or 0. */
void xyl_parcel_prepare(const xyl_parcel_way_t *way, uint64_t lies);
/* 1: the sender has prepared the parcel. Called after its count was seen. */
int xyl_parcel_is_prepared(const xyl_parcel_way_t *way);
/* How far the block is. */
xyl_parcel_claim_t xyl_parcel_claimed(const xyl_parcel_way_t *way);
/* The sender takes the block back. 0: the receiver has read or refused it. */
int xyl_parcel_keep(const xyl_parcel_way_t *way);
/* The receiver, which has seen the count, claims the block. 1: it reads at
 * *lies_out, then calls was_read or refuse. The receiver may also refuse a
 * block that it has not claimed. */
int xyl_parcel_claim(const xyl_parcel_way_t *way, uint64_t *lies_out);
/* 0: the sender has taken the block back, and sends it in parts. */
int xyl_parcel_was_read(const xyl_parcel_way_t *way);
void xyl_parcel_refuse(const xyl_parcel_way_t *way);
/* 1: the sender writes a part to parcel->memory. The part has at least
 * `part_bytes` if so many are left, but at most `most` bytes, or those of a
 * cell. */
int xyl_parcel_send_next(const xyl_parcel_way_t *way, uint64_t part_bytes,
                         uint64_t most, xyl_parcel_t *parcel);
/* The sender has written the part. */
void xyl_parcel_sent(const xyl_parcel_way_t *way, xyl_parcel_t *parcel);
/* 1: there is a part to read. Called after the count was seen. */
int xyl_parcel_take_next(const xyl_parcel_way_t *way, xyl_parcel_t *parcel);
/* The receiver has read the part. */
void xyl_parcel_taken(const xyl_parcel_way_t *way, xyl_parcel_t *parcel);
