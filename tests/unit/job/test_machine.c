/* The reading of the machine agrees with what hwloc finds by all its means, and
 * moves the thread to no other core: it would wait for each busy one. */
#include "runtime/job/topology.h"

#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/check.h"

static int moves;

/* Stands before libc's, for hwloc, too. */
__attribute__((visibility("default"))) int
sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t *set)
{
    moves++;
    return (int)syscall(SYS_sched_setaffinity, thread, bytes, set);
}

static uint64_t bytes_of_caches(hwloc_topology_t topology,
                                hwloc_obj_type_t type)
{
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);

    return cache == NULL
               ? 0
               : cache->attr->cache.size *
                     (uint64_t)hwloc_get_nbobjs_by_type(topology, type);
}

static void test_agrees(void)
{
    hwloc_topology_t all;
    xyl_machine_t machine;
    uint64_t level_2, level_3;

    CHECK_EQ(hwloc_topology_init(&all), 0);
    CHECK_EQ(
        hwloc_topology_set_flags(all, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED),
        0);
    CHECK_EQ(hwloc_topology_load(all), 0);
    xyl_machine_read(NULL, 0, &machine, NULL);
    CHECK_EQ(machine.cores, hwloc_get_nbobjs_by_type(all, HWLOC_OBJ_CORE));
    level_2 = bytes_of_caches(all, HWLOC_OBJ_L2CACHE) / machine.cores;
    level_3 = bytes_of_caches(all, HWLOC_OBJ_L3CACHE) / machine.cores;
    CHECK_EQ(machine.own_cache_bytes, level_2);
    CHECK_EQ(machine.cache_bytes, level_2 + level_3);
    hwloc_topology_destroy(all);
}

static void test_stays(void)
{
    xyl_machine_t machine;

    moves = 0;
    xyl_machine_read(NULL, 0, &machine, NULL);
    if (access("/sys/devices/system/cpu/cpu0/cache/index2/size", R_OK) == 0)
        CHECK_EQ(moves, 0);
}

static uint32_t index_of(hwloc_topology_t all, hwloc_obj_type_t type,
                         unsigned cpu)
{
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(all, cpu);
    hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(all, type, pu);

    return object == NULL ? UINT32_MAX : object->logical_index;
}

/* One reading tells the places of all: a thread on each processor, one on all
 * of them, and one of which nothing is known. */
static void test_places(void)
{
    static xyl_cpus_t own, cpus[XYL_CPUS_MAX + 2];
    static unsigned numbers[XYL_CPUS_MAX];
    static xylem_place_t places[XYL_CPUS_MAX + 2];
    uint32_t count = 0, i, cpu;
    hwloc_topology_t all;
    xyl_machine_t machine;

    xyl_cpus_read(&own);
    for (cpu = 0; cpu < XYL_CPUS_MAX; cpu++)
        if ((own.bits[cpu / 64] >> cpu % 64 & 1) != 0) {
            cpus[count].bits[cpu / 64] = 1ULL << cpu % 64;
            numbers[count++] = cpu;
        }
    CHECK(count > 0);
    cpus[count] = own;
    xyl_machine_read(cpus, count + 2, &machine, places);
    CHECK_EQ(hwloc_topology_init(&all), 0);
    CHECK_EQ(
        hwloc_topology_set_flags(all, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED),
        0);
    CHECK_EQ(hwloc_topology_load(all), 0);
    for (i = 0; i < count; i++) {
        CHECK_EQ(places[i].core, index_of(all, HWLOC_OBJ_CORE, numbers[i]));
        CHECK_EQ(places[i].socket,
                 index_of(all, HWLOC_OBJ_PACKAGE, numbers[i]));
        CHECK_EQ(places[i].l3, index_of(all, HWLOC_OBJ_L3CACHE, numbers[i]));
    }
    if (places[0].core != places[count - 1].core)
        CHECK_EQ(places[count].core, UINT32_MAX);
    CHECK_EQ(places[count + 1].core, UINT32_MAX);
    CHECK_EQ(places[count + 1].socket, UINT32_MAX);
    hwloc_topology_destroy(all);
}

/* The processors of the thread are as many cores as hwloc finds for it. */
static void test_cores(void)
{
    hwloc_topology_t all;
    xyl_cpus_t cpus;
    hwloc_cpuset_t bound = hwloc_bitmap_alloc();

    xyl_cpus_read(&cpus);
    CHECK_EQ(hwloc_topology_init(&all), 0);
    CHECK_EQ(hwloc_topology_load(all), 0);
    CHECK_EQ(hwloc_get_cpubind(all, bound, HWLOC_CPUBIND_THREAD), 0);
    if (hwloc_bitmap_isincluded(hwloc_topology_get_topology_cpuset(all), bound))
        CHECK_EQ(xyl_cores_of(&cpus),
                 hwloc_get_nbobjs_by_type(all, HWLOC_OBJ_CORE));
    CHECK(xyl_cores_of(&cpus) >= 1);
    hwloc_topology_destroy(all);
    hwloc_bitmap_free(bound);
}

/* The rank that reads for its node may not use the processors of others, as
 * with cgroups; the others still have places. */
static void test_places_of_others(void)
{
    static const xyl_cpus_t cpus[2] = {{{1}}, {{2}}};
    char path[] = "/tmp/xylem-machine.XXXXXX";
    hwloc_cpuset_t own = hwloc_bitmap_alloc();
    xylem_place_t places[2];
    hwloc_topology_t all;
    xyl_machine_t machine;
    int fd = mkstemp(path);

    CHECK(fd >= 0 && own != NULL);
    hwloc_bitmap_only(own, 0);
    CHECK_EQ(hwloc_topology_init(&all), 0);
    CHECK_EQ(
        hwloc_topology_set_flags(all, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED),
        0);
    CHECK_EQ(hwloc_topology_set_synthetic(all, "pack:2 l2:1 core:1 pu:1"), 0);
    CHECK_EQ(hwloc_topology_load(all), 0);
    CHECK_EQ(hwloc_topology_allow(all, own, NULL, HWLOC_ALLOW_FLAG_CUSTOM), 0);
    CHECK_EQ(hwloc_topology_export_xml(all, path, 0), 0);
    setenv("HWLOC_XMLFILE", path, 1);
    xyl_machine_read(cpus, 2, &machine, places);
    unsetenv("HWLOC_XMLFILE");
    CHECK_EQ(places[0].socket, 0);
    CHECK_EQ(places[1].socket, 1);
    CHECK_EQ(places[1].core, 1);
    hwloc_topology_destroy(all);
    hwloc_bitmap_free(own);
    close(fd);
    unlink(path);
}

static const check_case_t cases[] = {
    {"agrees", test_agrees}, {"stays", test_stays},
    {"places", test_places}, {"places_of_others", test_places_of_others},
    {"cores", test_cores},
};
CHECK_MAIN(cases)
