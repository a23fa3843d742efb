/* Tables. No state; any thread. */
#include "bench/common/table.h"

#include <assert.h>
#include <string.h>

enum { CELL_BYTES_MAX = 64, CELL_WIDTH_MIN = 10, CELL_GAP = 2 };

void table_begin(struct table *table, FILE *out, enum table_format format,
                 const char *const *titles, unsigned columns, int first_width)
{
    unsigned i;

    assert(columns > 0 && columns <= TABLE_COLUMNS_MAX);
    *table = (struct table){.out = out, .format = format, .columns = columns};
    for (i = 0; i < columns; i++) {
        int length = (int)strlen(titles[i]);
        int least = i == 0 ? first_width : CELL_WIDTH_MIN;

        table->widths[i] = length > least ? length : least;
    }
    for (i = 0; i < columns; i++)
        table_text(table, titles[i]);
}

static void value_print(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void table_text(struct table *table, const char *text)
{
    unsigned column = table->column;

    if (table->format == TABLE_CSV) {
        if (column > 0)
            fputc(',', table->out);
        value_print(table->out, text);
    } else if (column == 0) {
        fprintf(table->out, "%-*s", table->widths[0], text);
    } else {
        fprintf(table->out, "%*s%*s", CELL_GAP, "", table->widths[column],
                text);
    }
    table->column = column + 1;
    if (table->column < table->columns)
        return;
    table->column = 0;
    fputc('\n', table->out);
    fflush(table->out);
}

void table_count(struct table *table, uint64_t value)
{
    char text[CELL_BYTES_MAX];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    table_text(table, text);
}

void table_real(struct table *table, double value, int digits)
{
    char text[CELL_BYTES_MAX];

    snprintf(text, sizeof text, "%.*f", digits, value);
    table_text(table, text);
}

void table_signed(struct table *table, double value, int digits,
                  const char *unit)
{
    char text[CELL_BYTES_MAX];

    snprintf(text, sizeof text, "%+.*f%s", digits, value, unit);
    table_text(table, text);
}

/* Ends a cell at its comma. Returns the next cell; NULL: it was the last. */
static char *cell_split(char *cell)
{
    char *from = cell, *to = cell;
    int is_quoted = 0, is_last;

    for (; *from != '\0' && (is_quoted || *from != ','); from++) {
        if (*from != '"') {
            *to++ = *from;
        } else if (is_quoted && from[1] == '"') {
            *to++ = '"';
            from++;
        } else {
            is_quoted = !is_quoted;
        }
    }
    is_last = *from == '\0'; /* which the end of the text may be written over */
    *to = '\0';
    return is_last ? NULL : from + 1;
}

unsigned table_row_split(char *line, char **cells, unsigned capacity)
{
    unsigned count = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (; line != NULL; line = cell_split(line)) {
        if (count < capacity)
            cells[count] = line;
        count++;
    }
    return count;
}
