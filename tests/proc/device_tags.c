/* One rank of a job whose ranks ask whether tags suit calls on memory of GPUs:
 * all get one answer for one tag, whoever asks first, and calls of either kind
 * come out right.
 *
 *   device_tags some|none
 *
 * none: tags suit all calls, as GPUs read nothing directly. */
#include <string.h>

#include "bench/measure/device.h"
#include "tests/proc/job.h"

enum { WORDS = 65536, TAGS_MAX = 12 };

static job_t job;
static struct bench_device *device;
static char *on_host, *on_gpu;
static int is_some;

static xylem_coll_args_t args_of(uint32_t tag, size_t count, int is_on_gpu)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;

    args.coll = XYLEM_COLL_BCAST;
    args.recv = is_on_gpu ? on_gpu : on_host;
    args.count = count;
    args.type = XYLEM_UINT64;
    args.tag = tag;
    return args;
}

/* This rank asks. */
static int suits(xylem_team_t *team, uint32_t tag, size_t count, int is_on_gpu)
{
    const xylem_coll_args_t args = args_of(tag, count, is_on_gpu);
    int answer = -1;

    MUST(xylem_tag_suits(team, &args, &answer));
    return answer;
}

static void expect(int answer, int expected, uint32_t tag)
{
    if (!is_some)
        expected = 1;
    REQUIRE(answer == expected, "tag %u: %d in place of %d", tag, answer,
            expected);
}

/* The last rank describes the same words by a type of its own: it, too, has to
 * come to the others' answer. */
static void all_ask_by_types(xylem_team_t *team, uint32_t tag)
{
    xylem_coll_args_t args = args_of(tag, WORDS, 1);
    xylem_type_t pair;
    int answer = -1;

    MUST(xylem_type_contiguous(job.context, 2, XYLEM_UINT64, &pair));
    if (job.rank == job.ranks - 1) {
        args.type = pair;
        args.count = WORDS / 2;
    }
    if (job.rank == 0)
        expect(suits(team, tag, WORDS, 1), 0, tag);
    MUST(xylem_barrier(job.world));
    MUST(xylem_tag_suits(team, &args, &answer));
    expect(answer, 0, tag);
    MUST(xylem_type_destroy(job.context, pair));
}

/* The first one asks before the others do. */
static void all_ask(xylem_team_t *team, uint32_t first, uint32_t tag,
                    int is_on_gpu, int expected)
{
    if (job.rank == first)
        expect(suits(team, tag, WORDS, is_on_gpu), expected, tag);
    MUST(xylem_barrier(job.world));
    if (job.rank != first)
        expect(suits(team, tag, WORDS, 0), expected, tag);
    MUST(xylem_barrier(job.world));
}

static void call(xylem_team_t *team, uint32_t tag)
{
    const xylem_coll_args_t args = args_of(tag, WORDS, 1);
    char filled[64], seen[64];
    xylem_request_t *request;

    memset(filled, 7 + (int)tag, sizeof filled);
    memset(seen, 0, sizeof seen);
    MUST(xylem_coll_init(team, &args, &request));
    MUST(device_copy(device, on_gpu, job.rank == 0 ? filled : seen,
                     sizeof seen));
    MUST(xylem_request_start(request));
    MUST(xylem_request_wait(request));
    MUST(device_copy(device, seen, on_gpu, sizeof seen));
    REQUIRE(memcmp(seen, filled, sizeof seen) == 0, "tag %u: wrong data", tag);
    MUST(xylem_request_free(request));
}

int main(int argc, char **argv)
{
    static char memory[WORDS * sizeof(uint64_t)];
    xylem_team_t *team;
    uint32_t tag;

    job_begin(&job);
    is_some = argc > 1 && strcmp(argv[1], "some") == 0;
    on_host = memory;
    MUST(device_open(job.rank, &device));
    MUST(device_take(device, sizeof memory, (void **)(void *)&on_gpu));
    MUST(xylem_team_dup(job.world, &team));
    all_ask(team, 1, 3, 0, 1); /* no rank has met any */
    all_ask(team, 0, 5, 1, 0); /* the first has */
    all_ask(team, 2, 4, 0, 1); /* a smaller tag, of which nobody had asked */
    all_ask(team, 1, 3, 1, 1); /* as before */
    all_ask(team, 2, 9, 0, 0);
    expect(suits(team, 9, 1, 1), 1, 9); /* a short call asks never */
    MUST(xylem_team_destroy(team));
    MUST(xylem_team_dup(job.world, &team));
    all_ask(team, 1, 6, 0, 1);
    all_ask(team, 0, 6, 1, 1); /* some rank has gone on without */
    all_ask(team, 0, 7, 1, 0);
    all_ask_by_types(team, 8);
    for (tag = 1; tag <= TAGS_MAX; tag++)
        call(team, tag == TAGS_MAX ? 0 : tag);
    MUST(xylem_team_destroy(team));
    device_give(device, on_gpu);
    job_end(&job);
    device_close(device);
    return 0;
}
