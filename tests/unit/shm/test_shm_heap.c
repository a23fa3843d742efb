/* The heap of a rank: another rank's view of it, its growth, and several
 * threads that use it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/shm_nodes.h"
#include "tests/support/shm_pair.h"

enum { LARGE = 100 << 20, STEPS = 1500, HELD = 24, PIECE_MAX = 20000 };

static char *heap_alloc(xyl_shm_t *shm, size_t bytes)
{
    char *memory = shm->ops->heap_alloc(shm, bytes);

    must(memory != NULL);
    CHECK_EQ((uintptr_t)memory % (bytes >= 2 << 20 ? 4096 : 64), 0);
    return memory;
}

static const char *view(xyl_shm_t *shm, uint32_t rank, uint64_t name,
                        size_t bytes)
{
    return shm->ops->view(shm, rank, name, bytes);
}

static void test_seen_by_another(void)
{
    xyl_shm_node_t *nodes[2];
    xyl_shm_t *mine, *other;
    char *memory;
    const char *seen;
    uint64_t name;

    join_all(nodes, 2); /* ranks 10 and 11 */
    mine = xyl_shm_node_shm(nodes[0]);
    other = xyl_shm_node_shm(nodes[1]);
    memory = heap_alloc(mine, BYTES);
    strcpy(memory + 100, "as it lies");
    name = mine->ops->share(mine, memory + 100, BYTES - 100);
    CHECK(name != 0);
    seen = view(other, 10, name, BYTES - 100);
    CHECK(seen != NULL && seen != memory + 100);
    CHECK_EQ(strcmp(seen, "as it lies"), 0);
    CHECK(view(mine, 10, name, BYTES - 100) == memory + 100);
    CHECK(view(other, 10, 0, 1) == NULL);
    CHECK(view(other, 10, UINT64_MAX, 1) == NULL);
    CHECK(view(other, 10, 1, SIZE_MAX) == NULL);
    CHECK(view(mine, 10, (uint64_t)LARGE * 9, 1) == NULL);
    CHECK_EQ(mine->ops->share(mine, nodes, 8), 0);
    CHECK_EQ(mine->ops->share(mine, memory, SIZE_MAX / 2), 0);
    CHECK_EQ(other->ops->share(other, memory, 8), 0);
    mine->ops->heap_free(mine, memory);
    destroy_all(nodes, 2);
}

/* Views that were given out stay when the heap grows. */
static void test_grows(void)
{
    xyl_shm_node_t *nodes[2];
    xyl_shm_t *mine, *other;
    char *pieces[4];
    const char *seen[4];
    int i;

    join_all(nodes, 2);
    mine = xyl_shm_node_shm(nodes[0]);
    other = xyl_shm_node_shm(nodes[1]);
    for (i = 0; i < 4; i++) {
        pieces[i] = heap_alloc(mine, i == 0 ? 64 : LARGE);
        pieces[i][63] = (char)('a' + i);
        seen[i] = view(other, 10, mine->ops->share(mine, pieces[i], 64), 64);
        must(seen[i] != NULL);
    }
    for (i = 0; i < 4; i++) {
        CHECK_EQ(seen[i][63], 'a' + i);
        pieces[i][62] = 'z';
        CHECK_EQ(seen[i][62], 'z');
    }
    /* Memory of a freed piece is used again. */
    mine->ops->heap_free(mine, pieces[2]);
    CHECK(heap_alloc(mine, LARGE) == pieces[2]);
    CHECK_EQ(pieces[2][63], 0); /* it had gone back to the system */
    CHECK(mine->ops->heap_alloc(mine, SIZE_MAX) == NULL);
    destroy_all(nodes, 2);
}

