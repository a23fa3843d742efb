/* Errors in the files of the simulator's machines: every kind is one line that
 * names file and key, and leaves the machine as it was; files that are not
 * found, cut off or damaged; links that copy others. */
#include "simulator/machine.h"

#include "simulator/random.h"
#include "tests/unit/simulator/sim_machine_files.h"

/* ---- errors ---- */

/* Loads `text`, which is wrong: the error is one line, begins with the file
 * and `wanted`, and the machine stays as it was. */
static void check_wrong(const char *text, size_t bytes, const char *wanted)
{
    char error[ERROR_BYTES] = "", start[ERROR_BYTES];
    sim_machine_t machine, before;
    size_t length;

    sim_machine_ideal(77, &machine);
    before = machine;
    CHECK_EQ(load_text(text, bytes, &machine, error), XYLEM_ERR_CONFIG);
    CHECK(machines_equal(&machine, &before));
    length =
        (size_t)snprintf(start, sizeof start, "%s: %s", scratch_path, wanted);
    CHECK(strncmp(error, start, length) == 0);
    CHECK(strchr(error, '\n') == NULL);
    if (strncmp(error, start, length) != 0)
        printf("# %s\n# wanted %s\n", error, start);
}

typedef struct wrong {
    const char *old;
    const char *new; /* in place of the first `old` */
    const char *error;
} wrong_t;

