#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/board/parcel.h"
#include "tests/support/program_inside.h"

enum { PROMPT_BYTES = 64 << 10 };

void *program_array(uint64_t count, size_t bytes)
{
    void *array = calloc((size_t)count + 1, bytes);

    if (array == NULL) {
        fputs("no memory\n", stderr);
        abort();
    }
    return array;
}

void *program_grow(void *array, uint32_t count, uint32_t *capacity,
                   size_t bytes)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity == 0 ? 16 : 2 * *capacity;
    array = realloc(array, *capacity * bytes);
    if (array == NULL)
        abort();
    return array;
}

int program_mistake(program_run_t *run, const char *format, ...)
{
    va_list args;

    if (run->mistake[0] != '\0')
        return 0;
    va_start(args, format);
    vsnprintf(run->mistake, sizeof run->mistake, format, args);
    va_end(args);
    return 0;
}

region_t *program_region(const program_run_t *run, int kind, uint32_t seat)
{
    uint32_t number = kind == PROGRAM_BOARD ? 0 : seat;

    return &run->piece->regions[(uint32_t)kind * run->seats + number];
}

/* ---- sharing ---- */

const xyl_step_t *program_shared(const program_run_t *run, uint32_t seat)
{
    const xyl_node_program_t *program = &run->all[seat].program;
    uint32_t i;

    if (!program->shares || !run->all[seat].is_seen)
        return NULL;
    for (i = 0; i < program->count; i++)
        if (program->steps[i].kind == XYL_STEP_PUBLISH)
            return &program->steps[i];
    return NULL;
}

static int knows_of(const program_run_t *run, uint32_t seat, uint32_t strand,
                    uint32_t when)
{
    const program_run_piece_t *piece = run->piece;
    uint32_t i;

    for (i = 0; i < piece->strands; i++)
        if (piece->strand[i].seat == seat &&
            piece->strand[i].clock[strand] >= when)
            return 1;
    return 0;
}

int program_check_shared(program_run_t *run, uint32_t seat)
{
    const region_t *own = program_region(run, PROGRAM_OWN, seat);
    uint32_t i;

    for (i = 0; i < own->count; i++)
        if (own->touches[i].piece == run->piece->number &&
            run->piece->strand[own->touches[i].strand].seat != seat &&
            !knows_of(run, seat, own->touches[i].strand, own->touches[i].when))
            return program_mistake(run,
                                   "seat %u ends, and may be read by strand %u",
                                   seat, own->touches[i].strand);
    return 1;
}

/* Checks that input is published before it is named. */
static int check_named(program_run_t *run, const strand_t *strand,
                       uint32_t seat)
{
    const program_run_piece_t *piece = run->piece;
    uint32_t i;

    for (i = 0; i < piece->strands; i++)
        if (piece->strand[i].seat == seat && strand->clock[i] != 0)
            return 1;
    return program_mistake(run,
                           "seat %u, step %u reads what seat %u has not "
                           "published",
                           strand->seat, strand->step, seat);
}

/* ---- touching ---- */

static const char *name_of(xyl_buffer_t buffer)
{
    static const char *const names[] = {"send", "recv", "line", "input",
                                        "board"};

    return names[buffer];
}

static int is_own(xyl_buffer_t buffer)
{
    return xyl_buffer_is_private(buffer);
}

/* The seat that owns the memory; `seats`: none. */
static uint32_t owner_of(const program_run_t *run, const strand_t *strand,
                         xyl_position_t spot, int writes)
{
    if (is_own(spot.buffer))
        return strand->seat;
    return spot.buffer == XYL_BUFFER_INPUT && !writes &&
                   program_shared(run, spot.seat) != NULL
               ? spot.seat
               : run->seats;
}

