/* Processes of xylem-sim. One thread in each. */
#include "simulator/program/side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t line_bytes = 64;

static struct sim_side_run *run_at(const struct sim_side *side, size_t i)
{
    return (struct sim_side_run *)(void *)(side->runs + i * side->run_bytes);
}

const struct sim_side_run *sim_side_next(struct sim_side *side)
{
    if (side->taken == side->begun || !run_at(side, side->taken)->has_ended)
        return NULL;
    return run_at(side, side->taken++);
}

int sim_side_create(struct sim_side *side, const struct simulation *simulation,
                    size_t most)
{
    size_t bytes =
        sizeof(struct sim_side_run) + simulation->ranks * sizeof(double);
    void *runs;

    *side = (struct sim_side){.simulation = simulation, .most = most};
    side->run_bytes = (bytes + line_bytes - 1) / line_bytes * line_bytes;
    runs = mmap(NULL, most * side->run_bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (runs == MAP_FAILED) {
        fprintf(stderr, "%s: no memory for the outcomes of %zu runs\n",
                simulation->program, most);
        return 0;
    }
    side->runs = runs;
    return 1;
}

void sim_side_destroy(struct sim_side *side)
{
    if (side->runs != NULL)
        munmap(side->runs, side->most * side->run_bytes);
    side->runs = NULL;
}

/* In the process of the run: text in standard output's buffer is the
 * campaign's. */
static _Noreturn void run_alone(struct sim_side_run *run,
                                const struct sim_case *c)
{
    struct sim_case own = *c;
    int ok;

    own.rank_us = run->rank_us;
    own.progress = NULL;
    ok = sim_case_run(&own, &run->outcome);
    fflush(stderr);
    _exit(ok ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Waits until one process ends. */
static void one_wait(struct sim_side *side)
{
    int status = 0;
    size_t i;
    pid_t pid;

    do
        pid = wait(&status);
    while (pid < 0 && errno == EINTR);
    side->busy--;
    if (pid < 0 || WIFSIGNALED(status))
        fprintf(stderr, "%s: a run was ended by signal %d\n",
                side->simulation->program, pid < 0 ? 0 : WTERMSIG(status));
    if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) {
        side->has_failed = 1;
        return;
    }
    for (i = side->taken; i < side->begun; i++)
        if (run_at(side, i)->pid == pid)
            run_at(side, i)->has_ended = 1;
}

int sim_side_wait_one(struct sim_side *side)
{
    if (side->busy == 0)
        return 0;
    one_wait(side);
    return 1;
}

int sim_side_know(struct sim_side *side, size_t contender, size_t level,
                  const struct sim_numbers *numbers, const double *rank_us)
{
    struct sim_side_run *run = run_at(side, side->begun++);

    run->contender = contender;
    run->level = level;
    run->is_known = run->has_ended = 1;
    run->known = *numbers;
    memcpy(run->rank_us, rank_us,
           side->simulation->ranks * sizeof *run->rank_us);
    return 1;
}

int sim_side_begin(struct sim_side *side, const struct sim_case *c,
                   size_t contender, size_t level)
{
    struct sim_side_run *run = run_at(side, side->begun);
    pid_t pid;

    while (side->busy >= side->simulation->jobs)
        one_wait(side);
    if (side->has_failed)
        return 0;
    run->contender = contender;
    run->level = level;
    run->warmup = c->warmup;
    run->iterations = c->iterations;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        run_alone(run, c);
    if (pid < 0) {
        fprintf(stderr, "%s: no process for a run: %s\n",
                side->simulation->program, strerror(errno));
        side->has_failed = 1;
        return 0;
    }
    run->pid = pid;
    side->begun++;
    side->busy++;
    return 1;
}