static const wrong_t wrongs[] = {
    /* missing */
    {"\"name\": \"ideal\",", "", "name: is missing"},
    {"\"call_ns\": 0,", "", "core.call_ns: is missing"},
    {"\"transport\": \"copy\",", "", "links.group.transport: is missing"},
    {"{\"value\": 3, \"from\": \"x\"}", "{\"value\": 3}",
     "core.post_ns: \"from\" is missing"},
    {"{\"value\": 3, \"from\": \"x\"}", "{\"from\": \"x\"}",
     "core.post_ns: \"value\" is missing"},
    /* unknown */
    {"\"call_ns\"", "\"call_us\"",
     "core.call_us: there is no such key; is it \"call_ns\"?"},
    {"\"name\"", "\"nmae\"", "nmae: there is no such key; is it \"name\"?"},
    {"\"nic\": {", "\"nic\": {\"wombat\": 1,",
     "nic.wombat: there is no such key"},
    {"\"nic\": {", "\"nic\": {\"gap\\nns\": 1,",
     "nic.gap?ns: there is no such key; is it \"gap_ns\"?"},
    {"\"nic\": {",
     "\"nic\": {\"a_key_that_is_longer_than_any_that_is_known\": 1,",
     "nic.a_key_that_is_longer_than_any_that_is_known: there is no such key"},
    {"\"group\"", "\"groups\"",
     "links.groups: there is no such key; is it \"group\"?"},
    {"\"latency_ns\"", "\"latency\"",
     "links.group.latency: there is no such key; is it \"latency_ns\"?"},
    {"\"from\": \"x\"}", "\"from\": \"x\", \"by\": 1}",
     "core.post_ns: has more keys than \"value\" and \"from\""},
    /* of a wrong type */
    {"\"call_ns\": 0", "\"call_ns\": \"0\"",
     "core.call_ns: wants a number, not a string"},
    {"\"call_ns\": 0", "\"call_ns\": [0]",
     "core.call_ns: wants a number, not an array"},
    {"\"value\": 3", "\"value\": {}",
     "core.post_ns: wants a number, not an object"},
    {"\"from\": \"x\"", "\"from\": 7",
     "core.post_ns: \"from\" wants a string, not an integer"},
    {"\"cores_per_group\": 4", "\"cores_per_group\": 4.0",
     "nest.cores_per_group: wants an integer, not a decimal"},
    {"\"cache_bytes\": \"unbounded\"", "\"cache_bytes\": null",
     "core.cache_bytes: wants an integer or \"unbounded\", not null"},
    {"\"copy_gb_per_s\": \"unbounded\"", "\"copy_gb_per_s\": true",
     "core.copy_gb_per_s: wants a number or \"unbounded\", not a truth value"},
    {"\"transport\": \"copy\"", "\"transport\": \"ship\"",
     "links.group.transport: wants \"copy\" or \"nic\", not \"ship\""},
    {"\"rendezvous\": \"get\"", "\"rendezvous\": 0",
     "links.group.rendezvous: wants \"get\" or \"pipeline\", not an integer"},
    {"\"name\": \"ideal\"", "\"name\": 7",
     "name: wants a string, not an integer"},
    {"\"group\": {", "\"group\": 1, \"group2\": {",
     "links.group2: there is no such key; is it \"group\"?"},
    /* out of bounds */
    {"\"call_ns\": 0", "\"call_ns\": -1",
     "core.call_ns: wants 0 ... 1000000000, not -1"},
    {"\"call_ns\": 0", "\"call_ns\": 1000000000.5",
     "core.call_ns: wants 0 ... 1000000000, not 1000000000.5"},
    {"\"copy_gb_per_s\": \"unbounded\"", "\"copy_gb_per_s\": 0",
     "core.copy_gb_per_s: wants 0.001 ... 1000000 or \"unbounded\", not 0"},
    {"\"cores_per_group\": 4", "\"cores_per_group\": 0",
     "nest.cores_per_group: wants 1 ... 65536, not 0"},
    {"\"queue_slots\": \"unbounded\"", "\"queue_slots\": 0",
     "node.queue_slots: wants 1 ... 1000000000 or \"unbounded\", not 0"},
    {"\"eager_bytes_max\": 8192", "\"eager_bytes_max\": 1099511627777",
     "links.group.eager_bytes_max: wants 0 ... 1099511627776 or "
     "\"unbounded\","},
    {"\"sockets_per_node\": 1", "\"sockets_per_node\": 65536",
     "nest: has more than 65536 cores in a node"},
    {"\"name\": \"ideal\"", "\"name\": \"\"",
     "name: wants 1 ... 63 bytes, not 0"},
    {"\"name\": \"ideal\"",
     "\"name\": \"0123456789012345678901234567890123456789012345678901234567890"
     "123\"",
     "name: wants 1 ... 63 bytes, not 64"},
    /* levels like others */
    {"\"group\": {", "\"group\": {\"as\": \"node\",",
     "links.group.as: \"node\" is not the name of a level further in"},
    {"\"numa\": {", "\"numa\": {\"as\": \"numa\",",
     "links.numa.as: \"numa\" is not the name of a level further in"},
    {"\"numa\": {", "\"numa\": {\"as\": 1,",
     "links.numa.as: wants a string, not an integer"},
    /* no JSON */
    {"\"core\"", "\"name\": \"a\", \"core\"", "no JSON: line 11, column 10: "},
    {"\"call_ns\": 0", "\"call_ns\": 1e999", "no JSON: line 12, column "},
    {"\"call_ns\": 0", "\"call_ns\": 99999999999999999999",
     "no JSON: line 12, column "},
    {"{", "{ // what is this", "no JSON: line 1, column 3: "},
    {"{", "7 {", "no JSON: line 1, column 1: "},
};

/* Prints the ideal machine with four cores; one number has its source. */
static void right_print(char *right)
{
    static const char plain[] = "\"post_ns\": 0";
    char text[TEXT_BYTES];
    sim_machine_t machine;
    const char *post;

    sim_machine_ideal(4, &machine);
    machine_print(&machine, NULL, text);
    post = strstr(text, plain);
    snprintf(right, TEXT_BYTES,
             "%.*s\"post_ns\": {\"value\": 3, \"from\": \"x\"}%s",
             (int)(post - text), text, post + strlen(plain));
}

