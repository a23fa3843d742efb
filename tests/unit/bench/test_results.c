/* Files of results: rows stay, whatever happens; other files stay as they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/impl_name.h"
#include "bench/common/results.h"
#include "tests/support/check.h"

#define HEAD "name,value\n"

static const char *const titles[] = {"name", "value"};

enum { TEXT_BYTES = 512, SEEN_BYTES = 64, PATH_BYTES = 32 };

static void file_write(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    CHECK(out != NULL);
    if (out == NULL)
        return;
    CHECK(fputs(text, out) >= 0);
    CHECK_EQ(fclose(out), 0);
}

static int has(const char *path, const char *wanted)
{
    char text[TEXT_BYTES] = "";
    FILE *in = fopen(path, "r");
    size_t bytes = in != NULL ? fread(text, 1, sizeof text - 1, in) : 0;

    if (in != NULL)
        fclose(in);
    return bytes == strlen(wanted) && memcmp(text, wanted, bytes) == 0;
}

static void path_make(char path[PATH_BYTES])
{
    int file;

    snprintf(path, PATH_BYTES, "/tmp/xylem-results-XXXXXX");
    file = mkstemp(path);
    CHECK(file >= 0);
    close(file);
}

static int open_as(struct results *results, const char *path,
                   enum results_way way)
{
    return results_open(results, "test", path, titles, 2, way);
}

static void row_add(struct results *results, const char *name, unsigned value)
{
    table_text(&results->table, name);
    table_count(&results->table, value);
}

static void row_join(void *arg, char *const *cells)
{
    char *text = arg;
    size_t used = strlen(text);

    snprintf(text + used, SEEN_BYTES - used, "%s%s ", cells[0], cells[1]);
}

static void test_added(void)
{
    char path[PATH_BYTES], seen[SEEN_BYTES] = "";
    struct results results;

    path_make(path);
    CHECK(open_as(&results, path, RESULTS_NEW));
    row_add(&results, "a,b", 1);
    CHECK(has(path, HEAD)); /* not before it is committed */
    CHECK(results_commit(&results, 0));
    CHECK(has(path, HEAD "\"a,b\",1\n"));
    CHECK(results_close(&results));
    CHECK(!open_as(&results, path, RESULTS_NEW));
    CHECK(open_as(&results, path, RESULTS_ADD));
    results_each(&results, row_join, seen);
    CHECK(strcmp(seen, "a,b1 ") == 0);
    row_add(&results, "a,b", 1);
    row_add(&results, "c", 2);
    CHECK(results_commit(&results, 1)); /* without rows that were there */
    row_add(&results, "a,b", 1);
    CHECK(results_close(&results));
    CHECK(has(path, HEAD "\"a,b\",1\nc,2\n\"a,b\",1\n"));
    unlink(path);
}

static void test_refused(void)
{
    static const char *const others[] = {"mine", "name,other\na,1\n",
                                         "name,value,more\n", "name,value"};
    struct results results;
    char path[PATH_BYTES];
    size_t i;

    path_make(path);
    for (i = 0; i < sizeof others / sizeof others[0]; i++) {
        file_write(path, others[i]);
        CHECK(!open_as(&results, path, RESULTS_NEW));
        CHECK(!open_as(&results, path, RESULTS_ADD));
        CHECK(has(path, others[i]));
        CHECK(results_close(&results)); /* none is open */
    }
    unlink(path);
    CHECK(!open_as(&results, "/nonexistent/a", RESULTS_NEW));
}

static void test_cut_off(void)
{
    struct results results;
    char path[PATH_BYTES];

    path_make(path);
    file_write(path, HEAD "a,1\nb");
    CHECK(open_as(&results, path, RESULTS_ADD));
    CHECK(results_close(&results));
    CHECK(has(path, HEAD "a,1\n"));
    file_write(path, HEAD "a,1\nb,2"); /* whole, without its end */
    CHECK(open_as(&results, path, RESULTS_ADD));
    row_add(&results, "c", 3);
    CHECK(results_close(&results));
    CHECK(has(path, HEAD "a,1\nb,2\nc,3\n"));
    unlink(path);
}

