#include "runtime/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY_BYTES = 64 };

static const char *read_stream(FILE *file, size_t bytes_max, char *text,
                               size_t *bytes_out)
{
    static _Thread_local char why[WHY_BYTES];

    errno = 0;
    *bytes_out = fread(text, 1, bytes_max, file);
    if (ferror(file))
        return strerror(errno);
    if (*bytes_out < bytes_max) {
        text[*bytes_out] = '\0';
        return NULL;
    }
    snprintf(why, sizeof why, "is longer than %zu bytes", bytes_max - 1);
    return why;
}

const char *xyl_file_read(const char *path, size_t bytes_max, char **text_out,
                          size_t *bytes_out)
{
    FILE *file = fopen(path, "re");
    const char *why;
    char *text;

    if (file == NULL)
        return strerror(errno);
    text = malloc(bytes_max); /* untouched pages take no memory */
    why = text == NULL ? "no memory"
                       : read_stream(file, bytes_max, text, bytes_out);
    fclose(file);
    if (why != NULL)
        free(text);
    else
        *text_out = text;
    return why;
}

uint64_t xyl_hash(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t value = seed;
    size_t i;

    for (i = 0; i < bytes; i++)
        value = (value ^ at[i]) * UINT64_C(0x100000001b3);
    return value;
}
