#include "runtime/base/decimal.h"

locale_t xyl_decimal_begin(void)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    return plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
}

void xyl_decimal_end(locale_t before)
{
    if (before != (locale_t)0)
        freelocale(uselocale(before));
}
