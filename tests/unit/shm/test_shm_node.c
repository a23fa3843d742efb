/* Shared memory of a node: regions, words, and messages if there can be none.
 * Its users are in one process, as the sanitizer of threads sees no other;
 * test_shm_sleep has several. */
#include "progress/shm/node.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress/shm/directory.h"
#include "tests/support/check.h"
#include "tests/support/shm_nodes.h"

enum { ROUNDS = 150, SWAPS = 2000 };

static int is_filled(const char *memory, char with)
{
    size_t i;

    for (i = 0; i < BYTES; i++)
        if (memory[i] != with)
            return 0;
    return 1;
}

/* ---- regions ---- */

static void test_one_region(void)
{
    xyl_shm_node_t *nodes[2];
    char *first, *second, *other;

    join_all(nodes, 2);
    first = attach(nodes[0], 7, BYTES);
    second = attach(nodes[1], 7, BYTES);
    other = attach(nodes[1], 8, BYTES);
    must(first != NULL && second != NULL && other != NULL);
    CHECK(first != second && is_filled(second, 0) && is_filled(other, 0));
    memset(first, 'x', BYTES);
    CHECK(is_filled(second, 'x') && is_filled(other, 0));
    CHECK(attach(nodes[1], 7, BYTES) == second);
    detach(nodes[1], 7);
    CHECK(is_filled(second, 'x'));
    destroy_all(nodes, 2);
}

static void test_cleared(void)
{
    xyl_shm_node_t *nodes[2];
    char *memory;
    int turn;

    join_all(nodes, 2);
    for (turn = 0; turn < 3; turn++) {
        memory = attach(nodes[0], 7, BYTES);
        must(memory != NULL && attach(nodes[1], 7, BYTES) != NULL);
        CHECK(is_filled(memory, 0));
        memset(memory, 'x', BYTES);
        detach(nodes[0], 7);
        memory = attach(nodes[0], 7, BYTES); /* the other still has it */
        must(memory != NULL);
        CHECK(is_filled(memory, 'x'));
        detach(nodes[1], 7);
        CHECK(is_filled(memory, 'x'));
        detach(nodes[0], 7);
    }
    destroy_all(nodes, 2);
}

static void test_sizes(void)
{
    xyl_shm_node_t *nodes[2];
    char *memory;

    join_all(nodes, 2);
    CHECK(attach(nodes[0], 1, 0) == NULL);
    CHECK(attach(nodes[0], 1, (size_t)1 << 30) == NULL);
    memory = attach(nodes[0], 1, REGION_BYTES);
    must(memory != NULL);
    memory[REGION_BYTES - 1] = 'x';
    memory = attach(nodes[1], 1, REGION_BYTES);
    must(memory != NULL);
    CHECK_EQ(memory[REGION_BYTES - 1], 'x');
    detach(nodes[1], 2); /* has no such key */
    destroy_all(nodes, 2);
}

/* Each member attaches as many keys as it may, no two the same. */
static void test_keys_max(void)
{
    xyl_shm_node_t *nodes[NODES];
    uint32_t member, i;

    join_all(nodes, NODES);
    for (member = 0; member < NODES; member++) {
        uint32_t keys = xyl_shm_node_shm(nodes[member])->keys_max;
        CHECK(keys >= 4096);
        for (i = 0; i < keys / 4; i++)
            must(attach(nodes[member], (uint64_t)i * NODES + member + 1, 64) !=
                 NULL);
    }
    destroy_all(nodes, NODES);
}

/* Attaches and detaches, and uses the memory between. */
static void *attach_and_detach(void *arg)
{
    one_t *one = arg;
    crowd_t *crowd = one->crowd;
    xyl_shm_node_t *node = crowd->nodes[one->number];
    xyl_shm_t *shm = xyl_shm_node_shm(node);
    uint32_t round, i;

    for (round = 1; round <= ROUNDS; round++) {
        _Atomic uint64_t *flags = (void *)attach(node, round / 20, BYTES);
        must(flags != NULL);
        if (round % 4 == 1)
            CHECK_EQ(xyl_shm_get(shm, &flags[one->number]), 0);
        shm->ops->set(shm, &flags[one->number], round, NULL, 0);
        pthread_barrier_wait(&crowd->barrier);
        for (i = 0; i < NODES; i++)
            CHECK_EQ(xyl_shm_get(shm, &flags[i]), round);
        pthread_barrier_wait(&crowd->barrier);
        detach(node, round / 20);
        if (round % 4 == 0)
            pthread_barrier_wait(&crowd->barrier);
    }
    return NULL;
}

