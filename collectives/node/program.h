/* A node program: the steps of one seat of a board in a collective, in a few
 * strands. A seat does the steps of a strand one after the other; strands go on
 * in any order. A step waits for one thing, moves or combines bytes, and posts
 * one thing. Node algorithms are pure functions that write programs; the node
 * stage runs a program, once per piece of the collective. docs/inside/node.md
 * says when a seat waits for its readers.
 *
 * A block longer than a piece goes in several pieces. Piece k takes the bytes
 * from k * piece_bytes on of every block, and steps are cut where a block ends.
 * All seats take the same pieces, so all must know the longest block. If each
 * seat knows only the lengths of its own blocks, the collective has one of two
 * forms:
 * - A seat hands a block and its length to the receiver (parcel.h). The program
 *   has one piece, and no third seat needs the length.
 * - The program is cut late. In its first piece each seat tells the others its
 *   longest block; the later pieces are cut for the longest of these. Alltoallv
 *   and alltoallw also hand short blocks in the first piece. Gatherv and
 *   scatterv have this form if they are one level of several.
 *
 * Offsets and counts are packed bytes. The functions that write a program
 * return no status: the program keeps its first error in `status`, and xyl_fail
 * has stored its text. A program belongs to one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collectives/data/description.h"
#include "collectives/data/position.h"
#include "collectives/data/problem.h"

enum {
    XYL_NODE_ACTIVE_MAX = 3 /* pieces of a collective that a seat works at */
};

typedef enum xyl_step_kind {
    XYL_STEP_NOTHING,
    XYL_STEP_COPY,    /* to = from */
    XYL_STEP_PUBLISH, /* to = from, for this seat's input; moves nothing if the
                         other seats read the input in this seat's memory */
    XYL_STEP_REDUCE,  /* to = from of first_seat op ... op from of end_seat - 1.
                         The order begins with seat first_seat + turn, and goes
                         on with first_seat after end_seat - 1. `from` is the
                         position for first_seat */
    XYL_STEP_JOIN,    /* to = to op from */
    /* Steps from here on ignore `wait`, and wait as they need to. */
    XYL_STEP_CLAIM,   /* takes slices until none is left, and combines each as
                         REDUCE does. A seat may take slice i when the counts of
                         all seats are at least i + 1; when it has combined the
                         slice, it posts word i */
    XYL_STEP_COMBINE, /* adds `from` to sums in the window, slice by slice, in
                         any order; the sums lie behind the inputs. The last
                         seat to add to slice i posts word i. If one seat gets
                         the result, that seat does not add */
    XYL_STEP_PAIR,    /* combines `from` of end_seat seats slice by slice, in
                         pairs, and pairs with pairs. If the seat that gets the
                         result does not take part, end_seat is the number of
                         the others. The result lies at `to`, and the cells lie
                         behind it. The last seat to combine slice i posts
                         word i */
    XYL_STEP_COLLECT, /* to = from op sum, for each slice whose word is posted;
                         emits the slice */
    XYL_STEP_OFFER,   /* offers the transfer's seat `total` bytes of `from`: it
                         says in the line at `to` where they lie. The HAND comes
                         later in the program */
    XYL_STEP_HAND,    /* hands the transfer's seat `total` bytes of `from`,
                         through the line or the cell that `to`, a position in
                         INPUT, names */
    XYL_STEP_TAKE, /* takes `total` bytes from the transfer's seat, through the
                      line or the cell that `from`, a position in INPUT,
                      names; or fails */
    XYL_STEP_TELL, /* tells all seats the longest of this seat's blocks that are
                      not handed */
    XYL_STEP_HEAR, /* waits until all seats have told; keeps the longest */
    XYL_STEP_GATE  /* waits until the stage's gate is open */
} xyl_step_kind_t;

typedef enum xyl_wait_kind {
    XYL_WAIT_NOTHING,
    XYL_WAIT_COUNT,      /* until the count of `seat` is at least `value` */
    XYL_WAIT_ALL_COUNTS, /* until the counts of all other seats are */
    XYL_WAIT_READERS, /* as ALL_COUNTS if others read this seat's input where it
                         lies, else as NOTHING */
    XYL_WAIT_WORD,    /* until word `value` is posted */
    XYL_WAIT_STRANDS, /* until the seat's other strands are done */
    XYL_WAIT_SEGMENT  /* until segment `value` of the input is there */
} xyl_wait_kind_t;

