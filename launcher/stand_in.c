#include "launcher/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The path of this program; without /proc, the name that it was started by. */
static const char *program_path(void)
{
    static const char link[] = "/proc/self/exe";
    const char *name = (const char *)getauxval(AT_EXECFN);
    return access(link, X_OK) != 0 && name != NULL ? name : link;
}

int xyl_stand_in_start(xyl_server_t *server, unsigned rank,
                       const xyl_inherited_t *inherited, pid_t *pid_out)
{
    char name[] = "xylem-run";
    char option[] = XYL_STAND_IN;
    char *const argv[] = {name, option, NULL};
    char *const settings[] = {NULL}; /* settings of ranks could break it */
    char **env = NULL;
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return xyl_complain("cannot open /dev/null: %s", strerror(errno));
    int code = xyl_server_environment(server, rank, settings, &env);
    if (code == 0) {
        const xyl_spawn_t spawn = {
            .path = program_path(),
            .argv = argv,
            .env = env,
            .fds = {null, null, null},
            .inherited = inherited,
        };
        code = xyl_child_start(&spawn, pid_out);
        xyl_environment_destroy(env);
    }
    (void)close(null);
    return code;
}
