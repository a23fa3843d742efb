/* Parcels: blocks that one seat hands another in a piece, of a length that the
 * sender alone knows for sure. Parcels have lines of their own, a seat's for
 * each slot, where nothing else is ever written. Both sides of a parcel know
 * whose line it goes by, and no other seat looks there, except that all
 * receivers of a single block look at the sender's line. A parcel has one of
 * the forms of program.h (xyl_form_t). This is the protocol of parcels in
 * parts, and of those that the receiver may read in the sender's memory.
 *
 *   the sender                             the receiver
 *     resets sent and taken                  waits for the count,
 *     says past, length, posts the count     compares past and length
 *     part k: takes a run, writes,           waits for sent k + 1,
 *       places[k mod PARTS] = run            reads, gives the run back,
 *       sent = k + 1                         taken = k + 1
 *
 * The sender waits for the receiver only if PARTS parts are not taken yet, or
 * if the pool has no run: then until all parts are taken, and the cell is free
 * for the next one. So a parcel goes on whatever other seats and teams do, when
 * both its ends have come to the piece.
 *
 * A sender may offer its memory before it makes parts. A word that both sides
 * swap says which of them has the block:
 *
 *   offered --receiver--> taken --receiver--> read
 *      |  \                 |  \
 *      |   `----receiver----|---`--> refused: it cannot read there
 *      `-------sender-------'---> kept: it goes in parts
 *
 * The sender is done when the block was read. It takes the block back from a
 * receiver that does not come, or does not get on, and when its own call fails:
 * then what the receiver has read counts for nothing, as the sender may have
 * left meanwhile.
 *
 * A parcel says what its sender calls, as a seat's line does (share.c). The
 * progressing thread. */
#ifndef XYL_COLLECTIVES_PARCEL_H
#define XYL_COLLECTIVES_PARCEL_H

#include "collectives/node/board.h"

enum {
    XYL_PARCEL_SHORT = 96, /* bytes */
    /* Of a cell behind its line between two seats: for parts without a run. */
    XYL_PARCEL_CELL_LEAST = 128,
    XYL_PARCEL_PARTS = 8, /* under way */
    XYL_PARCEL_PART_BITS = 24
};

typedef struct xyl_parcel_line {
    _Alignas(XYL_BOARD_LINE_BYTES) _Atomic uint64_t count;
    _Atomic uint64_t past; /* as a seat's line says it */
    _Atomic uint64_t length;
    _Atomic uint64_t longest; /* block that the seat has for pieces behind the
                                 first */
    union {
        char bytes[XYL_PARCEL_SHORT];
        struct {
            /* Parts, behind the number of the piece: they grow. */
            _Atomic uint64_t sent, taken;
            _Atomic uint64_t lies;  /* where, in the sender's memory */
            _Atomic uint64_t claim; /* which side has it, behind the number */
            /* The length of a part and its run; 0: it is in the cell. */
            _Atomic uint64_t places[XYL_PARCEL_PARTS];
        } parts;
    } is;
} xyl_parcel_line_t;

_Static_assert(sizeof(xyl_parcel_line_t) == XYL_BOARD_LINE_BYTES,
               "a parcel's head is a line");

/* Bytes of a line between two seats, with its cell, at least. */
enum {
    XYL_PARCEL_BETWEEN_LEAST = sizeof(xyl_parcel_line_t) + XYL_PARCEL_CELL_LEAST
};

/* At the beginning of a cell with a head. */
typedef struct xyl_parcel_head {
    _Atomic uint64_t length;
    char bytes[];
} xyl_parcel_head_t;

/* Which side has a block. */
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
    uint64_t lies;       /* where it lies in the sender's memory */
    uint64_t since;      /* when the sender offered it */
    uint32_t run;        /* of the present part */
    uint64_t parts;      /* that are done with */
    uint64_t begin, end; /* bytes of the parcel; equal: there is no part */
    char *memory;
} xyl_parcel_t;

typedef struct xyl_parcel_way {
    xyl_board_t *board;
    uint64_t number; /* piece */
    xyl_parcel_line_t *line;
    const xyl_parcel_line_t *told; /* says the length: `line`, or the own line
                                      of the sender's seat */
    char *cell;
    uint64_t cell_bytes, bytes; /* of all */
    uint32_t other;             /* seat */
} xyl_parcel_way_t;

static inline xyl_parcel_line_t *xyl_parcel_line(const xyl_board_t *board,
                                                 uint64_t number, uint32_t seat)
{
    return (xyl_parcel_line_t *)(void *)xyl_board_parcels(board, number) + seat;
}

/* The sender, before it posts the count: offers `lies`, unless that is NULL. */
void xyl_parcel_prepare(const xyl_parcel_way_t *way, const void *lies);
/* 0: the sender has not prepared the parcel. After its count was seen. */
int xyl_parcel_is_prepared(const xyl_parcel_way_t *way);
/* Which side has the block. */
xyl_parcel_claim_t xyl_parcel_claimed(const xyl_parcel_way_t *way);
/* The sender takes the block back. 0: it was read, or refused. */
int xyl_parcel_keep(const xyl_parcel_way_t *way);
/* The receiver, after the count was seen. 1: it is to read the block at
 * *lies_out, then say that it has, or refuse. It may refuse without a claim. */
int xyl_parcel_claim(const xyl_parcel_way_t *way, uint64_t *lies_out);
/* 0: what was read counts for nothing, and the block goes in parts. */
int xyl_parcel_was_read(const xyl_parcel_way_t *way);
void xyl_parcel_refuse(const xyl_parcel_way_t *way);
/* 1: there is a part, to be written to `memory`, of at least `part_bytes` if
 * they are left, and not above `most` or a cell. */
int xyl_parcel_send_next(const xyl_parcel_way_t *way, uint64_t part_bytes,
                         uint64_t most, xyl_parcel_t *parcel);
/* The part is written. */
void xyl_parcel_sent(const xyl_parcel_way_t *way, xyl_parcel_t *parcel);
/* 1: there is a part to be read. After the count was seen. */
int xyl_parcel_take_next(const xyl_parcel_way_t *way, xyl_parcel_t *parcel);
/* The part was read. */
void xyl_parcel_taken(const xyl_parcel_way_t *way, xyl_parcel_t *parcel);

#endif
