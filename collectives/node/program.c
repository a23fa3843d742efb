#include "collectives/node/program.h"

#include <stdlib.h>

#include "collectives/board/board.h"
#include "runtime/base/status.h"

void xyl_node_program_init(xyl_node_program_t *program)
{
    *program = (xyl_node_program_t){.pieces = 1, .status = XYLEM_OK};
}

void xyl_node_program_fini(xyl_node_program_t *program)
{
    free(program->steps);
    free(program->strand_ends);
}

void xyl_node_program_fail(xyl_node_program_t *program, xylem_status_t status)
{
    if (program->status == XYLEM_OK)
        program->status = status;
}

/* Makes room for one more element. Returns the array, which may have moved, or
 * NULL. */
static void *grow(xyl_node_program_t *program, void *array, uint32_t count,
                  uint32_t *capacity, size_t bytes)
{
    uint32_t more = *capacity == 0 ? 16 : 2 * *capacity;
    void *grown;

    if (count < *capacity)
        return array;
    grown = realloc(array, more * bytes);
    if (grown == NULL) {
        xyl_node_program_fail(
            program, xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a program"));
        return NULL;
    }
    *capacity = more;
    return grown;
}

void xyl_node_strand(xyl_node_program_t *program)
{
    uint32_t *ends =
        grow(program, program->strand_ends, program->strands,
             &program->strand_capacity, sizeof *program->strand_ends);

    if (ends == NULL)
        return;
    program->strand_ends = ends;
    ends[program->strands++] = program->count;
}

xyl_step_t *xyl_node_step(xyl_node_program_t *program, xyl_step_kind_t kind,
                          xyl_position_t to, xyl_position_t from,
                          uint64_t bytes)
{
    xyl_step_t *steps;

    if (program->strands == 0)
        xyl_node_strand(program);
    steps = grow(program, program->steps, program->count, &program->capacity,
                 sizeof *program->steps);
    if (steps == NULL)
        return &program->nowhere;
    program->steps = steps;
    if (program->status != XYLEM_OK) /* an error before */
        return &program->nowhere;
    steps[program->count] =
        (xyl_step_t){.kind = kind,
                     .to = to,
                     .from = from,
                     .cut = {.bytes = bytes, .total = bytes},
                     .post = {.seat = XYL_BOARD_ALL},
                     .emits = XYL_NO_SEGMENT};
    program->count++;
    program->strand_ends[program->strands - 1] = program->count;
    return &steps[program->count - 1];
}

xyl_step_t *xyl_node_signal(xyl_node_program_t *program, xyl_wait_t wait,
                            xyl_post_t post)
{
    const xyl_position_t nowhere = {XYL_BUFFER_RECV, 0, 0};
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_NOTHING, nowhere, nowhere, 0);

    step->wait = wait;
    step->post = post;
    return step;
}

void xyl_node_program_shift(xyl_node_program_t *program, uint64_t send_at,
                            uint64_t recv_at)
{
    uint32_t i;

    for (i = 0; i < program->count; i++) {
        xyl_position_shift(&program->steps[i].from, send_at, recv_at);
        xyl_position_shift(&program->steps[i].to, send_at, recv_at);
    }
}

static void move_in_window(xyl_position_t *spot, uint64_t bytes)
{
    if (spot->buffer == XYL_BUFFER_INPUT || spot->buffer == XYL_BUFFER_BOARD)
        spot->at += bytes;
}

void xyl_node_program_move(xyl_node_program_t *program, uint32_t words,
                           uint64_t bytes)
{
    xyl_step_t *step = program->steps, *end = step + program->count;

    program->first_word += words;
    program->window_at += bytes;
    for (; step < end; step++) {
        if (step->wait.kind == XYL_WAIT_WORD)
            step->wait.value += words;
        if (step->post.kind == XYL_POST_WORD)
            step->post.value += words;
        move_in_window(&step->from, bytes);
        move_in_window(&step->to, bytes);
    }
}

void xyl_node_cut(xyl_node_program_t *program, uint64_t total, uint64_t room,
                  uint64_t unit)
{
    uint64_t bytes = room < unit ? unit : room / unit * unit;

    if (bytes >= total)
        bytes = total == 0 ? unit : total;
    program->piece_bytes = bytes;
    program->pieces = total == 0 ? 1 : (total + bytes - 1) / bytes;
}

void xyl_node_tell(xyl_node_program_t *program)
{
    xyl_node_signal(program, xyl_wait_nothing(),
                    xyl_post_count(1, XYL_BOARD_ALL))
        ->kind = XYL_STEP_TELL;
}

void xyl_node_hear(xyl_node_program_t *program)
{
    xyl_node_strand(program);
    xyl_node_signal(program, xyl_wait_nothing(), xyl_post_nothing())->kind =
        XYL_STEP_HEAR;
}

void xyl_node_cut_late(xyl_node_program_t *program, uint64_t room)
{
    if (program->count == 0) {
        xyl_node_tell(program);
        xyl_node_hear(program);
    }
    program->first_strands = program->strands;
    program->first_steps = program->count;
    xyl_node_strand(program);
    program->is_cut_late = 1;
    program->room = room / XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES;
    program->piece_bytes = program->room;
    program->pieces = 1;
}

static void move_block(xyl_position_t *spot, uint64_t before, uint64_t now)
{
    if (spot->buffer == XYL_BUFFER_INPUT || spot->buffer == XYL_BUFFER_BOARD)
        spot->at = spot->at / before * now;
}

void xyl_node_cut_now(xyl_node_program_t *program, uint64_t largest)
{
    uint64_t before = program->piece_bytes, now = program->room;
    uint32_t i;

    if (largest < now)
        now = xyl_board_whole_lines(largest == 0 ? 1 : largest);
    program->pieces = (largest + now - 1) / now;
    if (now == before)
        return;
    program->piece_bytes = now;
    program->input_bytes = program->input_bytes / before * now;
    program->board_bytes = program->board_bytes / before * now;
    for (i = program->first_steps; i < program->count; i++) {
        program->steps[i].cut.bytes =
            program->steps[i].cut.bytes / before * now;
        move_block(&program->steps[i].to, before, now);
        move_block(&program->steps[i].from, before, now);
    }
}

uint64_t xyl_node_segment(uint64_t wanted, uint64_t room,
                          uint64_t element_bytes)
{
    uint64_t most = room / element_bytes * element_bytes;
    uint64_t bytes =
        (wanted + element_bytes - 1) / element_bytes * element_bytes;

    if (bytes > most)
        bytes = most;
    return bytes == 0 ? element_bytes : bytes;
}

void xyl_node_cut_segments(xyl_node_program_t *program, uint64_t total,
                           uint64_t room)
{
    uint64_t segment = program->segment_bytes;

    if (room / XYL_BOARD_WORDS > segment)
        room = XYL_BOARD_WORDS * segment;
    xyl_node_cut(program, total, room, segment);
    program->segments =
        (uint32_t)((program->piece_bytes + segment - 1) / segment);
}
