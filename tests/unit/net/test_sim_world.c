/* The contract of progress/net/net.h on the simulated net, in every protocol:
 * with disorder and without, through interfaces and queues, and when ranks die.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/core/context.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/scene.h"

/* Drawn. */
#define SEEDS check_cases(40)

enum { EAGER_MAX = 500, VARIANTS = 16, RANKS = 4, TAG = 7, MESSAGES = 30 };

/* Bits of a variant: interfaces, pipelines, few places in the queue, costs. */
enum { IS_NIC = 1, IS_PIPELINE = 2, HAS_QUEUE = 4, HAS_COSTS = 8 };

static sim_machine_t machine_of(unsigned variant)
{
    sim_machine_t machine;
    int level;

    sim_machine_ideal(2, &machine);
    if (variant & HAS_QUEUE)
        machine.node.queue_slots = 2;
    for (level = 0; level < SIM_LEVEL_COUNT; level++) {
        sim_link_t *link = &machine.links[level];
        link->eager_bytes_max = EAGER_MAX;
        if (variant & IS_NIC)
            link->transport = SIM_TRANSPORT_NIC;
        if (variant & IS_PIPELINE)
            link->rendezvous = SIM_RENDEZVOUS_PIPELINE;
        if (variant & HAS_COSTS) {
            link->latency = 700 * SIM_NS;
            link->send_overhead = 40 * SIM_NS;
            link->recv_overhead = 60 * SIM_NS;
            link->per_byte = 1000000; /* long messages are long on their way */
        }
    }
    if (variant & HAS_COSTS) {
        machine.core.event = 10 * SIM_NS;
        machine.core.copy = 100000;
        machine.nic.gap = 20 * SIM_NS;
        machine.nic.ejection = 10000;
    }
    return machine;
}

static void begin(scene_t *scene, unsigned variant, uint64_t seed,
                  sim_time_t jitter_max)
{
    sim_machine_t machine = machine_of(variant);
    sim_options_t options = {.machine = &machine,
                             .nodes = RANKS / 2,
                             .ranks_per_node = 2,
                             .seed = seed,
                             .payload = SIM_PAYLOAD_WATCHED,
                             .jitter_max = jitter_max,
                             .has_deaths = 1};

    scene_init(scene, &options);
}

/* Every protocol, in order and in disorder. */
static void for_variants(void (*run)(unsigned variant, uint64_t seed,
                                     sim_time_t jitter_max))
{
    unsigned variant;
    uint64_t seed;

    for (variant = 0; variant < VARIANTS; variant++)
        for (seed = 0; seed < SEEDS; seed++)
            run(variant, seed, seed % 4 == 0 ? 0 : (seed % 4) * SIM_US);
}

/* ---- order ---- */

static void end(scene_t *scene)
{
    post_t *post;

    CHECK_EQ(scene->complaints, 0);
    for (post = scene->posts; post != NULL; post = post->older)
        CHECK_EQ(post->completions, 1);
    scene_fini(scene);
}

/* Long and short ones with one tag, sent and received at random times. */
static void equal_tags(unsigned variant, uint64_t seed, sim_time_t jitter_max)
{
    post_t *sends[MESSAGES], *recvs[MESSAGES];
    uint64_t random = seed;
    sim_time_t sent = 0, received = 0;
    uint32_t i, source = seed % 2 == 0 ? 0 : 2;
    scene_t scene;

    begin(&scene, variant, seed, jitter_max);
    for (i = 0; i < MESSAGES; i++) {
        size_t bytes = random_below(&random, 2 * EAGER_MAX);
        sent += random_below(&random, 1000) * SIM_NS;
        received += random_below(&random, 1000) * SIM_NS;
        sends[i] = scene_send(&scene, sent, source, 1, TAG, bytes);
        recvs[i] = scene_recv(&scene, received, 1, TAG, bytes);
    }
    scene_run(&scene);
    for (i = 0; i < MESSAGES; i++)
        scene_check(recvs[i], sends[i]);
    end(&scene);
}

static void test_equal_tags(void)
{
    for_variants(equal_tags);
}

/* A long message is held up, or takes long by itself: the short one behind it
 * overtakes it with another tag, and stays behind with the same. */
