#include "runtime/job/peers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/status.h"

enum { HELLO_MAGIC = 0x78796c31, SETTINGS_MAX = 32 };

/* A byte for each setting, and one more for those that must be equal. */
struct setting_bytes {
#define SETTING_BYTES(field, name, type, preset, same, help)                   \
    char field[1 + (same)];
    XYL_CONFIG_MAP(SETTING_BYTES)
#undef SETTING_BYTES
};
_Static_assert(sizeof(struct setting_bytes) <=
                   sizeof(xyl_config_t) / sizeof(uint64_t) + SETTINGS_MAX,
               "a hello holds all settings that must be equal");

/* The first four fields never change, so that any two versions can refuse
 * each other with words. */
typedef struct hello {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint16_t patch;
    uint16_t setting_count;
    uint32_t address_bytes;
    uint64_t machine; /* equal for processes of one running system */
    int32_t pid;
    xylem_place_t place;
    int32_t memory_fd; /* for those who share memory with this rank */
    int32_t wake_fd;
    uint64_t memory_inode;
    uint64_t wake_inode;
    char node[XYL_NODE_NAME_BYTES];
    char net[XYL_NET_NAME_BYTES];
    uint64_t settings[SETTINGS_MAX]; /* those that must be equal */
    /* followed by the address */
} hello_t;

_Static_assert(sizeof(hello_t) % 8 == 0, "the address follows aligned");

static uint64_t hash(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t value = seed;
    size_t i;

    /* FNV-1a (Fowler, Noll, Vo). */
    for (i = 0; i < bytes; i++)
        value = (value ^ at[i]) * UINT64_C(0x100000001b3);
    return value;
}

/* The boot identifier tells machines apart, the namespace of processes tells
 * containers apart: in another one a process number means nothing. */
static uint64_t machine_identity(void)
{
    uint64_t identity = UINT64_C(0xcbf29ce484222325);
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
    identity = hash(identity, boot, strlen(boot));
    if (stat("/proc/self/ns/pid", &space) == 0)
        identity = hash(identity, &space.st_ino, sizeof space.st_ino);
    return identity;
}

static uint16_t collect_settings(const xyl_config_t *config, uint64_t *values)
{
    uint16_t count = 0;
    size_t i;

    for (i = 0; i < xyl_config_row_count(); i++) {
        const xyl_config_row_t *row = xyl_config_row(i);
        if (row->same_on_all_ranks)
            memcpy(&values[count++], (const char *)config + row->offset,
                   sizeof *values);
    }
    return count;
}

static const char *setting_name(uint32_t number)
{
    size_t i;

    for (i = 0; i < xyl_config_row_count(); i++)
        if (xyl_config_row(i)->same_on_all_ranks && number-- == 0)
            return xyl_config_row(i)->name;
    return "?";
}

static xylem_status_t check_version(const hello_t *mine, const hello_t *theirs,
                                    size_t bytes, uint32_t rank)
{
    if (bytes < sizeof(uint32_t) * 3 || theirs->magic != HELLO_MAGIC)
        return xyl_fail(XYLEM_ERR_VERSION,
                        "rank %u does not speak this library's language", rank);
    if (theirs->major != mine->major || theirs->minor != mine->minor ||
        theirs->patch != mine->patch)
        return xyl_fail(XYLEM_ERR_VERSION,
                        "rank %u runs xylem %u.%u.%u and this rank %u.%u.%u: "
                        "install one version on all nodes",
                        rank, theirs->major, theirs->minor, theirs->patch,
                        mine->major, mine->minor, mine->patch);
    if (bytes < sizeof *theirs ||
        theirs->address_bytes > bytes - sizeof *theirs)
        return xyl_fail(XYLEM_ERR_BOOTSTRAP,
                        "what rank %u said of itself arrived incomplete", rank);
    return XYLEM_OK;
}

static xylem_status_t check_settings(const hello_t *mine, const hello_t *theirs,
                                     uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < mine->setting_count; i++)
        if (mine->settings[i] != theirs->settings[i])
            return xyl_fail(XYLEM_ERR_VERSION,
                            "XYLEM_%s differs between rank %u and this rank; "
                            "it must be the same on all",
                            setting_name(i), rank);
    return XYLEM_OK;
}

static xylem_status_t check_net(const hello_t *mine, const hello_t *theirs,
                                uint32_t rank)
{
    if (strncmp(mine->net, theirs->net, sizeof mine->net) == 0)
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_NET,
                    "rank %u sends by the net \"%.*s\" and this rank by "
                    "\"%.*s\": set XYLEM_NET to one that all have",
                    rank, XYL_NET_NAME_BYTES, theirs->net, XYL_NET_NAME_BYTES,
                    mine->net);
}

