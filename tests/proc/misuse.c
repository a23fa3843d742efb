/* What callers do wrong gets the documented status, words that name the
 * mistake, untouched outputs, and no crash:
 *
 *   misuse args | handles | parts | callbacks | operations | blocks
 *   misuse contract | ends | tasks
 *   misuse create STATUS WORD [SETTING...]
 *
 * The last creates a context, which must fail with that status ("XYLEM_OK":
 * must not) and with words that contain WORD. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proc/misuse.h"

void misuse_fails(const char *file, int line, const char *call,
                  xylem_status_t status, xylem_status_t wanted,
                  const char *word)
{
    if (status != wanted)
        job_die(file, line, "%s: %s, wanted %s", call,
                xylem_status_name(status), xylem_status_name(wanted));
    if (strstr(xylem_last_error(), word) == NULL)
        job_die(file, line, "%s: '%s' says nothing of '%s'", call,
                xylem_last_error(), word);
}

char misuse_untouched;

/* ---- arguments of operations ---- */

void misuse_refused(const char *file, int line, xylem_team_t *team,
                    const xylem_coll_args_t *args, xylem_status_t wanted,
                    const char *word)
{
    xylem_request_t *request = UNTOUCHED;

    misuse_fails(file, line, "xylem_coll_init",
                 xylem_coll_init(team, args, &request), wanted, word);
    misuse_fails(file, line, "xylem_coll_start",
                 xylem_coll_start(team, args, &request), wanted, word);
    if (request != UNTOUCHED)
        job_die(file, line, "the request was written");
}

#define REFUSED(team, word, ...)                                               \
    do {                                                                       \
        xylem_coll_args_t bad = good;                                          \
        __VA_ARGS__;                                                           \
        misuse_refused(__FILE__, __LINE__, team, &bad, XYLEM_ERR_INVALID_ARG,  \
                       word);                                                  \
    } while (0)

static xylem_coll_args_t good_args(void *send, void *recv, size_t count)
{
    return (xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                               .coll = XYLEM_COLL_REDUCE,
                               .send = send,
                               .recv = recv,
                               .count = count,
                               .type = XYLEM_INT32,
                               .op = XYLEM_SUM};
}

static void bad_messages(const job_t *job)
{
    int32_t send[4] = {0}, recv[4] = {0};
    const xylem_coll_args_t good = good_args(send, recv, 4);
    xylem_team_t *world = job->world;

    REFUSED(world, "struct_bytes", bad.struct_bytes = 8);
    REFUSED(world, "collective", bad.coll = XYLEM_COLL_COUNT);
    REFUSED(world, "root", bad.root = job->ranks);
    REFUSED(world, "root", bad.root = UINT32_MAX);
    REFUSED(world, "type", bad.type = XYLEM_TYPE_COUNT);
    REFUSED(world, "type", bad.type = XYLEM_TYPE_BLOCK(0));
    REFUSED(world, "operation", bad.op = XYLEM_OP_COUNT);
    REFUSED(world, "operation", bad.op = 0x100); /* none of the user's */
    REFUSED(world, "operation", bad.op = UINT32_MAX);
    REFUSED(world, "band is not defined on type float64",
            bad.type = XYLEM_FLOAT64, bad.count = 1, bad.op = XYLEM_BAND);
    REFUSED(world, "minloc", bad.op = XYLEM_MINLOC);
    REFUSED(world, "block", bad.type = XYLEM_TYPE_BLOCK(3));
    REFUSED(world, "send buffer", bad.send = NULL);
    REFUSED(world, "address space", bad.count = SIZE_MAX);
    REFUSED(world, "address space", bad.count = SIZE_MAX / 8 + 1);
    REFUSED(world, "too small", bad.count = SIZE_MAX / 16,
            bad.segment_bytes = 1);
    REFUSED(world, "buffer is NULL", bad.coll = XYLEM_COLL_BCAST,
            bad.recv = NULL);
    if (job->rank == 0) {
        REFUSED(world, "receive buffer", bad.recv = NULL);
        REFUSED(world, "IN_PLACE", bad.recv = send);
    } else {
        REFUSED(world, "IN_PLACE", bad.send = XYLEM_IN_PLACE);
    }
}