static void test_attached_at_once(void)
{
    crowd_t crowd = {.shared = NULL};

    join_all(crowd.nodes, NODES);
    crowd_run(&crowd, attach_and_detach);
    destroy_all(crowd.nodes, NODES);
}

/* ---- words that several write, and what flags carry ---- */

static void *swap_up(void *arg)
{
    one_t *one = arg;
    xyl_shm_node_t *node = one->crowd->nodes[one->number];
    xyl_shm_t *shm = xyl_shm_node_shm(node);
    _Atomic uint64_t *word = (void *)attach(node, 1, BYTES);
    uint64_t expected = 0;
    uint32_t i;

    must(word != NULL);
    for (i = 0; i < SWAPS; i++)
        while (!shm->ops->swap(shm, word, &expected, expected + 1)) {
        }
    return NULL;
}

static void test_swap(void)
{
    crowd_t crowd = {.shared = NULL};
    _Atomic uint64_t *word;

    join_all(crowd.nodes, NODES);
    word = (void *)attach(crowd.nodes[0], 1, BYTES);
    must(word != NULL);
    crowd_run(&crowd, swap_up);
    CHECK_EQ(atomic_load(word), NODES * SWAPS);
    destroy_all(crowd.nodes, NODES);
}

typedef struct cell {
    _Atomic uint64_t flag;
    char bytes[BYTES];
} cell_t;

typedef struct carried {
    xyl_shm_t *shm;
    cell_t *cell; /* one mapping for both threads */
} carried_t;

static void *carry(void *arg)
{
    carried_t *carried = arg;
    char bytes[BYTES];

    memset(bytes, 'x', BYTES);
    memcpy(carried->cell->bytes, bytes, BYTES);
    carried->shm->ops->set(carried->shm, &carried->cell->flag, 3, NULL, 0);
    return NULL;
}

static void test_flag_carries(void)
{
    xyl_shm_node_t *nodes[2];
    carried_t carried;
    pthread_t thread;

    join_all(nodes, 2);
    carried.shm = xyl_shm_node_shm(nodes[0]);
    carried.cell = (void *)attach(nodes[0], 5, sizeof *carried.cell);
    must(carried.cell != NULL);
    must(pthread_create(&thread, NULL, carry, &carried) == 0);
    while (xyl_shm_get(carried.shm, &carried.cell->flag) != 3)
        sched_yield();
    CHECK(is_filled(carried.cell->bytes, 'x'));
    pthread_join(thread, NULL);
    destroy_all(nodes, 2);
}

/* ---- what keeps ranks from it ---- */

/* The first member's trouble after a change of the shared file. */
static xyl_shm_trouble_t trouble_with(size_t at, uint32_t value)
{
    xyl_shm_node_t *node = xyl_shm_node_create(&nodes_params);
    xyl_shm_member_t member;
    xyl_shm_trouble_t trouble;

    must(node != NULL);
    xyl_shm_node_offer(node, &member);
    must(pwrite(member.memory_fd, &value, sizeof value, (off_t)at) ==
         sizeof value);
    trouble = xyl_shm_node_join(node, &member, 1, member.rank);
    xyl_shm_node_destroy(node);
    return trouble;
}

static void test_other_layouts(void)
{
    static const xyl_shm_node_params_t other = {2 * REGION_BYTES, NODES};
    xyl_shm_node_t *node = xyl_shm_node_create(&nodes_params),
                   *wide = xyl_shm_node_create(&other);
    xyl_shm_member_t member;

    CHECK_EQ(trouble_with(1000, 1), XYL_SHM_FINE);
    CHECK_EQ(trouble_with(0, 1), XYL_SHM_LAYOUT);
    CHECK_EQ(trouble_with(4, 99), XYL_SHM_LAYOUT);
    CHECK_EQ(trouble_with(8, 99), XYL_SHM_LAYOUT);
    must(node != NULL && wide != NULL);
    xyl_shm_node_offer(node, &member);
    CHECK_EQ(xyl_shm_node_join(wide, &member, 1, member.rank), XYL_SHM_LAYOUT);
    xyl_shm_node_destroy(wide);
    xyl_shm_node_destroy(node);
}

