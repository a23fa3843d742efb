/* Command lines of measurements. Pure, except that it looks at files; one
 * thread.
 *
 * Open MPI gets UCX, as the others have it, also without a network card, which
 * its defaults would demand. Ranks are bound to cores if each can have one.
 */
#include "bench/noise/launch.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/child.h"
#include "bench/common/impl_name.h"
#include "bench/measure/coll.h"

enum mpi_family { FAMILY_XYLEM, FAMILY_OPENMPI, FAMILY_MPICH, FAMILY_INTEL };

/* How the ranks of one library are started. */
struct launcher {
    enum mpi_family family;
    const char *names[2]; /* in PATH */
    const char *driver;
    int has_ucx; /* Open MPI, with options to use it */
};

static const struct launcher xylem_run = {.family = FAMILY_XYLEM};
static const struct launcher openmpi = {FAMILY_OPENMPI,
                                        {"mpirun.openmpi", "orterun"},
                                        "xylem-mpi-driver-openmpi",
                                        1};
static const struct launcher mpich = {FAMILY_MPICH,
                                      {"mpirun.mpich", "mpiexec.hydra"},
                                      "xylem-mpi-driver-mpich",
                                      0};
/* Launchers that bench/peers.sh makes. */
static const struct launcher openmpi5 = {
    FAMILY_OPENMPI, {"mpirun.openmpi5"}, "xylem-mpi-driver-openmpi", 0};
static const struct launcher mpich5 = {
    FAMILY_MPICH, {"mpirun.mpich5"}, "xylem-mpi-driver-mpich", 0};
static const struct launcher intel = {
    FAMILY_INTEL, {"mpirun.intel"}, "xylem-mpi-driver-mpich", 0};

enum kind_flag {
    KIND_TREES = 1, /* has broadcasts and reductions only */
    KIND_ADAPT = 2, /* Open MPI's module of that name */
    KIND_BOUND = 4  /* by xylem's binding; only when asked for */
};

struct launch_kind {
    const char *name;
    const struct launcher *launcher;
    unsigned flags;
};

static const struct launch_kind kinds[] = {
    {IMPL_XYLEM, &xylem_run, 0},
    {"local", &xylem_run, 0},
    {"waitall", &xylem_run, KIND_TREES},
    {"blocking", &xylem_run, KIND_TREES},
    {"openmpi-tuned", &openmpi, 0},
    {"openmpi-adapt", &openmpi, KIND_TREES | KIND_ADAPT},
    {"mpich", &mpich, 0},
    {"openmpi5-tuned", &openmpi5, 0},
    {"openmpi5-adapt", &openmpi5, KIND_TREES | KIND_ADAPT},
    {"mpich5", &mpich5, 0},
    {"intel", &intel, 0},
    {"xylem-openmpi", &openmpi, KIND_BOUND},
    {"xylem-mpich", &mpich, KIND_BOUND},
    {"xylem-openmpi5", &openmpi5, KIND_BOUND},
    {"xylem-mpich5", &mpich5, KIND_BOUND},
    {"xylem-intel", &intel, KIND_BOUND},
};

enum { KINDS_COUNT = sizeof kinds / sizeof kinds[0] };

/* Open MPI's numbers for a tree in its two modules; 0: none. */
struct mpi_tree {
    const char *names[2];
    int tuned[XYLEM_COLL_COUNT];
    int adapt[XYLEM_COLL_COUNT];
};

static const struct mpi_tree mpi_trees[] = {
    {{"flat", "flat"}, {1, 1}, {6, 6}},
    {{"chain", "chain"}, {3, 3}, {4, 4}},
    {{"binary", "kary:2"}, {5, 4}, {3, 3}},
    {{"binomial", "knomial:2"}, {6, 5}, {1, 1}},
    {{"inorder", "inorder"}, {0, 6}, {0, 0}},
};

const char *launch_name(size_t index)
{
    return index < KINDS_COUNT ? kinds[index].name : NULL;
}

/* The folder of this program, without a slash at its end. */
static int own_folder(char *path, size_t bytes)
{
    ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
    char *slash;

    if (length <= 0)
        return 0;
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL)
        return 0;
    *slash = '\0';
    return 1;
}