static void test_errors(void)
{
    char right[TEXT_BYTES], text[TEXT_BYTES], error[ERROR_BYTES];
    sim_machine_t machine;
    size_t i;

    right_print(right);
    sim_machine_ideal(1, &machine);
    CHECK_EQ(load_text(right, strlen(right), &machine, error), XYLEM_OK);
    CHECK_EQ(machine.core.post, 3 * SIM_NS);
    for (i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        const wrong_t *wrong = &wrongs[i];
        const char *at = strstr(right, wrong->old);
        CHECK(at != NULL);
        if (at == NULL)
            continue;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - right), right,
                 wrong->new, at + strlen(wrong->old));
        check_wrong(text, strlen(text), wrong->error);
    }
    check_wrong("[]", 2, "wants an object, not an array");
    check_wrong("{}", 2, "name: is missing");
    check_wrong("", 0, "no JSON: line 1, column 0: ");
    check_wrong("\0", 1, "no JSON: line 1, column ");
}

/* The numbers that "as" takes over, and changes of single ones. */
static void test_as(void)
{
    char right[TEXT_BYTES], text[TEXT_BYTES], error[ERROR_BYTES];
    const char *numa, *socket, *node;
    sim_machine_t machine;

    right_print(right);
    numa = strstr(right, "\"numa\": {");
    socket = strstr(right, "\"socket\": {");
    node = strstr(right, "\"node\": {\n            ");
    sim_machine_ideal(1, &machine);
    snprintf(text, sizeof text,
             "%.*s\"numa\": {\"as\": \"group\", \"transport\": \"nic\", "
             "\"gb_per_s\": 2, \"latency_ns\": 1.5}, "
             "\"socket\": {\"as\": \"numa\", \"eager_bytes_max\": 7}, %s",
             (int)(numa - right), right, node);
    CHECK_EQ(load_text(text, strlen(text), &machine, error), XYLEM_OK);
    CHECK_EQ(machine.links[SIM_LEVEL_NUMA].transport, SIM_TRANSPORT_NIC);
    CHECK_EQ(machine.links[SIM_LEVEL_NUMA].latency, 1500);
    CHECK_EQ(machine.links[SIM_LEVEL_NUMA].eager_bytes_max, 8192);
    CHECK_EQ(machine.links[SIM_LEVEL_SOCKET].latency, 1500);
    CHECK_EQ(machine.links[SIM_LEVEL_SOCKET].per_byte, 500000);
    CHECK_EQ(machine.links[SIM_LEVEL_SOCKET].eager_bytes_max, 7);
    CHECK_EQ(machine.links[SIM_LEVEL_NODE].latency, 0);
    /* The rate of copies, which have none, is not taken over. */
    snprintf(text, sizeof text,
             "%.*s\"numa\": {\"as\": \"group\", \"transport\": \"nic\"}, %s",
             (int)(numa - right), right, socket);
    check_wrong(text, strlen(text),
                "links.numa.gb_per_s: is missing; \"nic\" needs it");
}

/* ---- names and folders ---- */

static void check_not_found(const char *name)
{
    char error[ERROR_BYTES] = "", start[ERROR_BYTES];
    sim_machine_t machine, before;
    const char *const *names;

    sim_machine_ideal(77, &machine);
    before = machine;
    CHECK_EQ(sim_machine_load(name, &machine, error, sizeof error),
             XYLEM_ERR_INVALID_ARG);
    CHECK(machines_equal(&machine, &before));
    snprintf(start, sizeof start, "%s: cannot be read: ", name);
    CHECK(strncmp(error, start, strlen(start)) == 0);
    for (names = sim_machine_names(); *names != NULL; names++)
        CHECK(strstr(error, *names) != NULL);
    CHECK(strchr(error, '\n') == NULL);
}

