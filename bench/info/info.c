/* xylem-info: prints this installation, the machine, and every setting with its
 * value, read as the library itself reads them.
 * With --markdown it writes docs/config.md, which depends on nothing but the
 * table of settings. One thread. */
#include <event2/event.h>
#include <hwloc.h>
#include <inttypes.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "bench/common/child.h"
#include "bench/common/cli.h"
#include "bench/info/limits.h"
#include "collectives/data/op.h"
#include "include/xylem.h"
#include "progress/exec/cuda/cuda.h"
#include "progress/net/nets.h"
#include "runtime/base/config.h"
#include "runtime/job/build.h"

enum {
    PATH_BYTES = 4096,
    VALUE_BYTES = 64, /* longer ones are cut off */
    LINE_WIDTH = 78,
    HELP_INDENT = 6
};

static const char program_name[] = "xylem-info";

struct settings {
    unsigned markdown;
};

static const struct cli_option options[] = {
    {"markdown", 0, CLI_FLAG, offsetof(struct settings, markdown), 0, 0, NULL,
     "print docs/config.md"},
};

static const struct cli cli = {
    .program = program_name,
    .usage = "[options]",
    .summary = "Shows the version, what it was built with and runs with, the "
               "machine, other\ncommunication libraries that were found, and "
               "every setting with its value.",
    .options = options,
    .options_count = sizeof options / sizeof options[0]};

/* ---- the installation ---- */

static void field(const char *name, const char *text)
{
    printf("  %-14s %s\n", name, text);
}

static const char *isa_name(xyl_isa_t isa)
{
    switch (isa) {
    case XYL_ISA_AVX2:
        return "AVX2";
    case XYL_ISA_AVX512:
        return "AVX-512";
    case XYL_ISA_BASE:
        break;
    }
    return "baseline of the architecture";
}

static void print_build(void)
{
    unsigned hwloc = hwloc_get_api_version();
    const xyl_net_ops_t *const *net;

    printf("xylem %s\n\nbuilt\n", xylem_version());
    field("compiler", INFO_COMPILER);
    field("build type", INFO_BUILD_TYPE);
    printf("  %-14s %08" PRIx32 "\n", "sources", xyl_build);
    puts("\nruns with");
    field("UCX", ucp_get_version_string());
    printf("  %-14s API %u.%u, built against %s\n", "hwloc", hwloc >> 16,
           hwloc >> 8 & 0xff, HWLOC_VERSION);
    field("libevent", event_get_version());
    field("PMIx", PMIx_Get_version());
    field("reductions", isa_name(xyl_isa_best()));
    printf("  %-14s", "nets");
    for (net = xyl_nets; *net != NULL; net++)
        printf(" %s", (*net)->name);
    putchar('\n');
}

/* ---- the machine ---- */

static void print_count(hwloc_topology_t topology, hwloc_obj_type_t type,
                        const char *name)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);

    if (count >= 0)
        printf("  %-14s %d\n", name, count);
    else
        field(name, "on several levels");
}

static void print_machine(void)
{
    hwloc_topology_t topology;
    hwloc_obj_t cache;

    puts("\nmachine");
    if (hwloc_topology_init(&topology) != 0) {
        field("hwloc", "cannot read it");
        return;
    }
    if (hwloc_topology_load(topology) != 0) {
        field("hwloc", "cannot read it");
        goto destroy_topology;
    }
    print_count(topology, HWLOC_OBJ_PACKAGE, "sockets");
    print_count(topology, HWLOC_OBJ_NUMANODE, "NUMA nodes");
    print_count(topology, HWLOC_OBJ_L3CACHE, "L3 caches");
    cache = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L3CACHE, 0);
    if (cache != NULL && cache->attr != NULL)
        printf("  %-14s %llu KiB\n", "L3 size",
               (unsigned long long)(cache->attr->cache.size >> 10));
    print_count(topology, HWLOC_OBJ_CORE, "cores");
    print_count(topology, HWLOC_OBJ_PU, "threads");
destroy_topology:
    hwloc_topology_destroy(topology);
}

