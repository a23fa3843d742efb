#include "runtime/base/quantity.h"

#include <ctype.h>
#include <stddef.h>
#include <strings.h>

/* Digits behind the point: few enough that the part times the largest unit
 * stays below 2^64. */
enum { DIGITS_MAX = 6 };

static const uint64_t value_max = UINT64_MAX >> 1;

/* A number with a point, and the unit's name behind it. */
typedef struct amount {
    uint64_t whole;
    uint64_t part, scale; /* the fraction is part / scale */
    const char *unit;
} amount_t;

/* 0: `text` does not begin with a number, or the number is too long. */
static int amount_read(const char *text, amount_t *amount_out)
{
    amount_t amount = {.scale = 1};
    unsigned digits = 0;

    if (!isdigit((unsigned char)*text))
        return 0;
    for (; isdigit((unsigned char)*text); text++) {
        if (amount.whole > (value_max - 9) / 10)
            return 0;
        amount.whole = 10 * amount.whole + (uint64_t)(*text - '0');
    }
    if (*text == '.')
        for (text++; isdigit((unsigned char)*text); text++, digits++) {
            amount.part = 10 * amount.part + (uint64_t)(*text - '0');
            amount.scale *= 10;
            if (digits == DIGITS_MAX)
                return 0;
        }
    if (amount.scale == 1 && text[-1] == '.')
        return 0;
    while (*text == ' ' && text[1] != '\0')
        text++;
    amount.unit = text;
    *amount_out = amount;
    return 1;
}

/* 0: the product is too large, or an amount above 0 becomes 0. */
static int amount_times(const amount_t *amount, uint64_t unit,
                        uint64_t *value_out)
{
    uint64_t value;

    if (amount->whole > value_max / unit)
        return 0;
    value = amount->whole * unit + amount->part * unit / amount->scale;
    if (value > value_max || (value == 0 && amount->part != 0))
        return 0;
    *value_out = value;
    return 1;
}

/* The bits that a unit of bytes shifts by; 64: `unit` is no unit. */
static unsigned shift_of(const char *unit)
{
    static const char letters[] = "KMGT";
    unsigned i = 0;

    if (*unit == '\0' || strcasecmp(unit, "B") == 0)
        return 0;
    while (letters[i] != '\0' && toupper((unsigned char)*unit) != letters[i])
        i++;
    unit++;
    if (letters[i] == '\0' || (*unit != '\0' && strcasecmp(unit, "B") != 0 &&
                               strcasecmp(unit, "iB") != 0))
        return 64;
    return 10 * (i + 1);
}

int xyl_bytes_read(const char *text, uint64_t *bytes_out)
{
    amount_t amount;
    unsigned shift;

    if (!amount_read(text, &amount))
        return 0;
    shift = shift_of(amount.unit);
    if (shift == 64 || (shift == 0 && amount.scale != 1))
        return 0;
    return amount_times(&amount, UINT64_C(1) << shift, bytes_out);
}

int xyl_time_read(const char *text, uint64_t unit_ns, uint64_t *ns_out)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", XYL_NS}, {"us", XYL_US},   {"ms", XYL_MS},
                 {"s", XYL_S},   {"min", XYL_MIN}, {"h", 60 * XYL_MIN}};
    amount_t amount;
    size_t i;

    if (!amount_read(text, &amount))
        return 0;
    if (*amount.unit == '\0')
        return amount_times(&amount, unit_ns, ns_out);
    for (i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcasecmp(amount.unit, units[i].name) == 0)
            return amount_times(&amount, units[i].ns, ns_out);
    return 0;
}