static int overtakes(unsigned variant, uint64_t second_tag, sim_time_t delay)
{
    post_t *first, *second;
    scene_t scene;
    int result;

    begin(&scene, variant, 1, 0);
    if (delay != 0)
        sim_world_delay_message(scene.world, 1, delay);
    scene_send(&scene, 0, 0, 2, TAG, EAGER_MAX);
    scene_send(&scene, 0, 0, 2, second_tag, 1);
    first = scene_recv(&scene, 0, 2, TAG, EAGER_MAX);
    second = scene_recv(&scene, 0, 2, second_tag, 1);
    scene_run(&scene);
    result = second->order < first->order;
    end(&scene);
    return result;
}

static void test_overtaking(void)
{
    unsigned variant;

    for (variant = 0; variant < VARIANTS; variant++) {
        CHECK(overtakes(variant, TAG + 1, 9 * SIM_US));
        CHECK(!overtakes(variant, TAG, 9 * SIM_US));
        CHECK(!overtakes(variant, TAG, 0));
    }
    CHECK(overtakes(IS_NIC | HAS_COSTS, TAG + 1, 0));
}

/* A rank that has a place at a full queue, and has not heard of it yet, also
 * sends to a rank whose queue is empty; nothing else would wake that message.
 */
static void test_places_elsewhere(void)
{
    sim_machine_t machine = machine_of(HAS_QUEUE | HAS_COSTS);
    sim_options_t options = {.machine = &machine,
                             .nodes = 2,
                             .ranks_per_node = 2,
                             .payload = SIM_PAYLOAD_WATCHED};
    sim_time_t time;
    scene_t scene;
    uint32_t i;

    machine.node.queue_slots = 1;
    for (time = 0; time < 4 * SIM_US; time += 100 * SIM_NS) {
        scene_init(&scene, &options);
        for (i = 0; i < 3; i++) {
            scene_send(&scene, 0, 0, 1, TAG, 8);
            scene_recv(&scene, 0, 1, TAG, 8);
        }
        for (i = 0; i < 3; i++) {
            scene_send(&scene, time, 0, 2, TAG, 8);
            scene_recv(&scene, 0, 2, TAG, 8);
        }
        scene_run(&scene);
        end(&scene);
    }
}

static void unexpected(unsigned variant, uint64_t seed, sim_time_t jitter_max)
{
    post_t *sends[MESSAGES];
    sim_counts_t counts;
    scene_t scene;
    uint32_t i;

    begin(&scene, variant & ~(unsigned)HAS_QUEUE, seed, jitter_max);
    for (i = 0; i < MESSAGES; i++)
        sends[i] = scene_send(&scene, 0, i % 2 * 2, 1, i, 40 * i);
    scene_run(&scene);
    sim_world_counts(scene.world, &counts);
    CHECK_EQ(counts.unexpected, MESSAGES);
    for (i = MESSAGES; i-- > 0;) {
        post_t *recv = scene_post(&scene, 1, 1, i, 40 * i, 0);
        if (i % 3 == 0)
            scene_run(&scene);
        if (i % 3 == 0)
            scene_check(recv, sends[i]);
    }
    scene_run(&scene);
    end(&scene);
}

static void test_unexpected(void)
{
    for_variants(unexpected);
}

/* ---- receives that end otherwise ---- */

static void truncated(unsigned variant, uint64_t seed, sim_time_t jitter_max)
{
    static const size_t lengths[] = {2, EAGER_MAX, EAGER_MAX + 1};
    post_t *sends[3], *recvs[3];
    scene_t scene;
    uint32_t i;

    begin(&scene, variant, seed, jitter_max);
    for (i = 0; i < 3; i++) {
        sends[i] = scene_send(&scene, 0, 0, 2, i, lengths[i]);
        recvs[i] = scene_recv(&scene, seed * SIM_NS, 2, i, lengths[i] - 1);
    }
    scene_run(&scene);
    for (i = 0; i < 3; i++) {
        CHECK_EQ(sends[i]->status, XYLEM_OK);
        CHECK_EQ(recvs[i]->status, XYLEM_ERR_TRUNCATED);
        CHECK_EQ(recvs[i]->buf[lengths[i] - 1], SCENE_UNTOUCHED);
    }
    end(&scene);
}

static void test_truncation(void)
{
    for_variants(truncated);
}

