/* xylem-run: the steps of a run. Signals are taken over before the first file
 * is made, so that no signal but SIGKILL leaves a file behind. */
#include "launcher/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