static region_t *region_of(const program_run_t *run, xyl_position_t spot,
                           uint32_t owner)
{
    if (owner != run->seats)
        return program_region(run, PROGRAM_OWN, owner);
    if (spot.buffer == XYL_BUFFER_BOARD ||
        (spot.buffer == XYL_BUFFER_INPUT &&
         run->all[0].program.input_bytes == 0))
        return program_region(run, PROGRAM_BOARD, 0);
    return program_region(
        run, spot.buffer == XYL_BUFFER_LINE ? PROGRAM_LINE : PROGRAM_INPUT,
        spot.seat);
}

static int may_touch(program_run_t *run, const strand_t *strand,
                     xyl_position_t spot, int writes)
{
    int is_seats =
        spot.buffer == XYL_BUFFER_LINE || spot.buffer == XYL_BUFFER_INPUT;

    if (is_seats && spot.seat >= run->seats)
        return program_mistake(run, "seat %u: there is no seat %u",
                               strand->seat, spot.seat);
    if (!writes)
        return 1;
    if (spot.buffer == XYL_BUFFER_SEND)
        return program_mistake(run, "seat %u writes what it sends",
                               strand->seat);
    if (is_seats && spot.seat != strand->seat)
        return program_mistake(run, "seat %u writes the %s of seat %u",
                               strand->seat, name_of(spot.buffer), spot.seat);
    return 1;
}

/* 1: the touch comes before the strand's present step. A stage begins one piece
 * after the other, and then does short steps that wait for nothing. No other
 * step comes before those of a later piece. */
static int is_after(const program_run_t *run, const strand_t *strand,
                    const touch_t *touch)
{
    if (touch->piece != run->piece->number)
        return touch->piece < run->piece->number && touch->is_prompt;
    return strand->clock[touch->strand] >= touch->when;
}

static int check_order(program_run_t *run, const strand_t *strand,
                       const region_t *region, const touch_t *now)
{
    uint32_t i;

    for (i = 0; i < region->count; i++) {
        const touch_t *other = &region->touches[i];
        if (other->begin < now->end && now->begin < other->end &&
            (other->writes || now->writes) && !is_after(run, strand, other))
            return program_mistake(
                run,
                "piece %" PRIu64 ": bytes from %" PRIu64 " on, that seat %u, "
                "step %u, %s, and strand %u of piece %" PRIu64 " %s before",
                now->piece, now->begin, strand->seat, strand->step,
                now->writes ? "writes" : "reads", other->strand, other->piece,
                other->writes ? "wrote" : "read");
    }
    return 1;
}

/* Checks that shared bytes are read after they were written. */
static int check_written(program_run_t *run, const strand_t *strand,
                         const region_t *region, const touch_t *now)
{
    const unsigned char *missing;

    if (region->written == NULL)
        return 1;
    if (now->writes) {
        memset(region->written + now->begin, 1, now->end - now->begin);
        return 1;
    }
    missing = memchr(region->written + now->begin, 0, now->end - now->begin);
    if (missing == NULL)
        return 1;
    return program_mistake(run,
                           "seat %u, step %u reads shared byte %td, which is "
                           "not there",
                           strand->seat, strand->step,
                           missing - region->written);
}

static uint64_t place_of(const program_run_t *run, const strand_t *strand,
                         xyl_position_t spot, uint32_t owner)
{
    const program_run_seat_t *seat = &run->all[owner];
    const xyl_step_t *publish;

    if (owner == run->seats)
        return spot.at;
    if (!is_own(spot.buffer)) { /* as far from its begin as in the window */
        publish = program_shared(run, owner);
        spot.buffer = publish->from.buffer;
        spot.at += publish->from.at - publish->to.at - publish->further +
                   run->all[strand->seat].program.steps[strand->step].further;
    }
    return (spot.buffer == XYL_BUFFER_TEMP ? seat->memory_bytes
                                           : seat->at[spot.buffer]) +
           spot.at + run->piece->number * seat->program.piece_bytes;
}

