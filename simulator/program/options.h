/* The options of xylem-sim. */
#pragma once

#include <limits.h>

#include "bench/common/cli.h"
#include "bench/measure/impl.h"
#include "simulator/world.h"

enum {
    SIM_CONTENDERS_MAX = 8,
    SIM_NOISES_MAX = 8,
    SIM_NAME_BYTES = 128,
    SIM_RANKS_MAX = 1 << 20
};

/* The names of sim_payload_t, in its order. */
#define SIM_PAYLOADS "none|moved|watched"

/* Numbers that the program chooses unless they are given. */
#define SIM_AUTO UINT_MAX

/* How a rank's calls are carried out. */
enum contender_kind {
    CONTENDER_EVENT,
    CONTENDER_WAITALL,
    CONTENDER_BLOCKING,
    CONTENDER_ELASTIC /* synthetic; see simulator/program/elastic.h */
};

struct contender {
    char name[SIM_NAME_BYTES]; /* as given */
    enum contender_kind kind;
    unsigned depth;  /* elastic: calls a rank may be ahead of the slowest */
    sim_time_t work; /* elastic: the cost of a call for each rank */
};

struct noise_level {
    char name[SIM_NAME_BYTES]; /* as given */
    sim_noise_t noise;
    sim_noise_trace_t trace;
};

struct simulation {
    /* As the user gives them: */
    const char *program;
    const char *coll_name;
    const char *impls;
    const char *algorithm;
    const char *window;
    const char *noise;
    const char *arrival;
    const char *machine_name;
    unsigned payload_word;
    const char *jitter_text;
    const char *kill;
    const char *csv;
    const char *plot;
    const char *trace;
    const char *goal;
    size_t bytes; /* of the message, or of a block; see
                     bench/measure/coll_data.h */
    unsigned nodes;
    unsigned ranks_per_node;
    unsigned iterations; /* SIM_AUTO: chosen per contender */
    unsigned warmup;
    unsigned seed;
    unsigned seeds;
    unsigned jobs;
    unsigned root;
    unsigned by_messages; /* also within a node */
    unsigned asks_memory; /* --shared-memory, the default */
    unsigned per_rank;
    unsigned resume;
    unsigned no_wall;
    unsigned quiet;
    unsigned elasticity;
    /* Derived from these: */
    sim_machine_t machine;
    unsigned ranks;
    unsigned shares_memory; /* the ranks of a node do */
    xylem_coll_t coll;
    struct bench_tuning tuning;
    sim_payload_t payload;
    sim_time_t jitter;
    sim_arrivals_t arrivals;
    int has_kill;
    uint32_t kill_rank;
    sim_time_t kill_time;
    struct contender contenders[SIM_CONTENDERS_MAX];
    size_t contenders_count;
    struct noise_level noises[SIM_NOISES_MAX];
    size_t noises_count;
};

/* Destroy the simulation whatever the result. */
enum cli_result simulation_parse(const char *program, int argc, char **argv,
                                 struct simulation *simulation_out);
void simulation_destroy(struct simulation *simulation);

/* The bytes of the largest buffer that a rank has. */
size_t simulation_bytes(const struct simulation *simulation);