static void test_not_found(void)
{
    char tiny[8] = "";
    sim_machine_t machine;

    check_not_found("wombat");
    check_not_found("./cori");
    check_not_found("wombat.json");
    check_not_found("");
    check_not_found("..");
    CHECK_EQ(sim_machine_load("wombat", &machine, NULL, 0),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(sim_machine_load("wombat", &machine, tiny, sizeof tiny),
             XYLEM_ERR_INVALID_ARG);
    CHECK(strcmp(tiny, "wombat:") == 0);
}

/* A folder of the user's comes before xylem's; its other names still count. */
static void test_folder(void)
{
    char folder[] = "/tmp/test_sim_machine.XXXXXX", path[PATH_MAX];
    char error[ERROR_BYTES];
    sim_machine_t machine;
    FILE *file;

    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/cori.json", folder);
    file = fopen(path, "w");
    sim_machine_ideal(3, &machine);
    CHECK(sim_machine_write(&machine, "a test", file));
    fclose(file);
    setenv("XYLEM_SIM_MACHINES", folder, 1);
    CHECK_EQ(sim_machine_load("cori", &machine, error, sizeof error), XYLEM_OK);
    CHECK_EQ(sim_machine_cores(&machine), 3);
    CHECK_EQ(sim_machine_load("tcp", &machine, error, sizeof error), XYLEM_OK);
    CHECK_EQ(sim_machine_cores(&machine), 8);
    unsetenv("XYLEM_SIM_MACHINES");
    CHECK_EQ(sim_machine_load("cori", &machine, error, sizeof error), XYLEM_OK);
    CHECK_EQ(sim_machine_cores(&machine), 32);
    unlink(path);
    CHECK_EQ(rmdir(folder), 0);
}

/* ---- damaged files ---- */

/* Checks one file, cut shorter and shorter. */
static void check_truncations(const char *name)
{
    char text[TEXT_BYTES], error[ERROR_BYTES];
    size_t bytes = read_shipped(name, text);
    sim_machine_t machine, before;
    FILE *file = scratch_create();

    if (file == NULL)
        return;
    CHECK_EQ(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
    sim_machine_ideal(77, &machine);
    before = machine;
    while (bytes > 0 && text[bytes - 1] != '}') /* the newline may miss */
        bytes--;
    while (bytes-- > 0) {
        CHECK_EQ(truncate(scratch_path, (off_t)bytes), 0);
        CHECK_EQ(sim_machine_load(scratch_path, &machine, error, sizeof error),
                 XYLEM_ERR_CONFIG);
        CHECK(strstr(error, ": no JSON: line ") != NULL);
        CHECK(strchr(error, '\n') == NULL);
    }
    CHECK(machines_equal(&machine, &before));
    scratch_remove();
}

static void test_truncated(void)
{
    const char *const *names;

    for (names = sim_machine_names(); *names != NULL; names++)
        check_truncations(*names);
}

/* Bytes changed at random: an error, or a machine that can be written. */
static void test_damaged(void)
{
    char text[TEXT_BYTES], damaged[TEXT_BYTES], error[ERROR_BYTES];
    size_t bytes = read_shipped("cori", text);
    uint64_t random = 11, round, i;
    sim_machine_t machine;

    for (round = 0; round < SEEDS && bytes > 0; round++) {
        xylem_status_t status;
        memcpy(damaged, text, bytes);
        for (i = random_below(&random, 3) + 1; i > 0; i--)
            damaged[random_below(&random, (uint32_t)bytes)] =
                (char)random_below(&random, 256);
        status = load_text(damaged, bytes, &machine, error);
        CHECK(status == XYLEM_OK || status == XYLEM_ERR_CONFIG);
        if (status == XYLEM_OK)
            check_round_trip(&machine, NULL);
        else
            CHECK(strchr(error, '\n') == NULL);
    }
}

static const check_case_t cases[] = {
    {"every error", test_errors},  {"levels like others", test_as},
    {"not found", test_not_found}, {"folders", test_folder},
    {"truncated", test_truncated}, {"damaged", test_damaged},
};

CHECK_MAIN(cases)