/* One receive is canceled before its message comes, and the next one takes the
 * message; one is matched already; one is done. */
static void cancelled(unsigned variant, uint64_t seed, sim_time_t jitter_max)
{
    post_t *given_up, *next, *send, *matched, *sent;
    scene_t scene;

    begin(&scene, variant, seed, jitter_max);
    given_up = scene_post(&scene, 1, 1, TAG, 9, 0);
    next = scene_post(&scene, 1, 1, TAG, 9, 0);
    scene_cancel(given_up);
    scene_cancel(given_up); /* asking twice is no harm */
    send = scene_post(&scene, 0, 1, TAG, 9, 1);
    sent = scene_post(&scene, 0, 1, TAG + 1, 2 * EAGER_MAX, 1);
    scene_run(&scene);
    matched = scene_post(&scene, 1, 1, TAG + 1, 2 * EAGER_MAX, 0);
    scene_cancel(matched); /* too late */
    scene_run(&scene);
    scene_cancel(next); /* done */
    scene_run(&scene);
    CHECK_EQ(given_up->status, XYLEM_ERR_CANCELED);
    scene_check(next, send);
    scene_check(matched, sent);
    end(&scene);
}

static void test_cancel(void)
{
    for_variants(cancelled);
}

/* ---- buffers and events ---- */

static int is_all(const post_t *post, int byte)
{
    size_t i;

    for (i = 0; i < post->bytes; i++)
        if ((unsigned char)post->buf[i] != byte)
            return 0;
    return 1;
}

/* A receive buffer is left alone until the message comes, is garbage until the
 * event, and right from then on. */
static void garbage(unsigned variant, uint64_t seed, sim_time_t jitter_max)
{
    unsigned before = 0, between = 0;
    post_t *send, *recv;
    scene_t scene;

    begin(&scene, variant, seed, jitter_max);
    send = scene_send(&scene, 0, 0, 2, TAG, 2 * EAGER_MAX);
    recv = scene_recv(&scene, 0, 2, TAG, 2 * EAGER_MAX);
    while (recv->completions == 0 && !sim_world_run(scene.world, SIM_NEVER, 1))
        if (recv->completions == 0) {
            before += is_all(recv, SCENE_UNTOUCHED) != 0;
            between += is_all(recv, 0xa5) != 0;
            CHECK(is_all(recv, SCENE_UNTOUCHED) || is_all(recv, 0xa5));
        }
    scene_run(&scene);
    CHECK(before > 0);
    if ((variant & (IS_NIC | IS_PIPELINE)) != 0)
        CHECK(between > 0);
    scene_check(recv, send);
    end(&scene);
}

static void test_garbage(void)
{
    for_variants(garbage);
}

static void spoil(void *arg, uint32_t rank)
{
    (void)rank;
    *(char *)arg = (char)~*(char *)arg;
}

static void test_complaints(void)
{
    unsigned variant;
    post_t *send;
    scene_t scene;

    for (variant = 0; variant < VARIANTS; variant++) {
        begin(&scene, variant, 1, 0);
        send = scene_send(&scene, 0, 0, 2, TAG, 2 * EAGER_MAX);
        sim_world_at(scene.world, 0, 5 * SIM_US, spoil, send->buf);
        scene_recv(&scene, 9 * SIM_US, 2, TAG, 2 * EAGER_MAX);
        scene_run(&scene);
        CHECK_EQ(scene.complaints, 1);
        CHECK(strstr(scene.complaint, "changed") != NULL);
        scene_fini(&scene);
    }
    begin(&scene, 0, 1, 0);
    send = scene_post(&scene, 0, 2, TAG, 2 * EAGER_MAX, 1);
    scene_repeat(send);
    CHECK_EQ(scene.complaints, 1);
    CHECK(strstr(scene.complaint, "twice") != NULL);
    scene_fini(&scene);
}

/* The sender uses its buffer again as soon as it may. */
static void spoil_when_sent(void *arg, uint32_t rank)
{
    post_t *post = arg;

    if (post->completions != 0)
        spoil(post->buf, rank);
}

