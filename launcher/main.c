/* xylem-run: the steps of a run. Signals are taken over before the first file
 * is made, so that no signal but SIGKILL leaves a file behind. */
#include "launcher/launcher.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t xyl_line_write(char line[XYL_LINE_BYTES], const char *format,
                      va_list args)
{
    const int prefix = snprintf(line, XYL_LINE_BYTES, "xylem-run: ");

    (void)vsnprintf(line + prefix, XYL_LINE_BYTES - 1 - (size_t)prefix, format,
                    args);
    const size_t bytes = strlen(line);
    line[bytes] = '\n';
    return bytes + 1;
}

int xyl_complain(const char *format, ...)
{
    char line[XYL_LINE_BYTES];
    va_list args;
    va_start(args, format);
    const size_t bytes = xyl_line_write(line, format, args);
    va_end(args);
    /* There is no other place for a message if this write fails. */
    const ssize_t written = write(STDERR_FILENO, line, bytes);
    (void)written;
    return XYL_EXIT_LAUNCHER;
}

/* Removes PMIx variables of another launcher that may have started this one. */
static int environment_clean(void)
{
    enum { NAME_BYTES = 256 };
    char name[NAME_BYTES];
    size_t i = 0;
    while (environ != NULL && environ[i] != NULL) {
        const char *entry = environ[i];
        const size_t bytes = strcspn(entry, "=");
        i++;
        if (strncmp(entry, "PMIX_", 5) != 0 ||
            strncmp(entry, "PMIX_MCA_", 9) == 0 || bytes >= NAME_BYTES)
            continue;
        memcpy(name, entry, bytes);
        name[bytes] = '\0';
        if (unsetenv(name) != 0)
            return xyl_complain("cannot unset %s", name);
        i = 0; /* entries have moved */
    }
    return 0;
}

static int launch(const xyl_options_t *options)
{
    char *path = NULL;
    cpu_set_t *processors = NULL;
    xyl_job_t *job = NULL;
    xyl_server_t *server = NULL;
    xyl_layout_t layout;
    int code = xyl_program_find(options->command[0], &path);
    if (code != 0)
        return code;
    code = xyl_layout_init(&layout, options);
    if (code != 0)
        goto free_path;
    code = xyl_binding_create(options, &processors);
    if (code != 0)
        goto free_path;
    code = xyl_job_create(options, &job);
    if (code != 0)
        goto free_processors;
    code = xyl_server_start(&layout, &server);
    if (code != 0)
        goto destroy_job;
    code = xyl_job_run(job, server, path, processors);
    xyl_server_stop(server);
destroy_job:
    xyl_job_destroy(job);
free_processors:
    free(processors);
free_path:
    free(path);
    return code;
}

int main(int argc, char **argv)
{
    xyl_options_t options;
    if (argc == 2 && strcmp(argv[1], XYL_STAND_IN) == 0) {
        xyl_server_come_and_go();
        return XYL_EXIT_LAUNCHER;
    }
    int code = xyl_options_init(&options, argc, argv);
    if (code != 0)
        return code;
    if (!options.done) {
        code = environment_clean();
        if (code == 0)
            code = launch(&options);
    }
    xyl_options_fini(&options);
    return code;
}
