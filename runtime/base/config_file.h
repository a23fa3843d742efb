/* Files of settings: a line each "NAME = value", names without XYLEM_. Empty
 * lines and lines that begin with '#' are skipped. */
#pragma once

#include <stddef.h>

enum { XYL_CONFIG_FILES_MAX = 4, XYL_CONFIG_FILE_PATH_BYTES = 512 };

/* The files to read; later ones overrule earlier ones. */
typedef struct xyl_config_files {
    unsigned count;
    char path[XYL_CONFIG_FILES_MAX][XYL_CONFIG_FILE_PATH_BYTES];
    /* A table for XYLEM_TUNING, which settings overrule; "": there is none. */
    char tuning[XYL_CONFIG_FILE_PATH_BYTES];
} xyl_config_files_t;

/* Finds the files that XYLEM_CONF in the environment names, separated by ':'.
 * Without it these are /etc/xylem.conf and xylem.conf in $XDG_CONFIG_HOME (or
 * ~/.config), and the table is the first xylem-tuning.json in the folder where
 * the program runs, beside the latter file, or in /etc. Files of settings need
 * not exist. Paths that are too long, and files beyond the maximum, are left
 * out with a warning. */
void xyl_config_files_find(xyl_config_files_t *files_out);

/* The content of a file, ended by 0. Returns owned (free with free). NULL:
 * there is no file, or it cannot be read; the latter logs a warning. */
char *xyl_config_file_read(const char *path);

typedef struct xyl_config_line {
    unsigned number; /* from 1 */
    char *name;      /* NULL: the line is not of this form */
    char *value;
} xyl_config_line_t;

/* Goes on to the next line that is neither empty nor a comment; 0: there is
 * none. Begin with a cleared line. `rest` is the content, which this function
 * cuts into names and values. */
int xyl_config_file_next(char **rest, xyl_config_line_t *line);
