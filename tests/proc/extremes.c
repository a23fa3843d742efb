/* Modes huge and large: more than 2^31 elements and bytes, in trees and in
 * schedules. Mode idle: a rank that waits for a late one sleeps. Mode stack: a
 * thread that has little of it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/proc/modes.h"

/* ---- modes huge and large ---- */

/* Not a multiple of anything. */
#define HUGE_BYTES ((((size_t)1 << 31) + ((size_t)1 << 20)) + 13)

enum { SKIP = 77, STRIDE = 65521 };

static unsigned char byte_at(uint32_t rank, size_t position)
{
    return (unsigned char)(position * 31 + (position >> 16) + rank * 101);
}

static unsigned char larger_at(uint32_t ranks, size_t position)
{
    unsigned char largest = 0, byte;
    uint32_t rank;

    for (rank = 0; rank < ranks; rank++) {
        byte = byte_at(rank, position);
        if (byte > largest)
            largest = byte;
    }
    return largest;
}

/* The places that are looked at: both ends, around 2^31, and every STRIDE. */
static size_t next_place(size_t at)
{
    static const size_t middle = (size_t)1 << 31;

    if (at < 64 || at >= HUGE_BYTES - 64 ||
        (at >= middle - 64 && at < middle + 64))
        return at + 1;
    if (at < middle - 64 && at + STRIDE > middle - 64)
        return middle - 64;
    if (at + STRIDE > HUGE_BYTES - 64)
        return HUGE_BYTES - 64;
    return at + STRIDE;
}

static void places_write(unsigned char *buf, uint32_t rank)
{
    size_t at;

    for (at = 0; at < HUGE_BYTES; at = next_place(at))
        buf[at] = byte_at(rank, at);
}

static void places_check(const unsigned char *buf, const char *what,
                         uint32_t rank, uint32_t ranks)
{
    size_t at;

    for (at = 0; at < HUGE_BYTES; at = next_place(at)) {
        unsigned char wanted =
            ranks == 0 ? byte_at(rank, at) : larger_at(ranks, at);
        REQUIRE(buf[at] == wanted, "%s: byte %zu is %u, wanted %u", what, at,
                buf[at], wanted);
    }
}

/* Megabytes that can be had without swapping. */
static uint64_t memory_available(void)
{
    unsigned long long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");

    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    fclose(file);
    return kib >> 10;
}

/* All ranks skip, or none. */
static unsigned char *map_or_skip(job_t *job, size_t bytes, uint32_t needed_mib)
{
    uint64_t lacking = memory_available() < needed_mib, any = 0;
    unsigned char *buf;

    MUST(xylem_reduce(job->world, &lacking, &any, 1, XYLEM_UINT64, XYLEM_MAX,
                      0));
    MUST(xylem_bcast(job->world, &any, 1, XYLEM_UINT64, 0));
    if (any) {
        job_end(job);
        exit(SKIP);
    }
    buf = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
               -1, 0);
    REQUIRE(buf != MAP_FAILED, "cannot map %zu bytes", bytes);
    return buf;
}

void mode_huge(job_t *job, uint32_t number)
{
    unsigned char *buf = map_or_skip(job, HUGE_BYTES, number);

    if (job->rank == 0)
        places_write(buf, 0);
    MUST(xylem_bcast(job->world, buf, HUGE_BYTES, XYLEM_INT8, 0));
    places_check(buf, "bcast", 0, 0);
    places_write(buf, job->rank);
    /* In place at the root: no second buffer. */
    MUST(xylem_reduce(job->world, job->rank == 0 ? XYLEM_IN_PLACE : buf, buf,
                      HUGE_BYTES, XYLEM_UINT8, XYLEM_MAX, 0));
    if (job->rank == 0)
        places_check(buf, "reduce", 0, job->ranks);
    else
        places_check(buf, "the send buffer", job->rank, 0);
    munmap(buf, HUGE_BYTES);
}

/* The sums of bytes wrap around. */
static void sums_check(const unsigned char *buf, uint32_t ranks)
{
    size_t at;
    uint32_t rank;

    for (at = 0; at < HUGE_BYTES; at = next_place(at)) {
        unsigned char sum = 0;
        for (rank = 0; rank < ranks; rank++)
            sum = (unsigned char)(sum + byte_at(rank, at));
        REQUIRE(buf[at] == sum, "allreduce: byte %zu is %u, wanted %u", at,
                buf[at], sum);
    }
}

/* In place: the ranks need no second buffer. */
void mode_large(job_t *job, uint32_t number)
{
    size_t bytes = HUGE_BYTES * job->ranks;
    unsigned char *buf = map_or_skip(job, bytes, number);
    uint32_t rank;

    places_write(buf, job->rank);
    MUST(xylem_allreduce(job->world, XYLEM_IN_PLACE, buf, HUGE_BYTES,
                         XYLEM_UINT8, XYLEM_SUM));
    sums_check(buf, job->ranks);
    places_write(buf + HUGE_BYTES * job->rank, job->rank);
    MUST(xylem_allgather(job->world, XYLEM_IN_PLACE, buf, HUGE_BYTES,
                         XYLEM_INT8));
    for (rank = 0; rank < job->ranks; rank++)
        places_check(buf + HUGE_BYTES * rank, "allgather", rank, 0);
    munmap(buf, bytes);
}

/* ---- mode idle ---- */

static uint64_t cpu_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static uint64_t wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Ranks wait in their first broadcast for rank 0, which is late. What they burn
 * is compared with the time that they wait: half of it is far above what a
 * sleeper takes and far below what a spinner does. Nothing but memory is
 * between these ranks: a connection that rank 0 has yet to answer would keep
 * UCX, and so them, awake. */
void mode_idle(job_t *job, uint32_t number)
{
    uint64_t value = job->rank, wall, cpu;

    wall = wall_us();
    cpu = cpu_us();
    value = job->rank == 0 ? 5 : 0;
    if (job->rank == 0)
        usleep(number * 1000);
    MUST(xylem_bcast(job->world, &value, 1, XYLEM_UINT64, 0));
    wall = wall_us() - wall;
    cpu = cpu_us() - cpu;
    REQUIRE(value == 5, "the broadcast brought %llu",
            (unsigned long long)value);
    REQUIRE(cpu < wall / 2, "waiting %llu us took %llu us of the processor",
            (unsigned long long)wall, (unsigned long long)cpu);
}

/* ---- mode stack ---- */

static void *stack_sweep(void *arg)
{
    mode_sweep(arg, 97);
    return NULL;
}

/* All calls in a thread whose stack has so many KiB. Below the stack is a page
 * that ends the process when it is touched. */
void mode_stack(job_t *job, uint32_t number)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)number << 10;
    char *memory = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;

    REQUIRE(memory != MAP_FAILED && mprotect(memory, page, PROT_NONE) == 0,
            "no memory for a stack");
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstack(&attributes, memory + page, bytes) == 0,
            "no stack of %zu bytes", bytes);
    REQUIRE(pthread_create(&thread, &attributes, stack_sweep, job) == 0,
            "no thread");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    munmap(memory, bytes + page);
}
