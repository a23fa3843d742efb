/* Files of results. One thread. */
#include "bench/common/results.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/common/impl_name.h"

extern char **environ;

enum { SETTINGS_MAX = 256, BLOCK_BYTES = 1 << 16 };

/* ---- words ---- */

static int complain(const char *program, const char *path, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program, path, why);
    return 0;
}

static int write_fails(const char *program, const char *path)
{
    fprintf(stderr, "%s: cannot write %s: %s\n", program, path,
            strerror(errno));
    return 0;
}

/* ---- what was there ---- */

/* All bytes of an open file, with a zero byte behind them; NULL with errno. */
static char *bytes_read(int file, size_t *bytes_out)
{
    size_t room = BLOCK_BYTES, bytes = 0;
    char *text = malloc(room + 1), *larger;
    ssize_t count = 1;

    while (text != NULL && count > 0) {
        if (bytes == room) {
            larger = realloc(text, 2 * room + 1);
            if (larger == NULL)
                break;
            text = larger;
            room *= 2;
        }
        count = pread(file, text + bytes, room - bytes, (off_t)bytes);
        if (count < 0 && errno == EINTR)
            count = 1;
        else if (count > 0)
            bytes += (size_t)count;
    }
    if (text == NULL || count != 0) {
        free(text);
        return NULL;
    }
    text[bytes] = '\0';
    *bytes_out = bytes;
    return text;
}

/* How many cells a row has; a quoted cell may hold a comma. */
static unsigned cells_count(const char *row)
{
    unsigned count = 1;
    int is_quoted = 0;

    for (; *row != '\0'; row++) {
        is_quoted ^= *row == '"';
        count += !is_quoted && *row == ',';
    }
    return count;
}

/* The line of the titles; NULL without memory. */
static char *titles_line(const char *const *titles, unsigned columns)
{
    struct table table;
    char *line = NULL;
    size_t bytes;
    FILE *out = open_memstream(&line, &bytes);

    if (out == NULL)
        return NULL;
    table_begin(&table, out, TABLE_CSV, titles, columns, 0);
    if (fclose(out) == 0)
        return line;
    free(line);
    return NULL;
}

static int row_compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Ends each line of `text` at its end. 0: there is no memory. */
static int rows_split(struct results *results, char *text)
{
    size_t count = 0, i;
    char *c;

    for (c = text; *c != '\0'; c++)
        count += *c == '\n';
    results->rows = calloc(count + 1, sizeof *results->rows);
    results->sorted = calloc(count + 1, sizeof *results->sorted);
    if (results->rows == NULL || results->sorted == NULL)
        return 0;
    for (i = 0; i < count; i++) {
        size_t length = strcspn(text, "\n");

        results->rows[i] = text;
        results->sorted[i] = text;
        text[length] = '\0';
        if (length > 0 && text[length - 1] == '\r')
            text[length - 1] = '\0';
        text += length + 1;
    }
    results->rows_count = count;
    return 1;
}

/* The offset of the cell at `column`; the row's end if it has fewer cells. */
static size_t cell_at(const char *row, unsigned column)
{
    const char *c;
    int is_quoted = 0;

    for (c = row; column > 0 && *c != '\0'; c++) {
        is_quoted ^= *c == '"';
        column -= !is_quoted && *c == ',';
    }
    return (size_t)(c - row);
}

/* Gives the library its name of today in the column "impl" of all rows from
 * `first` on. */
static void names_renew(struct results *results, const char *titles,
                        size_t first)
{
    static const char impl[] = "impl";
    size_t length = sizeof impl - 1, i;
    unsigned column = 0;
    const char *cell;

    for (cell = titles; *cell != '\0';
         cell = titles + cell_at(titles, ++column))
        if (strcspn(cell, ",\r\n") == length && memcmp(cell, impl, length) == 0)
            break;
    for (i = first; i < results->rows_count; i++) {
        char *name = results->rows[i] + cell_at(results->rows[i], column);

        impl_name_renew(name, strcspn(name, ","));
    }
}

/* Mends a last line without an end: removes a row that was cut off, ends a row
 * that is whole. 0 with errno. */
