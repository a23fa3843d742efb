/* Settings: every type both ways, values that cannot be read, the sources of
 * values, and the messages to a user. */
#include "runtime/base/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "tests/support/check.h"

enum { VALUE_BYTES = 64 };

typedef struct reading {
    const xyl_config_type_t *type;
    const char *text;
    uint64_t value;
    const char *printed; /* NULL: cannot be read */
} reading_t;

static const reading_t readings[] = {
    {&xyl_config_LEVEL, "none", XYL_LOG_NONE, "none"},
    {&xyl_config_LEVEL, "DEBUG", XYL_LOG_DEBUG, "debug"},
    {&xyl_config_LEVEL, "Warning", XYL_LOG_WARN, "warn"},
    {&xyl_config_LEVEL, "off", XYL_LOG_NONE, "none"},
    {&xyl_config_LEVEL, "0", XYL_LOG_NONE, "none"},
    {&xyl_config_LEVEL, "1", 0, NULL},
    {&xyl_config_LEVEL, "loud", 0, NULL},
    {&xyl_config_LEVEL, "", 0, NULL},
    {&xyl_config_VERBOSE, "select", 1, "select"},
    {&xyl_config_VERBOSE, "yes", 1, "select"},
    {&xyl_config_VERBOSE, "false", 0, "off"},
    {&xyl_config_VERBOSE, "all", 0, NULL},
    {&xyl_config_BOOL, "TRUE", 1, "on"},
    {&xyl_config_BOOL, "1", 1, "on"},
    {&xyl_config_BOOL, "No", 0, "off"},
    {&xyl_config_BOOL, "0", 0, "off"},
    {&xyl_config_BOOL, "2", 0, NULL},
    {&xyl_config_DIRECT, "true", XYL_DIRECT_ON, "on"},
    {&xyl_config_DIRECT, "none", XYL_DIRECT_OFF, "off"},
    {&xyl_config_SHM, "yes", XYL_SHM_AUTO, "auto"},
    {&xyl_config_SHM, "0", XYL_SHM_OFF, "off"},
    {&xyl_config_SHM, "perhaps", 0, NULL},
    {&xyl_config_ARRIVALS, "synchronized", 1, "synchronised"},
    {&xyl_config_PATH, "no", 0, "none"},
    {&xyl_config_PATH, "off", 0, "none"},
    {&xyl_config_SELECTION, "all", 0, "auto"},
    {&xyl_config_SELECTION, "False", 1, "none"},
    {&xyl_config_BOOTSTRAP, "pmix", XYL_BOOTSTRAP_PMIX, "pmix"},
    {&xyl_config_BOOTSTRAP, "mpi", 0, NULL},
    {&xyl_config_PROGRESS, "thread", XYL_PROGRESS_THREAD, "thread"},
    {&xyl_config_PROGRESS, "threads", 0, NULL},
    {&xyl_config_COUNT, "0", 0, "0"},
    {&xyl_config_COUNT, "4294967295", UINT32_MAX, "4294967295"},
    {&xyl_config_COUNT, "4294967296", 0, NULL},
    {&xyl_config_COUNT, "-1", 0, NULL},
    {&xyl_config_COUNT, "+1", 0, NULL},
    {&xyl_config_COUNT, " 1", 0, NULL},
    {&xyl_config_COUNT, "1 ", 0, NULL},
    {&xyl_config_COUNT, "0x10", 0, NULL},
    {&xyl_config_COUNT, "99999999999999999999", 0, NULL},
    {&xyl_config_US, "1000", 1000, "1000"},
    {&xyl_config_US, "2ms", 2000, "2000"},
    {&xyl_config_US, "1.5 MS", 1500, "1500"},
    {&xyl_config_US, "500ns", 0, NULL},
    {&xyl_config_US, "2h", 0, NULL},
    {&xyl_config_US, "10m", 0, NULL},
    {&xyl_config_US, "10sec", 0, NULL},
    {&xyl_config_US, "ms", 0, NULL},
    {&xyl_config_MS, "0.25S", 250, "250"},
    {&xyl_config_MS, "100", 100, "100"},
    {&xyl_config_S, "5min", 300, "300"},
    {&xyl_config_S, "2000ms", 2, "2"},
    {&xyl_config_S, "500ms", 0, NULL},
    {&xyl_config_S, "0.5", 0, NULL},
    {&xyl_config_S, "4294967295", UINT32_MAX, "4294967295"},
    {&xyl_config_S, "4294967296", 0, NULL},
    {&xyl_config_S, "-1s", 0, NULL},
    {&xyl_config_CORE, "any", XYL_CONFIG_NO_CORE, "any"},
    {&xyl_config_CORE, "7", 7, "7"},
    {&xyl_config_CORE, "some", 0, NULL},
    {&xyl_config_GROUPS, "auto", XYL_CONFIG_GROUPS_AUTO, "auto"},
    {&xyl_config_GROUPS, "OFF", 0, "off"},
    {&xyl_config_GROUPS, "0", 0, "off"},
    {&xyl_config_GROUPS, "8", 8, "8"},
    {&xyl_config_GROUPS, "l3", 0, NULL},
    {&xyl_config_GROUPS, "-1", 0, NULL},
    {&xyl_config_GROUPS, "", 0, NULL},
    {&xyl_config_BYTES, "0", 0, "0"},
    {&xyl_config_BYTES, "1000", 1000, "1000"},
    {&xyl_config_BYTES, "1024", 1024, "1K"},
    {&xyl_config_BYTES, "128K", 128 << 10, "128K"},
    {&xyl_config_BYTES, "3m", 3 << 20, "3M"},
    {&xyl_config_BYTES, "2G", UINT64_C(2) << 30, "2G"},
    {&xyl_config_BYTES, "1T", UINT64_C(1) << 40, "1T"},
    {&xyl_config_BYTES, "9000000T", 0, NULL},
    {&xyl_config_BYTES, "8388608T", 0, NULL},
    {&xyl_config_BYTES, "4KB", 4096, "4K"},
    {&xyl_config_BYTES, "4kib", 4096, "4K"},
    {&xyl_config_BYTES, "64 MiB", 64 << 20, "64M"},
    {&xyl_config_BYTES, "1mb", 1 << 20, "1M"},
    {&xyl_config_BYTES, "100B", 100, "100"},
    {&xyl_config_BYTES, "1.5M", 3 << 19, "1536K"},
    {&xyl_config_BYTES, "0.5K", 512, "512"},
    {&xyl_config_BYTES, "1.234567K", 1264, "1264"},
    {&xyl_config_BYTES, "1.2345678K", 0, NULL},
    {&xyl_config_BYTES, "0.0001K", 0, NULL},
    {&xyl_config_BYTES, "1.5", 0, NULL},
    {&xyl_config_BYTES, "1.K", 0, NULL},
    {&xyl_config_BYTES, ".5K", 0, NULL},
    {&xyl_config_BYTES, "1,5K", 0, NULL},
    {&xyl_config_BYTES, "4X", 0, NULL},
    {&xyl_config_BYTES, "4KX", 0, NULL},
    {&xyl_config_BYTES, "4KiBB", 0, NULL},
    {&xyl_config_BYTES, "4K ", 0, NULL},
    {&xyl_config_BYTES, "4Bi", 0, NULL},
    {&xyl_config_BYTES, "4ms", 0, NULL},
    {&xyl_config_BYTES, "K", 0, NULL},
    {&xyl_config_TEXT, "Auto", 0, "auto"},
    {&xyl_config_TEXT, "", 0, NULL},
    {&xyl_config_ORDER, "fixed", XYL_ORDER_FIXED, "fixed"},
    {&xyl_config_ORDER, "Arrival", XYL_ORDER_ARRIVAL, "arrival"},
    {&xyl_config_ORDER, "on", 0, NULL},
};