typedef struct xyl_wait {
    xyl_wait_kind_t kind;
    uint32_t seat, value;
} xyl_wait_t;

typedef enum xyl_post_kind {
    XYL_POST_NOTHING,
    XYL_POST_COUNT, /* sets this seat's count to `value` */
    XYL_POST_WORD   /* posts word `value` */
} xyl_post_kind_t;

typedef struct xyl_post {
    xyl_post_kind_t kind;
    uint32_t value;
    uint32_t seat; /* the only seat that may wait for the post; for a step that
                      sums, the only seat that gets the sum. XYL_BOARD_ALL:
                      each seat */
} xyl_post_t;

#define XYL_WAIT(kind, seat, value) ((xyl_wait_t){XYL_WAIT_##kind, seat, value})
#define xyl_wait_nothing()          XYL_WAIT(NOTHING, 0, 0)
#define xyl_wait_count(seat, count) XYL_WAIT(COUNT, seat, count)
#define xyl_wait_all(count)         XYL_WAIT(ALL_COUNTS, 0, count)
#define xyl_wait_readers(count)     XYL_WAIT(READERS, 0, count)
#define xyl_wait_strands()          XYL_WAIT(STRANDS, 0, 0)
#define xyl_wait_word(word)         XYL_WAIT(WORD, 0, word)
#define xyl_wait_segment(segment)   XYL_WAIT(SEGMENT, 0, segment)

#define XYL_POST(kind, value, seat) ((xyl_post_t){XYL_POST_##kind, value, seat})
#define xyl_post_nothing()          XYL_POST(NOTHING, 0, 0)
#define xyl_post_count(count, seat) XYL_POST(COUNT, count, seat)
#define xyl_post_word(word, seat)   XYL_POST(WORD, word, seat)

/* How a block goes from the seat that HANDs it to the seat that TAKEs it; see
 * the table of docs/inside/node.md, "Parcels". A program's writer decides it by
 * the length of the block and the cells of the program, so that both seats find
 * the same form. Seats that expect different lengths may find different forms.
 * The receiver looks for the sender's length in the place of the form that the
 * receiver has found. The length is there all the same, and the receiver fails.
 *
 * If a block goes by a line beside the slots (xyl_parcel_line), `to` of HAND
 * and `from` of TAKE name the seat whose line it is. The sender posts the count
 * of this line, or of its seat's line in the slot (told_by in transfer.c). If a
 * block goes by a cell in the window that belongs to one sender and one
 * receiver, the sender posts its seat's count, once for all its blocks. */
typedef enum xyl_form {
    XYL_FORM_INLINE,
    XYL_FORM_CELL,
    XYL_FORM_PARTS,
    XYL_FORM_PEER,
    XYL_FORM_LENGTH, /* the block goes in later pieces, or by TOLD_PEER */
    XYL_FORM_BETWEEN_CELL,
    XYL_FORM_BETWEEN_LENGTH,
    XYL_FORM_BETWEEN_PEER,
    XYL_FORM_TOLD_PEER
} xyl_form_t;

static inline int xyl_form_is_by_line(xyl_form_t form)
{
    return form < XYL_FORM_BETWEEN_CELL;
}

/* An OFFER comes before HAND, in a line at the beginning of the cell. */
static inline int xyl_form_has_offer(xyl_form_t form)
{
    return form == XYL_FORM_BETWEEN_PEER || form == XYL_FORM_TOLD_PEER;
}

/* The receiver may read the block in the sender's memory. */
static inline int xyl_form_is_offered(xyl_form_t form)
{
    return form == XYL_FORM_PEER || xyl_form_has_offer(form);
}

typedef struct xyl_transfer {
    xyl_form_t form;
    uint32_t seat; /* the seat at the other end; HAND to XYL_BOARD_ALL: any seat
                      takes */
} xyl_transfer_t;

#define XYL_NO_SEGMENT UINT32_MAX

/* For steps that sum slice by slice. Slice i begins at i * slice_bytes. */
typedef struct xyl_step_sum {
    uint64_t slice_bytes;
    uint32_t slices; /* CLAIM */
    uint32_t spares; /* COMBINE, PAIR: cells behind the sums */
    uint32_t cells;  /* PAIR: cells in all, with those of the node's pool */
} xyl_step_sum_t;