static void test_buffers_are_free(void)
{
    unsigned variant, i;
    post_t *send, *recv;
    scene_t scene;
    char *copy;

    for (variant = 0; variant < VARIANTS; variant++) {
        sim_machine_t machine = machine_of(variant);
        sim_options_t options = {.machine = &machine,
                                 .nodes = 2,
                                 .ranks_per_node = 1,
                                 .payload = SIM_PAYLOAD_MOVED};
        scene_init(&scene, &options);
        send = scene_send(&scene, 0, 0, 1, TAG, 2 * EAGER_MAX);
        copy = malloc(send->bytes);
        if (copy == NULL)
            abort();
        memcpy(copy, send->buf, send->bytes);
        recv = scene_recv(&scene, 0, 1, TAG, 2 * EAGER_MAX);
        for (i = 0; i < 100; i++)
            sim_world_at(scene.world, 0, i * 100 * SIM_NS, spoil_when_sent,
                         send);
        scene_run(&scene);
        CHECK(memcmp(recv->buf, copy, recv->bytes) == 0);
        free(copy);
        scene_fini(&scene);
    }
}

/* ---- faults ---- */

/* Each rank sends to and receives from each other, short and long. */
static void exchange(scene_t *scene)
{
    uint32_t from, to, i;

    for (from = 0; from < RANKS; from++)
        for (to = 0; to < RANKS; to++)
            for (i = 0; from != to && i < 2; i++) {
                uint64_t tag = from * 2 + i;
                size_t bytes = i == 0 ? 8 : 2 * EAGER_MAX;
                scene_send(scene, i * SIM_US, from, to, tag, bytes);
                scene_recv(scene, from * SIM_US, to, tag, bytes);
            }
}

/* Receives of survivors from the dead rank are canceled in the end. Sends to it
 * may never get their events. */
static void check_survivors(scene_t *scene, uint32_t victim)
{
    post_t *post;
    uint32_t rank;

    for (post = scene->posts; post != NULL; post = post->older)
        if (!post->is_send && post->completions == 0 && post->rank != victim)
            scene_cancel(post);
    scene_run(scene);
    for (post = scene->posts; post != NULL; post = post->older) {
        int is_between_living =
            post->is_send ? post->peer != victim : post->tag / 2 != victim;
        if (post->rank == victim)
            continue;
        CHECK(post->completions == 1 || (post->is_send && !is_between_living));
        if (post->completions == 1 && post->status != XYLEM_OK)
            CHECK(!is_between_living &&
                  (post->status == XYLEM_ERR_PROC_FAILED ||
                   post->status == XYLEM_ERR_CANCELED));
    }
    for (rank = 0; rank < RANKS; rank++)
        if (rank != victim)
            CHECK(sim_world_context(scene->world, rank)
                      ->peers[victim]
                      .has_failed);
}

/* Returns 0 when the rank made fewer steps. */
static int dies_at_step(unsigned variant, uint64_t step)
{
    uint32_t victim = (uint32_t)(step % RANKS);
    uint64_t seed = variant * 100 + step;
    scene_t scene;
    int is_dead;

    begin(&scene, variant, seed, seed % 3 * SIM_US);
    exchange(&scene);
    sim_world_kill_at_step(scene.world, victim, step, 3 * SIM_US);
    scene_run(&scene);
    is_dead = sim_world_is_dead(scene.world, victim);
    if (is_dead)
        check_survivors(&scene, victim);
    CHECK_EQ(scene.complaints, 0);
    scene_fini(&scene);
    return is_dead;
}

static void test_death_at_every_step(void)
{
    unsigned variant;
    uint64_t step;

    for (variant = 0; variant < VARIANTS; variant++) {
        for (step = 1; dies_at_step(variant, step); step++)
            continue;
        CHECK_EQ(step, 4 * (RANKS - 1) + 1);
    }
}

static void death_at_some_time(unsigned variant, uint64_t seed,
                               sim_time_t jitter_max)
{
    uint32_t victim = (uint32_t)(seed % RANKS);
    scene_t scene;

    begin(&scene, variant, seed, jitter_max);
    exchange(&scene);
    sim_world_kill(scene.world, victim, seed * 200 * SIM_NS, 2 * SIM_US);
    scene_run(&scene);
    check_survivors(&scene, victim);
    sim_world_isolate(scene.world, victim);
    scene_run(&scene);
    scene_fini(&scene);
}

