#include "runtime/job/topology.h"

#include <hwloc.h>
#include <hwloc/linux.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"

enum { MODEL_BYTES = 256 };

/* The index of the one object of `type` that holds all of `set`. */
static uint32_t index_covering(hwloc_topology_t topology, hwloc_obj_type_t type,
                               hwloc_const_cpuset_t set)
{
    hwloc_obj_t object = NULL;

    while ((object = hwloc_get_next_obj_by_type(topology, type, object)) !=
           NULL)
        if (object->cpuset != NULL &&
            hwloc_bitmap_isincluded(set, object->cpuset))
            return object->logical_index;
    return UINT32_MAX;
}

/* One core's share of the caches of a level, in bytes, if all cores share
 * equally. */
static uint64_t cache_of_core(hwloc_topology_t topology, hwloc_obj_type_t type,
                              uint32_t cores)
{
    int caches = hwloc_get_nbobjs_by_type(topology, type);
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);

    if (caches <= 0 || cache == NULL || cache->attr == NULL)
        return 0;
    return cache->attr->cache.size * (uint64_t)caches / cores;
}

static void read_caches(hwloc_topology_t topology, xyl_machine_t *machine)
{
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);

    if (cores > 0)
        machine->cores = (uint32_t)cores;
    machine->own_cache_bytes =
        cache_of_core(topology, HWLOC_OBJ_L2CACHE, machine->cores);
    machine->cache_bytes =
        machine->own_cache_bytes +
        cache_of_core(topology, HWLOC_OBJ_L3CACHE, machine->cores);
}

static int has_cpu(const xyl_cpus_t *cpus, unsigned cpu)
{
    return (cpus->bits[cpu / 64] >> cpu % 64 & 1) != 0;
}

static void read_place(hwloc_topology_t topology, const xyl_cpus_t *cpus,
                       xylem_place_t *place)
{
    hwloc_cpuset_t set = hwloc_bitmap_alloc();
    unsigned cpu;

    for (cpu = 0; set != NULL && cpu < XYL_CPUS_MAX; cpu++)
        if (has_cpu(cpus, cpu))
            hwloc_bitmap_set(set, cpu);
    if (set != NULL && !hwloc_bitmap_iszero(set)) {
        place->socket = index_covering(topology, HWLOC_OBJ_PACKAGE, set);
        place->numa = index_covering(topology, HWLOC_OBJ_NUMANODE, set);
        place->l3 = index_covering(topology, HWLOC_OBJ_L3CACHE, set);
        place->core = index_covering(topology, HWLOC_OBJ_CORE, set);
    }
    hwloc_bitmap_free(set);
}

/* NULL: hwloc cannot read the machine. hwloc's x86 component moves the thread
 * to each core in turn, and waits there if the core is busy, as when ranks
 * start at once. With `asks_cores` 0 hwloc asks the system only. */
static hwloc_topology_t topology_load(int asks_cores)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) != 0)
        return NULL;
    /* One rank reads for its node: others may run where this one may not. */
    (void)hwloc_topology_set_flags(topology,
                                   HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (!asks_cores) /* fails if there is no such component, which is fine */
        (void)hwloc_topology_set_components(
            topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (hwloc_topology_load(topology) == 0)
        return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

/* Some virtual machines do not report their caches. */
static int has_all(hwloc_topology_t topology)
{
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 &&
           hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L2CACHE) > 0;
}

void xyl_machine_read(const xyl_cpus_t *cpus, uint32_t count,
                      xyl_machine_t *machine_out, xylem_place_t *places_out)
{
    hwloc_topology_t topology = topology_load(0);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t i;

    *machine_out = (xyl_machine_t){.cores = online > 0 ? (uint32_t)online : 1};
    for (i = 0; i < count; i++)
        places_out[i].socket = places_out[i].numa = places_out[i].l3 =
            places_out[i].core = UINT32_MAX;
    if (topology != NULL && !has_all(topology)) {
        hwloc_topology_destroy(topology);
        topology = topology_load(1);
    }
    if (topology == NULL) {
        xyl_log(XYL_LOG_WARN, "hwloc cannot read the machine");
        return;
    }
    read_caches(topology, machine_out);
    for (i = 0; i < count; i++)
        read_place(topology, &cpus[i], &places_out[i]);
    hwloc_topology_destroy(topology);
}

void xyl_cpus_read(xyl_cpus_t *cpus_out)
{
    _Static_assert(sizeof *cpus_out <= sizeof(cpu_set_t), "as many fit");
    cpu_set_t set;
    unsigned cpu;

    memset(cpus_out, 0, sizeof *cpus_out);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return; /* the machine has more processors than `set` holds */
    for (cpu = 0; cpu < XYL_CPUS_MAX; cpu++)
        if (CPU_ISSET(cpu, &set))
            cpus_out->bits[cpu / 64] |= 1ULL << cpu % 64;
}

/* How many of `cpus` are on the core of processor `cpu`; at least 1. */
static uint32_t threads_of_core(const xyl_cpus_t *cpus, unsigned cpu)
{
    hwloc_bitmap_t threads = hwloc_bitmap_alloc();
    char path[80];
    uint32_t count = 0;
    unsigned i;

    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%u/topology/thread_siblings", cpu);
    if (threads != NULL && hwloc_linux_read_path_as_cpumask(path, threads) == 0)
        for (i = 0; i < XYL_CPUS_MAX; i++)
            count += has_cpu(cpus, i) && hwloc_bitmap_isset(threads, i);
    hwloc_bitmap_free(threads);
    return count != 0 ? count : 1;
}

uint32_t xyl_cores_of(const xyl_cpus_t *cpus)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t count = 0, cores;
    unsigned i, first = 0;

    for (i = XYL_CPUS_MAX / 64; i-- > 0;)
        if (cpus->bits[i] != 0) {
            count += (uint32_t)__builtin_popcountll(cpus->bits[i]);
            first = 64 * i + (unsigned)__builtin_ctzll(cpus->bits[i]);
        }
    if (count == 0)
        count = online > 0 ? (uint32_t)online : 1;
    cores = count / threads_of_core(cpus, first);
    return cores != 0 ? cores : 1;
}

/* The value of a line "model name : VALUE"; NULL: any other line. */
static char *model_of(char *line)
{
    static const char key[] = "model name";
    char *value = strchr(line, ':');

    if (strncmp(line, key, sizeof key - 1) != 0 || value == NULL)
        return NULL;
    value += 1 + strspn(value + 1, " \t");
    value[strcspn(value, "\n")] = '\0';
    return value;
}

void xyl_machine_name(char *name, size_t bytes)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    char line[MODEL_BYTES], *model = NULL;

    while (file != NULL && model == NULL &&
           fgets(line, sizeof line, file) != NULL)
        model = model_of(line);
    snprintf(name, bytes, "%ld x %s", online, model != NULL ? model : "cores");
    if (file != NULL)
        fclose(file);
}
