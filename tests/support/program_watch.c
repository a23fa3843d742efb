#include "tests/support/program_inside.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- touching ---- */

static const char *name_of(xyl_space_t space)
{
    static const char *const names[] = {"send", "recv", "line", "input",
                                        "board"};

    return names[space];
}

static int is_own(xyl_space_t space)
{
    return space == XYL_SPACE_SEND || space == XYL_SPACE_RECV;
}

static region_t *region_of(const program_run_t *run, const strand_t *strand,
                           xyl_spot_t spot)
{
    if (is_own(spot.space))
        return program_region(run, PROGRAM_OWN, strand->seat);
    if (spot.space == XYL_SPACE_BOARD)
        return program_region(run, PROGRAM_BOARD, 0);
    return program_region(
        run, spot.space == XYL_SPACE_LINE ? PROGRAM_LINE : PROGRAM_INPUT,
        spot.seat);
}

static int may_touch(program_run_t *run, const strand_t *strand,
                     xyl_spot_t spot, int writes)
{
    int is_seats =
        spot.space == XYL_SPACE_LINE || spot.space == XYL_SPACE_INPUT;

    if (is_seats && spot.seat >= run->seats)
        return program_mistake(run, "seat %u: there is no seat %u",
                               strand->seat, spot.seat);
    if (!writes)
        return 1;
    if (spot.space == XYL_SPACE_SEND)
        return program_mistake(run, "seat %u writes what it sends",
                               strand->seat);
    if (is_seats && spot.seat != strand->seat)
        return program_mistake(run, "seat %u writes the %s of seat %u",
                               strand->seat, name_of(spot.space), spot.seat);
    return 1;
}

/* A stage begins one piece after the other, and what waits for nothing and is
 * short is done then. Else nothing is before what another piece does. */
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

/* What is shared is read after it was written. */
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
                         xyl_spot_t spot)
{
    const program_run_seat_t *seat = &run->all[strand->seat];

    if (!is_own(spot.space))
        return spot.at;
    return seat->at[spot.space] + spot.at +
           run->piece->number * seat->program.piece_bytes;
}

unsigned char *program_touch(program_run_t *run, const strand_t *strand,
                             xyl_spot_t spot, uint64_t bytes, int writes)
{
    region_t *region;
    touch_t now;

    if (!may_touch(run, strand, spot, writes))
        return NULL;
    region = region_of(run, strand, spot);
    now = (touch_t){.piece = run->piece->number,
                    .begin = place_of(run, strand, spot),
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
                              name_of(spot.space));
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

/* What the strand does from now on is not known by this post. */
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

    if (counts->count != 0 && counts->strand != strand->number)
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