static int is_program(const char *folder, const char *name, char *path)
{
    int length = snprintf(path, LAUNCH_PATH_BYTES, "%s/%s", folder, name);

    return length > 0 && length < LAUNCH_PATH_BYTES && access(path, X_OK) == 0;
}

/* Finds programs of xylem: beside this program if installed; in a build the
 * launcher is in a folder next to it. */
static int find_xylem(const char *folder, struct launch *launch,
                      int has_launcher)
{
    return is_program(folder, "xylem-bench", launch->program) &&
           (has_launcher || is_program(folder, "xylem-run", launch->launcher) ||
            is_program(folder, "../launcher/xylem-run", launch->launcher));
}

/* Finds libxylem-mpi.so, as programs are found. */
static int find_binding(const char *folder, char *path)
{
    return is_program(folder, "../bindings/mpi/libxylem-mpi.so", path) ||
           is_program(folder, "../lib/libxylem-mpi.so", path);
}

static int find_mpi(const char *folder, struct launch *launch, int has_launcher,
                    char *why, unsigned bytes)
{
    const struct launcher *launcher = launch->kind->launcher;
    const char *const *names = launcher->names;

    if (!has_launcher &&
        !child_find(names[0], launch->launcher, LAUNCH_PATH_BYTES) &&
        (names[1] == NULL ||
         !child_find(names[1], launch->launcher, LAUNCH_PATH_BYTES))) {
        snprintf(why, bytes, "%s is not in PATH", names[0]);
        return 0;
    }
    if (!is_program(folder, launcher->driver, launch->program)) {
        snprintf(why, bytes, "%s was not built", launcher->driver);
        return 0;
    }
    if ((launch->kind->flags & KIND_BOUND) != 0 &&
        !find_binding(folder, launch->binding)) {
        snprintf(why, bytes, "libxylem-mpi.so was not built");
        return 0;
    }
    return 1;
}

static const struct launch_kind *kind_find(const char *name)
{
    size_t i;

    for (i = 0; i < KINDS_COUNT; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    }
    return NULL;
}

int launch_is_default(const char *name, const struct noise_options *options)
{
    const struct launch_kind *kind = kind_find(name);

    return (kind->flags & KIND_BOUND) == 0 &&
           (options->launcher == NULL ||
            kind->launcher->family == FAMILY_XYLEM);
}

int launch_has(const struct launch *launch, xylem_coll_t coll)
{
    return (launch->kind->flags & KIND_TREES) == 0 ||
           coll == XYLEM_COLL_BCAST || coll == XYLEM_COLL_REDUCE;
}

static int has_any(const struct launch *launch,
                   const struct noise_options *options)
{
    size_t i;

    for (i = 0; i < options->cases_count; i++)
        if (launch_has(launch, options->cases[i].coll))
            return 1;
    return 0;
}

int launch_find(const char *name, const struct noise_options *options,
                struct launch *launch_out, char *why, unsigned bytes)
{
    /* Leaves room for the names that are put behind it. */
    char folder[LAUNCH_PATH_BYTES - 32];
    const struct launch_kind *kind = kind_find(name);

    assert(kind != NULL);
    *launch_out = (struct launch){.name = kind->name, .kind = kind};
    if (!has_any(launch_out, options)) {
        snprintf(why, bytes, "it has bcast and reduce only");
        return 0;
    }
    if (!own_folder(folder, sizeof folder)) {
        snprintf(why, bytes, "cannot tell where this program is");
        return 0;
    }
    if ((kind->flags & KIND_TREES) != 0 && options->mode != BENCH_BLOCKING) {
        snprintf(why, bytes, "it has blocking calls only");
        return 0;
    }
    if (kind->launcher->family != FAMILY_XYLEM)
        return find_mpi(folder, launch_out, options->launcher != NULL, why,
                        bytes);
    if (!find_xylem(folder, launch_out, options->launcher != NULL)) {
        snprintf(why, bytes,
                 "there is no xylem-run or no xylem-bench beside this "
                 "program");
        return 0;
    }
    return 1;
}