static int tail_mend(struct results *results, size_t bytes, unsigned columns)
{
    char *last = strrchr(results->text, '\n');

    if (last == NULL || last[1] == '\0')
        return 1;
    if (cells_count(last + 1) == columns)
        return write(results->file, "\n", 1) == 1;
    fprintf(stderr, "%s: %s: the last row was cut off, and is taken away\n",
            results->program, results->path);
    bytes = (size_t)(last + 1 - results->text);
    last[1] = '\0';
    return ftruncate(results->file, (off_t)bytes) == 0;
}

/* Takes the rows of the file. Returns NULL, or why it could not; "": errno says
 * why. */
static const char *content_take(struct results *results, const char *line,
                                unsigned columns, enum results_way way)
{
    size_t bytes = 0, titles = strlen(line);

    results->text = bytes_read(results->file, &bytes);
    if (results->text == NULL)
        return "";
    if (bytes == 0)
        return write(results->file, line, titles) == (ssize_t)titles ? NULL
                                                                     : "";
    if (strlen(results->text) != bytes ||
        strncmp(results->text, line, titles) != 0)
        return "has other columns than those that would be written; it is "
               "left as it is: name another file";
    if (way == RESULTS_NEW && bytes > titles)
        return "has results of before; it is left as it is: --resume adds to "
               "them, or name another file";
    if (!tail_mend(results, bytes, columns))
        return "";
    if (results->text[0] != '\0') {
        if (!rows_split(results, results->text + titles))
            return "";
        names_renew(results, line, 0);
        qsort(results->sorted, results->rows_count, sizeof *results->sorted,
              row_compare);
    }
    return NULL;
}

/* ---- open ---- */

/* Locks the file against other processes; children of this process do not have
 * the lock. 0: another process has it. */
static int file_lock(int file)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(file, F_SETLK, &lock) == 0 ||
           (errno != EACCES && errno != EAGAIN);
}

static int is_regular(int file)
{
    struct stat status;

    return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

static void memory_free(struct results *results)
{
    if (results->table.out != NULL)
        fclose(results->table.out);
    free(results->batch);
    free(results->rows);
    free(results->sorted);
    free(results->text);
    results->table.out = NULL;
    results->batch = results->text = NULL;
    results->rows = results->sorted = NULL;
    results->rows_count = 0;
}

/* NULL; or why not: "" is errno. */
static const char *file_take(struct results *results, const char *const *titles,
                             unsigned columns, enum results_way way)
{
    const char *why = NULL;
    char *line = titles_line(titles, columns);
    FILE *out;

    if (line == NULL)
        return "";
    if (!is_regular(results->file))
        why = write(results->file, line, strlen(line)) > 0 ? NULL : "";
    else if (!file_lock(results->file))
        why = "another process is writing it";
    else
        why = content_take(results, line, columns, way);
    free(line);
    if (why != NULL)
        return why;
    out = open_memstream(&results->batch, &results->batch_bytes);
    if (out == NULL)
        return "";
    results->table =
        (struct table){.out = out, .format = TABLE_CSV, .columns = columns};
    return NULL;
}

int results_open(struct results *results, const char *program, const char *path,
                 const char *const *titles, unsigned columns,
                 enum results_way way)
{
    const char *why;
    int error;

    *results = (struct results){.program = program, .file = -1};
    if (strlen(path) >= sizeof results->path)
        return complain(program, path, "the name is too long");
    snprintf(results->path, sizeof results->path, "%s", path);
    results->file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (results->file < 0) /* a pipe, or a file that can only be written */
        results->file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (results->file < 0)
        return write_fails(program, path);
    why = file_take(results, titles, columns, way);
    if (why == NULL)
        return 1;
    error = errno;
    close(results->file);
    results->file = -1;
    memory_free(results);
    errno = error;
    return *why == '\0' ? write_fails(program, path)
                        : complain(program, path, why);
}

/* ---- rows ---- */

/* The cells of a row, for `take`; a row that has others is passed over. */
static int row_give(const char *row, unsigned columns, results_take_fn take,
                    void *arg)
{
    char *cells[TABLE_COLUMNS_MAX], *copy = strdup(row);

    if (copy == NULL)
        return 0;
    if (table_row_split(copy, cells, columns) == columns)
        take(arg, cells);
    free(copy);
    return 1;
}

void results_each(const struct results *results, results_take_fn take,
                  void *arg)
{
    size_t i;

    for (i = 0; i < results->rows_count; i++)
        (void)row_give(results->rows[i], results->table.columns, take, arg);
}

/* Takes rows out of the batch that were there. */
static size_t batch_reduce(const struct results *results, char *batch,
                           size_t bytes)
{
    char *from = batch, *to = batch, *end = batch + bytes;

    while (from < end) {
        size_t length = strcspn(from, "\n");

        from[length] = '\0';
        if (results->rows_count == 0 ||
            bsearch(&from, results->sorted, results->rows_count,
                    sizeof *results->sorted, row_compare) == NULL) {
            memmove(to, from, length);
            to[length] = '\n';
            to += length + 1;
        }
        from += length + 1;
    }
    return (size_t)(to - batch);
}

static int bytes_write(int file, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t count = write(file, text, bytes);

        if (count < 0 && errno != EINTR)
            return 0;
        if (count > 0) {
            text += count;
            bytes -= (size_t)count;
        }
    }
    return 1;
}

