/* The node of each rank. A node holds a contiguous block of ranks, or, if the
 * map is cyclic, every K-th rank. In both cases the first `ranks % nodes` nodes
 * hold one rank more than the others. Pure functions of the layout. */
#include "launcher/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int xyl_layout_init(xyl_layout_t *layout, const xyl_options_t *options)
{
    *layout = (xyl_layout_t){
        .ranks = options->ranks,
        .nodes = options->nodes > 0 ? options->nodes : 1,
        .cyclic = options->map == XYL_MAP_CYCLIC,
        .presented = options->nodes > 0,
    };
    /* One byte less, so that a truncated name still ends with 0. */
    if (gethostname(layout->host, sizeof(layout->host) - 1) != 0)
        return xyl_complain("cannot get the name of this machine");
    return 0;
}

unsigned xyl_layout_node(const xyl_layout_t *layout, unsigned rank)
{
    const unsigned size = layout->ranks / layout->nodes;
    const unsigned larger = layout->ranks % layout->nodes;
    if (layout->cyclic)
        return rank % layout->nodes;
    if (rank < larger * (size + 1))
        return rank / (size + 1);
    return larger + (rank - larger * (size + 1)) / size;
}

unsigned xyl_layout_node_size(const xyl_layout_t *layout, unsigned node)
{
    const unsigned larger = layout->ranks % layout->nodes;
    return layout->ranks / layout->nodes + (node < larger ? 1 : 0);
}

unsigned xyl_layout_rank(const xyl_layout_t *layout, unsigned node,
                         unsigned local)
{
    const unsigned larger = layout->ranks % layout->nodes;
    if (layout->cyclic)
        return local * layout->nodes + node;
    return node * (layout->ranks / layout->nodes) +
           (node < larger ? node : larger) + local;
}

unsigned xyl_layout_local_rank(const xyl_layout_t *layout, unsigned rank)
{
    if (layout->cyclic)
        return rank / layout->nodes;
    return rank - xyl_layout_rank(layout, xyl_layout_node(layout, rank), 0);
}

void xyl_layout_node_name(const xyl_layout_t *layout, unsigned node,
                          char *name_out, size_t bytes)
{
    if (layout->presented)
        (void)snprintf(name_out, bytes, "node%u", node);
    else
        (void)snprintf(name_out, bytes, "%s", layout->host);
}

char *xyl_layout_peers(const xyl_layout_t *layout, unsigned node)
{
    const unsigned size = xyl_layout_node_size(layout, node);
    const size_t bytes = (size_t)size * sizeof("4095");
    char *peers = malloc(bytes + 1);
    if (peers == NULL)
        return NULL;
    size_t used = 0;
    for (unsigned i = 0; i < size; i++) {
        used += (size_t)snprintf(peers + used, bytes + 1 - used, "%s%u",
                                 i > 0 ? "," : "",
                                 xyl_layout_rank(layout, node, i));
    }
    return peers;
}