static __attribute__((format(printf, 2, 3))) void
add(struct launch_command *command, const char *format, ...)
{
    char *text = command->text + command->text_used;
    size_t room = sizeof command->text - command->text_used;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, room, format, args);
    va_end(args);
    /* All arguments are options with known or checked lengths. */
    assert(length >= 0 && (size_t)length < room);
    assert(command->args < LAUNCH_ARGS_MAX);
    command->argv[command->args++] = text;
    command->text_used += (size_t)length + 1;
}

/* A setting of Open MPI's, in the ranks' environment. */
static void add_setting(struct launch_command *command, const char *name,
                        const char *value)
{
    add(command, "OMPI_MCA_%s=%s", name, value);
}

static void add_number(struct launch_command *command, const char *name,
                       unsigned long long value)
{
    add(command, "OMPI_MCA_%s=%llu", name, value);
}

static int mpi_algorithm(const struct launch *launch,
                         const struct noise_options *options)
{
    size_t i;

    if (options->algorithm == NULL)
        return 0;
    for (i = 0; i < sizeof mpi_trees / sizeof mpi_trees[0]; i++) {
        const struct mpi_tree *entry = &mpi_trees[i];

        if (strcmp(options->algorithm, entry->names[0]) != 0 &&
            strcmp(options->algorithm, entry->names[1]) != 0)
            continue;
        return (launch->kind->flags & KIND_ADAPT) != 0
                   ? entry->adapt[options->cases[0].coll]
                   : entry->tuned[options->cases[0].coll];
    }
    return 0;
}

int launch_knows_tree(const struct launch *launch,
                      const struct noise_options *options)
{
    enum mpi_family family = launch->kind->launcher->family;

    if (options->algorithm == NULL || family == FAMILY_XYLEM)
        return 1;
    return family == FAMILY_OPENMPI && mpi_algorithm(launch, options) != 0;
}

/* An algorithm is chosen for one collective. */
static const char *coll_name(const struct noise_options *options)
{
    return xyl_coll_traits(options->cases[0].coll)->name;
}

static void add_mpi_algorithm(struct launch_command *command,
                              const struct launch *launch,
                              const struct noise_options *options)
{
    int algorithm = mpi_algorithm(launch, options);
    int is_adapt = (launch->kind->flags & KIND_ADAPT) != 0;
    char name[64];

    if (options->algorithm == NULL || algorithm == 0)
        return;
    if (!is_adapt)
        add_number(command, "coll_tuned_use_dynamic_rules", 1);
    snprintf(name, sizeof name, "coll_%s_%s_algorithm",
             is_adapt ? "adapt" : "tuned", coll_name(options));
    add_number(command, name, (unsigned)algorithm);
    snprintf(name, sizeof name, "coll_%s_%s_%s", is_adapt ? "adapt" : "tuned",
             coll_name(options),
             is_adapt ? "segment_size" : "algorithm_segmentsize");
    add_number(command, name, options->tuning.segment_bytes);
}

static void add_openmpi(struct launch_command *command, int has_cores)
{
    if (geteuid() == 0)
        add(command, "--allow-run-as-root");
    add(command, "--map-by");
    add(command, "core:oversubscribe");
    add(command, "--bind-to");
    add(command, "%s", has_cores ? "core:overload-allowed" : "none");
}

/* Adds settings for the ranks by their environment, for any launcher. */
static void add_environment(struct launch_command *command,
                            const struct launch *launch,
                            const struct noise_options *options)
{
    if (launch->kind->launcher->family == FAMILY_XYLEM)
        return;
    add(command, "env");
    if (launch->kind->launcher->has_ucx) {
        add_setting(command, "pml", "ucx");
        add_setting(command, "opal_common_ucx_tls", "any");
        add_setting(command, "opal_common_ucx_devices", "any");
    }
    if ((launch->kind->flags & KIND_ADAPT) != 0)
        add_number(command, "coll_adapt_priority", 100);
    add_mpi_algorithm(command, launch, options);
    if ((launch->kind->flags & KIND_BOUND) != 0)
        add(command, "LD_PRELOAD=%s", launch->binding);
}

