#include "runtime/base/config_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "runtime/base/config_types.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"

enum { CONTENT_BYTES_MAX = 64 << 10 /* no file of settings has more */ };

/* ---- which files ---- */

static void files_add(xyl_config_files_t *files, const char *folder,
                      const char *name, int name_bytes)
{
    char *path = files->path[files->count];
    int bytes;

    if (files->count == XYL_CONFIG_FILES_MAX) {
        xyl_log(XYL_LOG_WARN, "%s%.*s: at most %d files of settings are read",
                folder, name_bytes, name, XYL_CONFIG_FILES_MAX);
        return;
    }
    bytes = snprintf(path, XYL_CONFIG_FILE_PATH_BYTES, "%s%.*s", folder,
                     name_bytes, name);
    if (bytes < 0 || bytes >= XYL_CONFIG_FILE_PATH_BYTES)
        xyl_log(XYL_LOG_WARN, "%.60s...: the path is too long", path);
    else if (bytes > 0)
        files->count++;
}

/* Paths separated by ':', or a word for none. */
static void files_named(xyl_config_files_t *files, const char *paths)
{
    size_t bytes;

    if (xyl_config_is_same("none", paths))
        return;
    while (*paths != '\0') {
        const unsigned before = files->count;
        bytes = strcspn(paths, ":");
        files_add(files, "", paths, (int)bytes);
        if (files->count != before && access(files->path[before], F_OK) != 0)
            xyl_log(XYL_LOG_WARN, "XYLEM_CONF: %s: %s", files->path[before],
                    strerror(errno));
        paths += bytes + (paths[bytes] == ':');
    }
}

/* Keeps the table's path if the file exists and no table was found before. */
static void tuning_look(xyl_config_files_t *files, const char *folder,
                        const char *name)
{
    char path[XYL_CONFIG_FILE_PATH_BYTES];
    int bytes = snprintf(path, sizeof path, "%s%s", folder, name);

    if (*files->tuning == '\0' && bytes > 0 && bytes < (int)sizeof path &&
        access(path, R_OK) == 0)
        memcpy(files->tuning, path, sizeof path);
}

void xyl_config_files_find(xyl_config_files_t *files_out)
{
    static const char system_wide[] = "/etc/xylem.conf";
    static const char in_config[] = "/xylem.conf";
    static const char in_home[] = "/.config/xylem.conf";
    static const char table[] = "xylem-tuning.json";
    const char *named = secure_getenv("XYLEM_CONF");
    const char *config = secure_getenv("XDG_CONFIG_HOME");
    const char *home = secure_getenv("HOME");

    files_out->count = 0;
    *files_out->tuning = '\0';
    if (named != NULL && *named != '\0' && strcasecmp(named, "auto") != 0) {
        files_named(files_out, named);
        return;
    }
    files_add(files_out, "", system_wide, sizeof system_wide - 1);
    if (geteuid() == getuid())
        tuning_look(files_out, "", table);
    /* The standard of XDG_CONFIG_HOME ignores relative paths. */
    if (config != NULL && *config == '/') {
        files_add(files_out, config, in_config, sizeof in_config - 1);
        tuning_look(files_out, config, "/xylem-tuning.json");
    } else if (home != NULL && *home == '/') {
        files_add(files_out, home, in_home, sizeof in_home - 1);
        tuning_look(files_out, home, "/.config/xylem-tuning.json");
    }
    tuning_look(files_out, "/etc/", table);
}

/* ---- content ---- */

char *xyl_config_file_read(const char *path)
{
    char *content = NULL;
    size_t bytes;
    const char *why =
        xyl_file_read(path, CONTENT_BYTES_MAX + 1, &content, &bytes);

    if (why != NULL && errno != ENOENT && errno != ENOTDIR)
        xyl_log(XYL_LOG_WARN, "%s: %s; its settings are not used", path, why);
    return content;
}

/* ---- lines ---- */

/* Cuts white space off both ends. */
static char *trimmed(char *text)
{
    char *end;

    while (isspace((unsigned char)*text))
        text++;
    end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return text;
}

int xyl_config_file_next(char **rest, xyl_config_line_t *line)
{
    char *text, *equals;

    for (text = *rest; *text != '\0'; text = *rest) {
        size_t bytes = strcspn(text, "\n");
        *rest = text + bytes + (text[bytes] == '\n');
        text[bytes] = '\0';
        line->number++;
        text = trimmed(text);
        if (*text == '\0' || *text == '#')
            continue;
        equals = strchr(text, '=');
        line->name = line->value = NULL;
        if (equals != NULL) {
            *equals = '\0';
            line->name = trimmed(text);
            line->value = trimmed(equals + 1);
        }
        return 1;
    }
    return 0;
}
