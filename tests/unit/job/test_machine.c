/* What is read of the machine agrees with what hwloc finds by all its means,
 * and reading moves the thread to no other core: where cores are busy it would
 * wait for each of them. */
#include "runtime/job/topology.h"

#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
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
    CHECK_EQ(hwloc_topology_load(all), 0);
    xyl_machine_read(&machine);
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
    xyl_machine_read(&machine);
    if (access("/sys/devices/system/cpu/cpu0/cache/index2/size", R_OK) == 0)
        CHECK_EQ(moves, 0);
}

static const check_case_t cases[] = {
    {"agrees", test_agrees},
    {"stays", test_stays},
};
CHECK_MAIN(cases)
