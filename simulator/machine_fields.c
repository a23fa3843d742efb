/* The tables of fields, and numbers between a file's units and a machine's.
 * Compiled without contraction of floating-point expressions. */
#include "simulator/machine_fields.h"

#include <assert.h>
#include <inttypes.h>

static const char *const transport_words[] = {"copy", "nic", NULL};
static const char *const rendezvous_words[] = {"get", "pipeline", NULL};

/* Within these bounds every value survives being written and read, and the
 * time of 16 GiB at the lowest rate is a sim_time_t. */
const sim_value_form_t sim_value_forms[SIM_VALUE_KIND_COUNT] = {
    [SIM_VALUE_COUNT] = {1, 65536, 1, 0, NULL},
    [SIM_VALUE_SLOTS] = {1, 1e9, 1, 1, NULL},
    [SIM_VALUE_TIME] = {0, 1e9, 0, 0, NULL},
    [SIM_VALUE_RATE] = {0.001, 1e6, 0, 1, NULL},
    [SIM_VALUE_BYTES] = {0, 1099511627776.0, 1, 1, NULL}, /* 1 TiB */
    [SIM_VALUE_TRANSPORT] = {.words = transport_words},
    [SIM_VALUE_RENDEZVOUS] = {.words = rendezvous_words},
};

#define LINK(key, kind, member)    key, kind, offsetof(sim_link_t, member), 0
#define MACHINE(key, kind, member) key, kind, offsetof(sim_machine_t, member), 0
#define COUNT_OF(array)            (sizeof(array) / sizeof((array)[0]))

static const sim_field_t link_fields[] = {
    {LINK("transport", SIM_VALUE_TRANSPORT, transport)},
    {LINK("rendezvous", SIM_VALUE_RENDEZVOUS, rendezvous)},
    {LINK("latency_ns", SIM_VALUE_TIME, latency)},
    {LINK("send_overhead_ns", SIM_VALUE_TIME, send_overhead)},
    {LINK("recv_overhead_ns", SIM_VALUE_TIME, recv_overhead)},
    {LINK("eager_bytes_max", SIM_VALUE_BYTES, eager_bytes_max)},
    /* Copies have their cores' speed unless these say otherwise; "nic" needs
     * the first and ignores the others. */
    {"gb_per_s", SIM_VALUE_RATE, offsetof(sim_link_t, per_byte), 1},
    {"rendezvous_overhead_ns", SIM_VALUE_TIME,
     offsetof(sim_link_t, rendezvous_overhead), 1},
    {"rendezvous_gb_per_s", SIM_VALUE_RATE,
     offsetof(sim_link_t, rendezvous_per_byte), 1},
};

static const sim_field_t nest_fields[] = {
    {MACHINE("cores_per_group", SIM_VALUE_COUNT, cores_per_group)},
    {MACHINE("groups_per_numa", SIM_VALUE_COUNT, groups_per_numa)},
    {MACHINE("numas_per_socket", SIM_VALUE_COUNT, numas_per_socket)},
    {MACHINE("sockets_per_node", SIM_VALUE_COUNT, sockets_per_node)},
    {MACHINE("nodes_per_switch", SIM_VALUE_COUNT, nodes_per_switch)},
};

static const sim_field_t core_fields[] = {
    {MACHINE("call_ns", SIM_VALUE_TIME, core.call)},
    {MACHINE("event_ns", SIM_VALUE_TIME, core.event)},
    {MACHINE("post_ns", SIM_VALUE_TIME, core.post)},
    {MACHINE("rank_switch_ns", SIM_VALUE_TIME, core.rank_switch)},
    {"flag_ns", SIM_VALUE_TIME, offsetof(sim_machine_t, core.flag), 1},
    {"rank_linger_ns", SIM_VALUE_TIME,
     offsetof(sim_machine_t, core.rank_linger), 1},
    {MACHINE("copy_gb_per_s", SIM_VALUE_RATE, core.copy)},
    {MACHINE("reduce_gb_per_s", SIM_VALUE_RATE, core.reduce)},
    {MACHINE("copy_far_gb_per_s", SIM_VALUE_RATE, core.copy_far)},
    {MACHINE("reduce_far_gb_per_s", SIM_VALUE_RATE, core.reduce_far)},
    {MACHINE("cache_bytes", SIM_VALUE_BYTES, core.cache_bytes)},
};

static const sim_field_t node_fields[] = {
    {MACHINE("memory_gb_per_s", SIM_VALUE_RATE, node.memory)},
    {MACHINE("queue_slots", SIM_VALUE_SLOTS, node.queue_slots)},
};

static const sim_field_t nic_fields[] = {
    {MACHINE("gap_ns", SIM_VALUE_TIME, nic.gap)},
    {MACHINE("injection_gb_per_s", SIM_VALUE_RATE, nic.injection)},
    {MACHINE("ejection_gb_per_s", SIM_VALUE_RATE, nic.ejection)},
};

const sim_section_t sim_section_link = {"links", link_fields,
                                        COUNT_OF(link_fields)};
