/* A job that does everything, over and over, and must not grow:
 *
 *   soak SECONDS [SEED]
 *
 * Ranks live through contexts, one after the other. In each they draw what to
 * do from the same numbers: teams that come and go, collectives of all kinds,
 * blocking, several at once and persistent, memory of xylem_alloc, tables of
 * remote tasks, triggers, contexts beside the one that there is; and each rank
 * dozes now and then, for a time of its own. Everything is verified. Behind
 * each context every rank counts its memory, descriptors and threads; after as
 * many contexts as it takes to have been everywhere they stay what they are.
 * Rank 0 prints a line for each, and what the node has in /dev/shm. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "simulator/random.h"
#include "tests/proc/job.h"
#include "tests/support/call_case.h"

enum {
    ROUNDS = 300, /* of a context */
    WARM = 6,     /* contexts */
    TEAMS = 12,
    AT_ONCE = 5,
    DOZE_US_MAX = 3000,
    DOZES_EVERY = 16,
    KIB_MORE = 8 << 10, /* a heap has holes */
    PMIX_KIB = 3,       /* of a context, and for each of its ranks */
    PRINT_S = 30
};

typedef struct counts {
    uint64_t kib, descriptors, threads;
} counts_t;

typedef struct soak {
    job_t job;
    uint64_t drawn; /* the state of what all ranks draw alike */
    uint64_t own;   /* of what this one draws for itself */
    xylem_team_t *teams[TEAMS];
    uint32_t ran; /* tasks, here */
    uint32_t contexts;
} soak_t;

/* ---- counting ---- */

static uint64_t of_status(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    unsigned long long value = 0;
    size_t length = strlen(name);
    char line[128];

    REQUIRE(file != NULL, "no /proc/self/status");
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            value = strtoull(line + length + 1, NULL, 10);
    fclose(file);
    return value;
}

