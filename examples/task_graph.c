/* A small task-based runtime on top of xylem, as a solver might have one:
 *
 *   every rank        produce(b) ──▶ segment b of the reduce is released
 *   root              segment b of the reduce arrives ──▶ consume(b)
 *                     consume(b) ──▶ segment b of the broadcast is released
 *   every rank        segment b of the broadcast arrives ──▶ apply(b)
 *   the broadcast is complete ──▶ a reduce of the times starts
 *
 * produce, consume and apply are tasks of a few worker threads. Each begins
 * when its own block is there: early blocks are reduced, consumed, broadcast
 * and applied while later ones are still being produced. No thread waits for a
 * whole message. Run it on any number of ranks:
 *
 *   xylem-run -n 4 task_graph
 *
 * Threads: callbacks run on the thread that progresses the library, here the
 * main thread or, with XYLEM_PROGRESS=thread, one of the library's; they only
 * put tasks into the queue. Workers run tasks and release segments. Each entry
 * of `times` has one writer and is read when the workers have ended.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <xylem.h>

enum {
    BLOCKS = 64,
    BLOCK_ELEMENTS = 8192,
    ELEMENTS = BLOCKS * BLOCK_ELEMENTS,
    WORKERS = 2,
    ROOT = 0,
    CHART_COLUMNS = 60
};

/* What happens to a block on this rank, in this order; not all happen
 * everywhere. */
enum step { PRODUCED, REDUCED, CONSUMED, ARRIVED, STEP_COUNT };

struct graph;
struct task {
    void (*run)(struct graph *graph, unsigned block);
    unsigned block;
};

/* Tasks whose input is there come before the production of new blocks: what
 * others wait for is done first. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task ready[2 * BLOCKS]; /* consume and apply, once per block */
    unsigned ready_begin, ready_end;
    unsigned next_produced;
    unsigned expected; /* tasks that are still to be taken */
};

