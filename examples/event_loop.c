/* A program with an event loop of its own (epoll), in which collectives are one
 * source of events among others: XYLEM_PROGRESS=thread moves the data, and the
 * callback of a call that has completed writes to an eventfd, which the loop
 * watches. The other source here is a timer.
 *
 * Several sums are under way at once. Each rank learns of their ends in an
 * order of its own and starts the next of each as it does, so they are matched
 * by tags, not by the order of calls.
 *
 *   xylem-run -n 2 event_loop
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <xylem.h>

enum { SUMS = 4, ROUNDS = 50, TICK_NS = 5 * 1000 * 1000 };

struct sum {
    xylem_request_t *request;
    uint64_t mine, all;
    unsigned rounds; /* that have been started */
    int is_active;
};

struct program {
    xylem_context_t *context;
    uint32_t ranks;
    int loop, wake, timer; /* descriptors */
    struct sum sums[SUMS];
    unsigned active;
    uint64_t ticks;
};

static void must(xylem_status_t status, const char *what)
{
    if (status == XYLEM_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, xylem_status_name(status),
            xylem_last_error());
    exit(EXIT_FAILURE);
}

static void must_be(int is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* On the progress thread, which must not wait: the descriptor does not block,
 * and where it is full already the loop has been woken. */
static void completed(void *arg, xylem_status_t status)
{
    const struct program *program = arg;
    uint64_t one = 1;

    (void)status; /* xylem_request_test says it, too */
    if (write(program->wake, &one, sizeof one) < 0)
        return;
}

static void sum_start(struct program *program, struct sum *sum)
{
    sum->mine = ++sum->rounds;
    sum->is_active = 1;
    program->active++;
    must(xylem_request_start(sum->request), "a start");
}

static void sum_plan(struct program *program, uint32_t i)
{
    struct sum *sum = &program->sums[i];
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;

    args.coll = XYLEM_COLL_ALLREDUCE;
    args.send = &sum->mine;
    args.recv = &sum->all;
    args.count = 1;
    args.type = XYLEM_UINT64;
    args.op = XYLEM_SUM;
    args.tag = 1 + i;
    args.on_complete = completed;
    args.arg = program;
    must(xylem_coll_init(xylem_context_world(program->context), &args,
                         &sum->request),
         "a sum");
}

/* A request has completed as soon as its callback is called, so none is
 * overlooked here for which the loop was woken. */
static void look_at_sums(struct program *program)
{
    uint64_t count;
    uint32_t i;

    if (read(program->wake, &count, sizeof count) < 0)
        return;
    for (i = 0; i < SUMS; i++) {
        struct sum *sum = &program->sums[i];
        xylem_status_t status = XYLEM_IN_PROGRESS;
        if (sum->is_active)
            status = xylem_request_test(sum->request);
        if (status == XYLEM_IN_PROGRESS)
            continue;
        must(status, "a sum");
        must_be(sum->all == (uint64_t)sum->rounds * program->ranks,
                "a sum is wrong");
        sum->is_active = 0;
        program->active--;
        if (sum->rounds < ROUNDS)
            sum_start(program, sum);
    }
}

static void look_at_timer(struct program *program)
{
    uint64_t count;

    if (read(program->timer, &count, sizeof count) == sizeof count)
        program->ticks += count;
}

static void loop_add(const struct program *program, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

    must_be(fd >= 0 && epoll_ctl(program->loop, EPOLL_CTL_ADD, fd, &event) == 0,
            "no descriptor to wait for");
}

static void loop_run(struct program *program)
{
    struct epoll_event events[2];
    int i, count;

    while (program->active != 0) {
        count = epoll_wait(program->loop, events, 2, -1);
        for (i = 0; i < count; i++)
            if (events[i].data.fd == program->wake)
                look_at_sums(program);
            else
                look_at_timer(program);
    }
}

int main(void)
{
    static const char *const settings[] = {"PROGRESS=thread", NULL};
    const struct itimerspec tick = {{0, TICK_NS}, {0, TICK_NS}};
    xylem_context_params_t params = XYLEM_CONTEXT_PARAMS_INIT;
    static struct program program;
    uint32_t i;

    params.settings = settings;
    must(xylem_context_create(&params, &program.context), "a context");
    program.ranks = xylem_team_size(xylem_context_world(program.context));
    program.loop = epoll_create1(EPOLL_CLOEXEC);
    program.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    program.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    loop_add(&program, program.wake);
    loop_add(&program, program.timer);
    timerfd_settime(program.timer, 0, &tick, NULL);
    for (i = 0; i < SUMS; i++)
        sum_plan(&program, i);
    for (i = 0; i < SUMS; i++)
        sum_start(&program, &program.sums[i]);
    loop_run(&program);
    printf("%d sums of %u ranks, %d times each; %llu ticks meanwhile\n", SUMS,
           program.ranks, ROUNDS, (unsigned long long)program.ticks);
    /* The last callback may not have returned: its descriptor stays until the
     * context is destroyed, with all requests. */
    must(xylem_context_destroy(program.context), "the end");
    close(program.wake);
    close(program.timer);
    close(program.loop);
    return EXIT_SUCCESS;
}