const sim_section_t sim_sections[SIM_SECTION_COUNT] = {
    {"nest", nest_fields, COUNT_OF(nest_fields)},
    {"core", core_fields, COUNT_OF(core_fields)},
    {"node", node_fields, COUNT_OF(node_fields)},
    {"nic", nic_fields, COUNT_OF(nic_fields)},
};

/* ---- a machine's integers and a file's decimals ---- */

uint64_t sim_field_load(const sim_field_t *field, const void *object)
{
    const void *member = (const char *)object + field->offset;

    switch (field->kind) {
    case SIM_VALUE_COUNT:
    case SIM_VALUE_SLOTS:
        return *(const uint32_t *)member;
    case SIM_VALUE_TIME:
    case SIM_VALUE_RATE:
        return *(const uint64_t *)member;
    case SIM_VALUE_BYTES:
        return *(const size_t *)member;
    case SIM_VALUE_TRANSPORT:
        return *(const sim_transport_t *)member;
    case SIM_VALUE_RENDEZVOUS:
        return *(const sim_rendezvous_t *)member;
    case SIM_VALUE_KIND_COUNT:
        break;
    }
    assert(0 && "a kind of value");
    return 0;
}

void sim_field_store(const sim_field_t *field, void *object, uint64_t value)
{
    void *member = (char *)object + field->offset;

    switch (field->kind) {
    case SIM_VALUE_COUNT:
    case SIM_VALUE_SLOTS:
        *(uint32_t *)member = (uint32_t)value;
        return;
    case SIM_VALUE_TIME:
    case SIM_VALUE_RATE:
        *(uint64_t *)member = value;
        return;
    case SIM_VALUE_BYTES:
        *(size_t *)member = (size_t)value;
        return;
    case SIM_VALUE_TRANSPORT:
        *(sim_transport_t *)member = (sim_transport_t)value;
        return;
    case SIM_VALUE_RENDEZVOUS:
        *(sim_rendezvous_t *)member = (sim_rendezvous_t)value;
        return;
    case SIM_VALUE_KIND_COUNT:
        break;
    }
    assert(0 && "a kind of value");
}

uint64_t sim_value_unbounded(sim_value_kind_t kind)
{
    return kind == SIM_VALUE_BYTES ? SIZE_MAX : 0;
}

uint64_t sim_value_from_decimal(sim_value_kind_t kind, double number)
{
    if (kind == SIM_VALUE_TIME)
        return (uint64_t)(number * 1000 + 0.5);
    if (kind == SIM_VALUE_RATE) /* 1 GB/s is 1e6 fs per byte */
        return (uint64_t)(1e6 / number + 0.5);
    return (uint64_t)number;
}

/* `value` is not "unbounded". */
static double to_decimal(sim_value_kind_t kind, uint64_t value)
{
    if (kind == SIM_VALUE_TIME)
        return (double)value / 1000;
    if (kind == SIM_VALUE_RATE)
        return 1e6 / (double)value;
    return (double)value;
}

/* The shortest decimal that is read back as `value`. Digits are made by
 * integers: printf's decimal point depends on the locale. */
static void decimal_print(sim_value_kind_t kind, uint64_t value, char *text,
                          size_t bytes)
{
    uint64_t scale = 1, scaled = 0;
    int digits;

    if (sim_value_forms[kind].is_whole) {
        snprintf(text, bytes, "%" PRIu64, value);
        return;
    }
    /* 13 digits tell 0.001 GB/s from its neighbours. */
    for (digits = 0; digits <= 13; digits++, scale *= 10) {
        scaled = (uint64_t)(to_decimal(kind, value) * (double)scale + 0.5);
        if (value == 0)
            break;
        if (scaled != 0 && sim_value_from_decimal(
                               kind, (double)scaled / (double)scale) == value)
            break;
    }
    assert(digits <= 13);
    if (digits == 0)
        snprintf(text, bytes, "%" PRIu64, scaled);
    else
        snprintf(text, bytes, "%" PRIu64 ".%0*" PRIu64, scaled / scale, digits,
                 scaled % scale);
}

int sim_value_print(sim_value_kind_t kind, uint64_t value, char *text,
                    size_t bytes)
{
    const sim_value_form_t *form = &sim_value_forms[kind];
    double number;

    if (form->words != NULL) {
        if (value > 1)
            return 0;
        snprintf(text, bytes, "\"%s\"", form->words[value]);
        return 1;
    }
    if (form->may_be_unbounded && value == sim_value_unbounded(kind)) {
        snprintf(text, bytes, "\"unbounded\"");
        return 1;
    }
    number = to_decimal(kind, value);
    if (!(number >= form->min && number <= form->max))
        return 0;
    decimal_print(kind, value, text, bytes);
    return 1;
}

int sim_machine_cores_fit(const sim_machine_t *machine)
{
    const uint32_t counts[] = {
        machine->cores_per_group, machine->groups_per_numa,
        machine->numas_per_socket, machine->sockets_per_node};
    uint64_t cores = 1;
    size_t i;

    for (i = 0; i < COUNT_OF(counts) && cores <= SIM_CORES_MAX; i++)
        cores *= counts[i];
    return cores <= SIM_CORES_MAX;
}