static void test_types(void)
{
    char text[VALUE_BYTES], what[128];
    size_t i;

    for (i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        const reading_t *reading = &readings[i];
        uint64_t value = 4711;
        xylem_status_t status =
            xyl_config_parse(reading->type, reading->text, &value);
        int is_right = status == XYLEM_ERR_CONFIG && value == 4711;
        text[0] = '\0';
        if (reading->printed != NULL && status == XYLEM_OK) {
            xyl_config_print(reading->type, value, text, sizeof text);
            is_right =
                value == reading->value && strcmp(text, reading->printed) == 0;
        }
        if (is_right)
            continue;
        snprintf(what, sizeof what, "'%s' is read as %llu, printed as '%s'",
                 reading->text, (unsigned long long)value, text);
        check_failed(__FILE__, __LINE__, what);
    }
}

/* A printed default is read as the same value again. */
static void test_rows(void)
{
    char text[VALUE_BYTES];
    uint64_t value, again;
    size_t i, j;

    for (i = 0; i < xyl_config_row_count(); i++) {
        const xyl_config_row_t *row = xyl_config_row(i);
        CHECK_EQ(xyl_config_parse(row->type, row->preset, &value), XYLEM_OK);
        xyl_config_print(row->type, value, text, sizeof text);
        CHECK_EQ(xyl_config_parse(row->type, text, &again), XYLEM_OK);
        CHECK(again == value);
        CHECK(strlen(row->help) > 0);
        for (j = 0; j < i; j++)
            CHECK(strcmp(row->name, xyl_config_row(j)->name) != 0);
    }
}