unsigned char *program_touch(program_run_t *run, const strand_t *strand,
                             xyl_position_t spot, uint64_t bytes, int writes)
{
    uint32_t owner;
    region_t *region;
    touch_t now;

    if (!may_touch(run, strand, spot, writes))
        return NULL;
    owner = owner_of(run, strand, spot, writes);
    if (owner != run->seats && owner != strand->seat &&
        !check_named(run, strand, owner))
        return NULL;
    region = region_of(run, spot, owner);
    now = (touch_t){.piece = run->piece->number,
                    .begin = place_of(run, strand, spot, owner),
                    .strand = strand->number,
                    .when = strand->clock[strand->number],
                    .writes = writes,
                    .is_prompt = !strand->has_waited && bytes <= PROMPT_BYTES};
    now.end = now.begin + bytes;
    if (now.begin > region->bytes || bytes > region->bytes - now.begin) {
        (void)program_mistake(run,
                              "seat %u, step %u: %" PRIu64 " bytes from "
                              "%" PRIu64 " on are not all in the %s",
                              strand->seat, strand->step, bytes, now.begin,
                              name_of(spot.buffer));
        return NULL;
    }
    if (!check_order(run, strand, region, &now) ||
        !check_written(run, strand, region, &now))
        return NULL;
    region->touches = program_grow(region->touches, region->count,
                                   &region->capacity, sizeof now);
    region->touches[region->count++] = now;
    return region->memory + now.begin;
}

/* ---- posts ---- */

/* Fills a post; it does not know the strand's later steps. */
static void post_fill(const program_run_t *run, post_t *post, strand_t *strand,
                      uint32_t value, uint32_t seat)
{
    size_t bytes = run->piece->strands * sizeof *post->clock;

    post->value = value;
    post->seat = seat;
    post->clock = program_array(run->piece->strands, sizeof *post->clock);
    memcpy(post->clock, strand->clock, bytes);
    strand->clock[strand->number]++;
}

int program_post_count(program_run_t *run, strand_t *strand, uint32_t value,
                       uint32_t seat)
{
    counts_t *counts = &run->piece->counts[strand->seat];
    const post_t *last =
        counts->count == 0 ? NULL : &counts->posts[counts->count - 1];

    if (last != NULL &&
        strand->clock[counts->strand] < last->clock[counts->strand])
        return program_mistake(run, "two strands of seat %u post counts",
                               strand->seat);
    if (value >= 1U << XYL_BOARD_COUNT_BITS ||
        value <=
            (counts->count == 0 ? 0 : counts->posts[counts->count - 1].value))
        return program_mistake(run, "seat %u posts count %u", strand->seat,
                               value);
    counts->strand = strand->number;
    counts->posts = program_grow(counts->posts, counts->count,
                                 &counts->capacity, sizeof *counts->posts);
    post_fill(run, &counts->posts[counts->count++], strand, value, seat);
    return 1;
}

int program_post_word(program_run_t *run, strand_t *strand, uint32_t word,
                      uint32_t seat)
{
    if (word >= XYL_BOARD_WORDS || run->piece->words[word].clock != NULL)
        return program_mistake(run, "seat %u posts word %u%s", strand->seat,
                               word,
                               word < XYL_BOARD_WORDS ? " once more" : "");
    post_fill(run, &run->piece->words[word], strand, 1, seat);
    return 1;
}

/* The block, or its length alone. */
static uint64_t bytes_handed(const xyl_step_t *step)
{
    return step->transfer.form == XYL_FORM_LENGTH ||
                   step->transfer.form == XYL_FORM_BETWEEN_LENGTH
               ? 0
               : step->cut.total;
}

static int has_head(const xyl_step_t *step)
{
    return step->transfer.form == XYL_FORM_BETWEEN_CELL ||
           step->transfer.form == XYL_FORM_BETWEEN_LENGTH;
}