static void bad_tuning(const job_t *job)
{
    int32_t send[4] = {0}, recv[4] = {0};
    const xylem_coll_args_t good = good_args(send, recv, 4);
    xylem_team_t *world = job->world;

    REFUSED(world, "no such", bad.algorithm = "bush");
    REFUSED(world, "radix of 2 ... 64", bad.algorithm = "knomial:65");
    REFUSED(world, "radix of 2 ... 64", bad.algorithm = "knomial:1");
    REFUSED(world, "radix of 1 ... 64", bad.algorithm = "kary:0");
    REFUSED(world, "takes no radix", bad.algorithm = "chain:2");
    REFUSED(world, "windows", bad.send_window = 65, bad.recv_window = 65);
    REFUSED(world, "windows", bad.send_window = 3, bad.recv_window = 2);
    REFUSED(world, "windows", bad.recv_window = UINT32_MAX);
}

static void bad_pointers(const job_t *job)
{
    xylem_request_t *request = UNTOUCHED;
    int32_t value = 0;
    xylem_coll_args_t good = good_args(&value, &value, 1);

    FAILS(xylem_coll_init(job->world, NULL, &request), XYLEM_ERR_INVALID_ARG,
          "args is NULL");
    FAILS(xylem_coll_start(job->world, NULL, NULL), XYLEM_ERR_INVALID_ARG,
          "NULL");
    FAILS(xylem_coll_init(job->world, &good, NULL), XYLEM_ERR_INVALID_ARG,
          "request_out");
    FAILS(xylem_coll_start(job->world, &good, NULL), XYLEM_ERR_INVALID_ARG,
          "request_out");
    FAILS(xylem_ibcast(job->world, &value, 1, XYLEM_INT32, 0, NULL),
          XYLEM_ERR_INVALID_ARG, "request_out");
    FAILS(xylem_ibcast(job->world, NULL, 1, XYLEM_INT32, 0, &request),
          XYLEM_ERR_INVALID_ARG, "xylem_ibcast");
    FAILS(xylem_ireduce(job->world, NULL, &value, 1, XYLEM_INT32, XYLEM_SUM, 0,
                        &request),
          XYLEM_ERR_INVALID_ARG, "xylem_ireduce");
    FAILS(xylem_bcast(NULL, &value, 1, XYLEM_INT32, 0),
          XYLEM_ERR_INVALID_HANDLE, "team is NULL");
    FAILS(xylem_bcast((xylem_team_t *)(void *)&good, &value, 1, XYLEM_INT32, 0),
          XYLEM_ERR_INVALID_HANDLE, "no team");
    FAILS(xylem_context_create(NULL, NULL), XYLEM_ERR_INVALID_ARG,
          "context_out");
    REQUIRE(request == UNTOUCHED, "the request was written");
}

static void mode_args(job_t *job)
{
    bad_messages(job);
    bad_tuning(job);
    bad_pointers(job);
}

/* ---- handles ---- */

