/* The options of xylem-sim: the table, and the meaning of its words. One
 * thread.
 */
#include "simulator/program/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "bench/common/impl_name.h"
#include "bench/measure/coll_data.h"
#include "bench/measure/registry.h"
#include "bench/measure/window.h"
#include "bench/measure/worker_options.h"
#include "simulator/program/words.h"

enum { ERROR_BYTES = 256, DEPTH_MAX = 1 << 16 };

#define AT(member)    offsetof(struct simulation, member)
#define MESSAGE_LIMIT 8589934592.0

static const size_t message_default = (size_t)4 << 20, block_default = 4 << 10;
/* All blocks of a buffer. */
static const size_t buffer_bytes_max = (size_t)1 << 40;

/* Payloads are real memory, of all ranks together. */
static const size_t payload_bytes_max = (size_t)8 << 30;
/* Sums of bench/measure/content.h are exact for so many ranks. */
static const unsigned payload_ranks_max = 16384;

static const struct cli_option table[] = {
    {"nodes", 'N', CLI_COUNT, AT(nodes), 1, SIM_RANKS_MAX, "N",
     "nodes (default 2)"},
    {"ppn", 'p', CLI_COUNT, AT(ranks_per_node), 1, SIM_RANKS_MAX, "P",
     "ranks per node (default: one per core)"},
    {"coll", 'c', CLI_TEXT, AT(coll_name), 0, 0, "COLL",
     "any collective of xylem's (default bcast)"},
    {"size", 's', CLI_BYTES, AT(bytes), 1, MESSAGE_LIMIT, "BYTES",
     "message (default 4M), or each block (4K)"},
    {"impl", 0, CLI_TEXT, AT(impls), 0, 0, "NAME,...",
     "default xylem,waitall,blocking where they can"},
    {"algorithm", 0, CLI_TEXT, AT(algorithm), 0, 0, "A",
     "such as knomial:4; list shows those of COLL"},
    {"segment", 0, CLI_BYTES, AT(tuning.segment_bytes), 0, MESSAGE_LIMIT,
     "BYTES", "segment size (default 0: the library's choice)"},
    {"window", 0, CLI_TEXT, AT(window), 0, 0, "N,M",
     "sends in flight and receives posted per peer"},
    {"root", 0, CLI_COUNT, AT(root), 0, SIM_RANKS_MAX, "RANK", "default 0"},
    {"messages", 0, CLI_FLAG, AT(by_messages), 0, 0, NULL,
     "ranks of a node send messages and share no memory"},
    {"shared-memory", 0, CLI_FLAG, AT(asks_memory), 0, 0, NULL,
     "ranks of a node share memory, the default"},
    {"machine", 'm', CLI_TEXT, AT(machine_name), 0, 0, "NAME|FILE",
     "what is simulated (default cori); list shows all"},
    {"noise", 0, CLI_TEXT, AT(noise), 0, 0, "SPEC[;SPEC...]",
     "each beside a run without noise"},
    {"arrival", 0, CLI_TEXT, AT(arrival), 0, 0, "SPEC",
     "when ranks make their first call"},
    {"iterations", 'i', CLI_COUNT, AT(iterations), 1, 1e6, "K",
     "calls measured (default: 1 s of them, 200 at most)"},
    {"warmup", 0, CLI_COUNT, AT(warmup), 0, 1e6, "K",
     "calls before those (default 2)"},
    {"seed", 0, CLI_COUNT, AT(seed), 0, UINT_MAX, "S", "default 1"},
    {"seeds", 0, CLI_COUNT, AT(seeds), 1, 1e6, "R",
     "average over R seeds, S and those that follow"},
    {"jobs", 'j', CLI_COUNT, AT(jobs), 1, 4096, "J",
     "runs side by side, each a process (default 1)"},
    {"payload", 0, CLI_WORD, AT(payload_word), 0, 0, SIM_PAYLOADS,
     "what becomes of the data (default none)"},
    {"jitter", 0, CLI_TEXT, AT(jitter_text), 0, 0, "TIME",
     "disorder: messages come late by up to that"},
    {"kill", 0, CLI_TEXT, AT(kill), 0, 0, "RANK@TIME",
     "this rank dies then, as in 3@1.5ms"},
    {"per-rank", 0, CLI_FLAG, AT(per_rank), 0, 0, NULL,
     "show each rank's time per call"},
    {"csv", 0, CLI_TEXT, AT(csv), 0, 0, "FILE",
     "write all numbers there, after each run"},
    {"resume", 0, CLI_FLAG, AT(resume), 0, 0, NULL, "go on where FILE ends"},
    {"plot", 0, CLI_TEXT, AT(plot), 0, 0, "FILE.png",
     "draw the table (needs gnuplot)"},
    {"trace", 0, CLI_TEXT, AT(trace), 0, 0, "FILE.json",
     "record one run for Perfetto's viewer"},
    {"goal", 0, CLI_TEXT, AT(goal), 0, 0, "FILE",
     "write the algorithm's schedule in GOAL, for LogGOPSim; simulate nothing"},
    {"elasticity", 0, CLI_FLAG, AT(elasticity), 0, 0, NULL,
     "noise against depth: the synthetic operation"},
    {"no-wall", 0, CLI_FLAG, AT(no_wall), 0, 0, NULL,
     "leave out what depends on this computer"},
    {"quiet", 'q', CLI_FLAG, AT(quiet), 0, 0, NULL, "show no progress"},
};

