/* Numbers in files that programs read. */
#pragma once

#include <locale.h>

/* Between these two calls this thread writes and reads numbers with a decimal
 * point, whatever locale the program has chosen. `before` is the result of
 * xyl_decimal_begin. */
locale_t xyl_decimal_begin(void);
void xyl_decimal_end(locale_t before);