/* Hands a block in a cell, behind its length. */
static int hand_in_cell(program_run_t *run, strand_t *strand,
                        const xyl_step_t *step)
{
    uint64_t length = step->cut.total, bytes = bytes_handed(step);
    unsigned char *cell = program_touch(run, strand, step->to,
                                        sizeof(xyl_parcel_head_t) + bytes, 1);
    const unsigned char *from =
        program_touch(run, strand, step->from, bytes, 0);

    if (cell == NULL || from == NULL)
        return 0;
    memcpy(cell, &length, sizeof length);
    memcpy(cell + sizeof(xyl_parcel_head_t), from, bytes);
    return 1;
}

/* Between two seats, by a line of their own; NULL: there is none. */
static parcel_t *parcel_between(program_run_t *run, const strand_t *strand,
                                xyl_position_t spot)
{
    const xyl_node_program_t *program = &run->all[strand->seat].program;
    uint64_t first = program->between == 0 ? 0 : program->cell;
    uint64_t each = program->between == 0 ? program->cell : program->between;
    uint64_t number = (spot.at - first) / each;

    if (spot.seat < run->seats && spot.at >= first &&
        (spot.at - first) % each == 0 && number < run->seats - 1)
        return &run->piece
                    ->parcels[(uint64_t)run->seats * (1 + spot.seat) + number];
    program_mistake(run, "seat %u has no such line", strand->seat);
    return NULL;
}

/* Offers a block: its present bytes must be read there, whenever that is. */
int program_offer(program_run_t *run, strand_t *strand, const xyl_step_t *step)
{
    parcel_t *parcel = parcel_between(run, strand, step->to);
    const unsigned char *from =
        program_touch(run, strand, step->from, step->cut.total, 0);

    if (parcel == NULL || from == NULL)
        return 0;
    if (parcel->bytes != NULL)
        return program_mistake(run, "seat %u offers twice", strand->seat);
    parcel->bytes = program_array(step->cut.total, 1);
    parcel->length = step->cut.total;
    memcpy(parcel->bytes, from, step->cut.total);
    return 1;
}

static int hand_offered(program_run_t *run, strand_t *strand,
                        const xyl_step_t *step)
{
    const parcel_t *parcel = parcel_between(run, strand, step->to);
    const unsigned char *from;

    if (parcel == NULL ||
        !program_see(run, strand, program_count(run, strand->seat, 1)))
        return 0;
    from = program_touch(run, strand, step->from, step->cut.total, 0);
    if (from == NULL)
        return 0;
    return (parcel->length == step->cut.total &&
            memcmp(parcel->bytes, from, step->cut.total) == 0) ||
           program_mistake(run, "seat %u hands what it has not offered",
                           strand->seat);
}

int program_hand(program_run_t *run, strand_t *strand, const xyl_step_t *step)
{
    uint64_t bytes = bytes_handed(step);
    parcel_t *parcel;
    const unsigned char *from;

    if (xyl_form_has_offer(step->transfer.form))
        return hand_offered(run, strand, step);
    if (has_head(step))
        return hand_in_cell(run, strand, step);
    if (step->to.seat >= run->seats)
        return program_mistake(run, "seat %u hands by no line", strand->seat);
    parcel = &run->piece->parcels[step->to.seat];
    if (parcel->post.clock != NULL)
        return program_mistake(run, "seat %u hands twice by the line of %u",
                               strand->seat, step->to.seat);
    from = program_touch(run, strand, step->from, bytes, 0);
    if (from == NULL)
        return 0;
    parcel->bytes = program_array(bytes, 1);
    parcel->length = step->cut.total;
    memcpy(parcel->bytes, from, bytes);
    /* A seat's own line has its count; no other seat is woken. */
    if (step->to.seat == strand->seat &&
        !program_post_count(run, strand, 1, strand->seat))
        return 0;
    post_fill(run, &parcel->post, strand, 1, step->transfer.seat);
    return 1;
}

static int check_length(program_run_t *run, const strand_t *strand,
                        const xyl_step_t *step, uint64_t length)
{
    return length == step->cut.total ||
           program_mistake(run,
                           "seat %u, step %u: %" PRIu64 " bytes are there, "
                           "not %" PRIu64,
                           strand->seat, strand->step, length, step->cut.total);
}