static void add_hydra(struct launch_command *command,
                      const struct launch *launch, int has_cores)
{
    if (launch->kind->launcher->family == FAMILY_MPICH) {
        add(command, "-bind-to");
        add(command, "%s", has_cores ? "core" : "none");
    } else {
        add(command, "-genv");
        add(command, "%s", has_cores ? "I_MPI_PIN_DOMAIN" : "I_MPI_PIN");
        add(command, "%s", has_cores ? "core" : "0");
    }
}

/* The implementation's own launcher. */
static void add_launcher(struct launch_command *command,
                         const struct launch *launch,
                         const struct noise_options *options)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int has_cores = cpus > 0 && options->ranks <= (unsigned long)cpus;

    add(command, "%s", launch->launcher);
    add(command, "-n");
    add(command, "%u", options->ranks);
    switch (launch->kind->launcher->family) {
    case FAMILY_XYLEM:
        break;
    case FAMILY_OPENMPI:
        add_openmpi(command, has_cores);
        break;
    case FAMILY_MPICH:
    case FAMILY_INTEL:
        add_hydra(command, launch, has_cores);
        break;
    }
}

/* The user's launcher: its words, with the number of ranks in place of {n}. */
static void add_launcher_given(struct launch_command *command,
                               const struct noise_options *options)
{
    static const char mark[] = "{n}";
    char text[NOISE_LAUNCHER_BYTES + 1], *rest = text, *word, *place;

    snprintf(text, sizeof text, "%s", options->launcher);
    while ((word = strsep(&rest, " ")) != NULL &&
           command->args < LAUNCH_ARGS_MAX / 2) {
        if (*word == '\0')
            continue;
        place = strstr(word, mark);
        if (place == NULL)
            add(command, "%s", word);
        else
            add(command, "%.*s%u%s", (int)(place - word), word, options->ranks,
                place + strlen(mark));
    }
}

/* Adds ",TEXT" to the last argument, unless it has it. */
static __attribute__((format(printf, 2, 3))) void
extend(struct launch_command *command, const char *format, ...)
{
    char part[LEVEL_NAME_BYTES], *last = command->argv[command->args - 1];
    size_t length;
    va_list args;
    char *found;

    va_start(args, format);
    vsnprintf(part, sizeof part, format, args);
    va_end(args);
    length = strlen(part);
    for (found = strstr(last, part); found != NULL;
         found = strstr(found + 1, part))
        if ((found == last || found[-1] == ',') &&
            (found[length] == ',' || found[length] == '\0'))
            return;
    assert(command->text_used + length + 1 < sizeof command->text);
    command->text_used +=
        (size_t)snprintf(last + strlen(last), length + 2, "%s%s",
                         *last != '\0' ? "," : "", part);
}

/* The cases: a list of collectives and one of sizes. */
static void add_cases(struct launch_command *command,
                      const struct noise_options *options,
                      const struct launch_experiment *experiment)
{
    size_t i;

    add(command, "-c");
    add(command, "%s", "");
    for (i = 0; i < options->cases_count; i++)
        if (experiment->cases[i])
            extend(command, "%s",
                   xyl_coll_traits(options->cases[i].coll)->name);
    add(command, "--sizes");
    add(command, "%s", "");
    for (i = 0; i < options->cases_count; i++)
        if (experiment->cases[i] && options->cases[i].bytes > 0)
            extend(command, "%zu", options->cases[i].bytes);
    if (*command->argv[command->args - 1] == '\0')
        extend(command, "4"); /* a barrier alone */
}

/* Adds the options of every rank. */
static void add_worker(struct launch_command *command,
                       const struct noise_options *options, unsigned round)
{
    static const char *const modes[] = {[BENCH_BLOCKING] = "blocking",
                                        [BENCH_NONBLOCKING] = "nonblocking",
                                        [BENCH_PERSISTENT] = "persistent"};

    add(command, "--mode");
    add(command, "%s", modes[options->mode]);
    if (options->under_way > 1) {
        add(command, "--under-way");
        add(command, "%u", options->under_way);
    }
    add(command, "-i");
    add(command, "%u", options->iterations);
    add(command, "--seconds");
    add(command, "%g", options->seconds);
    add(command, "--warmup");
    add(command, "%u", options->warmup);
    add(command, "--root");
    add(command, "%u", options->root);
    add(command, "--seed");
    add(command, "%u", options->seed + round);
    if (options->osu)
        add(command, "--osu");
    if (options->consume)
        add(command, "--consume");
}

