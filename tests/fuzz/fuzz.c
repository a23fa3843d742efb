/* Everything that reads what others have written, on bytes of any kind: texts
 * of users, files, and what comes over the wire.
 *
 *   fuzz TARGET FILE...    reads the files, one after the other
 *
 * With clang, libFuzzer (LLVM's documentation, "libFuzzer") makes the bytes,
 * and FUZZ_TARGET names the target; fuzz.sh runs it so. What is read may be
 * refused, and must not end the process, leak, or leave memory that it was not
 * given. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectives/choose/tuning.h"
#include "runtime/base/config.h"
#include "runtime/base/config_file.h"
#include "runtime/base/log.h"
#include "runtime/core/team.h"
#include "runtime/faults/notice.h"
#include "runtime/job/peers.h"
#include "runtime/job/reach.h"
#include "runtime/job/switches.h"
#include "simulator/machine.h"
#include "simulator/noise/noise.h"
#include "tests/support/fabric.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { ERROR_BYTES = 256, LINES_MAX = 32, RANKS = 3 };

/* ---- texts and files ---- */

/* A text of its own length, so that what reads on is seen. */
static char *text_of(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);

    if (text == NULL)
        abort();
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    return text;
}

static void read_settings(const uint8_t *data, size_t bytes)
{
    char *text = text_of(data, bytes), *rest = text;
    const char *settings[LINES_MAX + 1] = {NULL};
    xyl_config_t config;
    unsigned i;

    for (i = 0; i < LINES_MAX && rest != NULL; i++)
        settings[i] = strsep(&rest, "\n");
    if (xyl_config_load(NULL, settings, &config, NULL) == XYLEM_OK)
        xyl_config_release(&config);
    free(text);
}

static void read_conf(const uint8_t *data, size_t bytes)
{
    char *text = text_of(data, bytes), *rest = text;
    xyl_config_line_t line = {0};

    while (xyl_config_file_next(&rest, &line))
        if (line.name != NULL && strlen(line.name) + strlen(line.value) > bytes)
            abort();
    free(text);
}

static void read_algorithms(const uint8_t *data, size_t bytes)
{
    char *text = text_of(data, bytes);
    xyl_rule_t *rules = NULL;
    size_t count;

    if (xyl_algorithms_parse(text, &rules, &count) == XYLEM_OK)
        free(rules);
    free(text);
}

static void read_table(const uint8_t *data, size_t bytes)
{
    char *text = text_of(data, bytes);
    xyl_limits_t limits = xyl_limits_builtin;
    xyl_rule_t *rules = NULL;
    void *memory = NULL;
    size_t count;

    if (xyl_table_parse("table", text, bytes, &rules, &count, &limits,
                        &memory) == XYLEM_OK)
        xyl_table_free(rules, memory);
    free(text);
}

static void read_switches(const uint8_t *data, size_t bytes)
{
    char *text = text_of(data, bytes);
    xyl_switches_t *switches = NULL;
    uint32_t ids[XYL_SWITCH_LEVELS_MAX];

    if (xyl_switches_parse("switches", text, bytes, &switches) == XYLEM_OK) {
        (void)xyl_switches_find(switches, "node0", ids);
        xyl_switches_free(switches);
    }
    free(text);
}

static void read_noise(const uint8_t *data, size_t bytes)
{
    char *text = text_of(data, bytes), error[ERROR_BYTES];
    sim_noise_trace_t trace = {0};
    sim_noise_cursor_t cursor;
    sim_arrivals_t arrivals;
    sim_noise_t noise;

    /* Files are another target's. */
    if (strncmp(text, "trace:", strlen("trace:")) != 0 &&
        sim_noise_parse(text, 2, &noise, &trace, error, sizeof error) ==
            XYLEM_OK) {
        sim_noise_cursor_init(&cursor, &noise, 1);
        (void)sim_noise_advance(&cursor, SIM_US, SIM_US);
        sim_noise_trace_free(&trace);
    }
    (void)sim_arrivals_parse(text, &arrivals, error, sizeof error);
    free(text);
}

/* A file without a name that holds the bytes. */
static int file_of(const uint8_t *data, size_t bytes, char *path,
                   size_t path_bytes)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
        abort();
    snprintf(path, path_bytes, "/proc/self/fd/%d", fd);
    return fd;
}

static void read_machine(const uint8_t *data, size_t bytes)
{
    char path[64], error[ERROR_BYTES];
    sim_machine_t machine;
    int fd = file_of(data, bytes, path, sizeof path);

    (void)sim_machine_load(path, &machine, error, sizeof error);
    close(fd);
}

static void read_trace(const uint8_t *data, size_t bytes)
{
    char path[64], error[ERROR_BYTES];
    sim_noise_trace_t trace = {0};
    int fd = file_of(data, bytes, path, sizeof path);

    if (sim_noise_trace_load(path, &trace, error, sizeof error) == XYLEM_OK)
        sim_noise_trace_free(&trace);
    close(fd);
}

/* ---- the wire ---- */

typedef struct said {
    xyl_bootstrap_t base;
    const uint8_t *data;
    size_t bytes;
} said_t;

/* Rank 0 says what it wants to, rank 1 the bytes, which are laid over it: much
 * of a hello is compared, and would refuse all else at once. */