static void test_file_limit(void)
{
    xyl_shm_node_t *nodes[2];
    xyl_shm_t *mine;
    struct rlimit before, small;

    join_all(nodes, 2);
    mine = xyl_shm_node_shm(nodes[0]);
    must(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 1 << 20;
    must(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK(mine->ops->heap_alloc(mine, 64) == NULL);
    must(setrlimit(RLIMIT_FSIZE, &before) == 0);
    heap_alloc(mine, 64);
    destroy_all(nodes, 2);
}

/* Only the freed piece's memory goes back to the system. */
static void test_neighbours_stay(void)
{
    enum { PIECES = 5, SMALL = 12000, MIDDLE = 3 << 19 };
    xyl_shm_node_t *nodes[2];
    xyl_shm_t *mine;
    char *pieces[PIECES];
    size_t bytes, i;
    int piece;

    join_all(nodes, 2);
    mine = xyl_shm_node_shm(nodes[0]);
    for (piece = 0; piece < PIECES; piece++) {
        bytes = piece % 2 == 0 ? SMALL : MIDDLE;
        pieces[piece] = heap_alloc(mine, bytes);
        memset(pieces[piece], 'x', bytes);
    }
    mine->ops->heap_free(mine, pieces[1]);
    mine->ops->heap_free(mine, pieces[3]);
    for (piece = 0; piece < PIECES; piece += 2)
        for (i = 0; i < SMALL; i++)
            if (pieces[piece][i] != 'x') {
                check_failed(__FILE__, __LINE__, "a neighbour was cleared");
                break;
            }
    destroy_all(nodes, 2);
}

/* ---- threads ---- */

typedef struct held {
    char *memory;
    size_t bytes;
} held_t;

static void held_free(xyl_shm_t *shm, held_t *held, char mark)
{
    size_t i;

    for (i = 0; i < held->bytes; i++)
        if (held->memory[i] != mark) {
            check_failed(__FILE__, __LINE__, "another wrote here");
            break;
        }
    shm->ops->heap_free(shm, held->memory);
    held->memory = NULL;
}

static void *use_heap(void *arg)
{
    const one_t *one = arg;
    xyl_shm_t *shm = xyl_shm_node_shm(one->crowd->nodes[0]);
    char mark = (char)('a' + one->number);
    held_t held[HELD] = {{NULL, 0}};
    uint64_t random = one->number;
    uint32_t i;

    for (i = 0; i < STEPS; i++) {
        held_t *at = &held[random_below(&random, HELD)];
        if (at->memory != NULL) {
            held_free(shm, at, mark);
            continue;
        }
        at->bytes = random_below(&random, PIECE_MAX);
        at->memory = heap_alloc(shm, at->bytes);
        memset(at->memory, mark, at->bytes);
        CHECK(shm->ops->share(shm, at->memory, at->bytes) != 0);
    }
    for (i = 0; i < HELD; i++)
        if (held[i].memory != NULL)
            held_free(shm, &held[i], mark);
    return NULL;
}

static void test_threads(void)
{
    crowd_t crowd = {.shared = NULL};

    join_all(crowd.nodes, NODES);
    crowd_run(&crowd, use_heap);
    destroy_all(crowd.nodes, NODES);
}

/* ---- processes ---- */

enum { NAME_AT = 64, SEEN = 7 };

/* The child's heap, alive and after its death: memory that was seen stays,
 * other memory cannot be reached any more. */
static void test_of_the_dead(void)
{
    const char *seen = NULL;
    uint64_t name;
    pair_t pair;

    pair_begin(&pair);
    if (pair.rank == 1) {
        char *memory = heap_alloc(pair.shm, 3 << 20);
        memset(memory, 'x', 3 << 20);
        name = pair.shm->ops->share(pair.shm, memory, 3 << 20);
        pair.shm->ops->set(pair.shm, &pair.flags[NAME_AT], name, NULL, 0);
        while (xyl_shm_get(pair.shm, &pair.flags[0]) != SEEN)
            usleep(1000);
        (void)pair_end(&pair);
    }
    do {
        usleep(1000);
        name = xyl_shm_get(pair.shm, &pair.flags[NAME_AT]);
    } while (name == 0);
    seen = view(pair.shm, 1, name, 3 << 20);
    must(seen != NULL);
    CHECK(seen[0] == 'x' && seen[(3 << 20) - 1] == 'x');
    pair.shm->ops->set(pair.shm, &pair.flags[0], SEEN, NULL, 0);
    must(waitpid(pair.child, NULL, 0) == pair.child);
    CHECK(seen[0] == 'x' && seen[(3 << 20) - 1] == 'x');
    xyl_shm_node_destroy(pair.node);
    close(pair.socket);
}

static void test_never_seen(void)
{
    pair_t pair;

    pair_begin(&pair);
    if (pair.rank == 1)
        (void)pair_end(&pair);
    must(waitpid(pair.child, NULL, 0) == pair.child);
    CHECK(view(pair.shm, 1, 1, 64) == NULL);
    CHECK(view(pair.shm, 1, 1, 64) == NULL);
    xyl_shm_node_destroy(pair.node);
    close(pair.socket);
}

/* A name that its rank never gave: no rank may look there until it has. */
static void test_beyond_the_end(void)
{
    const uint64_t far = UINT64_C(200) << 20;
    xyl_shm_node_t *nodes[2];
    xyl_shm_t *mine, *other;
    const char *seen;
    char *memory;

    join_all(nodes, 2);
    mine = xyl_shm_node_shm(nodes[0]);
    other = xyl_shm_node_shm(nodes[1]);
    CHECK(view(other, 10, 1, 1) == NULL); /* it has no heap yet */
    memory = heap_alloc(mine, BYTES);
    seen = view(other, 10, mine->ops->share(mine, memory, BYTES), BYTES);
    CHECK(seen != NULL);
    CHECK(view(other, 10, far, 1) == NULL);
    CHECK(view(other, 10, 1, far) == NULL);
    mine->ops->heap_free(mine, memory);
    memory = heap_alloc(mine, 2 * far);
    strcpy(memory + far, "there now");
    seen = view(other, 10, mine->ops->share(mine, memory + far, 10), 10);
    CHECK(seen != NULL);
    if (seen != NULL)
        CHECK_EQ(strcmp(seen, "there now"), 0);
    mine->ops->heap_free(mine, memory);
    destroy_all(nodes, 2);
}

static const check_case_t cases[] = {
    {"neighbours_stay", test_neighbours_stay},
    {"seen_by_another", test_seen_by_another},
    {"beyond_the_end", test_beyond_the_end},
    {"grows", test_grows},
    {"file_limit", test_file_limit},
    {"threads", test_threads},
    {"of_the_dead", test_of_the_dead},
    {"never_seen", test_never_seen},
};
CHECK_MAIN(cases)
