/* Several users of a node's shared memory in one process, and a crowd of
 * threads that do the same at once. */
#pragma once

#include <pthread.h>
#include <stdlib.h>

#include "progress/shm/node.h"

enum { NODES = 4, REGION_BYTES = 3 << 20, BYTES = 5000 };

static const xyl_shm_node_params_t nodes_params = {REGION_BYTES, NODES};

static inline void must(int good)
{
    if (!good)
        abort();
}

/* Ranks 10, 11, ... */
static inline void join_all(xyl_shm_node_t **nodes, uint32_t count)
{
    xyl_shm_member_t members[NODES];
    uint32_t i;

    for (i = 0; i < count; i++) {
        nodes[i] = xyl_shm_node_create(&nodes_params);
        must(nodes[i] != NULL);
        xyl_shm_node_offer(nodes[i], &members[i]);
        members[i].rank = 10 + i;
    }
    for (i = 0; i < count; i++)
        must(xyl_shm_node_join(nodes[i], members, count, 10 + i) ==
             XYL_SHM_FINE);
}

static inline void destroy_all(xyl_shm_node_t **nodes, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        xyl_shm_node_destroy(nodes[i]);
}

static inline char *attach(xyl_shm_node_t *node, uint64_t key, size_t bytes)
{
    xyl_shm_t *shm = xyl_shm_node_shm(node);

    return shm->ops->attach(shm, key, bytes);
}

static inline void detach(xyl_shm_node_t *node, uint64_t key)
{
    xyl_shm_t *shm = xyl_shm_node_shm(node);

    shm->ops->detach(shm, key);
}

typedef struct crowd {
    void *shared;
    pthread_barrier_t barrier;
    uint32_t index[NODES];
    xyl_shm_node_t *nodes[NODES];
} crowd_t;

typedef struct one {
    crowd_t *crowd;
    uint32_t number;
} one_t;

static inline void crowd_run(crowd_t *crowd, void *(*run)(void *arg))
{
    pthread_t threads[NODES];
    one_t ones[NODES];
    uint32_t i;

    pthread_barrier_init(&crowd->barrier, NULL, NODES);
    for (i = 0; i < NODES; i++) {
        ones[i] = (one_t){crowd, i};
        must(pthread_create(&threads[i], NULL, run, &ones[i]) == 0);
    }
    for (i = 0; i < NODES; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crowd->barrier);
}
