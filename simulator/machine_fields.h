/* The keys of a machine's file, with the places of their values in a
 * sim_machine_t, and their bounds and units. Reading (machine_file.c) and
 * writing (machine_write.c) go by these tables.
 *
 * A file has decimals (nanoseconds, gigabytes per second), a machine integers
 * (picoseconds, femtoseconds per byte). They are turned into each other by
 * single operations on doubles, which IEEE 754 defines to the last bit, so that
 * a file means the same everywhere. Without state.
 */
#pragma once

#include "simulator/machine.h"

typedef enum value_kind {
    SIM_VALUE_COUNT,      /* uint32_t */
    SIM_VALUE_SLOTS,      /* uint32_t; 0: unbounded */
    SIM_VALUE_TIME,       /* sim_time_t; nanoseconds in files */
    SIM_VALUE_RATE,       /* sim_rate_t; GB/s in files; 0: unbounded */
    SIM_VALUE_BYTES,      /* size_t; SIZE_MAX: unbounded */
    SIM_VALUE_TRANSPORT,  /* sim_transport_t */
    SIM_VALUE_RENDEZVOUS, /* sim_rendezvous_t */
    SIM_VALUE_KIND_COUNT
} sim_value_kind_t;

/* The values of a kind in a file: one of `words`; NULL: a number. */
typedef struct value_form {
    double min, max;
    int is_whole;
    int may_be_unbounded;
    const char *const *words;
} sim_value_form_t;

extern const sim_value_form_t sim_value_forms[SIM_VALUE_KIND_COUNT];

typedef struct field {
    const char *key;
    sim_value_kind_t kind;
    size_t offset;
    int is_optional;
} sim_field_t;

typedef struct section {
    const char *key;
    const sim_field_t *fields;
    size_t count;
} sim_section_t;

/* The longest key; the fields of the largest section. */
#define SIM_KEY_BYTES_MAX 32
#define SIM_FIELDS_MAX    16

/* Fields of a sim_link_t. */
extern const sim_section_t sim_section_link;
/* The sections of a sim_machine_t: "nest", "core", "node", "nic". */
#define SIM_SECTION_COUNT 4
extern const sim_section_t sim_sections[SIM_SECTION_COUNT];

/* A member of the machine or link `object`, as a number. */
uint64_t sim_field_load(const sim_field_t *field, const void *object);
void sim_field_store(const sim_field_t *field, void *object, uint64_t value);

/* The value of "unbounded" in a file. */
uint64_t sim_value_unbounded(sim_value_kind_t kind);
/* `number` is within the bounds of the kind's form. */
uint64_t sim_value_from_decimal(sim_value_kind_t kind, double number);
/* JSON that is read back as `value`; 0 when none is. */
int sim_value_print(sim_value_kind_t kind, uint64_t value, char *text,
                    size_t bytes);

/* A node has at most this many cores. */
#define SIM_CORES_MAX 65536
int sim_machine_cores_fit(const sim_machine_t *machine);
