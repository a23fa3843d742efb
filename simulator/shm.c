/* Shared memory of simulated ranks: ordinary memory, one region per node and
 * key. The bytes of a copy are there at once, but no rank looks before a flag
 * says so. Flags become visible only when their line has travelled: the
 * calendar stores them. */
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/holder.h"
#include "simulator/inside.h"
#include "simulator/must.h"

struct sim_region {
    struct sim_region *next; /* on its node */
    uint64_t key;
    uint32_t users;
    char *memory;
    size_t bytes;
};

/* A flag on its way. */
typedef struct store {
    sim_item_t item; /* reaches the reader */
    _Atomic uint64_t *flag;
    uint64_t value;
} store_t;

static sim_rank_t *rank_of(xyl_shm_t *shm)
{
    return XYL_HOLDER(sim_rank_t, shm, shm);
}

static struct sim_region **find(sim_rank_t *rank, uint64_t key)
{
    struct sim_region **link = &rank->world->all_nodes[rank->node].regions;

    while (*link != NULL && (*link)->key != key)
        link = &(*link)->next;
    return link;
}

static void *shm_attach(xyl_shm_t *shm, uint64_t key, size_t bytes)
{
    struct sim_region **link = find(rank_of(shm), key), *region = *link;

    if (region == NULL) {
        region = sim_must(calloc(1, sizeof *region));
        /* Cleared, and much of it never touched. */
        region->memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        sim_must(region->memory == MAP_FAILED ? NULL : region->memory);
        region->bytes = bytes;
        region->key = key;
        *link = region;
    }
    region->users++;
    return region->memory;
}

static void region_free(struct sim_region **link)
{
    struct sim_region *region = *link;

    *link = region->next;
    munmap(region->memory, region->bytes);
    free(region);
}

static void shm_detach(xyl_shm_t *shm, uint64_t key)
{
    struct sim_region **link = find(rank_of(shm), key);

    if (*link != NULL && --(*link)->users == 0)
        region_free(link);
}

/* Frees the stores that no rank has seen. */
static void stores_free(sim_world_t *world)
{
    sim_entry_t entry;
    sim_item_t *item;
    uint32_t i;

    while (world->calendar.count != 0) {
        entry = sim_calendar_take(&world->calendar);
        if (entry.kind == SIM_KIND_STORE)
            free(entry.what);
    }
    for (i = 0; i < world->ranks; i++)
        while ((item = sim_inbox_pop(&world->all[i].inbox)) != NULL)
            if (item->step == SIM_STEP_FLAG)
                free(item);
}

void sim_shm_fini(sim_world_t *world)
{
    uint32_t node;

    stores_free(world);
    for (node = 0; node < world->nodes; node++)
        while (world->all_nodes[node].regions != NULL)
            region_free(&world->all_nodes[node].regions);
}

static void store_send(sim_rank_t *rank, uint32_t reader,
                       _Atomic uint64_t *flag, uint64_t value)
{
    sim_world_t *world = rank->world;
    store_t *store = sim_must(calloc(1, sizeof *store));
    sim_level_t level = sim_level_of(world, rank->rank, reader);

    store->item.step = SIM_STEP_FLAG;
    store->flag = flag;
    store->value = value;
    sim_add(world, SIM_KIND_STORE,
            rank->now + world->machine.links[level].latency + sim_jitter(world),
            reader, store);
}

/* Sets a flag. The line has its own way to each reader. A flag without readers
 * is stored at once. */
static void shm_set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                    const uint32_t *readers, uint32_t count)
{
    sim_rank_t *rank = rank_of(shm);
    uint32_t i;

    sim_enter(rank);
    sim_charge(rank, rank->world->machine.core.flag);
    if (count == 0)
        atomic_store_explicit(flag, value, memory_order_release);
    for (i = 0; i < count; i++)
        store_send(rank, readers[i], flag, value);
}

/* Flags only grow, so a store that a later one has overtaken changes nothing.
 */
sim_item_t *sim_shm_store(void *what)
{
    store_t *store = what;

    if (atomic_load_explicit(store->flag, memory_order_relaxed) < store->value)
        atomic_store_explicit(store->flag, store->value, memory_order_release);
    return &store->item;
}

/* How far apart the ranks of a node may be. */
static sim_level_t widest(const sim_machine_t *machine)
{
    if (machine->sockets_per_node > 1)
        return SIM_LEVEL_NODE;
    if (machine->numas_per_socket > 1)
        return SIM_LEVEL_SOCKET;
    return machine->groups_per_numa > 1 ? SIM_LEVEL_NUMA : SIM_LEVEL_GROUP;
}

/* The word's line comes from the rank that wrote it last. */
static int shm_swap(xyl_shm_t *shm, _Atomic uint64_t *word, uint64_t *expected,
                    uint64_t value)
{
    sim_rank_t *rank = rank_of(shm);
    const sim_machine_t *machine = &rank->world->machine;

    sim_enter(rank);
    sim_charge(rank,
               machine->core.flag + machine->links[widest(machine)].latency);
    return atomic_compare_exchange_strong_explicit(
        word, expected, value, memory_order_acq_rel, memory_order_acquire);
}

/* All ranks are in one process. */
static void *shm_heap_alloc(xyl_shm_t *shm, size_t bytes)
{
    (void)shm;
    return aligned_alloc(64, (bytes / 64 + 1) * 64);
}

static void shm_heap_free(xyl_shm_t *shm, void *memory)
{
    (void)shm;
    free(memory);
}

static uint64_t shm_share(xyl_shm_t *shm, const void *memory, size_t bytes)
{
    (void)shm;
    (void)bytes;
    return (uint64_t)(uintptr_t)memory;
}

static const void *shm_view(xyl_shm_t *shm, uint32_t rank, uint64_t name,
                            size_t bytes)
{
    union {
        uintptr_t name;
        const void *memory;
    } place = {(uintptr_t)name};

    (void)shm;
    (void)rank;
    (void)bytes;
    return place.memory;
}

static int shm_pull(xyl_shm_t *shm, uint32_t rank, void *to, uint64_t from,
                    size_t bytes)
{
    if (sim_copy_announced(rank_of(shm), bytes))
        memcpy(to, shm_view(shm, rank, from, bytes), bytes);
    return 1;
}

/* Ranks here do not sleep. */
#define OPS                                                                    \
    .name = "sim", .attach = shm_attach, .detach = shm_detach, .set = shm_set, \
    .swap = shm_swap, .pull = shm_pull

static const xyl_shm_ops_t shm_ops = {OPS};
static const xyl_shm_ops_t shm_heap_ops = {
    OPS, .heap_alloc = shm_heap_alloc, .heap_free = shm_heap_free,
    .share = shm_share, .view = shm_view};

xyl_shm_t *sim_shm_create(sim_rank_t *rank, int has_heap)
{
    rank->shm.ops = has_heap ? &shm_heap_ops : &shm_ops;
    rank->shm.keys_max = UINT32_MAX;
    return &rank->shm;
}
