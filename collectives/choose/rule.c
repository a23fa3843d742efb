#include "collectives/choose/rule.h"

static int is_counted(xyl_counts_t counts, uint32_t value)
{
    return value >= counts.least && value <= counts.most;
}

int xyl_rule_holds(const xyl_rule_t *rule, const xyl_query_t *query)
{
    return (rule->colls >> query->coll & 1) != 0 &&
           (rule->teams & query->team) != 0 &&
           (rule->arrivals == 0 || (rule->arrivals & query->arrivals) != 0) &&
           is_counted(rule->ranks, query->ranks) &&
           is_counted(rule->nodes, query->nodes) &&
           is_counted(rule->node_ranks, query->node_ranks) &&
           query->bytes >= rule->bytes_min && query->bytes <= rule->bytes_max &&
           query->total >= rule->total_min && query->total <= rule->total_max &&
           (!rule->power_of_two || (query->ranks & (query->ranks - 1)) == 0);
}

int xyl_rule_pays(const xyl_rule_t *rule, const xyl_query_t *query)
{
    uint32_t i;

    for (i = 0; i < rule->pays_count; i++) {
        const xyl_pays_t *pays = &rule->pays[i];
        if ((pays->facts & ~query->facts) == 0 &&
            query->node_ranks <= pays->node_ranks_max &&
            query->bytes <= pays->node_bytes_max / query->node_ranks)
            return 1;
    }
    return rule->pays_count == 0;
}

xyl_named_t xyl_rule_named(const xyl_rule_t *rule, xylem_coll_t coll)
{
    xyl_named_t named = {.radix = rule->radix,
                         .between_radix = rule->between_radix,
                         .within = rule->within,
                         .within_radix = rule->within_radix,
                         .segment_bytes = rule->segment_bytes,
                         .within_segment_bytes = rule->within_segment_bytes};

    if (rule->algorithm != NULL && (rule->colls >> coll & 1) != 0)
        named.algorithm = xyl_algorithm_find(coll, rule->algorithm);
    if (rule->between != NULL)
        named.between =
            xyl_algorithm_find(xyl_registry_between(coll), rule->between);
    return named;
}

void xyl_rule_name(xyl_rule_t *rule, const xyl_named_t *named)
{
    rule->algorithm = named->algorithm == NULL ? NULL : named->algorithm->name;
    rule->radix = named->radix;
    rule->between = named->between == NULL ? NULL : named->between->name;
    rule->between_radix = named->between_radix;
    rule->within = named->within;
    rule->within_radix = named->within_radix;
    rule->segment_bytes = named->segment_bytes;
    rule->within_segment_bytes = named->within_segment_bytes;
}
