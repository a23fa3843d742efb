/* Files of settings: which are read, in what precedence, the sources of values,
 * and the messages about wrong lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/config.h"
#include "runtime/base/log.h"
#include "tests/support/check.h"

enum { SETTINGS_OF_USERS_MAX = 24, SAID_BYTES = 2048 };

static char folder[] = "/tmp/xylem-conf-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void file_write(const char *name, const char *content)
{
    FILE *file = fopen(path_of(name), "w");

    CHECK(file != NULL && fputs(content, file) >= 0);
    CHECK(file != NULL && fclose(file) == 0);
}

/* Two files, the second of which is stronger, and no table. */
static void files_set(xyl_config_files_t *files, const char *weak,
                      const char *strong)
{
    files->count = 2;
    *files->tuning = '\0';
    file_write("weak", weak);
    snprintf(files->path[0], sizeof files->path[0], "%s", path_of("weak"));
    file_write("strong", strong);
    snprintf(files->path[1], sizeof files->path[1], "%s", path_of("strong"));
}

static xyl_config_origin_t origin_of(const char *name,
                                     const xyl_config_origin_t *origins)
{
    size_t i;

    for (i = 0; i < xyl_config_row_count(); i++)
        if (strcmp(xyl_config_row(i)->name, name) == 0)
            return origins[i];
    return (xyl_config_origin_t){"nowhere", 0};
}

#define CHECK_ORIGIN(name, wanted, wanted_line)                                \
    do {                                                                       \
        xyl_config_origin_t origin_ = origin_of(name, origins);                \
        CHECK(strcmp(origin_.from, wanted) == 0);                              \
        CHECK_EQ(origin_.line, wanted_line);                                   \
    } while (0)

static void environment_clear(void)
{
    char name[64];
    size_t i;

    for (i = 0; i < xyl_config_row_count(); i++) {
        snprintf(name, sizeof name, "XYLEM_%s", xyl_config_row(i)->name);
        unsetenv(name);
    }
}

/* ---- what is below what ---- */

static void test_order(void)
{
    static const char *const settings[] = {"STALL_S=4", NULL};
    xyl_config_origin_t origins[64];
    xyl_config_files_t files;
    xyl_config_t config;

    CHECK(xyl_config_row_count() <= 64);
    environment_clear();
    files_set(&files,
              "# of the machine\n"
              "SPIN_US = 1\n"
              "LIVENESS_MS = 1\n"
              "TIMEOUT_S = 1\n"
              "STALL_S = 1\n",
              "\n\t LIVENESS_MS=2 \r\n"
              "TIMEOUT_S=2\n"
              "STALL_S=2\n"
              "TOPOLOGY = a file = with signs");
    setenv("XYLEM_TIMEOUT_S", "3", 1);
    setenv("XYLEM_STALL_S", "3", 1);
    CHECK_EQ(xyl_config_load(&files, settings, &config, origins), XYLEM_OK);
    CHECK_EQ(config.spin_us, 1);
    CHECK_EQ(config.liveness_ms, 2);
    CHECK_EQ(config.timeout_s, 3);
    CHECK_EQ(config.stall_s, 4);
    CHECK(strcmp((const char *)(uintptr_t)config.topology,
                 "a file = with signs") == 0);
    CHECK_ORIGIN("SPIN_US", files.path[0], 2);
    CHECK_ORIGIN("LIVENESS_MS", files.path[1], 2);
    CHECK_ORIGIN("TIMEOUT_S", "environment", 0);
    CHECK_ORIGIN("STALL_S", "settings", 0);
    CHECK_ORIGIN("LOG", "default", 0);
    CHECK_ORIGIN("TOPOLOGY", files.path[1], 5);
    xyl_config_release(&config);
    environment_clear();
}

/* ---- which files ---- */

static void test_places(void)
{
    xyl_config_files_t files;

    environment_clear();
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", "/somewhere", 1);
    xyl_config_files_find(&files);
    CHECK_EQ(files.count, 2);
    CHECK(strcmp(files.path[0], "/etc/xylem.conf") == 0);
    CHECK(strcmp(files.path[1], "/somewhere/.config/xylem.conf") == 0);
    setenv("XDG_CONFIG_HOME", "/elsewhere", 1);
    xyl_config_files_find(&files);
    CHECK_EQ(files.count, 2);
    CHECK(strcmp(files.path[1], "/elsewhere/xylem.conf") == 0);
    setenv("XDG_CONFIG_HOME", "not/from/the/root", 1);
    unsetenv("HOME");
    xyl_config_files_find(&files);
    CHECK_EQ(files.count, 1);
    setenv("XYLEM_CONF", "none", 1);
    xyl_config_files_find(&files);
    CHECK_EQ(files.count, 0);
    setenv("XYLEM_CONF", "/a:/b:", 1);
    xyl_config_files_find(&files);
    CHECK_EQ(files.count, 2);
    CHECK(strcmp(files.path[0], "/a") == 0 && strcmp(files.path[1], "/b") == 0);
    unsetenv("XDG_CONFIG_HOME");
    environment_clear();
}