static void bad_requests(const job_t *job)
{
    xylem_request_t *request;
    uint64_t segments = 7;
    size_t bytes = 7;
    int32_t value = 1;

    MUST(xylem_ibcast(job->world, &value, 1, XYLEM_INT32, 0, &request));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_wait(request)); /* of a completed one: at once */
    MUST(xylem_request_free(request));
    FAILS(xylem_request_free(request), XYLEM_ERR_INVALID_HANDLE, "freed");
    FAILS(xylem_request_wait(request), XYLEM_ERR_INVALID_HANDLE, "freed");
    FAILS(xylem_request_test(request), XYLEM_ERR_INVALID_HANDLE, "freed");
    FAILS(xylem_request_start(request), XYLEM_ERR_INVALID_HANDLE, "freed");
    FAILS(xylem_segment_ready(request, 0), XYLEM_ERR_INVALID_HANDLE, "freed");
    FAILS(xylem_request_segments(request, &segments, &bytes),
          XYLEM_ERR_INVALID_HANDLE, "freed");
    FAILS(xylem_request_wait(NULL), XYLEM_ERR_INVALID_HANDLE, "NULL");
    FAILS(xylem_request_test(NULL), XYLEM_ERR_INVALID_HANDLE, "NULL");
    FAILS(xylem_request_start(NULL), XYLEM_ERR_INVALID_HANDLE, "NULL");
    FAILS(xylem_segment_ready(NULL, 0), XYLEM_ERR_INVALID_HANDLE, "NULL");
    FAILS(xylem_request_wait((xylem_request_t *)(void *)job),
          XYLEM_ERR_INVALID_HANDLE, "no request");
    REQUIRE(segments == 7 && bytes == 7, "outputs were written");
    MUST(xylem_request_free(NULL));
}

static void bad_teams(const job_t *job)
{
    xylem_team_t *team, *child = UNTOUCHED;
    xylem_request_t *request = UNTOUCHED;
    uint32_t twice[2] = {0, 0}, outside = job->ranks, count = 7;
    xylem_place_t place = {.node = 7};

    MUST(xylem_team_destroy(NULL));
    FAILS(xylem_team_destroy(job->world), XYLEM_ERR_BUSY, "world");
    FAILS(xylem_team_dup(job->world, NULL), XYLEM_ERR_INVALID_ARG, "output");
    FAILS(xylem_team_idup(job->world, &child, NULL), XYLEM_ERR_INVALID_ARG,
          "output");
    FAILS(xylem_team_subset(job->world, twice, 2, &child),
          XYLEM_ERR_INVALID_ARG, "twice");
    FAILS(xylem_team_subset(job->world, &outside, 1, &child),
          XYLEM_ERR_INVALID_ARG, "outside");
    FAILS(xylem_team_subset(job->world, NULL, 1, &child), XYLEM_ERR_INVALID_ARG,
          "empty");
    FAILS(xylem_team_isubset(job->world, twice, 0, &child, &request),
          XYLEM_ERR_INVALID_ARG, "empty");
    FAILS(xylem_team_place(job->world, job->ranks, &place),
          XYLEM_ERR_INVALID_ARG, "outside");
    FAILS(xylem_team_place(job->world, 0, NULL), XYLEM_ERR_INVALID_ARG,
          "place_out");
    FAILS(xylem_team_failed(job->world, NULL, 1, &count), XYLEM_ERR_INVALID_ARG,
          "NULL");
    MUST(xylem_team_dup(job->world, &team));
    MUST(xylem_team_destroy(team));
    FAILS(xylem_team_destroy(team), XYLEM_ERR_INVALID_HANDLE, "destroyed");
    FAILS(xylem_bcast(team, &count, 1, XYLEM_UINT32, 0),
          XYLEM_ERR_INVALID_HANDLE, "destroyed");
    FAILS(xylem_team_dup(team, &child), XYLEM_ERR_INVALID_HANDLE, "destroyed");
    FAILS(xylem_team_dup(NULL, &child), XYLEM_ERR_INVALID_HANDLE, "NULL");
    REQUIRE(xylem_team_rank(team) == UINT32_MAX && xylem_team_size(team) == 0,
            "a destroyed team has a rank or a size");
    REQUIRE(xylem_team_rank(NULL) == UINT32_MAX && xylem_team_size(NULL) == 0,
            "no team has a rank or a size");
    REQUIRE(count == 7 && place.node == 7 && child == UNTOUCHED &&
                request == UNTOUCHED,
            "outputs were written");
}

