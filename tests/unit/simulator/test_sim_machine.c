/* Machines of the simulator: those that come with xylem are sane and have
 * sources for their numbers; a written machine is read back as the same one, to
 * the last picosecond. */
#include "simulator/machine.h"

#include <inttypes.h>

#include "simulator/random.h"
#include "tests/unit/simulator/sim_machine_files.h"

/* ---- the machines that come with xylem ---- */

static void test_levels(void)
{
    CHECK(strcmp(sim_level_name(SIM_LEVEL_GROUP), "group") == 0);
    CHECK(strcmp(sim_level_name(SIM_LEVEL_SYSTEM), "system") == 0);
}

static void check_link_sane(const sim_link_t *link, const sim_link_t *inner)
{
    CHECK(link->latency >= 10 * SIM_NS && link->latency <= 100 * SIM_US);
    CHECK(link->send_overhead > 0 && link->recv_overhead > 0);
    CHECK(link->eager_bytes_max >= 1024 && link->eager_bytes_max <= 1 << 20);
    CHECK((link->transport == SIM_TRANSPORT_NIC
               ? link->per_byte
               : link->rendezvous_per_byte) != 0);
    if (inner != NULL) { /* further out is never faster */
        CHECK(link->latency >= inner->latency);
        CHECK(link->send_overhead >= inner->send_overhead);
        CHECK(link->recv_overhead >= inner->recv_overhead);
    }
    if (inner != NULL && link->transport == inner->transport) {
        CHECK(link->per_byte >= inner->per_byte);
        CHECK(link->rendezvous_overhead >= inner->rendezvous_overhead);
        CHECK(link->rendezvous_per_byte >= inner->rendezvous_per_byte);
    }
}

static void check_sane(const sim_machine_t *machine)
{
    int level;

    CHECK(sim_machine_cores(machine) >= 8 && sim_machine_cores(machine) <= 64);
    CHECK(machine->nodes_per_switch >= 1);
    for (level = 0; level < SIM_LEVEL_COUNT; level++) {
        const sim_link_t *link = &machine->links[level];
        check_link_sane(link, level == 0 ? NULL : link - 1);
        CHECK_EQ(link->transport, level <= SIM_LEVEL_NODE ? SIM_TRANSPORT_COPY
                                                          : SIM_TRANSPORT_NIC);
    }
    CHECK(machine->core.event != 0 && machine->core.post != 0);
    CHECK(machine->core.call > machine->core.event);
    CHECK(machine->core.copy != 0);
    CHECK(machine->core.reduce >= machine->core.copy);
    CHECK(machine->core.copy_far >= machine->core.copy);
    CHECK(machine->core.reduce_far >= machine->core.reduce);
    /* All cores together are slower than each of them alone would be. */
    CHECK(machine->node.memory != 0);
    CHECK(machine->node.memory * sim_machine_cores(machine) >
          machine->core.copy_far);
    CHECK(machine->node.memory < machine->core.copy_far);
    CHECK(machine->nic.injection != 0 && machine->nic.ejection != 0);
    CHECK(machine->nic.injection <= machine->links[SIM_LEVEL_SWITCH].per_byte);
}

static void test_shipped(void)
{
    const char *const *names = sim_machine_names();
    char error[ERROR_BYTES] = "";
    size_t i;

    for (i = 0; names[i] != NULL; i++) {
        sim_machine_t machine;
        memset(&machine, 0, sizeof machine);
        CHECK_EQ(sim_machine_load(names[i], &machine, error, sizeof error),
                 XYLEM_OK);
        if (error[0] != '\0')
            printf("# %s\n", error);
        CHECK(strcmp(machine.name, names[i]) == 0);
        check_sane(&machine);
        check_round_trip(&machine, "a test");
        check_round_trip(&machine, NULL);
    }
    CHECK_EQ(i, 7);
}