/* The bytes that a step moves in one piece: [within, within + bytes) of what
 * the piece takes of a block of `total` bytes. Piece k takes the block from
 * k * piece_bytes on, and moves no bytes beyond the block's end. */
typedef struct xyl_step_cut {
    uint64_t bytes, within, total;
} xyl_step_cut_t;

typedef struct xyl_step {
    xyl_step_kind_t kind;
    uint32_t emits; /* segment whose output is there; XYL_NO_SEGMENT: none */
    xyl_wait_t wait;
    xyl_post_t post;
    xyl_position_t to, from;
    xyl_step_cut_t cut;
    /* Offset of the step's bytes in a seat's own memory, less their offset in
     * the window. The two differ because the memory has whole blocks, and the
     * window one piece of each. The bytes are those of `to` for PUBLISH, else
     * of `from`. */
    uint64_t further;
    union {
        xyl_step_sum_t sum;      /* CLAIM, COMBINE, COLLECT, PAIR */
        xyl_transfer_t transfer; /* OFFER, HAND, TAKE */
    };
    uint32_t first_seat, end_seat; /* REDUCE, CLAIM, PAIR */
    uint32_t turn;                 /* REDUCE */
    /* The step waits for a result that others make of the inputs of all seats.
     * If the inputs are there and the seat that makes the result is held up,
     * this seat does without the result: a COPY combines the inputs itself,
     * with the same bits; a REDUCE reads the inputs anyway; a NOTHING, which
     * must have no post, ends. */
    int or_itself;
    int takes_send; /* REDUCE: this seat's own operand is not published but lies
                       at `within` of SEND. If SEND and RECV overlap, this
                       operand must be the first or the second one, so that no
                       result overwrites it before it is read */
} xyl_step_t;

typedef struct xyl_node_program {
    xyl_step_t *steps;
    uint32_t count, capacity;
    uint32_t *strand_ends; /* the step behind each strand's last one */
    uint32_t strands, strand_capacity;
    uint64_t input_bytes; /* of each seat in the window; 0: only one seat has
                             input there, at the window's beginning */
    uint64_t board_bytes; /* behind all inputs */
    int shares;           /* input may be read where it lies */
    int is_sparse;        /* each seat waits for its own neighbours alone */
    int all_wait;         /* each seat waits for all others */
    int leaves_caches; /* bytes that a seat writes into the window leave its own
                       caches at once, as few seats wait to read them */
    int is_cut_late;   /* xyl_node_cut_now cuts the pieces behind the first */
    uint32_t first_strands, first_steps; /* counts, of the first piece */
    uint64_t first_bytes; /* of the longest block that the first piece takes */
    uint64_t largest;     /* bytes of the longest own block that the first piece
                             does not take */
    uint64_t *told; /* [seats] `largest` of each; NULL: nobody reads them */
    uint64_t room;  /* bytes for a block in a piece, or for a part of a handed
                       block; whole lines */
    uint64_t cells; /* bytes of each seat's cells, side by side in the window */
    uint64_t cell;  /* bytes of a cell */
    uint64_t between; /* bytes of a cell between two seats, its line included,
                         in a program in which each seat also has a cell of its
                         own, of `cell` bytes; 0: all cells have `cell` bytes */
    uint64_t handed;  /* bytes that this seat hands */
    int offers;       /* this seat offers blocks, or takes offered blocks in an
                         alltoall or a neighbor_allgather. Such a program does
                         not run inside a call */
    uint32_t takes;   /* blocks that this seat reads in their senders' memory */
    uint64_t read_from;   /* blocks of so many bytes and more are offered; 0:
                             none is */
    uint64_t pull_from;   /* blocks of fewer bytes are not offered unless they
                             lie in memory of xylem_alloc */
    uint64_t temp_bytes;  /* of TEMP, where this seat keeps its own input */
    uint64_t piece_bytes; /* of each block that one piece takes */
    uint64_t pieces;
    /* The program's first word, and first byte of the window, in a piece. */
    uint32_t first_word;
    uint64_t window_at;
    int ends_turns; /* when the stage has moved enough bytes, the engine turns
                       to the net, and then to other stages */
    uint32_t segments; /* of a piece, which come and go singly; 0: the stage
                          waits for all its input and emits all at its end */
    uint64_t segment_bytes;
    size_t element_bytes;
    xylem_status_t status;
    xyl_step_t nowhere; /* for steps for which there is no memory */
} xyl_node_program_t;