/* ---- what is said ---- */

/* The messages about a file while it is loaded as xylem_context_create does. */
static const char *said_of(const char *content, xyl_config_t *config)
{
    static char said[SAID_BYTES];
    int ends[2], saved = dup(STDERR_FILENO);
    xyl_config_files_t files;
    ssize_t bytes;

    files_set(&files, content, "");
    CHECK_EQ(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    xyl_config_apply_log(&files, NULL);
    CHECK_EQ(xyl_config_load(&files, NULL, config, NULL), XYLEM_OK);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    bytes = read(ends[0], said, sizeof said - 1);
    said[bytes > 0 ? bytes : 0] = '\0';
    close(ends[0]);
    xyl_config_release(config);
    xyl_log_level_set(XYL_LOG_WARN);
    return said;
}

static void check_said(const char *content, const char *place,
                       const char *words)
{
    xyl_config_t config;
    const char *said = said_of(content, &config);

    CHECK(strstr(said, place) != NULL && strstr(said, words) != NULL);
    CHECK(strchr(said, '\n') == strrchr(said, '\n')); /* one line */
    CHECK_EQ(config.spin_us, 5);
}

static void test_warnings(void)
{
    xyl_config_t config;

    environment_clear();
    check_said("SPIN_US = 5\nSPIN = 6\n", "/weak:2: ", "'SPIN'");
    check_said("SPIN_US = 5\nXYLEM_SPIN_US = 6\n", "/weak:2: ", "XYLEM_SPIN");
    check_said("SPIN_US = 5\n\nspin up\n", "/weak:3: ", "NAME = value");
    check_said("SPIN_US = 5\nSPIN_US = soon\n", "/weak:2: ", "'soon'");
    check_said("SPIN_US = 5\nCONF = /a\n", "/weak:2: ", "'CONF'");
    CHECK_EQ(strlen(said_of("LOG = none\nSPIN = 6\n", &config)), 0);
    CHECK_EQ(strlen(said_of("SPIN_US =\nSTALL_S =\n", &config)), 0);
    CHECK_EQ(config.stall_s, 10);
    CHECK_EQ(strlen(said_of("# nothing\n\n  \n", &config)), 0);
}

/* A file that cannot be read is reported once, and the others hold. */
static void test_unreadable(void)
{
    xyl_config_t config;
    char *large = calloc(1, 70000);

    CHECK(large != NULL);
    memset(large, '#', 69999);
    CHECK(strstr(said_of(large, &config), "/weak: ") != NULL);
    CHECK_EQ(config.spin_us, 1000);
    free(large);
}

static void test_in_environment_only(void)
{
    static const char *const settings[] = {"CONF=none", NULL};
    xyl_config_t config;

    xyl_log_level_set(XYL_LOG_NONE);
    CHECK_EQ(xyl_config_load(NULL, settings, &config, NULL), XYLEM_ERR_CONFIG);
    xyl_log_level_set(XYL_LOG_WARN);
}

/* Users do not read more settings than these. */
static void test_few_for_users(void)
{
    size_t i, count = 0;

    for (i = 0; i < xyl_config_row_count(); i++)
        count += !xyl_config_row(i)->is_for_experts;
    CHECK(count <= SETTINGS_OF_USERS_MAX);
}

static const check_case_t cases[] = {
    {"config files: what is below what", test_order},
    {"config files: which are read", test_places},
    {"config files: lines that are wrong", test_warnings},
    {"config files: what cannot be read", test_unreadable},
    {"config files: named in the environment only", test_in_environment_only},
    {"config: few settings are for users", test_few_for_users},
};

int main(int argc, char **argv)
{
    int code;

    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return EXIT_FAILURE;
    }
    code = check_run(cases, sizeof cases / sizeof *cases, argc, argv);
    unlink(path_of("weak"));
    unlink(path_of("strong"));
    rmdir(folder);
    return code;
}
