/* Nodes that watch each other, over sockets of this process. */
#include "runtime/job/lookout.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/check.h"

enum { NODES = 3, LOOKS_MAX = 2000, HELLO_BYTES = 24 };

typedef struct node {
    xyl_lookout_t *lookout;
    int lost[NODES], lost_whole[NODES];
    int is_alone; /* watches no node by itself */
} node_t;

static xyl_lookout_address_t addresses[NODES];
static const xyl_lookout_address_t *told[NODES];
static node_t nodes[NODES];
static uint64_t now_ns = 1;

static int is_watched(void *arg, uint32_t node)
{
    const node_t *mine = arg;

    return !mine->is_alone && mine->lost[node] == 0;
}

static void lost(void *arg, uint32_t node, int whole)
{
    node_t *mine = arg;

    mine->lost[node]++;
    mine->lost_whole[node] += whole;
}

static void node_open(uint32_t node)
{
    nodes[node] = (node_t){.lookout = xyl_lookout_open(&addresses[node])};
    told[node] = &addresses[node];
    CHECK(nodes[node].lookout != NULL && addresses[node].port != 0);
}

static void node_begin(uint32_t node)
{
    const xyl_lookout_params_t params = {.nodes = NODES,
                                         .node = node,
                                         .silence_s = 30,
                                         .addresses = told,
                                         .is_watched = is_watched,
                                         .lost = lost,
                                         .arg = &nodes[node]};

    CHECK_EQ(xyl_lookout_begin(nodes[node].lookout, &params), 0);
}

static void look_all(void)
{
    uint32_t node;

    for (node = 0; node < NODES; node++)
        if (nodes[node].lookout != NULL)
            xyl_lookout_look(nodes[node].lookout, now_ns);
    poll(NULL, 0, 1);
}

/* Looks until node 0 has `count` connections, or often enough to be sure. */
static void look_until(uint32_t count)
{
    uint32_t looks = 0;

    while (xyl_lookout_count(nodes[0].lookout) != count && looks++ < LOOKS_MAX)
        look_all();
    CHECK_EQ(xyl_lookout_count(nodes[0].lookout), count);
}

static void close_all(void)
{
    uint32_t node;

    for (node = 0; node < NODES; node++) {
        xyl_lookout_close(nodes[node].lookout);
        nodes[node].lookout = NULL;
    }
}

/* The ring has all nodes, whatever their number, and neighbours lie apart. */
static void test_ring(void)
{
    uint8_t seen[100];
    uint32_t count, hop;

    for (count = 1; count <= 100; count++) {
        memset(seen, 0, sizeof seen);
        for (hop = 0; hop < count; hop++)
            seen[xyl_lookout_next(count, 5 % count, hop)]++;
        for (hop = 0; hop < count; hop++)
            CHECK_EQ(seen[hop], 1);
    }
    CHECK(xyl_lookout_next(1000, 0, 1) > 100);
    CHECK(xyl_lookout_next(1000, 0, 1) < 900);
}

/* Each of three nodes watches, and is watched by, both others; a node that says
 * goodbye is not lost. */
static void test_goodbye(void)
{
    uint32_t node;

    for (node = 0; node < NODES; node++)
        node_open(node);
    for (node = 0; node < NODES; node++)
        node_begin(node);
    look_until(4);
    xyl_lookout_close(nodes[2].lookout);
    nodes[2].lookout = NULL;
    look_until(2);
    CHECK_EQ(nodes[0].lost[2] + nodes[1].lost[2], 0);
    close_all();
}

/* ---- one that is played ---- */

static int stage_open(uint32_t node)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQ(bind(fd, (const struct sockaddr *)&address, bytes), 0);
    CHECK_EQ(listen(fd, 4), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    addresses[node] =
        (xyl_lookout_address_t){.hosts = {address.sin_addr.s_addr},
                                .port = address.sin_port,
                                .question = 47,
                                .answer = 11};
    told[node] = &addresses[node];
    return fd;
}