/* A team is not destroyed below a request that may be started again. */
static void busy_team(const job_t *job)
{
    int32_t value = 3;
    xylem_coll_args_t args = good_args(NULL, &value, 1);
    xylem_request_t *request;
    xylem_team_t *team;

    args.coll = XYLEM_COLL_BCAST;
    MUST(xylem_team_dup(job->world, &team));
    MUST(xylem_coll_init(team, &args, &request));
    FAILS(xylem_team_destroy(team), XYLEM_ERR_BUSY, "persistent");
    MUST(xylem_request_start(request));
    MUST(xylem_request_wait(request));
    FAILS(xylem_team_destroy(team), XYLEM_ERR_BUSY, "persistent");
    MUST(xylem_request_free(request));
    /* What is in flight does not hold it. */
    MUST(xylem_ibcast(team, &value, 1, XYLEM_INT32, 0, &request));
    MUST(xylem_team_destroy(team));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
}

static void after_the_end(xylem_context_t *context)
{
    xylem_op_t op = 7;

    FAILS(xylem_context_destroy(context), XYLEM_ERR_INVALID_HANDLE,
          "destroyed");
    FAILS(xylem_op_destroy(context, 0x100), XYLEM_ERR_INVALID_HANDLE,
          "destroyed");
    FAILS(xylem_op_create(context, NULL, NULL, 0, &op),
          XYLEM_ERR_INVALID_HANDLE, "destroyed");
    REQUIRE(op == 7, "the operation was written");
    REQUIRE(xylem_progress(context) == 0, "a destroyed context progresses");
    REQUIRE(xylem_context_world(context) == NULL &&
                strstr(xylem_last_error(), "destroyed") != NULL,
            "a destroyed context has a world");
    REQUIRE(xylem_progress(NULL) == 0 && xylem_context_world(NULL) == NULL,
            "no context progresses or has a world");
    MUST(xylem_context_destroy(NULL));
}

static void mode_handles(job_t *job)
{
    int32_t value = 0;
    xylem_coll_args_t args = good_args(NULL, &value, 1);
    xylem_request_t *request;

    bad_requests(job);
    bad_teams(job);
    busy_team(job);
    args.coll = XYLEM_COLL_BCAST;
    MUST(xylem_coll_init(job->world, &args, &request));
    MUST(xylem_request_start(request));
    MUST(xylem_request_wait(request)); /* goes with the context */
    MUST(xylem_context_destroy(job->context));
    after_the_end(job->context);
    job_begin(job); /* another one in its place */
}

/* ---- segments ---- */

static void mode_parts(job_t *job)
{
    int32_t send[8] = {1, 2, 3, 4, 5, 6, 7, 8}, recv[8];
    xylem_coll_args_t args = good_args(send, recv, 8);
    xylem_request_t *request, *whole;
    uint64_t segments, i;
    size_t bytes;

    MUST(xylem_coll_init(job->world, &args, &whole));
    FAILS(xylem_segment_ready(whole, 0), XYLEM_ERR_INVALID_ARG, "PARTS");
    args.flags = XYLEM_FLAG_PARTS;
    args.segment_bytes = 8;
    MUST(xylem_coll_init(job->world, &args, &request));
    FAILS(xylem_segment_ready(request, 0), XYLEM_ERR_INVALID_ARG, "not active");
    FAILS(xylem_request_segments(request, NULL, &bytes), XYLEM_ERR_INVALID_ARG,
          "NULL");
    MUST(xylem_request_segments(request, &segments, &bytes));
    REQUIRE(segments == 4 && bytes == 8, "%llu segments of %zu bytes",
            (unsigned long long)segments, bytes);
    MUST(xylem_request_start(request));
    FAILS(xylem_segment_ready(request, 4), XYLEM_ERR_INVALID_ARG, "segment 4");
    FAILS(xylem_segment_ready(request, UINT64_MAX), XYLEM_ERR_INVALID_ARG,
          "no segment");
    MUST(xylem_segment_ready(request, 2));
    FAILS(xylem_segment_ready(request, 2), XYLEM_ERR_INVALID_ARG, "before");
    FAILS(xylem_request_start(request), XYLEM_ERR_BUSY, "active");
    FAILS(xylem_request_free(request), XYLEM_ERR_BUSY, "active");
    FAILS(xylem_context_destroy(job->context), XYLEM_ERR_BUSY,
          "active requests: 1");
    REQUIRE(xylem_request_test(request) == XYLEM_IN_PROGRESS,
            "complete without its input");
    for (i = 0; i < 4; i++)
        if (i != 2)
            MUST(xylem_segment_ready(request, i));
    MUST(xylem_request_wait(request));
    REQUIRE(job->rank != 0 || recv[7] == 8 * (int32_t)job->ranks,
            "the sum is %d", recv[7]);
    MUST(xylem_request_free(request));
    MUST(xylem_request_free(whole));
}