static void test_read(void)
{
    static const char *const names[] = {"value", "none"};
    char path[PATH_BYTES], seen[SEEN_BYTES] = "";
    const char *why;

    path_make(path);
    file_write(path, HEAD "a,1\nshort\nb,2\n");
    CHECK(results_read(path, names, 2, 1, row_join, seen, &why));
    CHECK(strcmp(seen, "1 2 ") == 0);
    CHECK(!results_read(path, names, 2, 2, row_join, seen, &why));
    CHECK(!results_read("/nonexistent", names, 1, 1, row_join, seen, &why));
    unlink(path);
}

/* Files of before have another name of the library. */
static void test_older_name(void)
{
    static const char *const other[] = {"noise", "us", "impl"};
    static const char file[] = "noise,us,impl\n\"a,event\",1,event\n"
                               "event,2,mpich\nb,3,events\n";
    char path[PATH_BYTES], seen[SEEN_BYTES] = "";
    struct results results;
    const char *why;

    path_make(path);
    file_write(path, file);
    CHECK(results_open(&results, "test", path, other, 3, RESULTS_ADD));
    results_each(&results, row_join, seen);
    CHECK(strcmp(seen, "a,event1 event2 b3 ") == 0);
    table_text(&results.table, "a,event");
    table_count(&results.table, 1);
    table_text(&results.table, "xylem");
    CHECK(results_commit(&results, 1)); /* is there, under the older name */
    CHECK(results_close(&results));
    CHECK(has(path, file));
    seen[0] = '\0';
    CHECK(results_read(path, other + 1, 2, 2, row_join, seen, &why));
    CHECK(strcmp(seen, "1xylem 2mpich 3events ") == 0);
    unlink(path);
}

static void test_names(void)
{
    char text[] = "event,1";

    CHECK(impl_name_is(IMPL_XYLEM, "event", 5));
    CHECK(impl_name_is(IMPL_XYLEM, "xylem,mpich", 5));
    CHECK(!impl_name_is(IMPL_XYLEM, "xylem-mpich", 11));
    CHECK(!impl_name_is("mpich", "event", 5));
    impl_name_renew(text, 7);
    CHECK(strcmp(text, "event,1") == 0);
    impl_name_renew(text, 5);
    CHECK(strcmp(text, "xylem,1") == 0);
    CHECK(strcmp(impl_label("waitall"), "waitall (own design)") == 0);
    CHECK(strcmp(impl_label("mpich"), "mpich") == 0);
}

static void test_whole(void)
{
    char path[PATH_BYTES], part[RESULTS_PATH_BYTES];

    path_make(path);
    CHECK(results_may_replace("test", path, NULL)); /* empty */
    file_write(path, "some of ours");
    CHECK(results_may_replace("test", path, "ours"));
    CHECK(!results_may_replace("test", path, "theirs"));
    CHECK(!results_may_replace("test", path, NULL));
    results_part(path, part);
    file_write(part, "new");
    CHECK(results_place("test", part, path));
    CHECK(has(path, "new"));
    CHECK(access(part, F_OK) != 0);
    unlink(path);
    CHECK(results_may_replace("test", path, NULL));
}

/* Parts of dead processes are removed; a part that is being written stays. */
static void test_parts(void)
{
    char folder[] = "/tmp/xylem-results-XXXXXX", path[64], other[64];
    char part[RESULTS_PATH_BYTES];
    FILE *out;

    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/calls.csv", folder);
    snprintf(other, sizeof other, "%s/a.part", folder);
    file_write(other, "mine");
    out = results_part_open("test", path, part);
    CHECK(out != NULL);
    if (out != NULL)
        fclose(out);
    CHECK_EQ(access(part, F_OK), 0);
    results_parts_sweep(folder);
    CHECK(access(part, F_OK) != 0);
    CHECK_EQ(access(other, F_OK), 0);
    unlink(other);
    rmdir(folder);
}

static const check_case_t cases[] = {
    {"rows are added", test_added},
    {"other files are refused", test_refused},
    {"a row that was cut off", test_cut_off},
    {"columns by name", test_read},
    {"the library's older name", test_older_name},
    {"names", test_names},
    {"files that are written whole", test_whole},
    {"parts", test_parts},
};

CHECK_MAIN(cases)
