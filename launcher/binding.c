/* Chooses the cores that a rank may use. hwloc is asked only if ranks may be
 * bound: reading a large machine takes longer than starting a small job. */
#include "launcher/launcher.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <stdlib.h>

/* Loads only the cores that this process may use, as far as hwloc can. */
static int topology_load(hwloc_topology_t *topology_out)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return -1;
    const unsigned long flags = HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM |
                                HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING;
    if (hwloc_topology_set_flags(topology, flags) != 0 ||
        hwloc_topology_set_all_types_filter(topology,
                                            HWLOC_TYPE_FILTER_KEEP_NONE) != 0 ||
        hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE,
                                       HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
        hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return -1;
    }
    *topology_out = topology;
    return 0;
}

/* More ranks than processors cannot have a core each. */
static bool processors_suffice(unsigned ranks)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return true; /* a larger machine than cpu_set_t knows: ask hwloc */
    return ranks <= (unsigned)CPU_COUNT(&allowed);
}

static cpu_set_t *sets_create(hwloc_topology_t topology, unsigned ranks)
{
    /* If the machine shows no cores, a processor counts as a core. */
    hwloc_obj_type_t type = HWLOC_OBJ_CORE;
    int cores = hwloc_get_nbobjs_by_type(topology, type);
    if (cores <= 0) {
        type = HWLOC_OBJ_PU;
        cores = hwloc_get_nbobjs_by_type(topology, type);
    }
    if (cores <= 0 || ranks > (unsigned)cores)
        return NULL;
    cpu_set_t *sets = calloc(ranks, sizeof(*sets));
    if (sets == NULL)
        return NULL;
    for (unsigned i = 0; i < ranks; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(topology, type, i);
        if (hwloc_cpuset_to_glibc_sched_affinity(
                topology, core->cpuset, &sets[i], sizeof(sets[i])) != 0) {
            free(sets);
            return NULL;
        }
    }
    return sets;
}

int xyl_binding_create(const xyl_options_t *options, cpu_set_t **sets_out)
{
    cpu_set_t *sets = NULL;
    hwloc_topology_t topology;
    if (options->bind != XYL_BIND_NONE && processors_suffice(options->ranks) &&
        topology_load(&topology) == 0) {
        sets = sets_create(topology, options->ranks);
        hwloc_topology_destroy(topology);
    }
    if (sets == NULL && options->bind == XYL_BIND_CORE)
        return xyl_complain(
            "cannot bind: there is not one core for each of %u ranks",
            options->ranks);
    *sets_out = sets;
    return 0;
}