/* ---- inside callbacks ---- */

typedef struct inside {
    job_t *job;
    xylem_request_t *other;
    int ran;
} inside_t;

static void inside_done(void *arg, xylem_status_t status)
{
    inside_t *inside = arg;
    xylem_team_t *world = inside->job->world, *team = UNTOUCHED;
    uint32_t zero = 0;

    MUST(status);
    FAILS(xylem_request_wait(inside->other), XYLEM_ERR_IN_CALLBACK, "block");
    FAILS(xylem_bcast(world, &zero, 1, XYLEM_UINT32, 0), XYLEM_ERR_IN_CALLBACK,
          "block");
    FAILS(xylem_reduce(world, &zero, &zero, 1, XYLEM_UINT32, XYLEM_SUM, 0),
          XYLEM_ERR_IN_CALLBACK, "block");
    FAILS(xylem_team_dup(world, &team), XYLEM_ERR_IN_CALLBACK, "block");
    FAILS(xylem_team_split(world, 0, 0, &team), XYLEM_ERR_IN_CALLBACK, "block");
    FAILS(xylem_team_subset(world, &zero, 1, &team), XYLEM_ERR_IN_CALLBACK,
          "block");
    FAILS(xylem_context_destroy(inside->job->context), XYLEM_ERR_IN_CALLBACK,
          "block");
    REQUIRE(xylem_progress(inside->job->context) == 0,
            "progress inside a callback");
    REQUIRE(team == UNTOUCHED, "the team was written");
    inside->ran = 1;
}

static void mode_callbacks(job_t *job)
{
    inside_t inside = {.job = job};
    int32_t value = 0;
    xylem_coll_args_t args = good_args(NULL, &value, 1);
    xylem_request_t *request;

    args.coll = XYLEM_COLL_BCAST;
    MUST(xylem_coll_init(job->world, &args, &inside.other));
    args.on_complete = inside_done;
    args.arg = &inside;
    MUST(xylem_coll_start(job->world, &args, &request));
    MUST(xylem_request_wait(request));
    REQUIRE(inside.ran, "the callback did not run before the wait returned");
    MUST(xylem_request_free(request));
    MUST(xylem_request_free(inside.other));
}

/* ---- operations of the user ---- */

static void number_run(void *result, const void *left, const void *right,
                       size_t count, void *arg)
{
    (void)left;
    (void)right;
    while (count-- > 0)
        ((int32_t *)result)[count] = *(const int32_t *)arg;
}

static void reduce_by(const job_t *job, xylem_op_t op, int32_t wanted)
{
    int32_t send = 0, recv = 0;

    MUST(xylem_reduce(job->world, &send, &recv, 1, XYLEM_INT32, op, 0));
    REQUIRE(job->rank != 0 || recv == wanted, "the operation gave %d, not %d",
            recv, wanted);
}

