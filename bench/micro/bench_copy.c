/* The rates that this machine's memory allows collectives inside a node:
 * processes, each on a core of its own, copy and sum buffers that all of them
 * have mapped, all at once; and the times of other ways of copying. Uses
 * nothing of the library. */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "bench/common/cli.h"
#include "bench/common/table.h"
#include "bench/measure/stats.h"

enum {
    PROCESSES_MAX = 1024,
    ROUNDS_MAX = 1000,
    SIZE_FIRST = 4 << 10,
    SIZE_LAST = 16 << 20,
    WORK_BYTES = 1 << 20, /* per round: small sizes are done several times */
    TILE_BYTES = 4096,
    SPINS = 1000,
    PATIENCE_S = 600
};

struct settings {
    unsigned processes, rounds, csv;
};

static const struct cli_option options[] = {
    {"processes", 'n', CLI_COUNT, offsetof(struct settings, processes), 1,
     PROCESSES_MAX, "N", "processes (default: one per core)"},
    {"rounds", 'r', CLI_COUNT, offsetof(struct settings, rounds), 1, ROUNDS_MAX,
     "N", "rounds, whose median is printed (default: 21)"},
    {"csv", 0, CLI_FLAG, offsetof(struct settings, csv), 0, 0, NULL,
     "print comma-separated values"},
};

/* The memory that all processes share. */
struct board {
    _Alignas(128) _Atomic uint32_t arrived;
    _Alignas(128) _Atomic uint32_t turn;
    struct {
        _Alignas(128) double begun, ended;
    } times[PROCESSES_MAX];
};

struct process {
    struct board *board;
    uint32_t number, count;
    pid_t first;  /* process 0, whose `own` is read by the others */
    char *mapped; /* [count] inputs, then the result, SIZE_LAST each */
    char *own;    /* this process's; at one address in all of them */
};

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void meet(const struct process *process)
{
    struct board *board = process->board;
    uint32_t turn = atomic_load(&board->turn), spins = 0;

    if (atomic_fetch_add(&board->arrived, 1) + 1 == process->count) {
        atomic_store(&board->arrived, 0);
        atomic_store(&board->turn, turn + 1);
        return;
    }
    while (atomic_load(&board->turn) == turn)
        if (++spins % SPINS == 0)
            sched_yield();
}

/* ---- ways of copying ---- */

/* Past the caches; both are aligned and a multiple of 64. */
static void copy_past(char *to, const char *from, size_t bytes)
{
#ifdef __SSE2__
    size_t i, j;

    for (i = 0; i < bytes; i += 64)
        for (j = 0; j < 64; j += 16)
            _mm_stream_si128(
                (__m128i *)(void *)(to + i + j),
                _mm_load_si128((const __m128i *)(const void *)(from + i + j)));
    _mm_sfence();
#else
    memcpy(to, from, bytes);
#endif
}

static char *input_of(const struct process *process, uint32_t number)
{
    return process->mapped + (size_t)number * SIZE_LAST;
}

static int way_copy(const struct process *process, size_t bytes)
{
    memcpy(process->own, input_of(process, 0), bytes);
    return 1;
}

static int way_copy_past(const struct process *process, size_t bytes)
{
    copy_past(process->own, input_of(process, 0), bytes);
    return 1;
}

/* Sums the bytes, so that the compiler keeps the reads. */
static void read_own(const struct process *process, size_t bytes)
{
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i < bytes; i += 64)
        sum += *(const uint64_t *)(const void *)(process->own + i);
    __asm__ volatile("" : : "r"(sum));
}

/* The same, and then the caller reads the copy. */
static int way_copy_read(const struct process *process, size_t bytes)
{
    memcpy(process->own, input_of(process, 0), bytes);
    read_own(process, bytes);
    return 1;
}

static int way_copy_past_read(const struct process *process, size_t bytes)
{
    copy_past(process->own, input_of(process, 0), bytes);
    read_own(process, bytes);
    return 1;
}

static int way_readv(const struct process *process, size_t bytes)
{
    struct iovec to = {input_of(process, process->number), bytes};
    struct iovec from = {process->own, bytes};

    return process_vm_readv(process->first, &to, 1, &from, 1, 0) ==
           (ssize_t)bytes;
}

typedef float lanes_t __attribute__((vector_size(64)));

/* A tile of the result: the sum of all inputs there. */
static void sum_tile(const struct process *process, size_t at, size_t bytes)
{
    lanes_t *result =
        (lanes_t *)(void *)(input_of(process, process->count) + at);
    uint32_t number;
    size_t i;

    memcpy(result, input_of(process, 0) + at, bytes);
    for (number = 1; number < process->count; number++) {
        const lanes_t *input =
            (const lanes_t *)(const void *)(input_of(process, number) + at);
        for (i = 0; i < bytes / sizeof *result; i++)
            result[i] += input[i];
    }
}

static void sum_slice(const struct process *process, size_t bytes)
{
    size_t lines = bytes / 64;
    size_t at = lines * process->number / process->count * 64;
    size_t end = lines * (process->number + 1) / process->count * 64;

    while (at < end) {
        size_t tile = end - at < TILE_BYTES ? end - at : TILE_BYTES;
        sum_tile(process, at, tile);
        at += tile;
    }
}

static int way_allreduce(const struct process *process, size_t bytes)
{
    sum_slice(process, bytes);
    meet(process);
    memcpy(process->own, input_of(process, process->count), bytes);
    return 1;
}

static int way_allreduce_past(const struct process *process, size_t bytes)
{
    sum_slice(process, bytes);
    meet(process);
    copy_past(process->own, input_of(process, process->count), bytes);
    return 1;
}