/* In other programs -n is the number of ranks. */
static const struct cli_alias aliases[] = {
    {"n", "nodes"}, {"windows", "window"}, {"no-progress", "quiet"}};

static const struct cli cli = {
    .usage = "[-m MACHINE] [-N NODES] [-p PPN] [-c COLL] [-s BYTES] "
             "[options]\n"
             "  or:  xylem-sim --elasticity [--seeds R]\n"
             "  or:  xylem-sim --calibrate [options]",
    .summary =
        "Runs a collective of xylem on a simulated machine: the library's own "
        "code, thousands of\nranks in one process, on a virtual clock. Equal "
        "options and seeds give equal results.\n\nImplementations: xylem; for "
        "trees of bcast and reduce also waitall and blocking (own designs:\n"
        "the same network, waiting for all or each of the children) and "
        "elastic:D[:TIME]\n(synthetic: each call costs every rank TIME, 1 ms "
        "by default, and a rank is at most D\ncalls ahead of the slowest)."
        "\n\nNoise: uniform:10Hz,0-20ms, "
        "periodic:100Hz,50us, sync:10Hz,1ms, poisson:10Hz,1ms,\n"
        "once:1ms@2ms, trace:FILE; each may end in ,rank=R or ,ranks=A-B or "
        ",node=N.\nArrival: one-late:1ms,rank=6, all-late-but:1ms,rank=0, "
        "sorted:1ms, random:1ms.\nTimes: 1.5ms, with s, ms, us or ns.",
    .options = table,
    .options_count = sizeof table / sizeof table[0],
    .aliases = aliases,
    .aliases_count = sizeof aliases / sizeof aliases[0]};

/* ---- contenders ---- */

/* Parses the text behind "elastic": ":D" or ":D:TIME". */
static int elastic_parse(const char *text, struct contender *contender)
{
    const char *rest = *text == ':' ? text + 1 : "";

    rest = word_number(rest, &contender->depth);
    contender->work = SIM_MS;
    if (rest == NULL || contender->depth == 0 || contender->depth > DEPTH_MAX)
        return 0;
    return *rest == '\0' ||
           (*rest == ':' && word_time(rest + 1, &contender->work) &&
            contender->work > 0);
}

static int contender_parse(const char *text, struct contender *contender)
{
    static const char *const names[] = {[CONTENDER_EVENT] = IMPL_XYLEM,
                                        [CONTENDER_WAITALL] = "waitall",
                                        [CONTENDER_BLOCKING] = "blocking"};
    static const char elastic[] = "elastic";
    size_t i;

    *contender = (struct contender){.kind = CONTENDER_ELASTIC};
    snprintf(contender->name, sizeof contender->name, "%.*s",
             SIM_NAME_BYTES - 1, text);
    if (strncmp(text, elastic, strlen(elastic)) == 0)
        return elastic_parse(text + strlen(elastic), contender);
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (impl_name_is(names[i], text, strlen(text))) {
            contender->kind = (enum contender_kind)i;
            snprintf(contender->name, sizeof contender->name, "%s", names[i]);
            return 1;
        }
    }
    return 0;
}

static int names_schedule(const struct simulation *simulation)
{
    return simulation->tuning.algorithm != NULL &&
           !registry_is_tree(simulation->tuning.algorithm, simulation->coll);
}

/* The rivals have two collectives, by trees. */
static int rivals_can(const struct simulation *simulation)
{
    return (simulation->coll == XYLEM_COLL_BCAST ||
            simulation->coll == XYLEM_COLL_REDUCE) &&
           !names_schedule(simulation);
}

