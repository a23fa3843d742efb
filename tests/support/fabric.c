/* The contexts of the fabric, and the loop that turns them. */
#include "tests/support/fabric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/fabric_wire.h"
#include "tests/support/random.h"

enum {
    ROUNDS_MAX = 4000000, /* of one run: far beyond any test */
    DUMP_LINES_MAX = 40,
    SETTINGS_MAX = 8,
    RANKS_PER_NODE = 4 /* when the test does not care */
};

static void *must(void *memory)
{
    if (memory == NULL)
        abort(); /* the test's own memory, not the library's */
    return memory;
}

static void complain(const fabric_t *fabric, const char *what)
{
    char text[512];

    snprintf(text, sizeof text, "%s (seed %" PRIu64 "; %s)", what,
             fabric->options.seed, fabric->label);
    check_failed(__FILE__, __LINE__, text);
}

/* ---- the parts of a context ---- */

static void *parts_alloc(void *arg, size_t bytes)
{
    fabric_t *fabric = arg;
    size_t mask = XYL_MEMORY_ALIGN - 1;
    void *block;

    if (fabric->allocations_left != 0 && --fabric->allocations_left == 0) {
        fabric->allocation_failed = 1;
        return NULL;
    }
    block = must(aligned_alloc(XYL_MEMORY_ALIGN, (bytes + mask) & ~mask));
    memset(block, 0x5a, bytes < 65536 ? bytes : 65536);
    fabric->blocks_live++;
    return block;
}

static void parts_release(void *arg, void *block)
{
    fabric_t *fabric = arg;

    fabric->blocks_live--;
    free(block);
}

static uint64_t parts_now(void *arg)
{
    const fabric_t *fabric = arg;

    return fabric->now;
}

static xylem_place_t place_of(const fabric_t *fabric, uint32_t rank)
{
    uint32_t node = rank / RANKS_PER_NODE;

    if (fabric->options.places != NULL)
        return fabric->options.places[rank];
    return (xylem_place_t){node, 0, 0, 0, rank % RANKS_PER_NODE};
}

/* Errors are provoked on purpose and passing tests are silent: no log, unless
 * the test asks for one. `all` is ended by NULL. */
static void settings_of(const fabric_t *fabric, const char **all)
{
    const char *const *own = fabric->options.settings;
    uint32_t count = 0;

    all[count++] = "LOG=none";
    for (; own != NULL && *own != NULL; own++) {
        if (count == SETTINGS_MAX)
            abort(); /* the test's mistake */
        all[count++] = *own;
    }
    all[count] = NULL;
}

static xylem_status_t context_make(fabric_t *fabric, uint32_t rank)
{
    const char *settings[SETTINGS_MAX + 1];
    rank_net_t *net = &fabric->nets[rank];
    xyl_context_parts_t parts = {.rank = rank,
                                 .ranks = fabric->ranks,
                                 .allocator = &fabric->allocator,
                                 .clock = &fabric->clock,
                                 .net_create = fabric_net_create,
                                 .net_arg = fabric,
                                 .settings = settings};
    uint32_t peer;

    settings_of(fabric, settings);
    net->fabric = fabric;
    net->rank = rank;
    net->notices = must(calloc(fabric->ranks, 1));
    /* Each rank finds out for itself who is dead. */
    net->peers = must(calloc(fabric->ranks, sizeof *net->peers));
    for (peer = 0; peer < fabric->ranks; peer++)
        net->peers[peer] =
            (xyl_peer_t){.place = place_of(fabric, peer), .is_local = 1};
    parts.peers = net->peers;
    return xyl_context_create_of_parts(&parts, &net->context);
}

