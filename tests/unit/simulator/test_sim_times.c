/* Virtual times of simple cases, equal to the sums of the costs by hand. In
 * nanoseconds, for a message of 1000 bytes unless said otherwise:
 *
 *   call 100   event 10   post 20   copy 100   (far: the same)
 *   latency 1000   overhead 50 of a send, 70 of a receive
 *   rendezvous over memory: overhead 500, copy 150
 *   interface: gap 30, injection 20, ejection 30, way of one message 200
 */
#include "tests/support/check.h"
#include "tests/support/scene.h"

enum { SHORT = 1000, LONG = 10000, TAG = 7 };

static sim_machine_t priced(sim_transport_t transport,
                            sim_rendezvous_t rendezvous)
{
    sim_machine_t machine;
    int level;

    sim_machine_ideal(4, &machine);
    machine.core.call = 100 * SIM_NS;
    machine.core.event = 10 * SIM_NS;
    machine.core.post = 20 * SIM_NS;
    machine.core.rank_switch = 200 * SIM_NS;
    machine.core.copy = machine.core.copy_far = 100000;
    machine.nic.gap = 30 * SIM_NS;
    machine.nic.injection = 20000;
    machine.nic.ejection = 30000;
    for (level = 0; level < SIM_LEVEL_COUNT; level++) {
        sim_link_t *link = &machine.links[level];
        link->transport = transport;
        link->rendezvous = rendezvous;
        link->latency = 1000 * SIM_NS;
        link->send_overhead = 50 * SIM_NS;
        link->recv_overhead = 70 * SIM_NS;
        link->eager_bytes_max = SHORT;
        link->rendezvous_overhead = 500 * SIM_NS;
        link->rendezvous_per_byte = 150000;
        if (transport == SIM_TRANSPORT_NIC)
            link->per_byte = 200000;
    }
    return machine;
}

/* Four ranks, one to a node. */
static void begin(scene_t *scene, const sim_machine_t *machine)
{
    sim_options_t options = {.machine = machine,
                             .nodes = 4,
                             .ranks_per_node = 1,
                             .payload = SIM_PAYLOAD_WATCHED};

    scene_init(scene, &options);
}

/* One message whose receive is posted at `posted` ns; times in ps. */
static void check_one(const sim_machine_t *machine, size_t bytes,
                      sim_time_t posted, sim_time_t sent_ps,
                      sim_time_t received_ps)
{
    scene_t scene;
    post_t *send, *recv;

    begin(&scene, machine);
    send = scene_send(&scene, 0, 0, 1, TAG, bytes);
    recv = scene_recv(&scene, posted * SIM_NS, 1, TAG, bytes);
    scene_run(&scene);
    scene_check(recv, send);
    CHECK_EQ(send->completed, sent_ps);
    CHECK_EQ(recv->completed, received_ps);
    scene_fini(&scene);
}

/* Source: 100 + 50 + 100 = 250, event 260. Destination: 250 + 1000 + 70 + 100
 * + 10; with a late receive the message is copied aside first, and again
 * after 5000 + 100 + 20. */
static void test_eager_copy(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_COPY, SIM_RENDEZVOUS_GET);
    int level;

    check_one(&machine, SHORT, 0, 260 * SIM_NS, 1430 * SIM_NS);
    check_one(&machine, SHORT, 5000, 260 * SIM_NS, 5230 * SIM_NS);
    /* A source that lies in another core's cache: 300 instead of 100. */
    for (level = 0; level < SIM_LEVEL_COUNT; level++)
        machine.links[level].per_byte = 300000;
    check_one(&machine, SHORT, 0, 260 * SIM_NS, 1630 * SIM_NS);
}

/* The head is at the destination's interface at 250 + 1000, and through it at
 * + 30 + 30 = 1310; the tail only at 250 + 1000 + 200. */
static void test_eager_nic(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_NIC, SIM_RENDEZVOUS_GET);

    check_one(&machine, SHORT, 0, 260 * SIM_NS, 1630 * SIM_NS);
}

/* Offer 150 + 1000 + 70 = 1220; 500 + 1500 = 3220, event 3230; finish 3220 +
 * 1000 + 70 + 10. */
static void test_get_copy(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_COPY, SIM_RENDEZVOUS_GET);

    check_one(&machine, LONG, 0, 4300 * SIM_NS, 3230 * SIM_NS);
}