/* Takes in node 0, and hears its question. */
static int stage_take(int listener)
{
    uint64_t hello[HELLO_BYTES / sizeof(uint64_t)];
    struct pollfd end = {listener, POLLIN, 0};
    uint32_t looks;
    int fd;

    for (looks = 0; looks < LOOKS_MAX && poll(&end, 1, 0) == 0; looks++)
        look_all();
    fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    end.fd = fd;
    for (looks = 0; looks < LOOKS_MAX && poll(&end, 1, 0) == 0; looks++)
        look_all();
    CHECK_EQ(recv(fd, hello, sizeof hello, MSG_WAITALL), HELLO_BYTES);
    CHECK_EQ(hello[1], 47);
    return fd;
}

static void stage_begin(int *listener)
{
    node_open(0);
    *listener = stage_open(1);
    addresses[2] = (xyl_lookout_address_t){.port = 0};
    told[2] = &addresses[2];
    node_begin(0);
}

static void stage_end(int listener, int fd)
{
    close(fd);
    close(listener);
    close_all();
}

/* A leader that ends without a word has died, alone. */
static void test_death(void)
{
    uint64_t answer = 11;
    int listener, fd, looks;

    stage_begin(&listener);
    fd = stage_take(listener);
    CHECK_EQ(send(fd, &answer, sizeof answer, 0), (ssize_t)sizeof answer);
    look_until(1);
    CHECK_EQ(nodes[0].lost[1], 0);
    shutdown(fd, SHUT_RDWR);
    for (looks = 0; looks < LOOKS_MAX && nodes[0].lost[1] == 0; looks++)
        look_all();
    CHECK_EQ(nodes[0].lost[1], 1);
    CHECK_EQ(nodes[0].lost_whole[1], 0);
    stage_end(listener, fd);
}

/* Another machine has the node's address: the node is not watched, nor lost. */
static void test_other_machine(void)
{
    uint64_t answer = 12;
    int listener, fd, looks;

    stage_begin(&listener);
    fd = stage_take(listener);
    CHECK_EQ(send(fd, &answer, sizeof answer, 0), (ssize_t)sizeof answer);
    for (looks = 0; looks < 50; looks++)
        look_all();
    CHECK_EQ(xyl_lookout_count(nodes[0].lookout), 0);
    CHECK_EQ(nodes[0].lost[1], 0);
    stage_end(listener, fd);
}

/* A stranger that does not know the question gets no answer, whatever it sends;
 * a silent one is turned away after some seconds. */
static void test_strangers(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char word[64], in;
    int listener, silent, loud, looks;

    stage_begin(&listener);
    nodes[0].is_alone = 1;
    memset(word, 'x', sizeof word);
    address.sin_addr.s_addr = addresses[0].hosts[0];
    address.sin_port = addresses[0].port;
    silent = socket(AF_INET, SOCK_STREAM, 0);
    loud = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(connect(silent, (const struct sockaddr *)&address, sizeof address),
             0);
    CHECK_EQ(connect(loud, (const struct sockaddr *)&address, sizeof address),
             0);
    CHECK_EQ(send(loud, word, sizeof word, 0), (ssize_t)sizeof word);
    for (looks = 0; looks < 50; looks++)
        look_all();
    CHECK(recv(loud, &in, 1, MSG_DONTWAIT) <= 0);
    CHECK(recv(silent, &in, 1, MSG_DONTWAIT) < 0); /* is still there */
    now_ns += UINT64_C(60) * 1000000000;
    look_all();
    CHECK_EQ(recv(silent, &in, 1, 0), 0);
    CHECK_EQ(xyl_lookout_count(nodes[0].lookout), 0);
    close(silent);
    stage_end(listener, loud);
}

static const check_case_t cases[] = {
    {"ring", test_ring},           {"goodbye", test_goodbye},
    {"death", test_death},         {"other_machine", test_other_machine},
    {"strangers", test_strangers},
};
CHECK_MAIN(cases)
