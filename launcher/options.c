/* The command line of xylem-run. Options end at the first argument that is no
 * option; it and all later arguments belong to the program. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/cli.h"
#include "launcher/launcher.h"

#define SECONDS_MAX 1e8
#define AT(member)  offsetof(xyl_options_t, member)

static const struct cli_option table[] = {
    {"ranks", 'n', CLI_COUNT, AT(ranks), 1, XYL_RANKS_MAX, "N",
     "how many ranks"},
    {"nodes", 'N', CLI_COUNT, AT(nodes), 1, XYL_RANKS_MAX, "K",
     "present K nodes named node0, node1, ... to the ranks"},
    {"map", 0, CLI_WORD, AT(map), 0, 0, "block|cyclic",
     "contiguous ranks on a node (default), or every K-th"},
    {"bind", 0, CLI_WORD, AT(bind), 0, 0, "auto|core|none",
     "bind rank i to the i-th core; auto (default) binds when there is a core "
     "for each rank"},
    {"tag", 0, CLI_FLAG, AT(tag), 0, 0, NULL,
     "begin each line of output with \"[rank] \""},
    {"timeout", 0, CLI_S, AT(timeout_s), 1e-3, SECONDS_MAX, "SECONDS",
     "end the job after this time, exit code 124"},
    {"grace", 0, CLI_S, AT(grace_s), 0, SECONDS_MAX, "SECONDS",
     "from SIGTERM to SIGKILL (default 2)"},
    {"env", 0, CLI_LIST, AT(settings), 0, 0, "NAME=VALUE",
     "set a variable for the ranks; may be repeated"},
    {"no-kill", 0, CLI_FLAG, AT(no_kill), 0, 0, NULL,
     "a rank that fails does not end the others"},
    {"program", 0, CLI_REST, AT(command), 0, 0, NULL, NULL},
};

static const struct cli cli = {
    .program = "xylem-run",
    .usage = "-n N [options] program [arguments]",
    .summary =
        "Runs N processes (ranks) of a program on this machine, with a PMIx "
        "server for\nthem. Output is passed on line by line; input goes to "
        "rank 0 unless it is a\nterminal.",
    .options = table,
    .options_count = sizeof table / sizeof table[0],
    .notes =
        "Exit code: 0 when all ranks exit with 0; else that of the first rank "
        "that\nfailed, or 128 plus the signal that ended it; 124 after the "
        "time limit, 125 when\nthe launcher itself fails, 126 or 127 when the "
        "program cannot be started or\nfound. SIGINT, SIGTERM, SIGHUP, "
        "SIGQUIT, SIGUSR1 and SIGUSR2 are passed to all\nranks; a second "
        "SIGINT kills them."};

static int settings_check(const xyl_options_t *options)
{
    size_t i;

    for (i = 0; options->settings[i] != NULL; i++) {
        const char *equals = strchr(options->settings[i], '=');

        if (equals != NULL && equals != options->settings[i])
            continue;
        return xyl_complain("--env %s: expected NAME=VALUE; see --help",
                            options->settings[i]);
    }
    return 0;
}

static int options_check(const xyl_options_t *options)
{
    if (options->ranks == 0)
        return xyl_complain("-n N is missing; see --help");
    if (options->nodes > options->ranks)
        return xyl_complain(
            "%u ranks cannot be on %u nodes: each node has a rank",
            options->ranks, options->nodes);
    if (options->command[0] == NULL)
        return xyl_complain("the program is missing; see --help");
    return settings_check(options);
}

int xyl_options_init(xyl_options_t *options, int argc, char **argv)
{
    int code = XYL_EXIT_LAUNCHER;

    *options = (xyl_options_t){.grace_s = 2};
    /* There are at most as many settings as arguments. */
    options->settings = calloc((size_t)argc + 1, sizeof(char *));
    if (options->settings == NULL) {
        xyl_complain("out of memory");
        return code;
    }
    if (argc > 1 && strcmp(argv[1], "-np") == 0) {
        xyl_complain("-np: say -n N; see --help");
        xyl_options_fini(options);
        return code;
    }
    switch (cli_parse(&cli, argc, argv, options)) {
    case CLI_HELP:
        options->done = true;
        code = 0;
        break;
    case CLI_BAD:
        break;
    case CLI_RUN:
        code = options_check(options);
        break;
    }
    if (code != 0)
        xyl_options_fini(options);
    return code;
}

void xyl_options_fini(xyl_options_t *options)
{
    free(options->settings);
    options->settings = NULL;
}