/* Adds the options that only xylem's own implementations heed. */
static void add_tuning(struct launch_command *command,
                       const struct noise_options *options)
{
    if (options->algorithm != NULL) {
        add(command, "--algorithm");
        add(command, "%s", options->algorithm);
    }
    if (options->tuning.segment_bytes != 0) {
        add(command, "--segment");
        add(command, "%zu", options->tuning.segment_bytes);
    }
    if (options->window != NULL) {
        add(command, "--window");
        add(command, "%u,%u", options->tuning.send_window,
            options->tuning.recv_window);
    }
}

static void add_experiment(struct launch_command *command,
                           const struct noise_options *options,
                           const struct launch_experiment *experiment)
{
    const struct levels *levels = &options->levels;
    char text[LEVELS_MAX * LEVEL_NAME_BYTES] = "";
    size_t i, used = 0;

    if (experiment->is_delay) {
        add(command, "--one-rank");
        add(command, "%u", options->delay_rank);
        add(command, "--delay-ms");
        add(command, "%g", options->delay_ms);
    } else {
        for (i = 0; i < levels->count; i++)
            used += (size_t)snprintf(
                text + used, sizeof text - used, "%s%s", i > 0 ? ";" : "",
                levels->list[(i + experiment->round) % levels->count].name);
        add(command, "--noise");
        add(command, "%s", text);
        add(command, "--by");
        add(command, "%s",
            options->noise_way == NOISE_BY_THREAD ? "thread" : "signal");
    }
}

/* Names the file of a run: of all cases, or after the first of some. A repeated
 * run has a file beside that of the first one. */
static void add_raw(struct launch_command *command, const struct launch *launch,
                    const struct noise_options *options,
                    const struct launch_experiment *experiment)
{
    size_t i, first = options->cases_count, count = 0;
    char path[2 * LAUNCH_PATH_BYTES];
    unsigned more = 1;
    int length;

    for (i = 0; i < options->cases_count; i++) {
        if (!experiment->cases[i])
            continue;
        if (count++ == 0)
            first = i;
    }
    length = snprintf(path, sizeof path, "%s/%s-%u", options->raw, launch->name,
                      experiment->round + 1);
    if (count != options->cases_count)
        length +=
            snprintf(path + length, sizeof path - (size_t)length, "-%zu-%s-%zu",
                     count, xyl_coll_traits(options->cases[first].coll)->name,
                     options->cases[first].bytes);
    snprintf(path + length, sizeof path - (size_t)length, ".csv");
    while (access(path, F_OK) == 0)
        snprintf(path + length, sizeof path - (size_t)length, ".%u.csv",
                 ++more);
    add(command, "--raw");
    add(command, "%s", path);
}

void launch_command_build(const struct launch *launch,
                          const struct noise_options *options,
                          const struct launch_experiment *experiment,
                          struct launch_command *command_out)
{
    struct launch_command *command = command_out;

    memset(command, 0, sizeof *command);
    if (options->launcher != NULL)
        add_launcher_given(command, options);
    else
        add_launcher(command, launch, options);
    add_environment(command, launch, options);
    add(command, "%s", launch->program);
    if (launch->kind->launcher->family == FAMILY_XYLEM) {
        add(command, "--impl");
        add(command, "%s", launch->name);
        add_tuning(command, options);
    }
    add_cases(command, options, experiment);
    add_worker(command, options, experiment->round);
    if (strcmp(launch->name, "local") == 0) {
        add(command, "--call-us");
        add(command, "%g", experiment->call_us);
    } else if (options->check) {
        add(command, "--check"); /* local has no results */
    }
    add_experiment(command, options, experiment);
    if (options->raw != NULL && !experiment->is_delay)
        add_raw(command, launch, options, experiment);
}
