#include "runtime/job/peers.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "runtime/job/build.h"

enum {
    HELLO_MAGIC = 0x78796c31,
    SETTINGS = offsetof(xyl_config_t, content) / sizeof(uint64_t)
};

/* The first fields never change, so that any two versions and builds can refuse
 * each other with an error message. */
typedef struct hello {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint16_t patch;
    uint16_t abi;   /* of the compiler: sizes and alignments, hashed */
    uint32_t build; /* the last of the first fields */
    uint32_t offer_bytes;
    uint64_t machine; /* equal for processes of one running system */
    uint64_t room;    /* equal for processes that see the machine alike */
    int32_t pid;
    uint32_t asks_tuning; /* the user has named a tuning table */
    uint32_t status; /* not XYLEM_OK: the rank gives up, and of the fields below
                        only `culprit` is set */
    uint32_t culprit; /* the rank at fault; XYL_NO_CULPRIT: itself */
    char node[XYL_NODE_NAME_BYTES];
    xyl_cpus_t cpus;
    uint64_t settings[SETTINGS]; /* 0 for settings that may differ */
    /* followed by the offer */
} hello_t;

_Static_assert(sizeof(hello_t) % 8 == 0, "what follows is aligned");

/* The boot identifier tells machines apart. The namespace of process numbers
 * tells containers apart: a number has no meaning in another namespace. */
static uint64_t machine_identity(void)
{
    uint64_t identity = XYL_HASH_SEED;
    char boot[64] = "";
    struct stat space;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

    if (file != NULL) {
        if (fgets(boot, sizeof boot, file) == NULL)
            boot[0] = '\0';
        fclose(file);
    }
    if (boot[0] == '\0')
        gethostname(boot, sizeof boot - 1);
    identity = xyl_hash(identity, boot, strlen(boot));
    if (stat("/proc/self/ns/pid", &space) == 0)
        identity = xyl_hash(identity, &space.st_ino, sizeof space.st_ino);
    return identity;
}

/* A hash of the namespaces in which containers may differ although they share
 * process numbers. 0: a limit of addresses (ulimit -v) may keep this process
 * from mapping all memory. */