static enum cli_result contender_add(struct simulation *simulation,
                                     const char *word)
{
    struct contender *contender =
        &simulation->contenders[simulation->contenders_count];
    const char *program = simulation->program;

    if (simulation->contenders_count == SIM_CONTENDERS_MAX)
        cli_complain(program, "--impl names more than %d", SIM_CONTENDERS_MAX);
    else if (!contender_parse(word, contender))
        cli_complain(program,
                     "--impl %s: expected xylem, waitall, blocking or "
                     "elastic:D[:TIME]",
                     word);
    else if (contender->kind == CONTENDER_EVENT || rivals_can(simulation))
        goto add;
    else if (names_schedule(simulation))
        cli_complain(program, "--impl %s: knows trees only, no algorithm %s",
                     word, simulation->tuning.algorithm);
    else
        cli_complain(program, "--impl %s: does bcast and reduce only, no %s",
                     word, simulation->coll_name);
    return CLI_BAD;
add:
    simulation->contenders_count++;
    return CLI_RUN;
}

static enum cli_result contenders_resolve(struct simulation *simulation)
{
    const char *rest = simulation->impls;
    enum cli_result result = CLI_RUN;
    char word[WORD_BYTES];

    if (rest == NULL)
        rest = rivals_can(simulation) ? IMPL_XYLEM ",waitall,blocking"
                                      : IMPL_XYLEM;
    while (rest != NULL && result == CLI_RUN) {
        rest = word_next(rest, ',', word);
        result = contender_add(simulation, word);
    }
    return result;
}

/* ---- noise and arrival ---- */

static enum cli_result noise_add(struct simulation *simulation,
                                 const char *text)
{
    struct noise_level *level = &simulation->noises[simulation->noises_count];
    char error[ERROR_BYTES] = "";

    if (simulation->noises_count == SIM_NOISES_MAX)
        return cli_complain(simulation->program, "--noise names more than %d",
                            SIM_NOISES_MAX);
    if (sim_noise_parse(text, simulation->ranks_per_node, &level->noise,
                        &level->trace, error, sizeof error) != XYLEM_OK)
        return cli_complain(simulation->program, "--noise %s: %s", text, error);
    simulation->noises_count++;
    if (level->noise.kind == SIM_NOISE_TRACE)
        level->noise.trace = &level->trace;
    snprintf(level->name, sizeof level->name, "%.*s", SIM_NAME_BYTES - 1, text);
    if (level->noise.kind != SIM_NOISE_NONE &&
        level->noise.first >= simulation->ranks)
        return cli_complain(simulation->program,
                            "--noise %s: hits nobody: the ranks are 0 ... %u",
                            text, simulation->ranks - 1);
    return CLI_RUN;
}

static enum cli_result noises_resolve(struct simulation *simulation)
{
    const char *rest = simulation->noise;
    enum cli_result result = CLI_RUN;
    char word[WORD_BYTES];

    while (rest != NULL && result == CLI_RUN) {
        rest = word_next(rest, ';', word);
        result = noise_add(simulation, word);
    }
    return result;
}

static enum cli_result arrival_resolve(struct simulation *simulation)
{
    char error[ERROR_BYTES] = "";

    if (simulation->arrival == NULL)
        return CLI_RUN;
    if (sim_arrivals_parse(simulation->arrival, &simulation->arrivals, error,
                           sizeof error) == XYLEM_OK)
        return CLI_RUN;
    return cli_complain(simulation->program, "--arrival %s: %s",
                        simulation->arrival, error);
}

/* ---- the rest ---- */

static enum cli_result memory_resolve(struct simulation *simulation)
{
    simulation->shares_memory = !simulation->by_messages;
    if (!simulation->by_messages || !simulation->asks_memory)
        return CLI_RUN;
    return cli_complain(simulation->program,
                        "--messages and --shared-memory say the opposite");
}

static enum cli_result machine_resolve(struct simulation *simulation)
{
    char error[ERROR_BYTES] = "";

    if (sim_machine_load(simulation->machine_name, &simulation->machine, error,
                         sizeof error) != XYLEM_OK)
        return cli_complain(simulation->program, "--machine %s: %s",
                            simulation->machine_name, error);
    if (simulation->ranks_per_node == 0)
        simulation->ranks_per_node = sim_machine_cores(&simulation->machine);
    if ((uint64_t)simulation->nodes * simulation->ranks_per_node >
        SIM_RANKS_MAX)
        return cli_complain(
            simulation->program, "%u nodes of %u ranks are more than %d ranks",
            simulation->nodes, simulation->ranks_per_node, SIM_RANKS_MAX);
    simulation->ranks = simulation->nodes * simulation->ranks_per_node;
    if (simulation->root < simulation->ranks)
        return CLI_RUN;
    return cli_complain(simulation->program,
                        "--root %u: the ranks are 0 ... %u", simulation->root,
                        simulation->ranks - 1);
}