static void test_death_at_some_time(void)
{
    for_variants(death_at_some_time);
}

/* A rendezvous that was offered, and one that is on its way, when its source
 * dies: no byte of it can be had. */
static void test_bytes_of_the_dead(void)
{
    unsigned variant;
    post_t *recv;
    scene_t scene;

    for (variant = 0; variant < VARIANTS; variant++) {
        begin(&scene, variant, variant, 0);
        scene_send(&scene, 0, 0, 2, TAG, 2 * EAGER_MAX);
        scene_run(&scene);
        sim_world_kill(scene.world, 0, 0, 0);
        recv = scene_post(&scene, 2, 2, TAG, 2 * EAGER_MAX, 0);
        scene_run(&scene);
        CHECK_EQ(recv->status, XYLEM_ERR_PROC_FAILED);
        scene_fini(&scene);

        begin(&scene, variant | HAS_COSTS, variant, 0);
        scene_send(&scene, 0, 0, 2, TAG, 2 * EAGER_MAX);
        recv = scene_recv(&scene, 0, 2, TAG, 2 * EAGER_MAX);
        sim_world_kill(scene.world, 0, 300 * SIM_NS, 0);
        scene_run(&scene);
        CHECK_EQ(recv->completions, 0);
        scene_cancel(recv);
        scene_run(&scene);
        CHECK_EQ(recv->status, XYLEM_ERR_CANCELED);
        scene_fini(&scene);
    }
}

static void failing(unsigned variant, uint64_t seed, sim_time_t jitter_max)
{
    uint64_t nth = 1 + seed % 24;
    uint32_t failed = 0;
    scene_t scene;
    post_t *post;

    begin(&scene, variant, seed, jitter_max);
    exchange(&scene);
    CHECK_EQ(sim_world_failed_rank(scene.world), UINT32_MAX);
    if (seed % 2 == 0)
        sim_world_fail_send(scene.world, nth, XYLEM_ERR_NET);
    else
        sim_world_fail_recv(scene.world, nth, XYLEM_ERR_NET);
    scene_run(&scene);
    for (post = scene.posts; post != NULL; post = post->older) {
        if (post->completions == 1 && post->status == XYLEM_OK)
            continue;
        if (post->status != XYLEM_ERR_NET)
            continue; /* its partner waits for ever */
        failed++;
        CHECK_EQ(post->completions, 1);
        CHECK_EQ(post->is_send, seed % 2 == 0);
        CHECK_EQ(post->rank, sim_world_failed_rank(scene.world));
    }
    CHECK_EQ(failed, 1);
    CHECK_EQ(scene.complaints, 0);
    scene_fini(&scene);
}

static void test_failing_calls(void)
{
    for_variants(failing);
}

/* ---- equal runs ---- */

static uint64_t fingerprint_of(unsigned variant, uint64_t seed)
{
    sim_counts_t counts;
    scene_t scene;

    begin(&scene, variant, seed, SIM_US);
    exchange(&scene);
    scene_run(&scene);
    sim_world_counts(scene.world, &counts);
    end(&scene);
    return counts.fingerprint;
}

static void test_fingerprint(void)
{
    unsigned variant;

    for (variant = 0; variant < VARIANTS; variant++) {
        CHECK(fingerprint_of(variant, 1) == fingerprint_of(variant, 1));
        CHECK(fingerprint_of(variant, 1) != fingerprint_of(variant, 2));
    }
}

static const check_case_t cases[] = {
    {"net: equal tags stay in order", test_equal_tags},
    {"net: different tags overtake", test_overtaking},
    {"net: a place that was granted holds up nobody", test_places_elsewhere},
    {"net: unexpected messages", test_unexpected},
    {"net: truncation", test_truncation},
    {"net: receives that are given up", test_cancel},
    {"net: garbage between message and event", test_garbage},
    {"net: misuse is told", test_complaints},
    {"net: buffers may be used again after their event", test_buffers_are_free},
    {"net: a rank dies at every step", test_death_at_every_step},
    {"net: a rank dies at some time", test_death_at_some_time},
    {"net: the bytes of the dead are gone", test_bytes_of_the_dead},
    {"net: failing sends and receives", test_failing_calls},
    {"net: equal seeds, equal runs", test_fingerprint},
};

CHECK_MAIN(cases)