static int take_from_cell(program_run_t *run, strand_t *strand,
                          const xyl_step_t *step)
{
    uint64_t length, bytes = bytes_handed(step);
    unsigned char *cell, *to;

    if (!program_see(run, strand, program_count(run, step->from.seat, 1)))
        return 0;
    cell = program_touch(run, strand, step->from, sizeof(xyl_parcel_head_t), 0);
    if (cell == NULL)
        return 0;
    memcpy(&length, cell, sizeof length);
    if (!check_length(run, strand, step, length))
        return 0;
    cell = program_touch(run, strand, step->from,
                         sizeof(xyl_parcel_head_t) + bytes, 0);
    to = program_touch(run, strand, step->to, bytes, 1);
    if (cell == NULL || to == NULL)
        return 0;
    memcpy(to, cell + sizeof(xyl_parcel_head_t), bytes);
    return 1;
}

int program_take(program_run_t *run, strand_t *strand, const xyl_step_t *step)
{
    const parcel_t *parcel = &run->piece->parcels[step->from.seat];
    const post_t *post = &parcel->post;
    uint64_t bytes = bytes_handed(step);
    unsigned char *to;

    if (has_head(step))
        return take_from_cell(run, strand, step);
    if (step->transfer.form == XYL_FORM_TOLD_PEER &&
        !check_length(run, strand, step, parcel->length))
        return 0;
    if (xyl_form_has_offer(step->transfer.form))
        parcel = parcel_between(run, strand, step->from);
    if (!program_has_own_post(step->transfer.form))
        post = program_count(run, step->from.seat, 1);
    if (parcel == NULL || !program_see(run, strand, post) ||
        !check_length(run, strand, step, parcel->length))
        return 0;
    to = program_touch(run, strand, step->to, bytes, 1);
    if (to == NULL)
        return 0;
    memcpy(to, parcel->bytes, bytes);
    return 1;
}

const post_t *program_count(const program_run_t *run, uint32_t seat,
                            uint32_t value)
{
    const counts_t *counts = &run->piece->counts[seat];
    uint32_t i;

    if (counts->count == 0 || counts->posts[counts->count - 1].value < value)
        return NULL;
    for (i = 0; i < counts->count; i++)
        if (counts->posts[i].value >= value)
            return &counts->posts[i];
    return NULL;
}

int program_see(program_run_t *run, strand_t *strand, const post_t *post)
{
    uint32_t i;

    if (post->seat != XYL_BOARD_ALL && post->seat != strand->seat)
        return program_mistake(run,
                               "seat %u, step %u waits for what is posted for "
                               "seat %u",
                               strand->seat, strand->step, post->seat);
    for (i = 0; i < run->piece->strands; i++)
        if (strand->clock[i] < post->clock[i])
            strand->clock[i] = post->clock[i];
    return 1;
}

/* ---- strands of a seat ---- */

int program_is_left_out(const program_run_t *run, const strand_t *strand,
                        const xyl_step_t *step)
{
    return step->wait.kind == XYL_WAIT_READERS &&
           program_shared(run, strand->seat) == NULL;
}

int program_others_end(const program_run_t *run, const strand_t *strand)
{
    const program_run_piece_t *piece = run->piece;
    uint32_t i;

    for (i = 0; i < piece->strands; i++)
        if (i != strand->number && piece->strand[i].seat == strand->seat &&
            piece->strand[i].step != piece->strand[i].end)
            return 0;
    return 1;
}

void program_see_others(const program_run_t *run, strand_t *strand)
{
    const program_run_piece_t *piece = run->piece;
    uint32_t i, j;

    for (i = 0; i < piece->strands; i++)
        for (j = 0; j < piece->strands && piece->strand[i].seat == strand->seat;
             j++)
            if (strand->clock[j] < piece->strand[i].clock[j])
                strand->clock[j] = piece->strand[i].clock[j];
}