static uint64_t descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint64_t count = 0;

    REQUIRE(folder != NULL, "no /proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static counts_t counts_now(void)
{
    return (counts_t){of_status("VmRSS"), descriptors(), of_status("Threads")};
}

static uint64_t dev_shm_kib(void)
{
    struct statvfs found;

    if (statvfs("/dev/shm", &found) != 0)
        return 0;
    return (uint64_t)(found.f_blocks - found.f_bfree) * found.f_frsize >> 10;
}

/* ---- what all draw alike ---- */

static uint32_t draw(soak_t *soak, uint32_t below)
{
    return job_random(&soak->drawn) % below;
}

static void doze(soak_t *soak)
{
    if (job_random(&soak->own) % DOZES_EVERY == 0)
        usleep(job_random(&soak->own) % DOZE_US_MAX);
}

/* One that this rank is in, as all its ranks draw. */
static xylem_team_t *some_team(soak_t *soak)
{
    xylem_team_t *team = soak->teams[draw(soak, TEAMS)];

    return team == NULL ? soak->job.world : team;
}

/* ---- operations ---- */

static void call_checked(call_rank_t *call)
{
    char text[300];

    REQUIRE(call_rank_check(call, text, sizeof text), "%s", text);
}

static call_case_t case_of(soak_t *soak, const xylem_team_t *team)
{
    uint32_t coll = draw(soak, XYLEM_COLL_COUNT);

    return call_case_random(&soak->drawn, (xylem_coll_t)coll,
                            xylem_team_size(team));
}

/* Several of one team, which complete in any order. */
static void some_calls(soak_t *soak)
{
    xylem_team_t *team = some_team(soak);
    uint32_t count = 1 + draw(soak, AT_ONCE), i;
    xylem_request_t *requests[AT_ONCE];
    call_case_t cases[AT_ONCE];
    call_rank_t calls[AT_ONCE];

    for (i = 0; i < count; i++) {
        cases[i] = case_of(soak, team);
        call_rank_init(&calls[i], &cases[i], xylem_team_rank(team),
                       soak->job.context);
        doze(soak);
        MUST(xylem_coll_start(team, &calls[i].args, &requests[i]));
    }
    for (i = 0; i < count; i++) {
        MUST(xylem_request_wait(requests[i]));
        MUST(xylem_request_free(requests[i]));
        call_checked(&calls[i]);
        call_rank_fini(&calls[i]);
    }
}

/* Started by a trigger, which a second one tells of. */
static void persistent(soak_t *soak)
{
    xylem_trigger_args_t args = XYLEM_TRIGGER_ARGS_INIT;
    xylem_team_t *team = some_team(soak);
    call_case_t c = case_of(soak, team);
    uint32_t runs = 1 + draw(soak, 4), i;
    _Alignas(8) uint64_t word = 0;
    xylem_trigger_t *trigger;
    xylem_request_t *request;
    call_rank_t call;

    call_rank_init(&call, &c, xylem_team_rank(team), soak->job.context);
    MUST(xylem_coll_init(team, &call.args, &request));
    args.action = XYLEM_TRIGGER_START;
    args.request = request;
    args.threshold = 2;
    args.word = &word;
    MUST(xylem_trigger_create(soak->job.context, &args, &trigger));
    for (i = 0; i < runs; i++) {
        call_rank_fill(&call);
        MUST(xylem_trigger_count(trigger, 0, 1));
        doze(soak);
        MUST(xylem_trigger_count(trigger, 0, 1));
        while (XYLEM_WORD_TIMES(__atomic_load_n(&word, __ATOMIC_ACQUIRE)) <= i)
            if (xylem_progress(soak->job.context) == 0)
                usleep(1);
        MUST(XYLEM_WORD_STATUS(word));
        call_checked(&call);
    }
    MUST(xylem_trigger_destroy(trigger));
    MUST(xylem_request_free(request));
    call_rank_fini(&call);
}

static void shared_memory(soak_t *soak)
{
    xylem_team_t *team = some_team(soak);
    size_t bytes = 1 + draw(soak, 3 << 20);
    uint32_t root = draw(soak, xylem_team_size(team));
    char *memory;

    MUST(xylem_alloc(soak->job.context, bytes, (void **)&memory));
    memset(memory, xylem_team_rank(team) == root ? 5 : 0, bytes);
    MUST(xylem_bcast(team, memory, bytes, XYLEM_BYTE, root));
    REQUIRE(memory[0] == 5 && memory[bytes - 1] == 5, "wrong data");
    MUST(xylem_barrier(team)); /* others may still read it */
    MUST(xylem_free(soak->job.context, memory));
}

/* ---- remote tasks ---- */

static xylem_status_t task_run(void *arg, const xylem_task_t *task)
{
    soak_t *soak = arg;
    size_t i;

    for (i = 0; i < task->payload_bytes; i++)
        REQUIRE(((const char *)task->payload)[i] == (char)i, "wrong payload");
    soak->ran++;
    return XYLEM_OK;
}

static void remote_tasks(soak_t *soak)
{
    enum { BYTES = 20000 };
    static char payload[BYTES];
    xylem_task_entry_t entry = XYLEM_TASK_ENTRY_INIT;
    xylem_tasks_params_t params = XYLEM_TASKS_PARAMS_INIT;
    xylem_team_t *team = some_team(soak);
    uint32_t ranks = xylem_team_size(team), each = 1 + draw(soak, 6), rank, i;
    size_t bytes = draw(soak, 2) == 0 ? 100 : BYTES;
    xylem_tasks_t *tasks;

    for (i = 0; i < BYTES; i++)
        payload[i] = (char)i;
    soak->ran = 0;
    entry.run = task_run;
    entry.arg = soak;
    entry.payload_max = BYTES;
    params.entries = &entry;
    params.entry_count = 1;
    MUST(xylem_tasks_open(team, &params, &tasks));
    for (i = 0; i < each; i++)
        for (rank = 0; rank < ranks; rank++) {
            doze(soak);
            MUST(xylem_task_call(tasks, rank, 0, NULL, 0, payload, bytes));
        }
    MUST(xylem_tasks_close(tasks));
    REQUIRE(soak->ran == each * ranks, "%u of %u tasks have run", soak->ran,
            each * ranks);
}

/* ---- teams and contexts ---- */

static void team_change(soak_t *soak)
{
    uint32_t place = draw(soak, TEAMS), way = draw(soak, 3);
    xylem_team_t *parent = soak->job.world, **team = &soak->teams[place];

    MUST(xylem_team_destroy(*team));
    *team = NULL;
    if (way == 0)
        MUST(xylem_team_dup(parent, team));
    else /* of all ranks, the other way round: all draw the same of it */
        MUST(xylem_team_split(parent, 0, soak->job.ranks - soak->job.rank,
                              team));
    if (way == 2) {
        xylem_team_t *half;
        MUST(xylem_team_split(*team, soak->job.rank % 2, 0, &half));
        MUST(xylem_barrier(half));
        MUST(xylem_team_destroy(half));
    }
}

static void context_beside(soak_t *soak)
{
    uint64_t sum = soak->job.rank;
    job_t other;

    soak->contexts++;
    job_begin(&other);
    MUST(xylem_allreduce(other.world, XYLEM_IN_PLACE, &sum, 1, XYLEM_UINT64,
                         XYLEM_SUM));
    REQUIRE(sum == other.ranks * (other.ranks - 1) / 2, "a wrong sum");
    job_end(&other);
}

static void live(soak_t *soak)
{
    uint32_t i;

    soak->contexts += 2; /* with that of is_over */
    job_begin(&soak->job);
    memset(soak->teams, 0, sizeof soak->teams);
    for (i = 0; i < ROUNDS; i++) {
        uint32_t what = draw(soak, 100);
        doze(soak);
        if (what < 15)
            team_change(soak);
        else if (what < 25)
            persistent(soak);
        else if (what < 30)
            remote_tasks(soak);
        else if (what < 35)
            shared_memory(soak);
        else if (what == 99 && i % 4 == 0)
            context_beside(soak);
        else
            some_calls(soak);
    }
    for (i = 0; i < TEAMS; i += 2) /* the context destroys the others */
        MUST(xylem_team_destroy(soak->teams[i]));
    job_end(&soak->job);
}

/* ---- the whole ---- */

static void print_counts(uint32_t number, double seconds, const counts_t *now)
{
    printf("%8.0f s, %5u contexts: %7" PRIu64 " KiB, %3" PRIu64
           " descriptors, %2" PRIu64 " threads; /dev/shm %" PRIu64 " KiB\n",
           seconds, number, now->kib, now->descriptors, now->threads,
           dev_shm_kib());
    fflush(stdout);
}

static void counts_max(counts_t *most, const counts_t *now)
{
    if (now->kib > most->kib)
        most->kib = now->kib;
    if (now->descriptors > most->descriptors)
        most->descriptors = now->descriptors;
    if (now->threads > most->threads)
        most->threads = now->threads;
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* All stop with the same context: rank 0's clock decides. */
static int is_over(double end)
{
    uint32_t over;
    job_t job;

    job_begin(&job);
    over = job.rank == 0 && seconds_now() >= end;
    MUST(xylem_bcast(job.world, &over, 1, XYLEM_UINT32, 0));
    job_end(&job);
    return over != 0;
}

int main(int argc, char **argv)
{
    soak_t soak = {.drawn = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    double begin = seconds_now(), printed = 0, now;
    counts_t first = {0, 0, 0}, counts;
    uint32_t number = 0;
    int over = 0;

    REQUIRE(argc > 1, "usage: soak SECONDS [SEED]");
    while (!over || number <= WARM) {
        soak.own = soak.drawn ^ (uint64_t)getpid() << 20;
        live(&soak);
        over = is_over(begin + atof(argv[1]));
        counts = counts_now();
        now = seconds_now() - begin;
        if (++number <= WARM)
            counts_max(&first, &counts);
        if (soak.job.rank == 0 &&
            (over || number == WARM || now - printed >= PRINT_S)) {
            print_counts(number, now, &counts);
            printed = now;
        }
        REQUIRE(counts.descriptors <= first.descriptors &&
                    counts.threads <= first.threads,
                "%" PRIu64 " descriptors and %" PRIu64
                " threads after %u contexts; %" PRIu64 " and %" PRIu64
                " at first",
                counts.descriptors, counts.threads, number, first.descriptors,
                first.threads);
    }
    REQUIRE(counts.kib <=
                first.kib + first.kib / 8 + KIB_MORE +
                    (uint64_t)PMIX_KIB * (1 + soak.job.ranks) * soak.contexts,
            "%" PRIu64 " KiB after %u contexts, %" PRIu64 " at first",
            counts.kib, number, first.kib);
    return EXIT_SUCCESS;
}