static const xyl_coll_traits_t *traits_of(const struct simulation *simulation)
{
    return xyl_coll_traits(simulation->coll);
}

/* A rank with the largest buffers: the root, if there is one. */
static struct coll_part part_of(const struct simulation *simulation)
{
    return (struct coll_part){.coll = simulation->coll,
                              .rank = simulation->root,
                              .ranks = simulation->ranks,
                              .root = simulation->root,
                              .bytes = simulation->bytes};
}

static int has_blocks(const struct simulation *simulation)
{
    return traits_of(simulation)->send_blocks ||
           traits_of(simulation)->recv_blocks;
}

size_t simulation_bytes(const struct simulation *simulation)
{
    struct coll_part part = part_of(simulation);
    size_t input = coll_input_bytes(&part), result = coll_result_bytes(&part);

    return input > result ? input : result;
}

static enum cli_result coll_resolve(struct simulation *simulation)
{
    const char *program = simulation->program;
    struct coll_part part;

    if (!coll_parse(simulation->coll_name, &simulation->coll))
        return cli_complain(program, "-c %s: there is no such collective",
                            simulation->coll_name);
    if (simulation->bytes == 0)
        simulation->bytes =
            has_blocks(simulation) ? block_default : message_default;
    if (simulation->coll == XYLEM_COLL_BARRIER)
        simulation->bytes = 0;
    if (traits_of(simulation)->reduces &&
        simulation->bytes % sizeof(float) != 0)
        return cli_complain(program,
                            "-s %zu: a reduction sums floats, 4 bytes each",
                            simulation->bytes);
    part = part_of(simulation);
    if (has_blocks(simulation) &&
        simulation->bytes > buffer_bytes_max / coll_blocks(&part))
        return cli_complain(
            program, "-s %zu: %u such blocks are more than %zu GiB",
            simulation->bytes, coll_blocks(&part), buffer_bytes_max >> 30);
    return CLI_RUN;
}

static enum cli_result algorithm_resolve(struct simulation *simulation)
{
    const char *text = simulation->algorithm, *why;
    struct bench_call call = {.coll = simulation->coll,
                              .bytes = simulation->bytes,
                              .root = simulation->root};
    char words[ERROR_BYTES];

    if (text == NULL || strcmp(text, "auto") == 0)
        return CLI_RUN;
    simulation->tuning.algorithm = text;
    why = registry_refusal(text, &call, simulation->ranks,
                           simulation->shares_memory && simulation->nodes == 1,
                           words, sizeof words);
    if (why == NULL)
        return CLI_RUN;
    return cli_complain(simulation->program, "--algorithm %s: %s", text, why);
}

static enum cli_result window_resolve(struct simulation *simulation)
{
    if (simulation->window == NULL ||
        window_parse(simulation->window, &simulation->tuning))
        return CLI_RUN;
    return cli_complain(simulation->program,
                        "--window %s: expected N,M with 1 <= N <= M <= 64",
                        simulation->window);
}

/* The bytes of all ranks' buffers. */
static uint64_t total_bytes(const struct simulation *simulation)
{
    const xyl_coll_traits_t *traits = traits_of(simulation);
    struct coll_part part = part_of(simulation);
    uint64_t ranks[] = {[XYL_SIDE_NOBODY] = 0,
                        [XYL_SIDE_ROOT] = 1,
                        [XYL_SIDE_ALL] = simulation->ranks};

    return ranks[traits->sends] * coll_input_bytes(&part) +
           ranks[traits->receives] * coll_result_bytes(&part);
}

static enum cli_result payload_resolve(struct simulation *simulation)
{
    simulation->payload = (sim_payload_t)simulation->payload_word;
    if (simulation->payload == SIM_PAYLOAD_NONE)
        return CLI_RUN;
    if (simulation->ranks <= payload_ranks_max &&
        total_bytes(simulation) <= payload_bytes_max)
        return CLI_RUN;
    return cli_complain(
        simulation->program,
        "--payload: buffers of %u ranks need too much memory; at "
        "most %u ranks and %zu GiB in all",
        simulation->ranks, payload_ranks_max, payload_bytes_max >> 30);
}

static enum cli_result kill_resolve(struct simulation *simulation)
{
    const char *rest;

    if (simulation->kill == NULL)
        return CLI_RUN;
    rest = word_number(simulation->kill, &simulation->kill_rank);
    simulation->has_kill = 1;
    if (rest != NULL && *rest == '@' &&
        word_time(rest + 1, &simulation->kill_time) &&
        simulation->kill_rank < simulation->ranks)
        return CLI_RUN;
    return cli_complain(
        simulation->program,
        "--kill %s: expected RANK@TIME, as in 3@1.5ms, with a rank of "
        "0 ... %u",
        simulation->kill, simulation->ranks - 1);
}