/* ---- where values come from ---- */

/* No setting from outside disturbs. */
static void environment_clear(void)
{
    char name[64];
    size_t i;

    for (i = 0; i < xyl_config_row_count(); i++) {
        snprintf(name, sizeof name, "XYLEM_%s", xyl_config_row(i)->name);
        unsetenv(name);
    }
}

static void test_precedence(void)
{
    static const char *const settings[] = {"SPIN_US=9", NULL};
    xyl_config_t config;

    environment_clear();
    CHECK_EQ(xyl_config_load(NULL, NULL, &config, NULL), XYLEM_OK);
    CHECK_EQ(config.spin_us, 1000);
    setenv("XYLEM_SPIN_US", "7", 1);
    setenv("XYLEM_ALGORITHMS", "bcast=knomial:3", 1);
    CHECK_EQ(xyl_config_load(NULL, NULL, &config, NULL), XYLEM_OK);
    CHECK_EQ(config.spin_us, 7);
    CHECK_EQ(xyl_config_load(NULL, settings, &config, NULL), XYLEM_OK);
    CHECK_EQ(config.spin_us, 9);
    CHECK(strcmp((const char *)(uintptr_t)config.algorithms,
                 "bcast=knomial:3") == 0);
    xyl_config_release(&config);
    environment_clear();
}

/* Scripts may set a variable to nothing. */
static void test_empty(void)
{
    static const char *const settings[] = {"STALL_S=", "LOG=", NULL};
    xyl_config_files_t files;
    xyl_config_t config;

    environment_clear();
    setenv("XYLEM_SPIN_US", "", 1);
    setenv("XYLEM_MPI_REPORT", "", 1);
    setenv("XYLEM_LOG", "", 1);
    setenv("XYLEM_CONF", "", 1);
    setenv("XYLEM_NO_SUCH_NAME", "", 1);
    xyl_config_files_find(&files);
    CHECK(files.count >= 1);
    CHECK_EQ(xyl_config_load(NULL, settings, &config, NULL), XYLEM_OK);
    CHECK_EQ(config.spin_us, 1000);
    CHECK_EQ(config.stall_s, 10);
    CHECK_EQ(config.mpi_report, 0);
    CHECK_EQ(config.log, XYL_LOG_WARN);
    xyl_config_release(&config);
    unsetenv("XYLEM_NO_SUCH_NAME");
    environment_clear();
}

/* Files are written to long after a context has been made. */
static void test_texts_of_settings_stay(void)
{
    char setting[] = "HANG_DUMP=/tmp/dump";
    const char *settings[] = {"SPIN_US=9", setting, NULL};
    xyl_config_t config;

    environment_clear();
    CHECK_EQ(xyl_config_load(NULL, settings, &config, NULL), XYLEM_OK);
    memset(setting, 'x', sizeof setting - 1);
    CHECK(strcmp((const char *)(uintptr_t)config.hang_dump, "/tmp/dump") == 0);
    CHECK_EQ(config.spin_us, 9);
    xyl_config_release(&config);
}

