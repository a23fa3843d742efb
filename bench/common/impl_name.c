/* Names of implementations. */
#include "bench/common/impl_name.h"

#include <string.h>

static const char older[] = "event";
_Static_assert(sizeof older == sizeof IMPL_XYLEM, "one in place of the other");

static const struct own_design {
    const char *name, *label;
} own_designs[] = {{"waitall", "waitall (own design)"},
                   {"blocking", "blocking (own design)"}};

static int is_older(const char *text, size_t length)
{
    return length == sizeof older - 1 && memcmp(text, older, length) == 0;
}

int impl_name_is(const char *name, const char *text, size_t length)
{
    return (strlen(name) == length && memcmp(name, text, length) == 0) ||
           (strcmp(name, IMPL_XYLEM) == 0 && is_older(text, length));
}

void impl_name_renew(char *text, size_t length)
{
    if (is_older(text, length))
        memcpy(text, IMPL_XYLEM, length);
}

const char *impl_label(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof own_designs / sizeof own_designs[0]; i++)
        if (strcmp(own_designs[i].name, name) == 0)
            return own_designs[i].label;
    return name;
}

void impl_note(FILE *out, const char *const *names, size_t count)
{
    size_t i, marked = 0;

    for (i = 0; i < count; i++)
        if (impl_label(names[i]) != names[i])
            fprintf(out, "%s%s", marked++ > 0 ? ", " : "", names[i]);
    if (marked > 0)
        fputs(": xylem's own designs of what others do\n", out);
}