static void mode_operations(job_t *job)
{
    int32_t first = 11, second = 22, value = 0;
    xylem_op_t op, again = 7;
    xylem_request_t *request = UNTOUCHED;

    REQUIRE(job->ranks > 1, "operations run on two ranks at least");
    FAILS(xylem_op_create(job->context, NULL, NULL, 0, &again),
          XYLEM_ERR_INVALID_ARG, "fn");
    FAILS(xylem_op_create(job->context, number_run, NULL, 6, &again),
          XYLEM_ERR_INVALID_ARG, "flag");
    FAILS(xylem_op_create(job->context, number_run, NULL, 0, NULL),
          XYLEM_ERR_INVALID_ARG, "op_out");
    FAILS(xylem_op_create(NULL, number_run, NULL, 0, &again),
          XYLEM_ERR_INVALID_HANDLE, "context is NULL");
    REQUIRE(again == 7, "the operation was written");
    FAILS(xylem_op_destroy(job->context, XYLEM_SUM), XYLEM_ERR_INVALID_HANDLE,
          "no operation");
    MUST(xylem_op_create(job->context, number_run, &first, 0, &op));
    reduce_by(job, op, first);
    MUST(xylem_op_destroy(job->context, op));
    FAILS(xylem_op_destroy(job->context, op), XYLEM_ERR_INVALID_HANDLE,
          "no operation");
    FAILS(xylem_ireduce(job->world, &value, &first, 1, XYLEM_INT32, op, 0,
                        &request),
          XYLEM_ERR_INVALID_ARG, "operation");
    REQUIRE(request == UNTOUCHED, "the request was written");
    /* A new one may have the old one's number, but not its function. */
    MUST(xylem_op_create(job->context, number_run, &second, 0, &again));
    reduce_by(job, again, second);
    MUST(xylem_op_destroy(job->context, again));
}

/* ---- contexts ---- */

static void create(const char *status, const char *word,
                   const char *const *settings)
{
    const xylem_context_params_t params = {.struct_bytes = sizeof params,
                                           .settings = settings};
    const xylem_context_params_t empty = {.struct_bytes = 0};
    xylem_context_t *context = UNTOUCHED;
    xylem_status_t created;

    FAILS(xylem_context_create(&empty, &context), XYLEM_ERR_INVALID_ARG,
          "struct_bytes");
    created = xylem_context_create(&params, &context);
    REQUIRE(strcmp(xylem_status_name(created), status) == 0,
            "the context says %s (%s), wanted %s", xylem_status_name(created),
            xylem_last_error(), status);
    if (created == XYLEM_OK) {
        MUST(xylem_context_destroy(context));
        return;
    }
    REQUIRE(context == UNTOUCHED, "the context was written");
    REQUIRE(strstr(xylem_last_error(), word) != NULL,
            "'%s' says nothing of '%s'", xylem_last_error(), word);
}

static const struct mode {
    const char *name;
    void (*run)(job_t *job);
} modes[] = {
    {"args", mode_args},
    {"handles", mode_handles},
    {"parts", mode_parts},
    {"callbacks", mode_callbacks},
    {"operations", mode_operations},
    {"blocks", mode_blocks},
    {"contract", mode_contract},
    {"ends", mode_ends},
    {"tasks", mode_tasks},
};

int main(int argc, char **argv)
{
    job_t job;
    size_t i;

    REQUIRE(argc > 1, "usage: misuse MODE [ARGUMENT...]");
    if (strcmp(argv[1], "create") == 0) {
        REQUIRE(argc > 3, "usage: misuse create STATUS WORD [SETTING...]");
        create(argv[2], argv[3], (const char *const *)&argv[4]);
        return EXIT_SUCCESS;
    }
    for (i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            break;
    REQUIRE(i < sizeof modes / sizeof modes[0], "there is no mode %s", argv[1]);
    job_begin(&job);
    modes[i].run(&job);
    job_end(&job);
    return EXIT_SUCCESS;
}