fabric_t *fabric_create(uint32_t ranks, const fabric_options_t *options)
{
    fabric_t *fabric = must(calloc(1, sizeof *fabric));
    xylem_status_t status = XYLEM_OK;
    uint32_t rank;

    fabric->options = *options;
    fabric->random = random_mix(options->seed);
    fabric->ranks = ranks;
    fabric->failed_rank = UINT32_MAX;
    fabric->allocations_left = options->fail_allocation;
    fabric->allocator = (xyl_allocator_t){parts_alloc, parts_release, fabric};
    fabric->clock = (xyl_clock_t){parts_now, fabric};
    fabric->nets = must(calloc(ranks, sizeof *fabric->nets));
    fabric->turn_order = must(calloc(ranks, sizeof *fabric->turn_order));
    fabric_wire_init(fabric);
    for (rank = 0; rank < ranks; rank++)
        fabric->turn_order[rank] = rank;
    for (rank = 0; rank < ranks && status == XYLEM_OK; rank++)
        status = context_make(fabric, rank);
    if (status == XYLEM_OK)
        return fabric;
    fabric_destroy(fabric);
    return NULL;
}

void fabric_destroy(fabric_t *fabric)
{
    uint32_t rank;

    if (fabric == NULL)
        return;
    for (rank = 0; rank < fabric->ranks; rank++)
        if (xylem_context_destroy(fabric->nets[rank].context) != XYLEM_OK)
            complain(fabric, "a context cannot be destroyed");
    if (fabric->blocks_live != 0)
        complain(fabric, "memory was not given back");
    fabric_wire_fini(fabric);
    for (rank = 0; rank < fabric->ranks; rank++) {
        free(fabric->nets[rank].peers);
        free(fabric->nets[rank].notices);
    }
    free(fabric->nets);
    free(fabric->turn_order);
    free(fabric);
}

/* ---- looking in ---- */

uint32_t fabric_ranks(const fabric_t *fabric)
{
    return fabric->ranks;
}

xylem_context_t *fabric_context(fabric_t *fabric, uint32_t rank)
{
    return fabric->nets[rank].context;
}

xylem_team_t *fabric_world(fabric_t *fabric, uint32_t rank)
{
    return xylem_context_world(fabric->nets[rank].context);
}

void fabric_label(fabric_t *fabric, const char *label)
{
    snprintf(fabric->label, sizeof fabric->label, "%s", label);
}

uint64_t fabric_trace(const fabric_t *fabric)
{
    return fabric->trace;
}

uint64_t fabric_sends(const fabric_t *fabric)
{
    return fabric->sends;
}

/* ---- the dump ---- */

static void print_tag(const char *what, uint32_t rank, uint64_t tag)
{
    printf("#   rank %" PRIu32 " %s: slot %" PRIu64 ", source %" PRIu64
           ", sequence %" PRIu64 ", segment %" PRIu64 "\n",
           rank, what, tag >> 50, tag >> 30 & 0xfffff, tag >> 10 & 0xfffff,
           tag & 0x3ff);
}

/* Who waits for what. */
static void dump(const fabric_t *fabric)
{
    const message_t *message;
    const receive_t *receive;
    unsigned lines = 0;
    uint32_t rank;

    for (rank = 0; rank < fabric->ranks; rank++) {
        const rank_net_t *net = &fabric->nets[rank];
        for (receive = net->posted; receive != NULL; receive = receive->next)
            if (lines++ < DUMP_LINES_MAX)
                print_tag("waits for", rank, receive->tag);
        for (message = net->unexpected; message != NULL;
             message = message->next)
            if (lines++ < DUMP_LINES_MAX)
                print_tag(message->is_eager ? "was sent (eager)" : "is offered",
                          rank, message->tag);
    }
    if (lines > DUMP_LINES_MAX)
        printf("#   and %u more\n", lines - DUMP_LINES_MAX);
    fflush(stdout); /* the test may not get far */
}

/* ---- turning ---- */

static int is_turned(const rank_net_t *net)
{
    return !net->is_dead || net->is_isolated;
}

