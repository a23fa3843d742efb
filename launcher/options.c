/* The command line of xylem-run. Options end at the first argument that is not
 * one: from there on everything belongs to the program. */
#include "launcher/launcher.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 1e8

static const char help_text[] =
    "usage: xylem-run -n N [options] program [arguments]\n"
    "\n"
    "Runs N processes (ranks) of a program on this machine, with a PMIx "
    "server\n"
    "for them. Output is passed on line by line; input goes to rank 0 unless\n"
    "it is a terminal.\n"
    "\n"
    "  -n N               how many ranks, 1 to 4096\n"
    "  --nodes K          present K nodes named node0, node1, ... to the "
    "ranks\n"
    "  --map block|cyclic contiguous ranks on a node (default), or every K-th\n"
    "  --bind core|none|auto\n"
    "                     bind rank i to the i-th core; auto (default) binds\n"
    "                     when there is a core for each rank\n"
    "  --tag              begin each line of output with \"[rank] \"\n"
    "  --timeout SECONDS  end the job after this time, exit code 124\n"
    "  --grace SECONDS    from SIGTERM to SIGKILL (default 2)\n"
    "  --env NAME=VALUE   set a variable for the ranks; may be repeated\n"
    "  --no-kill          a rank that fails does not end the others\n"
    "  --help, --version\n"
    "\n"
    "Exit code: 0 when all ranks exit with 0; else that of the first rank "
    "that\n"
    "failed, or 128 plus the signal that ended it; 124 after the time limit,\n"
    "125 when the launcher itself fails, 126 or 127 when the program cannot "
    "be\n"
    "started or found. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2\n"
    "are passed to all ranks; a second SIGINT kills them.\n";

enum {
    OPTION_NODES = 256,
    OPTION_MAP,
    OPTION_BIND,
    OPTION_TAG,
    OPTION_TIMEOUT,
    OPTION_GRACE,
    OPTION_ENV,
    OPTION_NO_KILL,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"nodes", required_argument, NULL, OPTION_NODES},
    {"map", required_argument, NULL, OPTION_MAP},
    {"bind", required_argument, NULL, OPTION_BIND},
    {"tag", no_argument, NULL, OPTION_TAG},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"grace", required_argument, NULL, OPTION_GRACE},
    {"env", required_argument, NULL, OPTION_ENV},
    {"no-kill", no_argument, NULL, OPTION_NO_KILL},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static int value_refuse(const char *option, const char *text)
{
    xyl_complain("%s cannot be '%s' (see xylem-run --help)", option, text);
    return XYL_EXIT_LAUNCHER;
}

static int count_parse(const char *option, const char *text, unsigned *out)
{
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 ||
        value > XYL_RANKS_MAX)
        return value_refuse(option, text);
    *out = (unsigned)value;
    return 0;
}

static int seconds_parse(const char *option, const char *text, double *out)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || value < 0 ||
        value > SECONDS_MAX)
        return value_refuse(option, text);
    *out = value;
    return 0;
}

static int setting_add(xyl_options_t *options, char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return value_refuse("--env", text);
    size_t count = 0;
    while (options->settings[count] != NULL)
        count++;
    options->settings[count] = text;
    return 0;
}

static int map_parse(xyl_options_t *options, const char *text)
{
    options->cyclic = strcmp(text, "cyclic") == 0;
    if (!options->cyclic && strcmp(text, "block") != 0)
        return value_refuse("--map", text);
    return 0;
}

static int bind_parse(xyl_options_t *options, const char *text)
{
    if (strcmp(text, "core") == 0)
        options->bind = XYL_BIND_CORE;
    else if (strcmp(text, "none") == 0)
        options->bind = XYL_BIND_NONE;
    else if (strcmp(text, "auto") == 0)
        options->bind = XYL_BIND_AUTO;
    else
        return value_refuse("--bind", text);
    return 0;
}

static int timeout_parse(xyl_options_t *options, const char *text)
{
    const int code = seconds_parse("--timeout", text, &options->timeout_s);
    if (code == 0 && options->timeout_s <= 0)
        return value_refuse("--timeout", text);
    return code;
}

static void text_print(xyl_options_t *options, const char *text)
{
    (void)fputs(text, stdout);
    (void)fflush(stdout);
    options->done = true;
}

static int option_apply(xyl_options_t *options, int option, char *text)
{
    switch (option) {
    case 'n':
        return count_parse("-n", text, &options->ranks);
    case OPTION_NODES:
        return count_parse("--nodes", text, &options->nodes);
    case OPTION_MAP:
        return map_parse(options, text);
    case OPTION_BIND:
        return bind_parse(options, text);
    case OPTION_TAG:
        options->tag = true;
        return 0;
    case OPTION_TIMEOUT:
        return timeout_parse(options, text);
    case OPTION_GRACE:
        return seconds_parse("--grace", text, &options->grace_s);
    case OPTION_ENV:
        return setting_add(options, text);
    case OPTION_NO_KILL:
        options->no_kill = true;
        return 0;
    case OPTION_HELP:
        text_print(options, help_text);
        return 0;
    case OPTION_VERSION:
        text_print(options, "xylem-run " XYL_LAUNCHER_VERSION "\n");
        return 0;
    default:
        return XYL_EXIT_LAUNCHER; /* getopt has said what is wrong */
    }
}

static int options_check(const xyl_options_t *options)
{
    if (options->ranks == 0) {
        xyl_complain("-n N is missing (see xylem-run --help)");
        return XYL_EXIT_LAUNCHER;
    }
    if (options->nodes > options->ranks) {
        xyl_complain("%u ranks cannot be on %u nodes: each node has a rank",
                     options->ranks, options->nodes);
        return XYL_EXIT_LAUNCHER;
    }
    if (options->command[0] == NULL) {
        xyl_complain("the program is missing (see xylem-run --help)");
        return XYL_EXIT_LAUNCHER;
    }
    return 0;
}

int xyl_options_init(xyl_options_t *options, int argc, char **argv)
{
    *options = (xyl_options_t){.grace_s = 2};
    /* No more settings than arguments. */
    options->settings = calloc((size_t)argc + 1, sizeof(char *));
    if (options->settings == NULL) {
        xyl_complain("out of memory");
        return XYL_EXIT_LAUNCHER;
    }
    int code = 0;
    int option;
    while (code == 0 && !options->done &&
           (option = getopt_long(argc, argv, "+n:", long_options, NULL)) != -1)
        code = option_apply(options, option, optarg);
    options->command = argv + optind;
    if (code == 0 && !options->done)
        code = options_check(options);
    if (code != 0)
        xyl_options_fini(options);
    return code;
}

void xyl_options_fini(xyl_options_t *options)
{
    free(options->settings);
    options->settings = NULL;
}