int results_commit(struct results *results, int once)
{
    FILE *out = results->table.out;
    size_t bytes;
    int ok;

    assert(results->table.column == 0); /* whole rows */
    ok = fflush(out) == 0 && !ferror(out);
    bytes = results->batch_bytes;
    if (ok && once && bytes > 0)
        bytes = batch_reduce(results, results->batch, bytes);
    ok = ok && bytes_write(results->file, results->batch, bytes);
    rewind(out);
    if (!ok && !results->has_failed)
        fprintf(stderr, "%s: could not write all of %s: %s\n", results->program,
                results->path, strerror(errno));
    results->has_failed |= !ok;
    return ok;
}

int results_close(struct results *results)
{
    if (results->file < 0)
        return 1;
    (void)results_commit(results, 0);
    if (close(results->file) != 0 && !results->has_failed)
        results->has_failed = !write_fails(results->program, results->path);
    results->file = -1;
    memory_free(results);
    return !results->has_failed;
}

/* A reader of columns by their names. */
struct reader {
    unsigned columns, count; /* columns of the file, and wanted ones */
    unsigned place[TABLE_COLUMNS_MAX]; /* of wanted ones; `columns`: none */
    results_take_fn take;
    void *arg;
};

static void reader_take(void *arg, char *const *cells)
{
    static char nothing[] = "";
    const struct reader *reader = arg;
    char *asked[TABLE_COLUMNS_MAX];
    unsigned i;

    for (i = 0; i < reader->count; i++)
        asked[i] = reader->place[i] < reader->columns ? cells[reader->place[i]]
                                                      : nothing;
    reader->take(reader->arg, asked);
}

/* Finds the column of each name. 0: the file lacks a required one. */
static int reader_place(struct reader *reader, struct results *results,
                        const char *const *names, unsigned needed)
{
    char *titles[TABLE_COLUMNS_MAX];
    unsigned i, k;

    names_renew(results, results->rows[0], 1);
    reader->columns =
        table_row_split(results->rows[0], titles, TABLE_COLUMNS_MAX);
    if (reader->columns > TABLE_COLUMNS_MAX)
        return 0;
    for (i = 0; i < reader->count; i++) {
        for (k = 0; k < reader->columns && strcmp(titles[k], names[i]) != 0;)
            k++;
        if (k == reader->columns && i < needed)
            return 0;
        reader->place[i] = k;
    }
    return 1;
}

int results_read(const char *path, const char *const *names, unsigned count,
                 unsigned needed, results_take_fn take, void *arg,
                 const char **why)
{
    struct results results = {.file = open(path, O_RDONLY | O_CLOEXEC)};
    struct reader reader = {.count = count, .take = take, .arg = arg};
    size_t bytes, i;

    *why = NULL;
    if (results.file < 0 ||
        (results.text = bytes_read(results.file, &bytes)) == NULL)
        *why = strerror(errno);
    else if (!rows_split(&results, results.text))
        *why = "out of memory";
    else if (results.rows_count == 0 ||
             !reader_place(&reader, &results, names, needed))
        *why = "has not the columns that are expected";
    for (i = 1; *why == NULL && i < results.rows_count; i++)
        (void)row_give(results.rows[i], reader.columns, reader_take, &reader);
    memory_free(&results);
    if (results.file >= 0)
        close(results.file);
    return *why == NULL;
}