static void shuffle(fabric_t *fabric)
{
    uint32_t i, j, rank;

    if (!fabric->options.reorder)
        return;
    for (i = fabric->ranks; i > 1; i--) {
        j = random_below(&fabric->random, i);
        rank = fabric->turn_order[j];
        fabric->turn_order[j] = fabric->turn_order[i - 1];
        fabric->turn_order[i - 1] = rank;
    }
}

/* One turn of every rank, but of some that are late. 0: nobody had anything
 * to do. */
static unsigned turn_all(fabric_t *fabric)
{
    unsigned done = 0;
    uint32_t i;

    shuffle(fabric);
    for (i = 0; i < fabric->ranks; i++) {
        rank_net_t *net = &fabric->nets[fabric->turn_order[i]];
        fabric->now++;
        fabric_wire_advance(fabric);
        if (!is_turned(net))
            continue;
        if (fabric->options.reorder && random_below(&fabric->random, 8) == 0)
            done++; /* late */
        else
            done += xylem_progress(net->context);
    }
    return done;
}

void fabric_advance(fabric_t *fabric, uint64_t ns)
{
    fabric->now += ns;
}

/* Nobody has anything to do: goes on to when something happens. 0: nothing
 * will. Several turns in a row decide, because the ranks that were turned
 * first may have been given something by the others. */
static int skip_idle(fabric_t *fabric)
{
    uint64_t due;
    uint32_t i;
    unsigned done = 0;

    if (fabric_wire_next(fabric, &due)) {
        if (due > fabric->now)
            fabric->now = due;
        return 1;
    }
    for (i = 0; i < fabric->ranks; i++)
        if (is_turned(&fabric->nets[i]))
            done += xylem_progress(fabric->nets[i].context);
    return done != 0 || fabric_wire_next(fabric, &due);
}

int fabric_run_until(fabric_t *fabric, const fabric_script_t *script)
{
    unsigned rounds, done;

    for (rounds = 0; rounds < ROUNDS_MAX; rounds++) {
        if (script->is_done(script->arg))
            return 1;
        done = turn_all(fabric);
        if (script->act != NULL)
            done += script->act(script->arg);
        if (done == 0 && !script->is_done(script->arg) && !skip_idle(fabric)) {
            complain(fabric, "nobody can go on");
            dump(fabric);
            return 0;
        }
    }
    complain(fabric, "there is no end");
    return 0;
}

void fabric_run_dry(fabric_t *fabric)
{
    unsigned rounds;

    for (rounds = 0; rounds < ROUNDS_MAX; rounds++)
        if (turn_all(fabric) == 0 && !skip_idle(fabric))
            return;
    complain(fabric, "there is no end");
}

/* ---- faults ---- */

void fabric_kill(fabric_t *fabric, uint32_t rank, uint32_t notice_max)
{
    fabric_wire_kill(fabric, rank, notice_max);
}

void fabric_isolate(fabric_t *fabric, uint32_t rank)
{
    uint32_t peer;

    fabric->nets[rank].is_isolated = 1;
    for (peer = 0; peer < fabric->ranks; peer++)
        if (peer != rank)
            xyl_context_suspect(fabric->nets[rank].context, peer);
}

int fabric_is_dead(const fabric_t *fabric, uint32_t rank)
{
    return fabric->nets[rank].is_dead;
}

void fabric_fail_call(fabric_t *fabric, fabric_call_t call, uint64_t nth,
                      xylem_status_t status)
{
    fabric->calls_left[call] = nth;
    fabric->call_status = status;
    fabric->failed_rank = UINT32_MAX;
}

uint32_t fabric_failed_rank(const fabric_t *fabric)
{
    return fabric->failed_rank;
}

void fabric_fail_allocation(fabric_t *fabric, uint64_t nth)
{
    fabric->allocations_left = nth;
    fabric->allocation_failed = 0;
}

int fabric_allocation_failed(const fabric_t *fabric)
{
    return fabric->allocation_failed;
}
