/* The contents of a node's shared file, and a process's own view of it, for
 *
 *   node.c       processes and their files: creating, joining, the end
 *   member.c     finding a member, opening its files
 *   map.c        regions: the ranges that are mapped here
 *   wake.c       flags, sleeping and waking
 *
 * directory.c finds the range of a key; heap.c keeps the memory of one process
 * that all can see. */
#pragma once

#include <stddef.h>

#include "progress/shm/directory.h"
#include "progress/shm/heap.h"
#include "progress/shm/node.h"

enum { XYL_SHM_FD_CLOSED = -1, XYL_SHM_FD_FAILED = -2 };

/* The first bytes of the file. `magic` and `version` never change their places,
 * so that a process of another version can read them. */
typedef struct xyl_shm_node_header {
    uint32_t magic;
    uint32_t version;
    uint64_t stride;
    uint32_t entries;
    uint32_t members_max;
    _Atomic uint32_t may_sleep; /* 1: a member may; final when all joined */
    char pad[XYL_SHM_NODE_LINE - 28];
    /* How many members sleep; rarely written, so mostly in every cache. */
    _Atomic uint64_t sleepers;
    char pad_sleepers[XYL_SHM_NODE_LINE - 8];
} xyl_shm_node_header_t;

_Static_assert(offsetof(xyl_shm_node_header_t, sleepers) == XYL_SHM_NODE_LINE &&
                   sizeof(xyl_shm_node_header_t) ==
                       2 * (size_t)XYL_SHM_NODE_LINE,
               "the layout is that of all processes");

typedef struct xyl_shm_node_line {
    _Atomic uint32_t is_asleep;
    char pad[XYL_SHM_NODE_LINE - sizeof(uint32_t)];
} xyl_shm_node_line_t;

_Static_assert(sizeof(xyl_shm_node_line_t) == XYL_SHM_NODE_LINE, "one writer");

/* Offsets in the file, in bytes. */
typedef struct xyl_shm_node_layout {
    uint64_t stride;
    uint64_t directory;
    uint64_t ranges;
    uint64_t bytes;
} xyl_shm_node_layout_t;

/* A range that this process has mapped. */
typedef struct xyl_shm_node_region {
    struct xyl_shm_node_region *next;
    uint64_t key;
    uint32_t entry;
    uint32_t users; /* in this process */
    void *memory;
    size_t bytes;
} xyl_shm_node_region_t;

typedef struct xyl_shm_node_peer {
    xyl_shm_member_t member;
    int wake_fd;   /* its pipe, opened when all have joined */
    int memory_fd; /* its file, opened when its heap is first viewed */
    xyl_shm_node_view_t *view;
} xyl_shm_node_peer_t;

struct xyl_shm_node {
    xyl_shm_t shm; /* first */
    xyl_shm_node_params_t params;
    xyl_shm_node_layout_t layout;
    xyl_shm_trouble_t trouble;  /* of xyl_shm_node_create */
    xyl_shm_member_t offer;     /* without the rank */
    int own_fd;                 /* this process's file; -1: none */
    int wake[2];                /* this process's pipe: read, write */
    xyl_shm_node_heap_t heap;   /* in this process's file */
    int fd;                     /* the first member's file */
    char *head;                 /* its header, lines and directory */
    xyl_shm_node_peer_t *peers; /* [count], by rank */
    uint32_t count;             /* 0: not joined */
    uint32_t own;               /* index of this process */
    int has_warned;
    xyl_shm_node_region_t *regions;
};

static inline xyl_shm_node_t *xyl_shm_node_of(xyl_shm_t *shm)
{
    return (xyl_shm_node_t *)(void *)shm;
}

static inline xyl_shm_node_header_t *
xyl_shm_node_header(const xyl_shm_node_t *node)
{
    return (xyl_shm_node_header_t *)(void *)node->head;
}

static inline xyl_shm_node_line_t *
xyl_shm_node_lines(const xyl_shm_node_t *node)
{
    return (xyl_shm_node_line_t *)(void *)(node->head +
                                           sizeof(xyl_shm_node_header_t));
}

static inline xyl_shm_node_entry_t *
xyl_shm_node_entries(const xyl_shm_node_t *node)
{
    return (void *)(node->head + node->layout.directory);
}

/* Opens the file that process `pid` offered as its descriptor `fd`. Returns -1
 * with errno; ENOENT if the descriptor has another inode by now. */
int xyl_shm_node_open(int32_t pid, int32_t fd, uint64_t inode, int flags);

xyl_shm_node_peer_t *xyl_shm_node_find(const xyl_shm_node_t *node,
                                       uint32_t rank);

/* ---- map.c and wake.c: as progress/shm/shm.h says ---- */

void *xyl_shm_node_attach(xyl_shm_t *shm, uint64_t key, size_t bytes);
void xyl_shm_node_detach(xyl_shm_t *shm, uint64_t key);
void xyl_shm_node_prepare(xyl_shm_t *shm, void *memory, size_t bytes);
void xyl_shm_node_regions_fini(xyl_shm_node_t *node);

/* Opens the pipes that wake members. This is done early, because a process that
 * has changed its user may not open descriptors of other processes. */
void xyl_shm_node_wakes_open(xyl_shm_node_t *node);
void xyl_shm_node_set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                      const uint32_t *readers, uint32_t count);
/* The same for a node whose members never sleep. */
void xyl_shm_node_set_only(xyl_shm_t *shm, _Atomic uint64_t *flag,
                           uint64_t value, const uint32_t *readers,
                           uint32_t count);
void xyl_shm_node_sleeps(xyl_shm_t *shm, int is_asleep);