/* ---- parameters ---- */

void results_settings(char text[RESULTS_SETTINGS_BYTES])
{
    static const char *const heads[] = {"XYLEM_", "UCX_"};
    char *found[SETTINGS_MAX], **entry;
    size_t count = 0, used = 0, i;

    for (entry = environ; *entry != NULL && count < SETTINGS_MAX; entry++)
        for (i = 0; i < sizeof heads / sizeof heads[0]; i++)
            if (strncmp(*entry, heads[i], strlen(heads[i])) == 0)
                found[count++] = *entry;
    qsort(found, count, sizeof *found, row_compare);
    text[0] = '\0';
    for (i = 0; i < count; i++) {
        size_t length = strcspn(found[i], "\r\n");

        if (used + length + 2 > RESULTS_SETTINGS_BYTES)
            break;
        used += (size_t)snprintf(text + used, RESULTS_SETTINGS_BYTES - used,
                                 "%s%.*s", used > 0 ? " " : "", (int)length,
                                 found[i]);
    }
}

/* ---- files that are written whole ---- */

/* 1: the file contains `mark`. */
static int has_mark(int file, const char *mark)
{
    size_t bytes, length = strlen(mark), i;
    char *text = bytes_read(file, &bytes);
    int found = 0;

    for (i = 0; text != NULL && !found && i + length <= bytes; i++)
        found = memcmp(text + i, mark, length) == 0;
    free(text);
    return found;
}

int results_may_replace(const char *program, const char *path, const char *mark)
{
    struct stat status;
    int file, may;

    if (stat(path, &status) != 0)
        return errno == ENOENT || write_fails(program, path);
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return 1;
    file = open(path, O_RDONLY | O_CLOEXEC);
    may = file >= 0 && mark != NULL && has_mark(file, mark);
    if (file >= 0)
        close(file);
    return may || complain(program, path,
                           mark == NULL
                               ? "is there already, and is left as it is: name "
                                 "another, or take it away"
                               : "is there already, is not of this program's "
                                 "making, and is left as it is: name another, "
                                 "or take it away");
}

void results_part(const char *path, char part[RESULTS_PATH_BYTES])
{
    snprintf(part, RESULTS_PATH_BYTES, "%.*s.part",
             RESULTS_PATH_BYTES - (int)sizeof ".part", path);
}

int results_place(const char *program, const char *part, const char *path)
{
    if (rename(part, path) == 0)
        return 1;
    (void)write_fails(program, path);
    unlink(part);
    return 0;
}

FILE *results_part_open(const char *program, const char *path,
                        char part[RESULTS_PATH_BYTES])
{
    FILE *out = NULL;
    int file;

    snprintf(part, RESULTS_PATH_BYTES, "%.*s.%ld.part", RESULTS_PATH_BYTES - 32,
             path, (long)getpid());
    file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file >= 0) {
        (void)file_lock(file);
        out = fdopen(file, "w");
    }
    if (out == NULL) {
        (void)write_fails(program, part);
        if (file >= 0)
            close(file);
    }
    return out;
}

/* "x.csv.1234.part" */
static int is_part(const char *name)
{
    const char *end = strrchr(name, '.'), *number = end;

    if (end == NULL || strcmp(end, ".part") != 0)
        return 0;
    while (number > name && number[-1] >= '0' && number[-1] <= '9')
        number--;
    return number < end && number > name && number[-1] == '.';
}

void results_parts_sweep(const char *folder)
{
    char path[RESULTS_PATH_BYTES];
    DIR *all = opendir(folder);
    struct dirent *entry;
    int file;

    while (all != NULL && (entry = readdir(all)) != NULL) {
        if (!is_part(entry->d_name) ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >=
                (int)sizeof path)
            continue;
        file = open(path, O_WRONLY | O_CLOEXEC);
        if (file < 0)
            continue;
        if (file_lock(file))
            unlink(path);
        close(file);
    }
    if (all != NULL)
        closedir(all);
}
