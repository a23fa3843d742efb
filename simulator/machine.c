/* Machines without a file: the names of levels, the machine that costs nothing,
 * and the list of the machines that come with xylem. Without state. */
#include "simulator/machine.h"

#include <assert.h>
#include <stddef.h>

static const char *const level_names[SIM_LEVEL_COUNT] = {
    "group", "numa", "socket", "node", "switch", "system",
};

/* In simulator/machines/, NAME.json each. */
static const char *const shipped_names[] = {
    "cori", "nacl", "node64", "saturn", "shaheen2", "stampede2", "tcp", NULL,
};

const char *sim_level_name(sim_level_t level)
{
    assert((unsigned)level < SIM_LEVEL_COUNT);
    return level_names[level];
}

const char *const *sim_machine_names(void)
{
    return shipped_names;
}

void sim_machine_ideal(uint32_t cores_per_node, sim_machine_t *machine_out)
{
    sim_machine_t machine = {
        .name = "ideal",
        .about = "Everything is free of charge.",
        .cores_per_group = cores_per_node,
        .groups_per_numa = 1,
        .numas_per_socket = 1,
        .sockets_per_node = 1,
        .nodes_per_switch = 1,
        .core.cache_bytes = SIZE_MAX,
    };
    int level;

    assert(cores_per_node >= 1);
    for (level = 0; level < SIM_LEVEL_COUNT; level++) {
        machine.links[level].transport = SIM_TRANSPORT_COPY;
        machine.links[level].rendezvous = SIM_RENDEZVOUS_GET;
        machine.links[level].eager_bytes_max = 8192;
    }
    *machine_out = machine;
}