/* ---- GPUs ---- */

/* Others that one reads and writes without the host. */
static void print_links(const xyl_cuda_library_t *library, int device,
                        int count)
{
    int other, is_first = 1;

    for (other = 0; other < count; other++)
        if (other != device && library->reaches(device, other)) {
            printf("%s %d", is_first ? ", reaches" : "", other);
            is_first = 0;
        }
}

static void print_device(const xyl_cuda_library_t *library, int number,
                         int count)
{
    xyl_cuda_device_t device;
    int error = library->device(number, &device);

    if (error != 0) {
        printf("  %-14d %s\n", number, library->error_text(error));
        return;
    }
    printf("  %-14d %s, %d.%d, %llu MiB, at %04x:%02x:%02x", number,
           device.name, device.major, device.minor,
           (unsigned long long)(device.bytes >> 20),
           (unsigned)device.pci_domain, (unsigned)device.pci_bus,
           (unsigned)device.pci_slot);
    print_links(library, number, count);
    puts(device.is_mps ? ", shared by MPS" : "");
}

static void print_devices(void)
{
    const char *why = "";
    const xyl_cuda_library_t *library =
        xyl_cuda_library_open(getenv("XYLEM_CUDA_LIBRARY"), &why);
    int count = 0, number, error;

    puts("\nGPUs");
    if (library == NULL) {
        field("off", why);
        return;
    }
    error = library->devices(&count);
    if (error != 0)
        field("off", library->error_text(error));
    else if (count == 0)
        field("none", "");
    for (number = 0; number < count; number++)
        print_device(library, number, count);
}

static void print_peers(void)
{
    static const char *const peers[][2] = {
        {"Open MPI", "mpirun.openmpi"},
        {"MPICH", "mpirun.mpich"},
    };
    char path[PATH_BYTES];
    size_t i;

    puts("\nfor comparisons");
    for (i = 0; i < sizeof peers / sizeof peers[0]; i++)
        field(peers[i][0], child_find(peers[i][1], path, sizeof path)
                               ? path
                               : "not found in PATH");
}

/* ---- settings ---- */