struct graph {
    xylem_team_t *team;
    uint32_t rank, size;
    xylem_request_t *reduce, *bcast, *time_reduce;
    double *own, *sums, *means;
    struct queue queue;
    atomic_uint wrong; /* elements that are not what they should be */
    _Atomic xylem_status_t failure;
    double begin_ms, times[STEP_COUNT][BLOCKS];
    double my_ms, slowest_ms;
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void mark(struct graph *graph, enum step step, unsigned block)
{
    graph->times[step][block] = now_ms() - graph->begin_ms;
}

/* Keeps the first error; the main thread sees it in the end. */
static void check(struct graph *graph, xylem_status_t status)
{
    xylem_status_t none = XYLEM_OK;

    if (status != XYLEM_OK)
        atomic_compare_exchange_strong(&graph->failure, &none, status);
}

/* ---- the queue ---- */

static void queue_push(struct queue *queue,
                       void (*run)(struct graph *graph, unsigned block),
                       unsigned block)
{
    pthread_mutex_lock(&queue->lock);
    queue->ready[queue->ready_end++] = (struct task){run, block};
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void produce(struct graph *graph, unsigned block);

/* 0: there will be no more tasks. */
static int queue_take(struct queue *queue, struct task *task_out)
{
    int taken = 0;

    pthread_mutex_lock(&queue->lock);
    while (queue->expected > 0 && queue->ready_begin == queue->ready_end &&
           queue->next_produced == BLOCKS)
        pthread_cond_wait(&queue->changed, &queue->lock);
    if (queue->expected > 0) {
        taken = 1;
        if (queue->ready_begin < queue->ready_end)
            *task_out = queue->ready[queue->ready_begin++];
        else
            *task_out = (struct task){produce, queue->next_produced++};
        if (--queue->expected == 0)
            pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

/* After a failure the segments that are missing will never come. */
static void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->expected = 0;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void *worker(void *arg)
{
    struct graph *graph = arg;
    struct task task;

    while (queue_take(&graph->queue, &task))
        task.run(graph, task.block);
    return NULL;
}

/* ---- the tasks ---- */

/* Whole numbers, so that sums are exact in any order. */
static double element(unsigned index, uint32_t rank)
{
    return (double)(index % 1000) * (double)(rank + 1);
}

static double mean_of_ranks(double sum, uint32_t size)
{
    return sum / (double)size;
}

/* Stands for the work of a real solver: Newton's way to the root of 1. */
static double one(double guess)
{
    unsigned step;

    for (step = 0; step < 16; step++)
        guess = (guess + 1 / guess) / 2;
    return (double)(int)(guess + 0.5);
}

static void produce(struct graph *graph, unsigned block)
{
    unsigned i, begin = block * BLOCK_ELEMENTS;

    for (i = begin; i < begin + BLOCK_ELEMENTS; i++)
        graph->own[i] = element(i, graph->rank) * one(1 + i % 7);
    mark(graph, PRODUCED, block);
    check(graph, xylem_segment_ready(graph->reduce, block));
}

static void consume(struct graph *graph, unsigned block)
{
    unsigned i, begin = block * BLOCK_ELEMENTS;

    for (i = begin; i < begin + BLOCK_ELEMENTS; i++)
        graph->means[i] = mean_of_ranks(graph->sums[i], graph->size);
    mark(graph, CONSUMED, block);
    check(graph, xylem_segment_ready(graph->bcast, block));
}

static void apply(struct graph *graph, unsigned block)
{
    unsigned i, begin = block * BLOCK_ELEMENTS, wrong = 0;
    double ranks = (double)graph->size * (double)(graph->size + 1) / 2;

    for (i = begin; i < begin + BLOCK_ELEMENTS; i++)
        wrong += graph->means[i] !=
                 mean_of_ranks(element(i, 0) * ranks, graph->size);
    atomic_fetch_add(&graph->wrong, wrong);
}

/* ---- callbacks: they start what depends on them, and return ---- */

static void sum_arrived(void *arg, uint64_t segment, size_t offset,
                        size_t bytes)
{
    struct graph *graph = arg;

    (void)offset;
    (void)bytes;
    mark(graph, REDUCED, (unsigned)segment);
    queue_push(&graph->queue, consume, (unsigned)segment);
}

static void mean_arrived(void *arg, uint64_t segment, size_t offset,
                         size_t bytes)
{
    struct graph *graph = arg;

    (void)offset;
    (void)bytes;
    mark(graph, ARRIVED, (unsigned)segment);
    queue_push(&graph->queue, apply, (unsigned)segment);
}

static void reduce_done(void *arg, xylem_status_t status)
{
    check(arg, status);
}

/* This rank has everything: ask who was last. */
static void bcast_done(void *arg, xylem_status_t status)
{
    struct graph *graph = arg;

    check(graph, status);
    if (status != XYLEM_OK)
        return;
    graph->my_ms = now_ms() - graph->begin_ms;
    check(graph,
          xylem_ireduce(graph->team, &graph->my_ms, &graph->slowest_ms, 1,
                        XYLEM_FLOAT64, XYLEM_MAX, ROOT, &graph->time_reduce));
}

/* ---- the graph ---- */

/* Both operations are cut into the same segments, one per block. */
static xylem_status_t plan(struct graph *graph)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_REDUCE,
                              .flags = XYLEM_FLAG_PARTS,
                              .send = graph->own,
                              .recv = graph->sums,
                              .count = ELEMENTS,
                              .type = XYLEM_FLOAT64,
                              .op = XYLEM_SUM,
                              .root = ROOT,
                              .on_complete = reduce_done,
                              .on_segment = sum_arrived,
                              .arg = graph,
                              .segment_bytes = BLOCK_ELEMENTS * sizeof(double)};
    xylem_status_t status = xylem_coll_init(graph->team, &args, &graph->reduce);

    if (status != XYLEM_OK)
        return status;
    args.coll = XYLEM_COLL_BCAST;
    args.send = NULL;
    args.recv = graph->means;
    args.on_complete = bcast_done;
    args.on_segment = mean_arrived;
    return xylem_coll_init(graph->team, &args, &graph->bcast);
}

static int create(struct graph *graph, xylem_context_t *context)
{
    graph->team = xylem_context_world(context);
    graph->rank = xylem_team_rank(graph->team);
    graph->size = xylem_team_size(graph->team);
    graph->own = calloc(ELEMENTS, sizeof *graph->own);
    graph->sums = calloc(ELEMENTS, sizeof *graph->sums);
    graph->means = calloc(ELEMENTS, sizeof *graph->means);
    pthread_mutex_init(&graph->queue.lock, NULL);
    pthread_cond_init(&graph->queue.changed, NULL);
    /* produce and apply everywhere, consume at the root */
    graph->queue.expected = BLOCKS * (graph->rank == ROOT ? 3 : 2);
    return graph->own != NULL && graph->sums != NULL && graph->means != NULL &&
           plan(graph) == XYLEM_OK;
}

static void destroy(struct graph *graph)
{
    xylem_request_free(graph->time_reduce);
    xylem_request_free(graph->bcast);
    xylem_request_free(graph->reduce);
    pthread_cond_destroy(&graph->queue.changed);
    pthread_mutex_destroy(&graph->queue.lock);
    free(graph->means);
    free(graph->sums);
    free(graph->own);
}

/* Progresses until all has happened. The time's reduce is there once the
 * broadcast is idle: its callback has returned then. */
static void communicate(struct graph *graph)
{
    check(graph, xylem_request_wait(graph->reduce));
    check(graph, xylem_request_wait(graph->bcast));
    if (graph->time_reduce != NULL)
        check(graph, xylem_request_wait(graph->time_reduce));
    if (atomic_load(&graph->failure) != XYLEM_OK)
        queue_close(&graph->queue);
}

static int run(struct graph *graph)
{
    pthread_t threads[WORKERS];
    unsigned i, started = 0;

    graph->begin_ms = now_ms();
    /* Before the workers, which release segments of active requests. */
    check(graph, xylem_request_start(graph->reduce));
    check(graph, xylem_request_start(graph->bcast));
    while (started < WORKERS &&
           pthread_create(&threads[started], NULL, worker, graph) == 0)
        started++;
    if (started == 0) {
        fputs("task_graph: cannot start a thread\n", stderr);
        return 0;
    }
    communicate(graph);
    for (i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return atomic_load(&graph->failure) == XYLEM_OK &&
           atomic_load(&graph->wrong) == 0;
}

/* ---- the summary ---- */

static double latest_ms(const double *times)
{
    double latest = 0;
    unsigned block;

    for (block = 0; block < BLOCKS; block++)
        latest = times[block] > latest ? times[block] : latest;
    return latest;
}

/* One line of the chart: a mark wherever a block took this step. */
static void print_step(const char *name, const double *times, double total_ms)
{
    char chart[CHART_COLUMNS + 1];
    unsigned i, block;

    for (i = 0; i < CHART_COLUMNS; i++)
        chart[i] = '.';
    chart[CHART_COLUMNS] = '\0';
    for (block = 0; block < BLOCKS; block++) {
        i = (unsigned)(times[block] / total_ms * CHART_COLUMNS);
        chart[i < CHART_COLUMNS ? i : CHART_COLUMNS - 1] = '#';
    }
    printf("  %-9s %s\n", name, chart);
}

static void print_summary(const struct graph *graph)
{
    static const char *const names[STEP_COUNT] = {"produced", "reduced",
                                                  "consumed", "arrived"};
    double total_ms = latest_ms(graph->times[ARRIVED]);
    double produced_ms = latest_ms(graph->times[PRODUCED]);
    unsigned early = 0, block, step;

    for (block = 0; block < BLOCKS; block++)
        early += graph->times[CONSUMED][block] < produced_ms;
    printf("%u ranks, %d blocks of %zu KiB; rank %d in %.1f ms:\n", graph->size,
           BLOCKS, BLOCK_ELEMENTS * sizeof(double) / 1024, ROOT, total_ms);
    for (step = 0; step < STEP_COUNT; step++)
        print_step(names[step], graph->times[step], total_ms);
    printf("%u of %d blocks were reduced and consumed before rank %d had "
           "produced its last;\nthe last rank had everything after %.1f ms\n",
           early, BLOCKS, ROOT, graph->slowest_ms);
}

int main(void)
{
    static struct graph graph; /* zero, and too large for some stacks */
    xylem_context_t *context;
    int is_right = 0;

    if (xylem_context_create(NULL, &context) != XYLEM_OK)
        return EXIT_FAILURE; /* the library has said why */
    if (create(&graph, context))
        is_right = run(&graph);
    if (!is_right)
        fprintf(stderr, "task_graph: rank %u: %s, %u elements are wrong\n",
                graph.rank, xylem_status_text(atomic_load(&graph.failure)),
                atomic_load(&graph.wrong));
    else if (graph.rank == ROOT)
        print_summary(&graph);
    destroy(&graph);
    xylem_context_destroy(context);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
