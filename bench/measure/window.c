#include "bench/measure/window.h"

#include <stdlib.h>

enum { WINDOW_MAX = 64 };

/* Reads a decimal number of min ... max and then `stop`; returns the rest, or
 * NULL. */
static const char *number_parse(const char *text, uint32_t min, uint32_t max,
                                char stop, uint32_t *value_out)
{
    unsigned long value;
    char *end;

    if (*text < '0' || *text > '9')
        return NULL;
    value = strtoul(text, &end, 10);
    if (*end != stop || value < min || value > max)
        return NULL;
    *value_out = (uint32_t)value;
    return end + (stop != '\0');
}

int window_parse(const char *text, struct bench_tuning *tuning)
{
    uint32_t send;
    uint32_t recv;

    text = number_parse(text, 1, WINDOW_MAX, ',', &send);
    if (text == NULL ||
        number_parse(text, send, WINDOW_MAX, '\0', &recv) == NULL)
        return 0;
    tuning->send_window = send;
    tuning->recv_window = recv;
    return 1;
}