static void check_refused(const char *setting, const char *word)
{
    const char *settings[] = {"TIMEOUT_S=77", setting, NULL};
    xyl_config_t config = {.log = 77};

    CHECK_EQ(xyl_config_load(NULL, settings, &config, NULL), XYLEM_ERR_CONFIG);
    CHECK(strstr(xylem_last_error(), word) != NULL);
    /* Settings that a rank needs to tell the others are there all the same. */
    CHECK_EQ(config.timeout_s, 77);
    CHECK_EQ(config.bootstrap, XYL_BOOTSTRAP_AUTO);
    CHECK(config.content[0] == NULL);
}

static void test_refusals(void)
{
    environment_clear();
    xyl_log_level_set(XYL_LOG_NONE);
    check_refused("SPIN_US=soon", "soon");
    check_refused("NO_SUCH_NAME=1", "NO_SUCH_NAME");
    check_refused("SPIN_US", "SPIN_US");
    check_refused("XYLEM_SPIN_US=1", "XYLEM_SPIN_US");
    check_refused("RECV_WINDOW=65", "RECV_WINDOW");
    check_refused("=1", "NAME=value");
    setenv("XYLEM_SHM", "some", 1);
    check_refused("SPIN_US=1", "XYLEM_SHM");
    environment_clear();
    xyl_log_level_set(XYL_LOG_WARN);
}

/* No window is wider than a word of bits, whichever setting names it. */
static void test_windows(void)
{
    static const char *const crossed[] = {"SEND_WINDOW=5", "RECV_WINDOW=4",
                                          NULL};
    static const char *const fits[] = {"SEND_WINDOW=64", "RECV_WINDOW=64",
                                       NULL};
    xyl_config_t config;

    environment_clear();
    xyl_log_level_set(XYL_LOG_NONE);
    CHECK_EQ(xyl_config_load(NULL, crossed, &config, NULL), XYLEM_ERR_CONFIG);
    check_refused("SEND_WINDOW=65", "SEND_WINDOW");
    CHECK_EQ(xyl_config_load(NULL, fits, &config, NULL), XYLEM_OK);
    xyl_config_release(&config);
    xyl_log_level_set(XYL_LOG_WARN);
}

/* ---- what the user is told ---- */

/* Loads with standard error caught; returns the text. */
static const char *load_and_listen(xylem_status_t *status_out)
{
    static char text[1024];
    int ends[2], saved = dup(STDERR_FILENO);
    xyl_config_t config;
    ssize_t length;

    CHECK_EQ(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    *status_out = xyl_config_load(NULL, NULL, &config, NULL);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    length = read(ends[0], text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    close(ends[0]);
    return text;
}

static void test_unknown_variable(void)
{
    xylem_status_t status;
    const char *text;

    environment_clear();
    setenv("XYLEM_SEGMENTS_BYTES", "1", 1);
    setenv("XYLEMOTHER", "1", 1); /* not ours */
    text = load_and_listen(&status);
    CHECK_EQ(status, XYLEM_OK);
    CHECK(strstr(text, "XYLEM_SEGMENTS_BYTES") != NULL);
    CHECK(strstr(text, "XYLEMOTHER") == NULL);
    CHECK(strchr(text, '\n') == strrchr(text, '\n')); /* one line */
    unsetenv("XYLEM_SEGMENTS_BYTES");
    unsetenv("XYLEMOTHER");
    text = load_and_listen(&status);
    CHECK_EQ(strlen(text), 0);
}

static const check_case_t cases[] = {
    {"config: every type, both ways", test_types},
    {"config: every row", test_rows},
    {"config: default, environment, settings", test_precedence},
    {"config: what is set to nothing is not set", test_empty},
    {"config: texts of settings stay", test_texts_of_settings_stay},
    {"config: what cannot be used", test_refusals},
    {"config: windows", test_windows},
    {"config: unknown variables are warned of", test_unknown_variable},
};

CHECK_MAIN(cases)