void xyl_node_program_init(xyl_node_program_t *program);
void xyl_node_program_fini(xyl_node_program_t *program);

/* Steps that follow belong to a new strand. */
void xyl_node_strand(xyl_node_program_t *program);
/* Adds a step that waits for nothing and posts nothing. The pointer is valid
 * until the next step is added. If there is no memory, the program lacks the
 * step, and keeps the error in `status`. */
xyl_step_t *xyl_node_step(xyl_node_program_t *program, xyl_step_kind_t kind,
                          xyl_position_t to, xyl_position_t from,
                          uint64_t bytes);
/* Adds a step that moves nothing. */
xyl_step_t *xyl_node_signal(xyl_node_program_t *program, xyl_wait_t wait,
                            xyl_post_t post);

/* Keeps the error if it is the program's first; xyl_fail has stored its text.
 */
void xyl_node_program_fail(xyl_node_program_t *program, xylem_status_t status);

/* Moves the positions of all steps so far: those in SEND by `send_at` bytes,
 * those in RECV by `recv_at`. */
void xyl_node_program_shift(xyl_node_program_t *program, uint64_t send_at,
                            uint64_t recv_at);

/* Moves the program behind others of the same piece, which have the first
 * `words` of the slot and the first `bytes` of the window. */
void xyl_node_program_move(xyl_node_program_t *program, uint32_t words,
                           uint64_t bytes);

/* Cuts blocks of `total` bytes into pieces. A piece takes at most `room` bytes
 * of each, in multiples of `unit`; at least one `unit`. */
void xyl_node_cut(xyl_node_program_t *program, uint64_t total, uint64_t room,
                  uint64_t unit);

/* Adds a step that tells all seats this seat's `largest`. */
void xyl_node_tell(xyl_node_program_t *program);
/* Adds a strand that waits until all seats have told theirs. */
void xyl_node_hear(xyl_node_program_t *program);
/* Does as xyl_node_cut, while the largest block of all seats is not known. The
 * steps written so far are the first piece; if there are none, this function
 * adds TELL and HEAR. Steps written later belong to the other pieces. Write
 * them for one piece, in whose window blocks of `room` bytes lie side by side,
 * and which has nothing else there. xyl_node_cut_now adapts them. */
void xyl_node_cut_late(xyl_node_program_t *program, uint64_t room);
/* Cuts the steps again, for the largest block, which is known now. A program
 * may be cut any number of times. `largest` 0: the first piece is the only one.
 */
void xyl_node_cut_now(xyl_node_program_t *program, uint64_t largest);

/* 1: blocks go between one seat and all others, which know only their own
 * lengths. All blocks are handed, however long they are. */
static inline int xyl_node_hands(const xyl_problem_t *problem)
{
    return (problem->coll == XYLEM_COLL_GATHERV ||
            problem->coll == XYLEM_COLL_SCATTERV) &&
           !problem->node.is_level;
}

/* 1: a block is offered: its receiver may read it in the sender's memory, and
 * it goes whole in the first piece. */
static inline int xyl_node_is_offered(const xyl_node_program_t *program,
                                      uint64_t bytes)
{
    return program->read_from != 0 && bytes >= program->read_from;
}

/* 1: each seat knows only its own blocks, and not every block is handed. */
static inline int xyl_node_is_cut_late(const xyl_problem_t *problem)
{
    return !xyl_node_hands(problem) && (problem->coll == XYLEM_COLL_GATHERV ||
                                        problem->coll == XYLEM_COLL_SCATTERV ||
                                        problem->coll == XYLEM_COLL_ALLTOALLV ||
                                        problem->coll == XYLEM_COLL_ALLTOALLW);
}

/* 1: no seat is done before all others have come. */
static inline int xyl_node_all_wait(const xyl_problem_t *problem)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(problem->coll);

    return !traits->has_root && !traits->has_neighbors &&
           problem->coll != XYLEM_COLL_SCAN &&
           problem->coll != XYLEM_COLL_EXSCAN;
}

/* The bytes of a segment: about `wanted`, in whole elements; at least one
 * element, and at most `room` if an element fits there. */
uint64_t xyl_node_segment(uint64_t wanted, uint64_t room,
                          uint64_t element_bytes);
/* Cuts a message into pieces. A piece has as many segments of
 * program->segment_bytes as `room` and the words of a slot allow. */
void xyl_node_cut_segments(xyl_node_program_t *program, uint64_t total,
                           uint64_t room);
