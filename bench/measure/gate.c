#include "bench/measure/gate.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NAME_BYTES = 64, SPINS_TO_PROGRESS = 64 };

/* In shared memory, on three pairs of cache lines. */
struct gate_shared {
    _Alignas(128) _Atomic uint32_t arrived;
    /* How often the gate has opened. Partner: the loads of waiting ranks. */
    _Alignas(128) _Atomic uint32_t openings;
    /* Partners: the increments of the others. */
    _Alignas(128) _Atomic uint64_t arrivals;
};

struct gate {
    struct gate_shared *shared;
    const struct bench_impl *impl;
    void *state;
    uint32_t ranks;
    int shares_cores;
};

static struct gate_shared *map(const char *name, int flags)
{
    int file = shm_open(name, flags | O_RDWR, 0600);
    void *shared = MAP_FAILED;

    if (file < 0)
        return NULL;
    if (ftruncate(file, sizeof(struct gate_shared)) == 0)
        shared = mmap(NULL, sizeof(struct gate_shared), PROT_READ | PROT_WRITE,
                      MAP_SHARED, file, 0);
    close(file);
    return shared == MAP_FAILED ? NULL : shared;
}

/* 1 on every rank when `mine` is on all. */
static xylem_status_t all_agree(const struct bench_impl *impl, void *state,
                                int mine, int *agree_out)
{
    float one = mine ? 1.0F : 0.0F, sum = 0;
    int agree;
    xylem_status_t status = impl->reduce(state, &one, &sum, sizeof sum, 0);

    agree = sum == (float)impl->size(state);
    if (status == XYLEM_OK)
        status = impl->bcast(state, &agree, sizeof agree, 0);
    *agree_out = agree;
    return status;
}

xylem_status_t gate_open(const struct bench_impl *impl, void *state,
                         struct gate **gate_out)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    char name[NAME_BYTES] = "";
    struct gate *gate = calloc(1, sizeof *gate);
    struct timespec now;
    xylem_status_t status;
    int agree = 0;

    if (gate == NULL)
        return XYLEM_ERR_NO_MEMORY;
    *gate =
        (struct gate){.impl = impl, .state = state, .ranks = impl->size(state)};
    gate->shares_cores = cores > 0 && gate->ranks > (unsigned long)cores;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof name, "/xylem-bench-%ld-%ld", (long)getpid(),
             now.tv_nsec);
    if (impl->rank(state) == 0)
        gate->shared = map(name, O_CREAT | O_EXCL);
    status = impl->bcast(state, name, sizeof name, 0);
    if (status == XYLEM_OK && impl->rank(state) != 0)
        gate->shared = map(name, 0);
    if (status == XYLEM_OK)
        status = all_agree(impl, state, gate->shared != NULL, &agree);
    if (impl->rank(state) == 0)
        shm_unlink(name);
    if (status != XYLEM_OK || !agree) {
        gate_close(gate);
        gate = NULL;
    }
    *gate_out = gate;
    return status;
}

void gate_close(struct gate *gate)
{
    if (gate == NULL)
        return;
    if (gate->shared != NULL)
        munmap(gate->shared, sizeof *gate->shared);
    free(gate);
}

void gate_pass(struct gate *gate)
{
    struct gate_shared *shared = gate->shared;
    uint32_t opening =
        atomic_load_explicit(&shared->openings, memory_order_acquire);
    unsigned spins = 0;

    if (atomic_fetch_add_explicit(&shared->arrived, 1, memory_order_acq_rel) ==
        gate->ranks - 1) {
        atomic_store_explicit(&shared->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&shared->openings, opening + 1,
                              memory_order_release);
        return;
    }
    while (atomic_load_explicit(&shared->openings, memory_order_acquire) ==
           opening) {
        if (++spins % SPINS_TO_PROGRESS != 0)
            continue;
        gate->impl->progress(gate->state);
        if (gate->shares_cores)
            sched_yield();
    }
}

void gate_arrive(struct gate *gate)
{
    atomic_fetch_add_explicit(&gate->shared->arrivals, 1, memory_order_acq_rel);
}

uint64_t gate_arrivals(const struct gate *gate)
{
    return atomic_load_explicit(&gate->shared->arrivals, memory_order_acquire);
}