static uint64_t room_identity(void)
{
    static const char *const spaces[] = {
        "/proc/self/ns/ipc", "/proc/self/ns/mnt", "/proc/self/ns/user"};
    uint64_t identity = XYL_HASH_SEED;
    struct rlimit limit;
    struct stat space;
    size_t i;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
        return 0;
    for (i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (stat(spaces[i], &space) == 0)
            identity = xyl_hash(identity, &space.st_ino, sizeof space.st_ino);
    return identity;
}

/* A hash of the sizes and alignments that structures depend on. */
static uint16_t abi_of_compiler(void)
{
    const uint64_t facts[] = {sizeof(void *),        sizeof(size_t),
                              sizeof(long),          sizeof(int),
                              sizeof(long double),   sizeof(xylem_status_t),
                              sizeof(hello_t),       sizeof(xylem_coll_args_t),
                              _Alignof(max_align_t), _Alignof(uint64_t)};

    return (uint16_t)xyl_hash(XYL_HASH_SEED, facts, sizeof facts);
}

static void settings_fill(const xyl_config_t *config, uint64_t *settings)
{
    size_t i;

    for (i = 0; i < xyl_config_row_count(); i++)
        if (xyl_config_row(i)->same_on_all_ranks)
            settings[i] = xyl_config_value(config, xyl_config_row(i));
}

xylem_status_t xyl_peer_gives_up(xyl_bootstrap_t *bootstrap, uint32_t rank,
                                 uint32_t status, uint32_t culprit)
{
    xylem_status_t why = xyl_status_numbered(status, XYLEM_ERR_BOOTSTRAP);

    if (why == XYLEM_ERR_PROC_FAILED && culprit < bootstrap->ranks)
        return xyl_bootstrap_miss(bootstrap, culprit);
    return xyl_explain(why, "rank %u cannot create its context: %s", rank,
                       xylem_status_text(why));
}

xylem_status_t xyl_peer_is_incomplete(uint32_t rank)
{
    return xyl_fail(XYLEM_ERR_BOOTSTRAP,
                    "what rank %u said of itself arrived incomplete", rank);
}

static xylem_status_t check_version(const hello_t *mine, const hello_t *theirs,
                                    size_t bytes, uint32_t rank)
{
    if (bytes < offsetof(hello_t, offer_bytes) || theirs->magic != HELLO_MAGIC)
        return xyl_fail(XYLEM_ERR_VERSION,
                        "rank %u does not speak this library's language", rank);
    if (theirs->major != mine->major || theirs->minor != mine->minor ||
        theirs->patch != mine->patch)
        return xyl_fail(XYLEM_ERR_VERSION,
                        "rank %u runs xylem %u.%u.%u and this rank %u.%u.%u: "
                        "install one version on all nodes",
                        rank, theirs->major, theirs->minor, theirs->patch,
                        mine->major, mine->minor, mine->patch);
    if (theirs->build != mine->build || theirs->abi != mine->abi)
        return xyl_fail(XYLEM_ERR_VERSION,
                        "rank %u runs another build of xylem %u.%u.%u (%08x) "
                        "than this rank (%08x): install one build on all nodes",
                        rank, mine->major, mine->minor, mine->patch,
                        theirs->build, mine->build);
    return XYLEM_OK;
}

static xylem_status_t check_rest(xyl_bootstrap_t *bootstrap,
                                 const hello_t *mine, const hello_t *theirs,
                                 size_t bytes, uint32_t rank)
{
    if (bytes >= sizeof *theirs && theirs->status != XYLEM_OK)
        return xyl_peer_gives_up(bootstrap, rank, theirs->status,
                                 theirs->culprit);
    if (bytes < sizeof *theirs || theirs->offer_bytes != mine->offer_bytes ||
        bytes - sizeof *theirs < theirs->offer_bytes)
        return xyl_peer_is_incomplete(rank);
    return XYLEM_OK;
}

/* 1: the row is the tuning table, and neither rank's user has named one: tables
 * that the library finds may differ. */
static int may_differ(const xyl_config_row_t *row, const hello_t *mine,
                      const hello_t *theirs)
{
    return row->offset == offsetof(xyl_config_t, tuning) &&
           !mine->asks_tuning && !theirs->asks_tuning;
}

/* If any two ranks differ, rank 0 differs from one of them, so rank 0 alone
 * logs the error. */
static xylem_status_t settings_differ(const xyl_bootstrap_t *bootstrap,
                                      const char *name, uint32_t rank)
{
    xyl_status_explain(
        "XYLEM_%s differs between rank %u and this rank; it must "
        "be the same on all",
        name, rank);
    if (bootstrap->rank == 0)
        xyl_log_last_error(1);
    return XYLEM_ERR_VERSION;
}

static xylem_status_t check_settings(const xyl_bootstrap_t *bootstrap,
                                     xyl_peers_t *peers, const hello_t *mine,
                                     const hello_t *theirs, uint32_t rank)
{
    size_t i;

    for (i = 0; i < xyl_config_row_count(); i++)
        if (mine->settings[i] == theirs->settings[i])
            continue;
        else if (may_differ(xyl_config_row(i), mine, theirs))
            peers->tables_differ = 1;
        else
            return settings_differ(bootstrap, xyl_config_row(i)->name, rank);
    return XYLEM_OK;
}

static const hello_t *hello_of(const xyl_blobs_t *hellos, uint32_t rank)
{
    return (const void *)(hellos->memory + hellos->offsets[rank]);
}

/* Nodes are numbered in the order of their lowest ranks. All ranks decide alike
 * what a node is: ranks with one node name that cannot see each other's
 * processes, as in containers with equal host names, are on several nodes. */
static uint32_t node_number(const xyl_peers_t *peers, uint32_t rank)
{
    const hello_t *mine = hello_of(&peers->hellos, rank);
    uint32_t other, nodes = 0;

    for (other = 0; other < rank; other++) {
        const hello_t *theirs = hello_of(&peers->hellos, other);
        if (mine->machine == theirs->machine &&
            strncmp(mine->node, theirs->node, XYL_NODE_NAME_BYTES) == 0)
            return peers->all[other].place.node;
        if (peers->all[other].place.node == nodes)
            nodes++;
    }
    return nodes;
}

/* Checks the versions of all ranks before anything else, so that all ranks come
 * to the same result. */
static xylem_status_t check_versions(const hello_t *mine, xyl_peers_t *peers,
                                     uint32_t ranks)
{
    const size_t *offsets = peers->hellos.offsets;
    xylem_status_t status = XYLEM_OK;
    uint32_t rank;

    for (rank = 0; rank < ranks && status == XYLEM_OK; rank++)
        status = check_version(mine, hello_of(&peers->hellos, rank),
                               offsets[rank + 1] - offsets[rank], rank);
    peers->speak_otherwise = status != XYLEM_OK;
    return status;
}

static xylem_status_t peer_read(xyl_bootstrap_t *bootstrap, xyl_peers_t *peers,
                                const hello_t *mine, uint32_t rank)
{
    const hello_t *theirs = hello_of(&peers->hellos, rank);
    size_t bytes =
        peers->hellos.offsets[rank + 1] - peers->hellos.offsets[rank];
    xyl_peer_t *peer = &peers->all[rank];
    xylem_status_t status = check_rest(bootstrap, mine, theirs, bytes, rank);

    if (status == XYLEM_OK)
        status = check_settings(bootstrap, peers, mine, theirs, rank);
    if (status != XYLEM_OK)
        return status;
    peer->place.node = node_number(peers, rank);
    peer->pid = theirs->pid;
    peer->is_local = theirs->machine == mine->machine;
    peers->are_together &=
        peer->is_local && mine->room != 0 && theirs->room == mine->room;
    return XYLEM_OK;
}

static xylem_status_t find_largest_node(xyl_peers_t *peers, uint32_t ranks)
{
    uint32_t *counts = calloc(ranks, sizeof *counts), rank;

    if (counts == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for %u peers", ranks);
    for (rank = 0; rank < ranks; rank++)
        if (++counts[peers->all[rank].place.node] > peers->node_ranks_max)
            peers->node_ranks_max++;
    free(counts);
    return XYLEM_OK;
}

static void hello_begin(hello_t *hello)
{
    hello->magic = HELLO_MAGIC;
    hello->major = XYLEM_VERSION_MAJOR;
    hello->minor = XYLEM_VERSION_MINOR;
    hello->patch = XYLEM_VERSION_PATCH;
    hello->abi = abi_of_compiler();
    hello->build = xyl_build;
}

static hello_t *hello_create(const xyl_bootstrap_t *bootstrap,
                             const xyl_peers_mine_t *mine)
{
    hello_t *hello = calloc(1, sizeof *hello + mine->offer_bytes);

    if (hello == NULL)
        return NULL;
    hello_begin(hello);
    settings_fill(mine->config, hello->settings);
    hello->asks_tuning =
        mine->config->tuning != 0 && !mine->config->tuning_is_found;
    hello->offer_bytes = (uint32_t)mine->offer_bytes;
    hello->machine = machine_identity();
    hello->room = room_identity();
    hello->pid = getpid();
    memcpy(hello->node, bootstrap->node, sizeof hello->node);
    xyl_cpus_read(&hello->cpus);
    if (mine->offer_bytes != 0)
        memcpy(hello + 1, mine->offer, mine->offer_bytes);
    return hello;
}

xylem_status_t xyl_peers_exchange(xyl_bootstrap_t *bootstrap,
                                  const xyl_peers_mine_t *mine,
                                  xyl_peers_t *peers_out)
{
    uint32_t rank, ranks = bootstrap->ranks;
    hello_t *hello = NULL, last_words = {0};
    xylem_status_t status = mine->status, told;
    size_t bytes = sizeof *hello;

    *peers_out = (xyl_peers_t){.all = calloc(ranks, sizeof *peers_out->all),
                               .are_together = 1};
    if (status == XYLEM_OK)
        hello = hello_create(bootstrap, mine);
    if (status == XYLEM_OK && (hello == NULL || peers_out->all == NULL))
        status = xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for %u peers", ranks);
    if (status == XYLEM_OK)
        bytes += mine->offer_bytes;
    hello_begin(&last_words);
    last_words.status = (uint32_t)status;
    last_words.culprit = bootstrap->culprit;
    told = xyl_bootstrap_exchange(bootstrap,
                                  status == XYLEM_OK ? hello : &last_words,
                                  bytes, &peers_out->hellos);
    if (told == XYLEM_OK)
        told = check_versions(&last_words, peers_out, ranks);
    if (status == XYLEM_OK || peers_out->speak_otherwise)
        status = told;
    for (rank = 0; rank < ranks && status == XYLEM_OK; rank++)
        status = peer_read(bootstrap, peers_out, hello, rank);
    if (status == XYLEM_OK)
        status = find_largest_node(peers_out, ranks);
    free(hello);
    return status;
}

void xyl_peers_node(const xyl_blobs_t *hellos, uint32_t rank, char *name_out)
{
    memcpy(name_out, hello_of(hellos, rank)->node, XYL_NODE_NAME_BYTES);
    name_out[XYL_NODE_NAME_BYTES] = '\0';
}

const xyl_cpus_t *xyl_peers_cpus(const xyl_blobs_t *hellos, uint32_t rank)
{
    return &hello_of(hellos, rank)->cpus;
}

const void *xyl_peers_offer(const xyl_blobs_t *hellos, uint32_t rank)
{
    return hello_of(hellos, rank) + 1;
}