static enum cli_result jitter_resolve(struct simulation *simulation)
{
    if (simulation->jitter_text == NULL ||
        word_time(simulation->jitter_text, &simulation->jitter))
        return CLI_RUN;
    return cli_complain(simulation->program,
                        "--jitter %s: expected a time, as in 2us",
                        simulation->jitter_text);
}

static int has_elastic(const struct simulation *simulation)
{
    size_t i;

    for (i = 0; i < simulation->contenders_count; i++) {
        if (simulation->contenders[i].kind == CONTENDER_ELASTIC)
            return 1;
    }
    return 0;
}

/* Options that exclude each other. */
static enum cli_result combination_check(struct simulation *simulation)
{
    const char *program = simulation->program;

    if (simulation->trace != NULL &&
        (simulation->contenders_count != 1 || simulation->noises_count > 1 ||
         simulation->seeds > 1 || simulation->jobs > 1))
        return cli_complain(program,
                            "--trace records one run: it needs one --impl, "
                            "at most one --noise, one seed and one job");
    if (has_elastic(simulation) &&
        (simulation->has_kill || simulation->payload != SIM_PAYLOAD_NONE))
        return cli_complain(program,
                            "elastic moves no data and knows no deaths: it "
                            "takes neither --payload nor --kill");
    if (simulation->resume && simulation->csv == NULL)
        return cli_complain(program, "--resume needs --csv FILE");
    if (simulation->seed > UINT_MAX - simulation->seeds)
        return cli_complain(program,
                            "--seed %u with --seeds %u: there are only %u",
                            simulation->seed, simulation->seeds, UINT_MAX);
    return CLI_RUN;
}

/* A single delay shows in a single call; otherwise there is a pipeline to be
 * filled first. */
static void counts_choose(struct simulation *simulation)
{
    int is_single = simulation->arrival != NULL || simulation->has_kill;
    size_t i;

    for (i = 0; i < simulation->noises_count; i++)
        is_single |= simulation->noises[i].noise.kind == SIM_NOISE_ONCE;
    if (simulation->iterations == SIM_AUTO && is_single)
        simulation->iterations = 1;
    if (simulation->warmup == SIM_AUTO)
        simulation->warmup = is_single ? 0 : 2;
}

/* Prints the list that is asked for; CLI_RUN: none is. */
static enum cli_result list_print(struct simulation *simulation)
{
    const char *const *name;

    if (simulation->algorithm != NULL &&
        strcmp(simulation->algorithm, "list") == 0) {
        simulation->ranks = 1;
        if (coll_resolve(simulation) != CLI_RUN)
            return CLI_BAD;
        registry_print(stdout, simulation->coll);
        return CLI_HELP;
    }
    if (strcmp(simulation->machine_name, "list") != 0)
        return CLI_RUN;
    for (name = sim_machine_names(); *name != NULL; name++)
        puts(*name);
    return CLI_HELP;
}

enum cli_result simulation_parse(const char *program, int argc, char **argv,
                                 struct simulation *simulation_out)
{
    static enum cli_result (*const steps[])(struct simulation *) = {
        memory_resolve,    machine_resolve, coll_resolve,
        algorithm_resolve, window_resolve,  payload_resolve,
        kill_resolve,      jitter_resolve,  contenders_resolve,
        noises_resolve,    arrival_resolve, combination_check};
    struct cli command_line = cli;
    enum cli_result result;
    size_t i;

    *simulation_out = (struct simulation){.program = program,
                                          .coll_name = "bcast",
                                          .machine_name = "cori",
                                          .nodes = 2,
                                          .iterations = SIM_AUTO,
                                          .warmup = SIM_AUTO,
                                          .seed = 1,
                                          .seeds = 1,
                                          .jobs = 1};
    command_line.program = program;
    result = cli_parse(&command_line, argc, argv, simulation_out);
    if (result == CLI_RUN)
        result = list_print(simulation_out);
    for (i = 0; i < sizeof steps / sizeof steps[0] && result == CLI_RUN; i++)
        result = steps[i](simulation_out);
    if (result == CLI_RUN)
        counts_choose(simulation_out);
    return result;
}

void simulation_destroy(struct simulation *simulation)
{
    size_t i;

    for (i = 0; i < simulation->noises_count; i++)
        sim_noise_trace_free(&simulation->noises[i].trace);
    simulation->noises_count = 0;
}
