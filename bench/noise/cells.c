/* A cell is a collective of an implementation and a size under a kind of noise.
 * Campaigns have some thousand at most, so that each is looked for in all. */
#include "bench/noise/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/table.h"
#include "bench/noise/columns.h"
#include "bench/noise/statistics.h"

enum { LINE_BYTES = 1024, CELLS_AT_FIRST = 64 };

struct cell {
    char name[LINE_BYTES];
    double us, low_us, high_us;
};

struct cells {
    struct cell *list;
    size_t count, room;
};

int cells_is_campaign(const char *path)
{
    char line[LINE_BYTES], *titles[CSV_COLUMNS];
    FILE *in = fopen(path, "r");
    int is_one;

    if (in == NULL)
        return 0;
    is_one = fgets(line, sizeof line, in) != NULL &&
             table_row_split(line, titles, CSV_COLUMNS) == CSV_COLUMNS &&
             strcmp(titles[CSV_EXPERIMENT], "experiment") == 0;
    fclose(in);
    return is_one;
}

/* 0: there is no memory. */
static int cell_add(struct cells *cells, char *const *row)
{
    struct cell *cell;

    if (cells->count == cells->room) {
        size_t room = cells->room > 0 ? 2 * cells->room : CELLS_AT_FIRST;
        void *list = realloc(cells->list, room * sizeof *cells->list);

        if (list == NULL)
            return 0;
        cells->list = list;
        cells->room = room;
    }
    cell = &cells->list[cells->count++];
    snprintf(cell->name, sizeof cell->name, "%s %s %s, %s ranks, %s",
             row[CSV_IMPL], row[CSV_COLL], row[CSV_BYTES], row[CSV_RANKS],
             row[CSV_NOISE]);
    cell->us = strtod(row[CSV_TIME_US], NULL);
    cell->low_us = strtod(row[CSV_LOW_US], NULL);
    cell->high_us = strtod(row[CSV_HIGH_US], NULL);
    return 1;
}

/* Those with an interval. 0: it has said why not. */
static int cells_load(const char *program, const char *path,
                      struct cells *cells)
{
    char line[LINE_BYTES], *row[CSV_COLUMNS];
    const char *why = NULL;
    FILE *in = fopen(path, "r");

    if (in == NULL) {
        fprintf(stderr, "%s: cannot read %s: %s\n", program, path,
                strerror(errno));
        return 0;
    }
    while (why == NULL && fgets(line, sizeof line, in) != NULL) {
        if (table_row_split(line, row, CSV_COLUMNS) != CSV_COLUMNS)
            why = "is not of a campaign";
        else if (strcmp(row[CSV_ROUND], "median") == 0 &&
                 *row[CSV_LOW_US] != '\0' && !cell_add(cells, row))
            why = "is too long for the memory that there is";
    }
    fclose(in);
    if (why == NULL && cells->count == 0)
        why = "has no medians: go on with it until it ends (--resume)";
    if (why != NULL)
        fprintf(stderr, "%s: %s %s\n", program, path, why);
    return why == NULL;
}

static const struct cell *cells_find(const struct cells *cells,
                                     const char *name)
{
    size_t i;

    for (i = 0; i < cells->count; i++)
        if (strcmp(cells->list[i].name, name) == 0)
            return &cells->list[i];
    return NULL;
}

/* In percent of the median. */
static double width_of(const struct cell *cell)
{
    return cell->us > 0 ? 100 * (cell->high_us - cell->low_us) / cell->us : 0;
}

static void cell_compare(const struct cell *one, const struct cell *other,
                         FILE *out, struct cells_found *found)
{
    found->both++;
    if (one->low_us <= other->high_us && other->low_us <= one->high_us) {
        found->overlapping++;
        return;
    }
    fprintf(out, "apart: %s: %.2f us (%.2f to %.2f), %.2f us (%.2f to %.2f)\n",
            one->name, one->us, one->low_us, one->high_us, other->us,
            other->low_us, other->high_us);
}

/* Both have been loaded. 0: there is no memory. */
static int all_compare(const struct cells *cells, const struct cells *others,
                       FILE *out, struct cells_found *found)
{
    double *widths = calloc(2 * cells->count, sizeof *widths);
    size_t i, compared = 0;

    if (widths == NULL)
        return 0;
    for (i = 0; i < cells->count; i++) {
        const struct cell *cell = &cells->list[i];
        const struct cell *twin = cells_find(others, cell->name);

        if (twin == NULL) {
            found->single++;
            continue;
        }
        widths[compared++] = width_of(cell);
        widths[compared++] = width_of(twin);
        cell_compare(cell, twin, out, found);
    }
    for (i = 0; i < others->count; i++)
        found->single += cells_find(cells, others->list[i].name) == NULL;
    found->width_percent = statistics_of(widths, compared).median;
    free(widths);
    return 1;
}

int cells_compare(const char *program, const char *path, const char *other,
                  FILE *out, struct cells_found *found_out)
{
    struct cells cells = {0}, others = {0};
    int ok = cells_load(program, path, &cells) &&
             cells_load(program, other, &others);

    *found_out = (struct cells_found){0};
    if (ok && !all_compare(&cells, &others, out, found_out)) {
        fprintf(stderr, "%s: out of memory\n", program);
        ok = 0;
    }
    free(cells.list);
    free(others.list);
    return ok;
}