/* Accept 1220 + 1000; the source from 2220 + 50 + 500 = 2770 to 3770, event
 * 3780. Its first piece of 8192 bytes is there at 2770 + 819.2 + 1000, and
 * 70 + 1500 later all is copied out, which is after the last one came. */
static void test_pipeline_copy(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_COPY, SIM_RENDEZVOUS_PIPELINE);

    check_one(&machine, LONG, 0, 3780 * SIM_NS, 6169200);
}

/* Offer 150 + 1000 + 30 + 70 = 1250, + 50 to ask; the data leave at 2300 and
 * the last of them is there at 2300 + 1000 + 2000; + 70 + 50 = 5420, event
 * 5430; finish 6420 + 70 + 10. */
static void test_get_nic(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_NIC, SIM_RENDEZVOUS_GET);

    check_one(&machine, LONG, 0, 6500 * SIM_NS, 5430 * SIM_NS);
}

/* Accept 1250 + 1000, + 50; the data leave from 2300 to 2300 + 30 + 200, event
 * 2540; the last of them is there at 5300; + 70 + 10. */
static void test_pipeline_nic(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_NIC, SIM_RENDEZVOUS_PIPELINE);

    check_one(&machine, LONG, 0, 2540 * SIM_NS, 5380 * SIM_NS);
}

/* Ranks 0 and 1 of one node send at 250. The second message leaves 30 + 20
 * later; if both arrive at one node, it is let in after the first: 1250 + 60
 * + 60. */
static void test_two_on_one_interface(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_NIC, SIM_RENDEZVOUS_GET);
    sim_options_t options = {.machine = &machine,
                             .nodes = 3,
                             .ranks_per_node = 2,
                             .payload = SIM_PAYLOAD_WATCHED};
    post_t *first, *second;
    uint32_t shares;
    scene_t scene;
    int level;

    for (level = 0; level < SIM_LEVEL_COUNT; level++)
        machine.links[level].per_byte = 0;
    for (shares = 0; shares <= 1; shares++) {
        uint32_t other = shares ? 3 : 4;
        scene_init(&scene, &options);
        scene_send(&scene, 0, 0, 2, TAG, SHORT);
        scene_send(&scene, 0, 1, other, TAG, SHORT);
        first = scene_recv(&scene, 0, 2, TAG, SHORT);
        second = scene_recv(&scene, 0, other, TAG, SHORT);
        scene_run(&scene);
        CHECK_EQ(first->completed, (1310 + 180) * SIM_NS);
        CHECK_EQ(second->completed, (1360 + 10 * shares + 180) * SIM_NS);
        scene_fini(&scene);
    }
}

static void copy_40000(void *arg, uint32_t rank)
{
    sim_world_charge_copy(arg, rank, 40000);
}

/* Each copy takes 4 us alone and 3.2 us of the memory. In the 4 us that the
 * first takes the memory has 0.8 us left for the second, whose other 2.4 us
 * take 3 us at its own speed. */
static void test_two_share_memory(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_COPY, SIM_RENDEZVOUS_GET);
    sim_options_t options = {.machine = &machine,
                             .nodes = 2,
                             .ranks_per_node = 2,
                             .message_bytes = 1};
    scene_t scene;
    uint32_t i;

    machine.core.call = 0;
    machine.core.cache_bytes = 0;
    machine.node.memory = 80000;
    scene_init(&scene, &options);
    for (i = 0; i < 3; i++)
        sim_world_at(scene.world, i, 0, copy_40000, scene.world);
    scene_run(&scene);
    CHECK_EQ(sim_world_now(scene.world, 0), 4 * SIM_US);
    CHECK_EQ(sim_world_now(scene.world, 1), 7 * SIM_US);
    CHECK_EQ(sim_world_now(scene.world, 2), 4 * SIM_US); /* another node */
    scene_fini(&scene);
}

static void check_burst(uint32_t rank, sim_time_t at, sim_time_t sent_ns,
                        sim_time_t received_ns)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_COPY, SIM_RENDEZVOUS_GET);
    sim_noise_t noise = {.kind = SIM_NOISE_ONCE,
                         .max = 1000 * SIM_NS,
                         .at = at * SIM_NS,
                         .first = rank,
                         .last = rank};
    sim_options_t options = {.machine = &machine,
                             .nodes = 2,
                             .ranks_per_node = 1,
                             .payload = SIM_PAYLOAD_WATCHED,
                             .noise = &noise};
    post_t *send, *recv;
    scene_t scene;

    scene_init(&scene, &options);
    send = scene_send(&scene, 0, 0, 1, TAG, SHORT);
    recv = scene_recv(&scene, 0, 1, TAG, SHORT);
    scene_run(&scene);
    CHECK_EQ(send->completed, sent_ns * SIM_NS);
    CHECK_EQ(recv->completed, received_ns * SIM_NS);
    scene_fini(&scene);
}