/* A few numbers, by hand. */
static void test_numbers(void)
{
    char error[ERROR_BYTES];
    sim_machine_t machine;

    CHECK_EQ(sim_machine_load("cori", &machine, error, sizeof error), XYLEM_OK);
    CHECK_EQ(sim_machine_cores(&machine), 32);
    CHECK_EQ(machine.links[SIM_LEVEL_GROUP].latency, 44 * SIM_NS);
    CHECK_EQ(machine.links[SIM_LEVEL_SOCKET].latency, 44 * SIM_NS);
    CHECK_EQ(machine.links[SIM_LEVEL_SYSTEM].per_byte, 100402); /* 1e6 / 9.96 */
    CHECK_EQ(machine.core.copy, 100000);
    CHECK_EQ(machine.core.cache_bytes, 5 << 19);
    CHECK_EQ(sim_machine_load("tcp", &machine, error, sizeof error), XYLEM_OK);
    CHECK_EQ(machine.nic.gap, 67200);
    CHECK_EQ(machine.nic.injection, 849618);
}

/* ---- where numbers come from ---- */

/* Each number of a file stands in an object with a source of some length. */
static void check_sources(const char *name)
{
    static const char opening[] = "\"value\": ", between[] = ", \"from\": \"";
    char text[TEXT_BYTES];
    const char *at;
    size_t numbers = 0;

    CHECK(read_shipped(name, text) > 0);
    CHECK(strstr(text, "_ns\": ") != NULL);
    for (at = strpbrk(text, ":"); at != NULL; at = strpbrk(at + 1, ":"))
        if (at[-1] == '"' && at[1] == ' ' && strchr("-0123456789", at[2])) {
            const char *end = at + 2 + strcspn(at + 2, ",\n}");
            CHECK(strncmp(at - strlen("\"value\""), opening, strlen(opening)) ==
                  0);
            CHECK(strncmp(end, between, strlen(between)) == 0);
            CHECK(strcspn(end + strlen(between), "\"") >= 15);
            numbers++;
        }
    CHECK(numbers >= 25);
}

static void test_sources(void)
{
    const char *const *names;

    for (names = sim_machine_names(); *names != NULL; names++)
        check_sources(*names);
}

/* ---- round trips ---- */

static void test_ideal(void)
{
    sim_machine_t machine;

    sim_machine_ideal(64, &machine);
    CHECK_EQ(sim_machine_cores(&machine), 64);
    CHECK_EQ(machine.links[SIM_LEVEL_SYSTEM].eager_bytes_max, 8192);
    CHECK_EQ(machine.links[SIM_LEVEL_SYSTEM].transport, SIM_TRANSPORT_COPY);
    CHECK_EQ(sim_rate_time(machine.core.copy, SIZE_MAX), 0);
    check_round_trip(&machine, "by definition");
}

/* Draws a number of 0 ... limit, all magnitudes alike. */
static uint64_t random_magnitude(uint64_t *random, uint64_t limit)
{
    uint64_t value = random_next(random) >> random_below(random, 64);

    return value <= limit ? value : value % (limit + 1);
}

static sim_rate_t random_rate(uint64_t *random)
{
    return random_magnitude(random, 1000000000); /* 0: unbounded */
}

static size_t random_bytes(uint64_t *random)
{
    if (random_below(random, 8) == 0)
        return SIZE_MAX;
    return random_magnitude(random, (uint64_t)1 << 40);
}

