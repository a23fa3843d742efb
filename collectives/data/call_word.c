#include "collectives/data/call_word.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collectives/data/description.h"
#include "runtime/base/file.h"

enum {
    BYTES_BITS = 26,
    ROOT_AT = BYTES_BITS,
    ROOT_BITS = 8,
    TYPE_AT = ROOT_AT + ROOT_BITS,
    TYPE_BITS = 5,
    OP_AT = TYPE_AT + TYPE_BITS,
    OP_BITS = 4,
    COLL_AT = OP_AT + OP_BITS,
    COLL_BITS = 5,
    SETTINGS_AT = COLL_AT + COLL_BITS,
    SETTINGS_BITS = 8,
    SPLIT = (1 << COLL_BITS) - 1,
    NOTHING = SPLIT - 1
};

_Static_assert(SETTINGS_AT + SETTINGS_BITS == (int)XYL_CALL_GENERATION,
               "what is called lies below");
_Static_assert(XYLEM_COLL_COUNT < (int)NOTHING &&
                   XYLEM_TYPE_COUNT < (1 << TYPE_BITS) - 1 &&
                   XYLEM_OP_COUNT < (1 << OP_BITS) - 1,
               "0 is for none, all ones for what is the user's");

static uint64_t field(uint64_t value, int bits)
{
    return value & ((UINT64_C(1) << bits) - 1);
}

static uint64_t read_field(uint64_t word, int at, int bits)
{
    return field(word >> at, bits);
}

/* A value's name in a field, at least 1. All types, or operations, of the user
 * share one name. */
static uint64_t name_of(uint64_t value, uint64_t predefined, int bits)
{
    return value < predefined ? value + 1 : field(UINT64_MAX, bits);
}

uint64_t xyl_word_of_split(void)
{
    return (uint64_t)SPLIT << COLL_AT;
}

uint64_t xyl_word_of_nothing(uint32_t refusals)
{
    return (uint64_t)NOTHING << COLL_AT | field(refusals, BYTES_BITS);
}

int xyl_word_is_nothing(uint64_t word)
{
    return read_field(word, COLL_AT, COLL_BITS) == NOTHING;
}

/* Never 0. */
static uint64_t digest(uint64_t hash, int bits)
{
    return 1 + hash % field(UINT64_MAX, bits);
}

static uint64_t settings_of(const xylem_coll_args_t *args)
{
    const uint64_t numbers[] = {
        args->flags & (XYLEM_FLAG_ARRIVAL_ORDER | XYLEM_FLAG_REPRODUCIBLE),
        args->segment_bytes, args->send_window, args->recv_window};
    const char *name = args->algorithm;
    uint64_t hash;

    if (name == NULL || strcasecmp(name, "auto") == 0)
        name = "";
    if ((numbers[0] | numbers[1] | numbers[2] | numbers[3]) == 0 &&
        name[0] == '\0')
        return 0;
    hash = xyl_hash(XYL_HASH_SEED, numbers, sizeof numbers);
    return digest(xyl_hash(hash, name, strlen(name)), SETTINGS_BITS);
}

/* A digest and the sum of counts that all ranks have; in bytes, as ranks may
 * describe blocks by different types. */
static uint64_t counts_of(const xylem_coll_args_t *args, uint32_t ranks)
{
    uint64_t unit = xyl_args_common_unit(args), sum = 0, bytes;
    uint64_t hash = XYL_HASH_SEED;
    uint32_t i;

    for (i = 0; i < ranks; i++) {
        bytes = args->recv_counts[i] * unit;
        hash = xyl_hash(hash, &bytes, sizeof bytes);
        sum += bytes;
    }
    return digest(hash, ROOT_BITS) << ROOT_AT | field(sum, BYTES_BITS);
}

uint64_t xyl_word_of_call(const xylem_coll_args_t *args, uint32_t ranks)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    uint64_t word = (uint64_t)(args->coll + 1) << COLL_AT;

    word |= settings_of(args) << SETTINGS_AT;
    if (traits->reduces)
        word |= name_of(args->op, XYLEM_OP_COUNT, OP_BITS) << OP_AT |
                name_of(args->type, XYLEM_TYPE_COUNT, TYPE_BITS) << TYPE_AT;
    if (traits->has_root)
        word |= field(args->root, ROOT_BITS) << ROOT_AT;
    if (xyl_coll_has_common_counts(args->coll))
        word |= counts_of(args, ranks);
    else if (args->coll != XYLEM_COLL_BARRIER && !xyl_coll_varies(args->coll))
        word |= field(args->count * xylem_type_bytes(args->type), BYTES_BITS);
    return word;
}

/* The words for a field that name_of has filled. */
static const char *name_or_own(uint64_t value, uint64_t predefined,
                               const char *name, const char *own)
{
    return value - 1 < predefined ? name : own;
}

/* Adds words behind those of `text`, as far as there is room. */
static __attribute__((format(printf, 3, 4))) void
add_words(char *text, size_t bytes, const char *format, ...)
{
    size_t at = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + at, bytes - at, format, arguments);
    va_end(arguments);
}

void xyl_word_in_words(uint64_t word, char *text, size_t bytes)
{
    uint64_t coll = read_field(word, COLL_AT, COLL_BITS);
    uint64_t type = read_field(word, TYPE_AT, TYPE_BITS);
    uint64_t op = read_field(word, OP_AT, OP_BITS);
    uint64_t root = read_field(word, ROOT_AT, ROOT_BITS);
    uint64_t length = read_field(word, 0, BYTES_BITS);
    uint64_t settings = read_field(word, SETTINGS_AT, SETTINGS_BITS);
    const xyl_coll_traits_t *traits;

    if (coll == 0 || coll > XYLEM_COLL_COUNT) {
        snprintf(text, bytes, "%s",
                 coll == SPLIT     ? "a team"
                 : coll == NOTHING ? "nothing, as it was refused"
                                   : "something else");
        return;
    }
    traits = xyl_coll_traits((xylem_coll_t)(coll - 1));
    text[0] = '\0';
    add_words(text, bytes, "%s of %llu bytes", traits->name,
              (unsigned long long)length);
    if (traits->reduces)
        add_words(text, bytes, ", %s of %s",
                  name_or_own(op, XYLEM_OP_COUNT,
                              xylem_op_name((xylem_op_t)(op - 1)),
                              "a user's operation"),
                  name_or_own(type, XYLEM_TYPE_COUNT,
                              xylem_type_name((xylem_type_t)(type - 1)),
                              "a user's type"));
    if (traits->has_root)
        add_words(text, bytes, ", root %llu", (unsigned long long)root);
    if (xyl_coll_has_common_counts((xylem_coll_t)(coll - 1)))
        add_words(text, bytes, ", counts %02llx", (unsigned long long)root);
    if (settings != 0)
        add_words(text, bytes, ", settings %02llx",
                  (unsigned long long)settings);
}