/* Words of `text` in lines of at most LINE_WIDTH, each indented. */
static void print_wrapped(const char *text)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t length = strcspn(text, " ");

        if (column != 0 && column + 1 + length > LINE_WIDTH) {
            putchar('\n');
            column = 0;
        }
        if (column == 0)
            column += (size_t)printf("%*s", HELP_INDENT, "");
        else
            column += (size_t)printf(" ");
        column += (size_t)printf("%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

struct loaded {
    int is_good; /* there are values; else the library has printed why not */
    xyl_config_t config;
    xyl_config_origin_t *origins;
};

static void print_setting(const struct loaded *loaded, size_t number)
{
    const xyl_config_row_t *row = xyl_config_row(number);
    const xyl_config_origin_t *origin = &loaded->origins[number];
    char text[VALUE_BYTES];

    printf("  XYLEM_%s", row->name);
    if (loaded->is_good) {
        xyl_config_print(row->type, xyl_config_value(&loaded->config, row),
                         text, sizeof text);
        printf(" = %s", text);
    }
    if (!loaded->is_good || strcmp(origin->from, "default") != 0)
        printf(" (default %s)", row->preset);
    if (loaded->is_good)
        printf(" from %s", origin->from);
    if (loaded->is_good && origin->line != 0)
        printf(":%u", origin->line);
    putchar('\n');
    print_wrapped(row->help);
}

static void print_tier(const struct loaded *loaded, int is_for_experts)
{
    size_t i;

    puts(is_for_experts ? "\nsettings for experts" : "\nsettings");
    for (i = 0; i < xyl_config_row_count(); i++)
        if (xyl_config_row(i)->is_for_experts == is_for_experts)
            print_setting(loaded, i);
}

static void print_files(const xyl_config_files_t *files)
{
    unsigned i;

    puts("\nsettings come from the environment, below it from these files");
    for (i = files->count; i-- > 0;)
        printf("  %s%s\n", files->path[i],
               access(files->path[i], F_OK) == 0 ? "" : " (not there)");
    if (files->count == 0)
        puts("  none");
}

/* 1: all values can be used. 0: the library has printed those that cannot. */
static int print_settings(void)
{
    struct loaded loaded;
    xyl_config_files_t files;

    loaded.origins = calloc(xyl_config_row_count(), sizeof *loaded.origins);
    if (loaded.origins == NULL)
        return 0;
    xyl_config_files_find(&files);
    xyl_config_apply_log(&files, NULL);
    loaded.is_good = xyl_config_load(&files, NULL, &loaded.config,
                                     loaded.origins) == XYLEM_OK;
    print_files(&files);
    print_tier(&loaded, 0);
    print_tier(&loaded, 1);
    if (loaded.is_good)
        xyl_config_release(&loaded.config);
    free(loaded.origins);
    return loaded.is_good;
}

static void print_table(int is_for_experts)
{
    size_t i;

    puts("| Variable | Default | Meaning |\n"
         "|---|---|---|");
    for (i = 0; i < xyl_config_row_count(); i++) {
        const xyl_config_row_t *row = xyl_config_row(i);

        if (row->is_for_experts == is_for_experts)
            printf("| `XYLEM_%s` | `%s` | %s%s |\n", row->name, row->preset,
                   row->help,
                   row->same_on_all_ranks ? " The same on all ranks." : "");
    }
}

static void print_markdown(void)
{
    puts(
        "# Settings\n\n"
        "This file is what `xylem-info --markdown` prints.\n\n"
        "A setting is read, the strongest first, from\n\n"
        "1. `xylem_context_params_t.settings`: `NAME=value`, without "
        "`XYLEM_`;\n"
        "2. the environment: `XYLEM_NAME=value`;\n"
        "3. `~/.config/xylem.conf`, or `xylem.conf` in `$XDG_CONFIG_HOME`;\n"
        "4. `/etc/xylem.conf`.\n\n"
        "Lines of the files are `NAME = value`, without `XYLEM_`; those that "
        "are empty or begin\nwith `#` say nothing. What is wrong with a line "
        "is warned of with its file and number,\nand it is left out. Settings "
        "are read when a context is created. A value in the\nenvironment or "
        "in `settings` that cannot be used fails `xylem_context_create`; an "
        "unknown\n`XYLEM_` variable is warned of, and changes nothing. A "
        "message that several\nranks would print alike is printed by the "
        "lowest "
        "of them alone.\n\n"
        "A setting that is set to nothing (`XYLEM_SPIN_US=`) is as one that is "
        "not set. Values are\nwritten in any case:\n\n"
        "- bytes take K, M, G and T, also as KB or KiB, and a decimal point "
        "(`1.5G`). All of these\n  are powers of 1024: 1 KB is 1,024 "
        "bytes;\n"
        "- times take ns, us, ms, s, min and h (`XYLEM_SPIN_US=2ms`). A number "
        "without a unit counts\n  the unit of the setting's name, of which a "
        "time has to be a multiple;\n"
        "- `yes`, `true` and `1` stand for `on`; `no`, `false` and `0` for "
        "`off` and `none`, and these\n  for each other; `warning` stands for "
        "`warn`. A file of such a name is written `./no`.\n\n"
        "What a call asks for in `xylem_coll_args_t` comes before a setting, "
        "and a setting\nbefore the built-in table. `xylem-info` shows the "
        "values that hold now and where each\ncomes from; "
        "`XYLEM_VERBOSE=select` shows what became of them.\n");
    print_table(0);
    puts("\n## For experts\n\n"
         "For those who look for the cause of something, or measure.\n");
    print_table(1);
}

int main(int argc, char **argv)
{
    struct settings settings = {0};
    enum cli_result parsed;

    parsed = cli_parse(&cli, argc, argv, &settings);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    if (settings.markdown) {
        print_markdown();
        return EXIT_SUCCESS;
    }
    print_build();
    print_machine();
    print_devices();
    print_peers();
    print_limits();
    return print_settings() ? EXIT_SUCCESS : EXIT_FAILURE;
}
