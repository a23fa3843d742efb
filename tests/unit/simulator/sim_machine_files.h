/* Shared by the tests of machine files: a file to write and to load, machines
 * as text and back, and the machines that come with xylem. */
#pragma once

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/machine.h"
#include "tests/support/check.h"

enum { ERROR_BYTES = 1024, TEXT_BYTES = 16 * 1024, SEEDS = 400 };

static char scratch_path[64];

/* A file of its own for each process; removed by scratch_remove. */
static inline FILE *scratch_create(void)
{
    int fd;

    strcpy(scratch_path, "/tmp/test_sim_machine.XXXXXX");
    fd = mkstemp(scratch_path);
    CHECK(fd >= 0);
    return fd < 0 ? NULL : fdopen(fd, "w+");
}

static inline void scratch_remove(void)
{
    unlink(scratch_path);
}

static inline xylem_status_t load_text(const char *text, size_t bytes,
                                       sim_machine_t *machine_out, char *error)
{
    xylem_status_t status = XYLEM_ERR_INTERNAL;
    FILE *file = scratch_create();

    if (file == NULL)
        return status;
    CHECK_EQ(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
    status = sim_machine_load(scratch_path, machine_out, error, ERROR_BYTES);
    scratch_remove();
    return status;
}

/* Writes `machine` into `text` (TEXT_BYTES). */
static inline void machine_print(const sim_machine_t *machine, const char *from,
                                 char *text)
{
    FILE *file = fmemopen(text, TEXT_BYTES, "w");

    text[0] = '\0';
    CHECK(sim_machine_write(machine, from, file));
    fclose(file);
}

static inline int links_equal(const sim_link_t *a, const sim_link_t *b)
{
    return a->transport == b->transport && a->rendezvous == b->rendezvous &&
           a->latency == b->latency && a->send_overhead == b->send_overhead &&
           a->recv_overhead == b->recv_overhead && a->per_byte == b->per_byte &&
           a->eager_bytes_max == b->eager_bytes_max &&
           a->rendezvous_overhead == b->rendezvous_overhead &&
           a->rendezvous_per_byte == b->rendezvous_per_byte;
}

static inline int machines_equal(const sim_machine_t *a, const sim_machine_t *b)
{
    int level, equal = 1;

    for (level = 0; level < SIM_LEVEL_COUNT; level++)
        equal = equal && links_equal(&a->links[level], &b->links[level]);
    return equal && strcmp(a->name, b->name) == 0 &&
           strcmp(a->about, b->about) == 0 &&
           a->cores_per_group == b->cores_per_group &&
           a->groups_per_numa == b->groups_per_numa &&
           a->numas_per_socket == b->numas_per_socket &&
           a->sockets_per_node == b->sockets_per_node &&
           a->nodes_per_switch == b->nodes_per_switch &&
           a->core.call == b->core.call && a->core.event == b->core.event &&
           a->core.post == b->core.post &&
           a->core.rank_switch == b->core.rank_switch &&
           a->core.copy == b->core.copy && a->core.reduce == b->core.reduce &&
           a->core.copy_far == b->core.copy_far &&
           a->core.reduce_far == b->core.reduce_far &&
           a->core.cache_bytes == b->core.cache_bytes &&
           a->node.memory == b->node.memory &&
           a->node.queue_slots == b->node.queue_slots &&
           a->nic.gap == b->nic.gap && a->nic.injection == b->nic.injection &&
           a->nic.ejection == b->nic.ejection;
}

static inline void check_round_trip(const sim_machine_t *machine,
                                    const char *from)
{
    char error[ERROR_BYTES] = "";
    char text[TEXT_BYTES];
    sim_machine_t again;

    machine_print(machine, from, text);
    memset(&again, 0xa5, sizeof again);
    CHECK_EQ(load_text(text, strlen(text), &again, error), XYLEM_OK);
    if (error[0] != '\0')
        printf("# %s\n", error);
    CHECK(machines_equal(machine, &again));
}

/* A file that comes with xylem. */
static inline size_t read_shipped(const char *name, char *text)
{
    char path[PATH_MAX];
    size_t bytes;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s.json", SIM_MACHINES_SOURCE, name);
    file = fopen(path, "r");
    CHECK(file != NULL);
    if (file == NULL)
        return 0;
    bytes = fread(text, 1, TEXT_BYTES - 1, file);
    CHECK(bytes > 0 && feof(file));
    text[bytes] = '\0';
    fclose(file);
    return bytes;
}