static xylem_status_t exchange(xyl_bootstrap_t *base, const void *mine,
                               size_t bytes, xyl_blobs_t *all_out)
{
    const said_t *said = (const said_t *)(const void *)base;
    size_t offset = said->bytes != 0 ? said->data[0] * 8u : 0;
    size_t length = said->bytes > 1 ? said->bytes - 1 : 0, i;
    size_t cut = length != 0 ? said->data[1] : 0;
    char *theirs = malloc(bytes);
    xyl_blobs_t all = {NULL, NULL};

    if (theirs == NULL || xyl_blobs_init(&all, base->ranks) != XYLEM_OK)
        abort();
    memcpy(theirs, mine, bytes);
    for (i = 0; i < length && offset + i < bytes; i++)
        theirs[offset + i] ^= (char)said->data[1 + i];
    if (xyl_blobs_append(&all, 0, mine, bytes) != XYLEM_OK ||
        xyl_blobs_append(&all, 1, theirs,
                         cut < 16 && cut * 64 < bytes ? bytes - cut * 64 : 0) !=
            XYLEM_OK)
        abort();
    free(theirs);
    *all_out = all;
    return XYLEM_OK;
}

static void read_hello(const uint8_t *data, size_t bytes)
{
    static const xyl_bootstrap_ops_t ops = {.exchange = exchange};
    said_t said = {{.ops = &ops, .ranks = 2, .node = "node0"}, data, bytes};
    const xylem_place_t places[2] = {{0}};
    const uint64_t offer[4] = {0}, address[8] = {0};
    const xyl_machine_t machine = {.cores = 2};
    xyl_config_t config;
    xyl_peers_t peers;
    xyl_reach_t reach;
    const xyl_peers_mine_t mine = {
        .config = &config, .offer = offer, .offer_bytes = sizeof offer};
    const xyl_reach_mine_t mine_reach = {.machine = &machine,
                                         .places = places,
                                         .place_count = 2,
                                         .net = "ucx",
                                         .address = address,
                                         .address_bytes = sizeof address};
    char name[XYL_NODE_NAME_BYTES + 1];

    if (xyl_config_load(NULL, NULL, &config, NULL) != XYLEM_OK)
        abort();
    if (xyl_peers_exchange(&said.base, &mine, &peers) == XYLEM_OK)
        xyl_peers_node(&peers.hellos, 1, name);
    (void)xyl_reach_exchange(&said.base, &mine_reach, peers.all, &reach);
    free(reach.addresses);
    xyl_blobs_fini(&reach.blobs);
    free(peers.all);
    xyl_blobs_fini(&peers.hellos);
    xyl_config_release(&config);
}

/* Rank 0 sends the bytes as notices to rank 1, a team of both included. */
static void read_notice(const uint8_t *data, size_t bytes)
{
    fabric_options_t options = {.seed = 1, .tells_failures = 1};
    fabric_t *fabric = fabric_create(RANKS, &options);
    xylem_context_t *context = fabric_context(fabric, 0);
    size_t room = sizeof(xyl_notice_t) + sizeof(uint64_t), at, length;

    for (at = 0; at < bytes; at += length) {
        xyl_notice_t *notice =
            xyl_notice_new(context, XYL_NOTICE_CALL, fabric_world(fabric, 0));
        if (notice == NULL)
            abort();
        length = bytes - at < room ? bytes - at : room;
        memcpy(notice, data + at, length);
        if (data[at] % 4 != 0) /* of a team that is there */
            notice->team = fabric_world(fabric, 0)->key;
        xyl_notice_send(context, 1, notice);
        xyl_notice_free(context, notice);
        fabric_run_dry(fabric);
    }
    fabric_destroy(fabric);
}

/* ---- which ---- */

static const struct target {
    const char *name;
    void (*read)(const uint8_t *data, size_t bytes);
} targets[] = {
    {"settings", read_settings},     {"conf", read_conf},
    {"algorithms", read_algorithms}, {"table", read_table},
    {"switches", read_switches},     {"noise", read_noise},
    {"machine", read_machine},       {"trace", read_trace},
    {"hello", read_hello},           {"notice", read_notice},
};
static const struct target *target;

static void target_choose(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (name != NULL && strcmp(name, targets[i].name) == 0)
            target = &targets[i];
    if (target == NULL) {
        fprintf(stderr, "fuzz: there is no target %s\n",
                name != NULL ? name : "in FUZZ_TARGET");
        exit(2);
    }
    xyl_log_level_set(XYL_LOG_NONE);
    setenv("XYLEM_LOG", "none", 1);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    target_choose(getenv("FUZZ_TARGET"));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    target->read(data, bytes);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static void file_read(const char *path)
{
    enum { BYTES_MAX = 1 << 20 };
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(BYTES_MAX);
    size_t bytes;

    if (file == NULL || data == NULL) {
        fprintf(stderr, "fuzz: cannot read %s\n", path);
        exit(2);
    }
    bytes = fread(data, 1, BYTES_MAX, file);
    fclose(file);
    target->read(data, bytes);
    free(data);
}

int main(int argc, char **argv)
{
    int i;

    target_choose(argc > 1 ? argv[1] : NULL);
    for (i = 2; i < argc; i++)
        file_read(argv[i]);
    return EXIT_SUCCESS;
}
#endif