static void random_machine(uint64_t *random, sim_machine_t *machine)
{
    int level;

    memset(machine, 0, sizeof *machine);
    snprintf(machine->name, sizeof machine->name, "random\"%" PRIx64 "\n",
             random_next(random));
    strcpy(machine->about, "\\ \xc3\xa4 \t");
    machine->cores_per_group = random_between(random, 1, 16);
    machine->groups_per_numa = random_between(random, 1, 16);
    machine->numas_per_socket = random_between(random, 1, 16);
    machine->sockets_per_node = random_between(random, 1, 16);
    machine->nodes_per_switch = random_between(random, 1, 65536);
    for (level = 0; level < SIM_LEVEL_COUNT; level++)
        machine->links[level] = (sim_link_t){
            .transport = (sim_transport_t)random_below(random, 2),
            .rendezvous = (sim_rendezvous_t)random_below(random, 2),
            .latency = random_magnitude(random, SIM_S),
            .send_overhead = random_magnitude(random, SIM_S),
            .recv_overhead = random_magnitude(random, SIM_S),
            .per_byte = random_rate(random),
            .eager_bytes_max = random_bytes(random),
            .rendezvous_overhead = random_magnitude(random, SIM_S),
            .rendezvous_per_byte = random_rate(random)};
    machine->core.call = random_magnitude(random, SIM_S);
    machine->core.event = random_magnitude(random, SIM_S);
    machine->core.post = random_magnitude(random, SIM_S);
    machine->core.rank_switch = random_magnitude(random, SIM_S);
    machine->core.copy = random_rate(random);
    machine->core.reduce = random_rate(random);
    machine->core.copy_far = random_rate(random);
    machine->core.reduce_far = random_rate(random);
    machine->core.cache_bytes = random_bytes(random);
    machine->node.memory = random_rate(random);
    machine->node.queue_slots = (uint32_t)random_magnitude(random, 1000000000);
    machine->nic.gap = random_magnitude(random, SIM_S);
    machine->nic.injection = random_rate(random);
    machine->nic.ejection = random_rate(random);
}

static void test_random(void)
{
    sim_machine_t machine;
    uint64_t seed, random;

    for (seed = 0; seed < SEEDS; seed++) {
        random = random_mix(seed);
        random_machine(&random, &machine);
        check_round_trip(&machine, seed % 2 == 0 ? "a \"test\"\n" : NULL);
    }
}

/* The ends of a machine's ranges, and values just beyond them. */
static void test_ends(void)
{
    static const sim_rate_t rates[] = {1,       2,         3,         999999,
                                       1000001, 999999999, 1000000000};
    sim_machine_t machine;
    FILE *nowhere = fopen("/dev/null", "w");
    size_t i;

    sim_machine_ideal(1, &machine);
    for (i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        machine.core.copy = rates[i];
        check_round_trip(&machine, NULL);
    }
    machine.nic.gap = SIM_S;
    check_round_trip(&machine, NULL);
    machine.nic.gap = SIM_S + 1;
    CHECK(!sim_machine_write(&machine, NULL, nowhere));
    machine.nic.gap = 0;
    machine.core.copy = 1000000001;
    CHECK(!sim_machine_write(&machine, NULL, nowhere));
    machine.core.copy = 0;
    machine.cores_per_group = machine.sockets_per_node = 257;
    CHECK(!sim_machine_write(&machine, NULL, nowhere));
    machine.cores_per_group = machine.sockets_per_node = 256;
    check_round_trip(&machine, NULL);
    machine.nodes_per_switch = 0;
    CHECK(!sim_machine_write(&machine, NULL, nowhere));
    machine.nodes_per_switch = 1;
    machine.name[0] = '\0';
    CHECK(!sim_machine_write(&machine, NULL, nowhere));
    machine.name[0] = '\xff'; /* no UTF-8 */
    CHECK(!sim_machine_write(&machine, NULL, nowhere));
    fclose(nowhere);
}

static void test_full_disk(void)
{
    FILE *full = fopen("/dev/full", "w");
    sim_machine_t machine;

    if (full == NULL) {
        check_skip("there is no /dev/full");
        return;
    }
    sim_machine_ideal(1, &machine);
    CHECK(!sim_machine_write(&machine, NULL, full));
    fclose(full);
}

static const check_case_t cases[] = {
    {"names of levels", test_levels},
    {"those that come with xylem are sane", test_shipped},
    {"numbers by hand", test_numbers},
    {"every number has a source", test_sources},
    {"ideal", test_ideal},
    {"random machines there and back", test_random},
    {"bounds", test_ends},
    {"a full disk", test_full_disk},
};

CHECK_MAIN(cases)