struct way {
    const char *title;
    int (*run)(const struct process *process, size_t bytes);
    int is_alone; /* process 0 does it, the others rest */
};

static const struct way ways[] = {
    {"copy", way_copy, 0},
    {"copy past", way_copy_past, 0},
    {"copy, read", way_copy_read, 0},
    {"past, read", way_copy_past_read, 0},
    {"readv", way_readv, 0},
    {"allreduce", way_allreduce, 0},
    {"allred. past", way_allreduce_past, 0},
    {"1 copy", way_copy, 1},
    {"1 copy past", way_copy_past, 1},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* ---- measuring ---- */

/* From the first to begin to the last to end. */
static double spread_us(const struct process *process)
{
    double begun = process->board->times[0].begun, ended = 0;
    uint32_t number;

    for (number = 0; number < process->count; number++) {
        begun = fmin(begun, process->board->times[number].begun);
        ended = fmax(ended, process->board->times[number].ended);
    }
    return ended - begun;
}

/* One round; returns the time of one operation. NAN: impossible here. */
static double round_us(const struct process *process, const struct way *way,
                       size_t bytes)
{
    size_t times = bytes < WORK_BYTES ? WORK_BYTES / bytes : 1, i;
    int rests = way->is_alone && process->number != 0, good = 1;
    double took;

    /* The owner has just written the bytes that are copied. */
    memset(input_of(process, process->number), 1, bytes);
    memset(process->own, 2, bytes);
    meet(process);
    process->board->times[process->number].begun = now_us();
    for (i = 0; i < times && !rests && good; i++)
        good = way->run(process, bytes);
    process->board->times[process->number].ended = now_us();
    meet(process);
    took = spread_us(process) / (double)times;
    meet(process); /* before the times are written again */
    return good ? took : (double)NAN;
}

/* The median; in process 0, which sees every round. */
static double median_us(const struct process *process, const struct way *way,
                        size_t bytes, unsigned rounds)
{
    double values[ROUNDS_MAX] = {0};
    unsigned i;

    (void)round_us(process, way, bytes); /* pages are there from here on */
    for (i = 0; i < rounds; i++)
        values[i] = round_us(process, way, bytes);
    return isnan(values[0]) ? values[0] : stats_median(values, rounds);
}

static void measure(const struct process *process,
                    const struct settings *settings)
{
    const char *titles[1 + WAYS] = {"bytes"};
    struct table table;
    size_t bytes, i;

    for (i = 0; i < WAYS; i++)
        titles[1 + i] = ways[i].title;
    if (process->number == 0)
        table_begin(&table, stdout, settings->csv ? TABLE_CSV : TABLE_ALIGNED,
                    titles, 1 + WAYS, 10);
    for (bytes = SIZE_FIRST; bytes <= SIZE_LAST; bytes *= 2) {
        if (process->number == 0)
            table_count(&table, bytes);
        for (i = 0; i < WAYS; i++) {
            double us = median_us(process, &ways[i], bytes, settings->rounds);
            if (process->number == 0)
                table_real(&table, us, 2);
        }
    }
}

/* ---- processes ---- */

static void pin(uint32_t number)
{
    cpu_set_t all, one;
    long wanted;
    size_t core;

    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    wanted = (long)number % CPU_COUNT(&all);
    for (core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &all) && wanted-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            (void)sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

static void *map_or_die(size_t bytes, int flags)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory != MAP_FAILED)
        return memory;
    cli_complain("bench_copy", "no memory for %zu bytes", bytes);
    exit(1);
}

/* Returns in all processes; in the first one last. */
static void spread(struct process *process)
{
    uint32_t number;

    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    for (number = 1; number < process->count; number++) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            process->number = number;
            break;
        }
        if (child < 0) {
            cli_complain("bench_copy", "cannot start %u processes",
                         process->count);
            exit(1); /* ends the others, too */
        }
    }
    alarm(PATIENCE_S); /* so that no process waits for ever for a lost one */
    pin(process->number);
}

static const struct cli cli = {
    .program = "bench_copy",
    .usage = "[OPTIONS]",
    .summary =
        "Microseconds, from the first process to begin to the last to end:\n"
        "\n"
        "  copy          all copy one mapped buffer to their own memory\n"
        "  copy past     the same with stores past the caches\n"
        "  copy, read    and each reads its copy then, as a caller would\n"
        "  past, read    the same after stores past the caches\n"
        "  readv         all read one process's buffer by process_vm_readv\n"
        "  allreduce     each sums its part of all buffers, all copy the sum\n"
        "  allred. past  the same with stores past the caches\n"
        "  1 copy        one process copies and the others rest\n"
        "  1 copy past   the same with stores past the caches\n",
    .options = options,
    .options_count = sizeof options / sizeof options[0],
};

int main(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct settings settings = {.processes = cores > 0 ? (unsigned)cores : 1,
                                .rounds = 21};
    struct process process = {.first = getpid()};
    enum cli_result result = cli_parse(&cli, argc, argv, &settings);

    if (result != CLI_RUN)
        return cli_exit_code(result);
    process.count = settings.processes;
    process.board = map_or_die(sizeof *process.board, MAP_SHARED);
    process.mapped =
        map_or_die((size_t)SIZE_LAST * (process.count + 1), MAP_SHARED);
    process.own = map_or_die(SIZE_LAST, MAP_PRIVATE);
    spread(&process);
    measure(&process, &settings);
    if (process.number == 0)
        while (wait(NULL) > 0) {
        }
    return 0;
}
