/* What remote tasks are for, three times:
 *
 *   accumulate   any rank adds to numbers of any other, who does nothing for it
 *   reduce       all ranks add to numbers of rank 0, which only waits for the
 *                last of them; no rank waits for another to come
 *   work queue   rank 0 gives pieces of work to whoever asks: by a task, and
 * the answer is a task by a task that answers with a task
 *
 *   xylem-run -n 3 remote_work
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xylem.h>

enum { NUMBERS = 1000, PIECES = 200 };

/* The same table on all ranks. */
enum { ACCUMULATE, ASK, WORK, ENTRIES };

struct program {
    xylem_context_t *context;
    xylem_team_t *team;
    xylem_tasks_t *tasks;
    uint32_t rank, ranks;
    double window[NUMBERS];         /* that others add to */
    _Atomic uint32_t contributions; /* that have been added */
    uint32_t next;                  /* piece; rank 0's */
    uint32_t done;                  /* pieces, by this rank */
    _Atomic uint32_t under_way;     /* tasks that it sends */
    _Atomic int is_over;            /* there are none left */
    uint64_t sum;                   /* of what the pieces gave */
};

static void must(xylem_status_t status, const char *what)
{
    if (status == XYLEM_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, xylem_status_name(status),
            xylem_last_error());
    exit(EXIT_FAILURE);
}

/* Arguments: where; payload: what. Runs in the receiver's engine, one at a
 * time, so that it needs no lock. */
static xylem_status_t accumulate(void *arg, const xylem_task_t *task)
{
    struct program *program = arg;
    const double *values = task->payload;
    size_t count = task->payload_bytes / sizeof *values, i;
    uint32_t first;

    memcpy(&first, task->args, sizeof first);
    if (first > NUMBERS || count > NUMBERS - first)
        return XYLEM_ERR_INVALID_ARG;
    for (i = 0; i < count; i++)
        program->window[first + i] += values[i];
    program->contributions++;
    return XYLEM_OK;
}

static void sent(void *arg, xylem_status_t status)
{
    struct program *program = arg;

    must(status, "a task");
    program->under_way--;
}

/* Its sender need not wait: AUTOFREE has nobody hold the request. */
static void send_task(struct program *program, uint32_t rank, uint32_t index,
                      uint32_t number)
{
    xylem_task_args_t args = XYLEM_TASK_ARGS_INIT;

    args.rank = rank;
    args.index = index;
    args.flags = XYLEM_FLAG_AUTOFREE;
    args.args = &number;
    args.args_bytes = sizeof number;
    args.on_complete = sent;
    args.arg = program;
    program->under_way++;
    must(xylem_task_start(program->tasks, &args, NULL), "a task");
}

/* A rank has nothing to do; runs on rank 0. */
static xylem_status_t ask(void *arg, const xylem_task_t *task)
{
    struct program *program = arg;
    uint32_t piece = program->next < PIECES ? program->next++ : PIECES;

    send_task(program, task->source, WORK, piece);
    return XYLEM_OK;
}

/* A piece, or that there are none left; runs on who asked. */
static xylem_status_t work(void *arg, const xylem_task_t *task)
{
    struct program *program = arg;
    uint32_t piece, i;

    memcpy(&piece, task->args, sizeof piece);
    if (piece == PIECES) {
        program->is_over = 1;
        return XYLEM_OK;
    }
    for (i = 0; i < 1000; i++)
        program->sum += (uint64_t)piece * i;
    program->done++;
    send_task(program, 0, ASK, 0);
    return XYLEM_OK;
}

static void open_table(struct program *program)
{
    static const xylem_task_fn functions[ENTRIES] = {accumulate, ask, work};
    xylem_task_entry_t entries[ENTRIES];
    xylem_tasks_params_t params = XYLEM_TASKS_PARAMS_INIT;
    int i;

    for (i = 0; i < ENTRIES; i++) {
        entries[i] = (xylem_task_entry_t)XYLEM_TASK_ENTRY_INIT;
        entries[i].run = functions[i];
        entries[i].arg = program;
        entries[i].args_min = entries[i].args_max = sizeof(uint32_t);
    }
    entries[ACCUMULATE].payload_max = sizeof program->window;
    params.entries = entries;
    params.entry_count = ENTRIES;
    must(xylem_tasks_open(program->team, &params, &program->tasks), "open");
}

/* Ten numbers to each rank, this one too. */
static void accumulate_everywhere(struct program *program)
{
    double values[10];
    uint32_t rank, first = 10 * program->rank, i;

    for (rank = 0; rank < program->ranks; rank++) {
        for (i = 0; i < 10; i++)
            values[i] = 1 + rank + i;
        must(xylem_task_call(program->tasks, rank, ACCUMULATE, &first,
                             sizeof first, values, sizeof values),
             "accumulate");
    }
    /* Beyond the window: told to the sender, and nothing happens. */
    first = NUMBERS - 5;
    if (xylem_task_call(program->tasks, 0, ACCUMULATE, &first, sizeof first,
                        values, sizeof values) != XYLEM_ERR_INVALID_ARG)
        must(XYLEM_ERR_INTERNAL, "a window has a wrong end");
}

/* Rank 0 has all contributions when as many have come as there are ranks. */
static void reduce_to_first(struct program *program)
{
    static double values[NUMBERS];
    uint32_t first = 0, i;

    must(xylem_barrier(program->team), "barrier"); /* the window is free */
    memset(program->window, 0, sizeof program->window);
    program->contributions = 0;
    must(xylem_barrier(program->team), "barrier");
    for (i = 0; i < NUMBERS; i++)
        values[i] = program->rank + i;
    must(xylem_task_call(program->tasks, 0, ACCUMULATE, &first, sizeof first,
                         values, sizeof values),
         "reduce");
    if (program->rank != 0)
        return;
    while (program->contributions < program->ranks)
        xylem_progress(program->context);
    for (i = 0; i < NUMBERS; i++)
        if (program->window[i] !=
            (double)program->ranks * i +
                (double)program->ranks * (program->ranks - 1) / 2)
            must(XYLEM_ERR_INTERNAL, "the sum is wrong");
}

static void share_work(struct program *program)
{
    uint64_t sums[2] = {0, 0}, mine[2];

    if (program->rank != 0 || program->ranks == 1) {
        send_task(program, 0, ASK, 0);
        while (!program->is_over)
            xylem_progress(program->context);
    }
    mine[0] = program->sum;
    mine[1] = program->done;
    must(xylem_allreduce(program->team, mine, sums, 2, XYLEM_UINT64, XYLEM_SUM),
         "allreduce");
    if (sums[1] != PIECES ||
        sums[0] != (uint64_t)PIECES * (PIECES - 1) / 2 * (1000 * 999 / 2))
        must(XYLEM_ERR_INTERNAL, "work was lost, or done twice");
    while (program->under_way != 0)
        xylem_progress(program->context);
    while (program->under_way != 0)
        xylem_progress(program->context);
    printf("rank %u: %u of %u pieces\n", program->rank, program->done, PIECES);
}

int main(void)
{
    static struct program program;

    must(xylem_context_create(NULL, &program.context), "context");
    program.team = xylem_context_world(program.context);
    program.rank = xylem_team_rank(program.team);
    program.ranks = xylem_team_size(program.team);
    open_table(&program);
    accumulate_everywhere(&program);
    reduce_to_first(&program);
    share_work(&program);
    must(xylem_tasks_close(program.tasks), "close");
    must(xylem_context_destroy(program.context), "end");
    return EXIT_SUCCESS;
}