/* In the middle of the source's copy; while the message comes; long before. */
static void test_burst(void)
{
    check_burst(0, 200, 1260, 2430);
    check_burst(1, 1200, 260, 2200 + 180);
    check_burst(1, 130, 260, 1430);
}

static void compute(void *arg, uint32_t rank)
{
    sim_world_compute(arg, rank, (rank == 0 ? 1000 : 500) * SIM_NS);
}

/* Two ranks and one core: the second begins when the first ends, and the switch
 * costs 200. */
static void test_shared_core(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_COPY, SIM_RENDEZVOUS_GET);
    sim_options_t options = {
        .machine = &machine, .nodes = 1, .ranks_per_node = 2};
    scene_t scene;
    uint32_t i;

    machine.cores_per_group = 1;
    scene_init(&scene, &options);
    for (i = 0; i < 2; i++)
        sim_world_at(scene.world, i, 0, compute, scene.world);
    scene_run(&scene);
    CHECK_EQ(sim_world_now(scene.world, 0), 1100 * SIM_NS);
    CHECK_EQ(sim_world_now(scene.world, 1), 1900 * SIM_NS);
    scene_fini(&scene);
}

/* Only the delayed message is late. */
static void test_delayed_message(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_COPY, SIM_RENDEZVOUS_GET);
    post_t *first, *second;
    scene_t scene;

    begin(&scene, &machine);
    sim_world_delay_message(scene.world, 1, 50 * SIM_US);
    scene_send(&scene, 0, 0, 1, TAG, SHORT);
    scene_send(&scene, 0, 2, 3, TAG, SHORT);
    first = scene_recv(&scene, 0, 1, TAG, SHORT);
    second = scene_recv(&scene, 0, 3, TAG, SHORT);
    scene_run(&scene);
    CHECK_EQ(first->completed, 50 * SIM_US + 1430 * SIM_NS);
    CHECK_EQ(second->completed, 1430 * SIM_NS);
    scene_fini(&scene);
}

static void note_time(void *arg, uint32_t rank)
{
    (void)rank;
    *(uint32_t *)arg += 1;
}

/* A run that is bounded stops there, and time has passed. */
static void test_bounds(void)
{
    sim_machine_t machine = priced(SIM_TRANSPORT_COPY, SIM_RENDEZVOUS_GET);
    uint32_t calls = 0;
    scene_t scene;

    begin(&scene, &machine);
    sim_world_at(scene.world, 0, 5 * SIM_US, note_time, &calls);
    sim_world_at(scene.world, 1, 9 * SIM_US, note_time, &calls);
    CHECK_EQ(sim_world_run(scene.world, 4 * SIM_US, UINT64_MAX), 0);
    CHECK_EQ(calls, 0);
    CHECK_EQ(sim_world_time(scene.world), 4 * SIM_US);
    CHECK_EQ(sim_world_run(scene.world, SIM_NEVER, 1), 0);
    CHECK_EQ(calls, 1);
    CHECK_EQ(sim_world_run(scene.world, SIM_NEVER, 1), 1);
    CHECK_EQ(calls, 2);
    CHECK_EQ(sim_world_run(scene.world, 20 * SIM_US, UINT64_MAX), 1);
    CHECK_EQ(sim_world_time(scene.world), 20 * SIM_US);
    scene_fini(&scene);
}

static const check_case_t cases[] = {
    {"times: eager, through memory", test_eager_copy},
    {"times: eager, through interfaces", test_eager_nic},
    {"times: rendezvous, one copy", test_get_copy},
    {"times: rendezvous, two copies in pieces", test_pipeline_copy},
    {"times: rendezvous, an interface reads", test_get_nic},
    {"times: rendezvous, an interface writes", test_pipeline_nic},
    {"times: two senders on one interface", test_two_on_one_interface},
    {"times: two copies share a memory", test_two_share_memory},
    {"times: a burst of noise", test_burst},
    {"times: two ranks share a core", test_shared_core},
    {"times: one message is held up", test_delayed_message},
    {"times: bounded runs", test_bounds},
};

CHECK_MAIN(cases)
