/* A cell is a collective of an implementation and a size under a kind of noise.
 * Campaigns have some thousand at most, so that each is looked for in all. */
#include "bench/noise/cells.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/results.h"
#include "bench/noise/columns.h"
#include "bench/noise/statistics.h"

enum { NAME_BYTES = 256, KEY_BYTES = 4096, CELLS_AT_FIRST = 64 };

struct cell {
    char name[NAME_BYTES];
    char key[KEY_BYTES]; /* the name and all parameters */
    double us, low_us, high_us;
};

struct cells {
    struct cell *list;
    size_t count, room;
    int has_failed; /* there was no memory */
};

static void row_pass(void *arg, char *const *cells)
{
    (void)arg;
    (void)cells;
}

int cells_is_campaign(const char *path)
{
    const char *why;

    return results_read(path, csv_titles, 1, 1, row_pass, NULL, &why);
}

/* Room for one more. NULL: there is no memory. */
static struct cell *cell_new(struct cells *cells)
{
    if (cells->count == cells->room) {
        size_t room = cells->room > 0 ? 2 * cells->room : CELLS_AT_FIRST;
        void *list = realloc(cells->list, room * sizeof *cells->list);

        if (list == NULL)
            return NULL;
        cells->list = list;
        cells->room = room;
    }
    return &cells->list[cells->count];
}

static void key_write(char *const *row, const char *name, char key[KEY_BYTES])
{
    size_t used = (size_t)snprintf(key, KEY_BYTES, "%s", name), i;

    for (i = CSV_PARAMETER_FIRST; i < CSV_COLUMNS && used < KEY_BYTES; i++)
        used += (size_t)snprintf(key + used, KEY_BYTES - used, ",%s", row[i]);
}

/* A median with an interval. The last one of a cell holds, which is of the most
 * rounds. */
static void row_take(void *arg, char *const *row)
{
    struct cells *cells = arg;
    struct cell *cell = cell_new(cells);
    size_t i;

    if (strcmp(row[CSV_ROUND], "median") != 0 || *row[CSV_LOW_US] == '\0')
        return;
    if (cell == NULL) {
        cells->has_failed = 1;
        return;
    }
    snprintf(cell->name, sizeof cell->name, "%s %s %s, %s ranks, %s",
             row[CSV_IMPL], row[CSV_COLL], row[CSV_BYTES], row[CSV_RANKS],
             row[CSV_NOISE]);
    key_write(row, cell->name, cell->key);
    cell->us = strtod(row[CSV_TIME_US], NULL);
    cell->low_us = strtod(row[CSV_LOW_US], NULL);
    cell->high_us = strtod(row[CSV_HIGH_US], NULL);
    for (i = 0; i < cells->count; i++)
        if (strcmp(cells->list[i].key, cell->key) == 0) {
            cells->list[i] = *cell;
            return;
        }
    cells->count++;
}

/* 0: `program` has printed why not. */
static int cells_load(const char *program, const char *path,
                      struct cells *cells)
{
    const char *why = NULL;

    if (!results_read(path, csv_titles, CSV_COLUMNS, CSV_FLOOR_US, row_take,
                      cells, &why))
        fprintf(stderr, "%s: %s is not of a campaign: %s\n", program, path,
                why);
    else if (cells->has_failed)
        fprintf(stderr, "%s: out of memory\n", program);
    else if (cells->count == 0)
        fprintf(stderr,
                "%s: %s has no medians: go on with it until it ends "
                "(--resume)\n",
                program, path);
    return why == NULL && !cells->has_failed && cells->count > 0;
}

static size_t name_count(const struct cells *cells, const char *name)
{
    size_t count = 0, i;

    for (i = 0; i < cells->count; i++)
        count += strcmp(cells->list[i].name, name) == 0;
    return count;
}

/* The same cell in another campaign: with equal parameters, or, as campaigns
 * may differ in these, the only one of its name in both. NULL: there is none.
 */
static const struct cell *cells_find(const struct cells *others,
                                     const struct cells *cells,
                                     const struct cell *cell)
{
    const struct cell *named = NULL;
    size_t i;

    for (i = 0; i < others->count; i++) {
        if (strcmp(others->list[i].key, cell->key) == 0)
            return &others->list[i];
        if (strcmp(others->list[i].name, cell->name) == 0)
            named = &others->list[i];
    }
    return name_count(others, cell->name) == 1 &&
                   name_count(cells, cell->name) == 1
               ? named
               : NULL;
}

/* The width of the interval in percent of the median. */
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
        const struct cell *twin = cells_find(others, cells, cell);

        if (twin == NULL) {
            found->single++;
            continue;
        }
        widths[compared++] = width_of(cell);
        widths[compared++] = width_of(twin);
        cell_compare(cell, twin, out, found);
    }
    for (i = 0; i < others->count; i++)
        found->single += cells_find(cells, others, &others->list[i]) == NULL;
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
