/* Two processes that share memory, the second one a child of the first. */
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/shm_nodes.h"

typedef struct pair {
    xyl_shm_node_t *node;
    xyl_shm_t *shm;
    uint32_t rank, other;
    _Atomic uint64_t *flags; /* [rank * 16]: written by that rank */
    pid_t child;             /* of rank 0 */
    int socket;
} pair_t;

/* Makes two processes, with the data that a bootstrap would carry. */
static inline void pair_begin(pair_t *pair)
{
    xyl_shm_member_t members[2];
    int sockets[2];
    char byte = 0;

    must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pair->child = fork();
    must(pair->child >= 0);
    pair->rank = pair->child == 0;
    pair->other = !pair->rank;
    pair->socket = sockets[pair->rank];
    close(sockets[pair->other]);
    pair->node = xyl_shm_node_create(&nodes_params);
    must(pair->node != NULL);
    xyl_shm_node_offer(pair->node, &members[pair->rank]);
    members[pair->rank].rank = pair->rank;
    must(send(pair->socket, &members[pair->rank], sizeof members[0], 0) ==
         sizeof members[0]);
    must(recv(pair->socket, &members[pair->other], sizeof members[0],
              MSG_WAITALL) == sizeof members[0]);
    must(xyl_shm_node_join(pair->node, members, 2, pair->rank) == XYL_SHM_FINE);
    must(send(pair->socket, &byte, 1, 0) == 1);
    must(recv(pair->socket, &byte, 1, 0) == 1);
    pair->shm = xyl_shm_node_shm(pair->node);
    pair->flags = pair->shm->ops->attach(pair->shm, 99, BYTES);
    must(pair->flags != NULL);
}

/* Ends the child. Returns how it ended, for its parent. */
static inline int pair_end(pair_t *pair)
{
    int how = -1;

    if (pair->child == 0)
        _exit((int)check_failures());
    must(waitpid(pair->child, &how, 0) == pair->child);
    xyl_shm_node_destroy(pair->node);
    close(pair->socket);
    return how;
}