static void test_file_limit(void)
{
    struct rlimit before, small;
    xyl_shm_node_t *node;
    xyl_shm_member_t member;

    must(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 1 << 20;
    must(setrlimit(RLIMIT_FSIZE, &small) == 0);
    node = xyl_shm_node_create(&nodes_params);
    must(setrlimit(RLIMIT_FSIZE, &before) == 0);
    must(node != NULL);
    xyl_shm_node_offer(node, &member);
    CHECK_EQ(member.memory_fd, -1);
    CHECK_EQ(xyl_shm_node_join(node, &member, 1, 0), XYL_SHM_FILE_SIZE);
    xyl_shm_node_destroy(node);
}

/* No way to the first member: no /proc, or no right to look at a process. */
static void test_no_way_to_the_first(void)
{
    xyl_shm_node_t *node = xyl_shm_node_create(&nodes_params);
    xyl_shm_member_t members[2];

    must(node != NULL);
    xyl_shm_node_offer(node, &members[0]);
    members[0].pid = INT32_MAX;
    members[0].rank = 0;
    members[1] = members[0];
    members[1].rank = 1;
    CHECK_EQ(xyl_shm_node_join(node, members, 2, 1), XYL_SHM_NO_PROC);
    xyl_shm_node_destroy(node);
    CHECK_EQ(xyl_shm_node_join(NULL, members, 2, 1), XYL_SHM_NO_MEMORY);
    xyl_shm_node_offer(NULL, &members[0]);
    CHECK_EQ(members[0].memory_fd, -1);
    xyl_shm_node_destroy(NULL);
}

static void test_texts(void)
{
    unsigned trouble;

    for (trouble = 0; trouble < XYL_SHM_TROUBLES; trouble++)
        CHECK(strlen(xyl_shm_trouble_text((xyl_shm_trouble_t)trouble)) > 10);
}

/* ---- memory that is not shared ---- */

static int32_t ended_process(void)
{
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    must(child > 0 && waitpid(child, NULL, 0) == child);
    return (int32_t)child;
}

/* Pulls from a rank of this process, from an address without memory, from a
 * rank that has ended, and from one whose number is another process's in its
 * space. */
static void test_pull(void)
{
    xyl_shm_member_t members[3];
    xyl_shm_node_t *nodes[2];
    char there[BYTES], here[BYTES] = {0};
    uint32_t i;
    xyl_shm_t *shm;

    for (i = 0; i < 2; i++) {
        nodes[i] = xyl_shm_node_create(&nodes_params);
        must(nodes[i] != NULL);
        xyl_shm_node_offer(nodes[i], &members[i]);
        members[i].rank = 10 + i;
    }
    members[1].pid = ended_process();
    members[2] = members[0];
    members[2].rank = 12;
    members[2].space++;
    must(xyl_shm_node_join(nodes[0], members, 3, 10) == XYL_SHM_FINE);
    shm = xyl_shm_node_shm(nodes[0]);
    memset(there, 'x', BYTES);
    CHECK(!shm->ops->pull(shm, 11, here, (uintptr_t)there, BYTES));
    CHECK(is_filled(here, 0));
    CHECK(!shm->ops->pull(shm, 12, here, (uintptr_t)there, BYTES));
    CHECK(is_filled(here, 0));
    CHECK(!shm->ops->pull(shm, 10, here, 16, BYTES));
    if (shm->ops->pull(shm, 10, here, (uintptr_t)there, BYTES))
        CHECK(is_filled(here, 'x'));
    destroy_all(nodes, 2);
}

static const check_case_t cases[] = {
    {"one_region", test_one_region},
    {"cleared", test_cleared},
    {"sizes", test_sizes},
    {"keys_max", test_keys_max},
    {"attached_at_once", test_attached_at_once},
    {"swap", test_swap},
    {"flag_carries", test_flag_carries},
    {"other_layouts", test_other_layouts},
    {"file_limit", test_file_limit},
    {"no_way_to_the_first", test_no_way_to_the_first},
    {"texts", test_texts},
    {"pull", test_pull},
};
CHECK_MAIN(cases)
