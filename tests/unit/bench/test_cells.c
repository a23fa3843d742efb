/* Two campaigns beside each other, in files that are made up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/noise/cells.h"
#include "tests/support/check.h"

#define TITLES                                                                 \
    "experiment,impl,coll,bytes,ranks,round,noise,rank,time_us,delayed_us,"    \
    "injected_percent,low_us,high_us,floor_us,p50_us,p99_us,max_us,"           \
    "room_bytes\n"
#define MEDIAN(coll, noise, us, low, high)                                     \
    "noise,xylem," coll ",1024,2,median," noise ",all," us ",,0.0," low        \
    "," high ",1.0,,,,0\n"

enum { PATH_BYTES = 64, TEXT_BYTES = 4096 };

static const char program_name[] = "test_cells";

static void file_make(char *path, const char *text)
{
    int descriptor;
    FILE *out;

    strcpy(path, "/tmp/test_cells.XXXXXX");
    descriptor = mkstemp(path);
    out = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    CHECK(out != NULL);
    if (out == NULL)
        return;
    CHECK(fputs(text, out) >= 0);
    CHECK_EQ(fclose(out), 0);
}

/* Compares two files; the output goes to `printed`. */
static int files_compare(const char *one, const char *other, char *printed,
                         struct cells_found *found)
{
    char path[PATH_BYTES], other_path[PATH_BYTES];
    FILE *out = fmemopen(printed, TEXT_BYTES, "w");
    int done;

    file_make(path, one);
    file_make(other_path, other);
    done = out != NULL &&
           cells_compare(program_name, path, other_path, out, found);
    if (out != NULL)
        fclose(out);
    unlink(path);
    unlink(other_path);
    return done;
}

static void test_overlap(void)
{
    static const char one[] =
        TITLES "noise,xylem,bcast,1024,2,1,none,all,10.0,,0.0,,,,,,,0\n" MEDIAN(
            "bcast", "none", "10.0", "9.0", "11.0")
            MEDIAN("bcast", "\"uniform:10Hz,0-5ms\"", "20.0", "19.0", "21.0")
                MEDIAN("scan", "none", "10.0", "9.0", "11.0")
                    MEDIAN("reduce", "none", "10.0", "9.0", "11.0");
    static const char other[] =
        TITLES MEDIAN("scan", "none", "12.0", "11.0", "13.0")
            MEDIAN("bcast", "none", "10.0", "9.5", "10.5")
                MEDIAN("barrier", "none", "1.0", "1.0", "1.0") MEDIAN(
                    "bcast", "\"uniform:10Hz,0-5ms\"", "23.0", "22.0", "24.0");
    char printed[TEXT_BYTES] = "";
    struct cells_found found;

    CHECK(files_compare(one, other, printed, &found));
    CHECK_EQ(found.both, 3);
    CHECK_EQ(found.overlapping, 2);
    CHECK_EQ(found.single, 2);
    /* 20, 10; 10, 8.7; 20, 16.7: the upper one in the middle. */
    CHECK(found.width_percent > 16.6 && found.width_percent < 16.7);
    CHECK(strcmp(printed,
                 "apart: xylem bcast 1024, 2 ranks, uniform:10Hz,0-5ms: 20.00 "
                 "us (19.00 to 21.00), 23.00 us (22.00 to 24.00)\n") == 0);
}

/* Files of an interrupted campaign, or of another kind. */
static void test_refused(void)
{
    static const char whole[] =
        TITLES MEDIAN("bcast", "none", "10.0", "9.0", "11.0");
    static const char broken[] =
        TITLES "noise,xylem,bcast,1024,2,1,none,all,10.0,,0.0,,,,,,,0\n";
    char printed[TEXT_BYTES] = "";
    struct cells_found found;

    CHECK(!files_compare(whole, broken, printed, &found));
    CHECK(!files_compare(broken, whole, printed, &found));
    CHECK(!files_compare(whole, "10 20\nlength 100\n", printed, &found));
    CHECK(!files_compare(whole, "", printed, &found));
    CHECK(!cells_compare(program_name, "/nowhere", "/nowhere", stdout, &found));
}

static void test_many(void)
{
    enum { CELLS = 300 };
    char *text = malloc(sizeof TITLES + CELLS * 128), printed[TEXT_BYTES] = "";
    size_t length = 0;
    struct cells_found found;
    int i;

    CHECK(text != NULL);
    if (text == NULL)
        return;
    length += (size_t)sprintf(text, TITLES);
    for (i = 0; i < CELLS; i++)
        length += (size_t)sprintf(
            text + length, MEDIAN("bcast", "once:%dms", "1", "1", "2"), i);
    CHECK(files_compare(text, text, printed, &found));
    CHECK_EQ(found.both, CELLS);
    CHECK_EQ(found.overlapping, CELLS);
    CHECK_EQ(found.width_percent, 100);
    CHECK_EQ(found.single, 0);
    free(text);
}

static void test_titles(void)
{
    char path[PATH_BYTES];

    file_make(path, TITLES);
    CHECK(cells_is_campaign(path));
    unlink(path);
    file_make(path, "10 20\nlength 100\n");
    CHECK(!cells_is_campaign(path));
    unlink(path);
    CHECK(!cells_is_campaign(path));
}

static const check_case_t cases[] = {
    {"intervals overlap or lie apart", test_overlap},
    {"what is no whole campaign is refused", test_refused},
    {"any number of cells", test_many},
    {"a campaign is known by its titles", test_titles},
};

CHECK_MAIN(cases)