/* Nodes are numbered by the lowest rank that lives there. */
static uint32_t node_number(const xylem_context_t *context, uint32_t rank)
{
    const size_t *offsets = context->hellos.offsets;
    const char *memory = context->hellos.memory;
    const hello_t *mine = (const void *)(memory + offsets[rank]);
    uint32_t other, nodes = 0;

    for (other = 0; other < rank; other++) {
        const hello_t *theirs = (const void *)(memory + offsets[other]);
        if (strncmp(mine->node, theirs->node, sizeof mine->node) == 0)
            return context->peers[other].place.node;
        if (context->peers[other].place.node == nodes)
            nodes++;
    }
    return nodes;
}

static xylem_status_t peer_read(xylem_context_t *context, const hello_t *mine,
                                uint32_t rank, const void **address)
{
    const char *blob = context->hellos.memory + context->hellos.offsets[rank];
    size_t bytes =
        context->hellos.offsets[rank + 1] - context->hellos.offsets[rank];
    const hello_t *theirs = (const void *)blob;
    xyl_peer_t *peer = &context->peers[rank];
    xylem_status_t status = check_version(mine, theirs, bytes, rank);

    if (status == XYLEM_OK)
        status = check_settings(mine, theirs, rank);
    if (status == XYLEM_OK)
        status = check_net(mine, theirs, rank);
    if (status != XYLEM_OK)
        return status;
    peer->place = theirs->place;
    peer->place.node = node_number(context, rank);
    peer->pid = theirs->pid;
    peer->is_local = theirs->machine == mine->machine;
    *address = blob + sizeof *theirs;
    return XYLEM_OK;
}

static hello_t *hello_create(const xylem_context_t *context,
                             const xylem_place_t *place)
{
    xyl_net_t *net = context->net;
    const void *address = NULL;
    size_t address_bytes = 0;
    xyl_shm_member_t member;
    hello_t *hello;

    if (net->ops->address != NULL)
        address = net->ops->address(net, &address_bytes);
    hello = calloc(1, sizeof *hello + address_bytes);
    if (hello == NULL)
        return NULL;
    hello->magic = HELLO_MAGIC;
    hello->major = XYLEM_VERSION_MAJOR;
    hello->minor = XYLEM_VERSION_MINOR;
    hello->patch = XYLEM_VERSION_PATCH;
    hello->setting_count = collect_settings(&context->config, hello->settings);
    hello->address_bytes = (uint32_t)address_bytes;
    hello->machine = machine_identity();
    xyl_shm_node_offer(context->node, &member);
    hello->pid = member.pid;
    hello->memory_fd = member.memory_fd;
    hello->wake_fd = member.wake_fd;
    hello->memory_inode = member.memory_inode;
    hello->wake_inode = member.wake_inode;
    hello->place = *place;
    memcpy(hello->node, context->bootstrap->node, sizeof hello->node);
    memcpy(hello->net, net->ops->name,
           strnlen(net->ops->name, sizeof hello->net));
    if (address_bytes != 0)
        memcpy(hello + 1, address, address_bytes);
    return hello;
}

xylem_status_t xyl_peers_exchange(xylem_context_t *context,
                                  const xylem_place_t *place,
                                  const void ***addresses_out)
{
    xyl_bootstrap_t *bootstrap = context->bootstrap;
    hello_t *mine = hello_create(context, place);
    const void **addresses = calloc(context->ranks, sizeof *addresses);
    xylem_status_t status = XYLEM_OK;
    uint32_t rank;

    context->peers = calloc(context->ranks, sizeof *context->peers);
    context->owns_peers = 1;
    if (mine == NULL || addresses == NULL || context->peers == NULL)
        status = xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for %u peers",
                          context->ranks);
    if (status == XYLEM_OK)
        status = bootstrap->ops->exchange(bootstrap, mine,
                                          sizeof *mine + mine->address_bytes,
                                          &context->hellos);
    for (rank = 0; rank < context->ranks && status == XYLEM_OK; rank++)
        status = peer_read(context, mine, rank, &addresses[rank]);
    free(mine);
    if (status == XYLEM_OK)
        *addresses_out = addresses;
    else
        free(addresses);
    return status;
}

uint32_t xyl_peers_local_count(const xylem_context_t *context)
{
    uint32_t rank, count = 0;

    for (rank = 0; rank < context->ranks; rank++)
        count += context->peers[rank].is_local;
    return count;
}

void xyl_peers_node(const xylem_context_t *context, uint32_t rank,
                    char *name_out)
{
    const char *blob = context->hellos.memory + context->hellos.offsets[rank];
    const hello_t *hello = (const void *)blob;

    memcpy(name_out, hello->node, sizeof hello->node);
    name_out[sizeof hello->node] = '\0';
}

void xyl_peers_member(const xylem_context_t *context, uint32_t rank,
                      xyl_shm_member_t *member_out)
{
    const char *blob = context->hellos.memory + context->hellos.offsets[rank];
    const hello_t *hello = (const void *)blob;

    *member_out = (xyl_shm_member_t){.rank = rank,
                                     .pid = hello->pid,
                                     .memory_fd = hello->memory_fd,
                                     .wake_fd = hello->wake_fd,
                                     .memory_inode = hello->memory_inode,
                                     .wake_inode = hello->wake_inode};
}
