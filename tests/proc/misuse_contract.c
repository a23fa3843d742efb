/* Mode contract of `misuse`: structures of other releases, flags that are
 * unknown or mean nothing, names, and a process that forks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/proc/misuse.h"

#define REFUSED(word, ...)                                                     \
    do {                                                                       \
        xylem_coll_args_t bad = good;                                          \
        __VA_ARGS__;                                                           \
        misuse_refused(__FILE__, __LINE__, world, &bad, XYLEM_ERR_INVALID_ARG, \
                       word);                                                  \
    } while (0)

static xylem_coll_args_t sum_of(const int32_t *send, int32_t *recv)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;

    args.coll = XYLEM_COLL_ALLREDUCE;
    args.send = send;
    args.recv = recv;
    args.count = 4;
    args.type = XYLEM_INT32;
    args.op = XYLEM_SUM;
    return args;
}

static void no_segment(void *arg, uint64_t segment, size_t offset, size_t bytes)
{
    (void)arg;
    (void)offset;
    (void)bytes;
    job_die(__FILE__, __LINE__, "segment %llu was told",
            (unsigned long long)segment);
}

static void bad_flags(const job_t *job)
{
    int32_t send[4] = {0}, recv[4] = {0};
    const xylem_coll_args_t good = sum_of(send, recv);
    xylem_coll_args_t args = good;
    xylem_team_t *world = job->world;

    REFUSED("no flag 0x40000000", bad.flags = UINT32_C(1) << 30);
    REFUSED("no flag 0x80000000", bad.flags = UINT32_C(0x80000002));
    REFUSED("input of allgather", bad.coll = XYLEM_COLL_ALLGATHER,
            bad.flags = XYLEM_FLAG_PARTS);
    REFUSED("input of barrier", bad.coll = XYLEM_COLL_BARRIER,
            bad.flags = XYLEM_FLAG_PARTS);
    REFUSED("bcast combines nothing", bad.coll = XYLEM_COLL_BCAST,
            bad.flags = XYLEM_FLAG_ARRIVAL_ORDER);
    REFUSED("result of scan", bad.coll = XYLEM_COLL_SCAN,
            bad.on_segment = no_segment);
    args.flags = XYLEM_FLAG_PARTS | XYLEM_FLAG_AUTOFREE;
    FAILS(xylem_coll_start(world, &args, NULL), XYLEM_ERR_INVALID_ARG,
          "nobody could release");
    args.flags = XYLEM_FLAG_AUTOFREE;
    FAILS(xylem_coll_run(world, &args, NULL, NULL), XYLEM_ERR_INVALID_ARG,
          "what is waited for");
    args.flags = XYLEM_FLAG_PARTS;
    FAILS(xylem_coll_run(world, &args, NULL, NULL), XYLEM_ERR_INVALID_ARG,
          "what is waited for");
    args.flags |= XYLEM_FLAG_AUTOFREE;
    args.coll = XYLEM_COLL_COUNT;
    FAILS(xylem_coll_start(world, &args, NULL), XYLEM_ERR_INVALID_ARG,
          "collective");
    FAILS(xylem_coll_start(NULL, &args, NULL), XYLEM_ERR_INVALID_HANDLE,
          "team is NULL");
}

/* What the first release had ends with `algorithm`. */
enum {
    FIRST_ARGS_BYTES =
        offsetof(xylem_coll_args_t, algorithm) + sizeof(const char *)
};

/* Arguments as other releases have them: shorter, or with more members. */
static void other_releases(const job_t *job)
{
    int32_t send[4] = {1, 2, 3, 4}, recv[4] = {0};
    struct {
        xylem_coll_args_t args;
        uint64_t more[2];
    } grown = {.args = sum_of(send, recv)};
    xylem_request_t *request = UNTOUCHED;

    grown.args.struct_bytes = sizeof grown;
    MUST(xylem_coll_start(job->world, &grown.args, &request));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
    REQUIRE(recv[3] == 4 * (int32_t)job->ranks, "the sum is %d", recv[3]);
    request = UNTOUCHED;
    grown.more[1] = 1;
    FAILS(xylem_coll_start(job->world, &grown.args, &request),
          XYLEM_ERR_UNSUPPORTED, "compiled for a newer one");
    FAILS(xylem_coll_init(job->world, &grown.args, &request),
          XYLEM_ERR_UNSUPPORTED, "members");
    grown.args.struct_bytes = SIZE_MAX;
    FAILS(xylem_coll_start(job->world, &grown.args, &request),
          XYLEM_ERR_INVALID_ARG, "struct_bytes");
    grown.args.struct_bytes = FIRST_ARGS_BYTES - 1;
    FAILS(xylem_coll_start(job->world, &grown.args, &request),
          XYLEM_ERR_INVALID_ARG, "struct_bytes");
    REQUIRE(request == UNTOUCHED, "the request was written");
    grown.args.struct_bytes = FIRST_ARGS_BYTES;
    MUST(xylem_coll_start(job->world, &grown.args, &request));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
}

static void names(void)
{
    REQUIRE(strcmp(xylem_coll_name(XYLEM_COLL_BCAST), "bcast") == 0 &&
                strcmp(xylem_coll_name(XYLEM_COLL_REDUCE_SCATTER_BLOCK),
                       "reduce_scatter_block") == 0 &&
                xylem_coll_name(XYLEM_COLL_COUNT) == NULL,
            "names of collectives");
    REQUIRE(strcmp(xylem_type_name(XYLEM_FLOAT64), "float64") == 0 &&
                strcmp(xylem_type_name(XYLEM_TYPE_BLOCK(3)), "block") == 0 &&
                xylem_type_name(XYLEM_TYPE_COUNT) == NULL,
            "names of types");
    REQUIRE(strcmp(xylem_op_name(XYLEM_MAXLOC), "maxloc") == 0 &&
                xylem_op_name(XYLEM_OP_COUNT) == NULL,
            "names of operations");
}

static void settings(void)
{
    char text[16] = "untouched";

    FAILS(xylem_setting_get("SPEED", text, sizeof text), XYLEM_ERR_INVALID_ARG,
          "SPEED");
    FAILS(xylem_setting_get(NULL, text, sizeof text), XYLEM_ERR_INVALID_ARG,
          "no setting");
    FAILS(xylem_setting_get("SPIN_US", NULL, 8), XYLEM_ERR_INVALID_ARG, "NULL");
    FAILS(xylem_setting_get("SPIN_US", text, 4), XYLEM_ERR_TRUNCATED,
          "4 bytes");
    REQUIRE(strcmp(text, "untouched") == 0, "the text was written");
    MUST(xylem_setting_get("SPIN_US", text, 5));
    REQUIRE(strcmp(text, "1000") == 0, "SPIN_US is %s", text);
    MUST(xylem_setting_get("MPI_COLLECTIVES", text, sizeof text));
    REQUIRE(strcmp(text, "auto") == 0, "MPI_COLLECTIVES is %s", text);
}

/* ---- many requests ---- */

static void many_refused(const job_t *job)
{
    xylem_request_t *requests[2] = {NULL, NULL};
    size_t index = 7;

    FAILS(xylem_request_wait_any(requests, 2, &index), XYLEM_ERR_INVALID_ARG,
          "no request");
    FAILS(xylem_request_wait_any(NULL, 2, &index), XYLEM_ERR_INVALID_ARG,
          "no request");
    MUST(xylem_request_wait_all(requests, 2));
    MUST(xylem_request_wait_all(NULL, 0));
    MUST(xylem_ibarrier(job->world, &requests[1]));
    FAILS(xylem_request_wait_any(requests, 2, NULL), XYLEM_ERR_INVALID_ARG,
          "index_out");
    MUST(xylem_request_wait_all(requests, 2));
    MUST(xylem_request_free(requests[1]));
    FAILS(xylem_request_wait_any(requests, 2, &index), XYLEM_ERR_INVALID_HANDLE,
          "freed");
    FAILS(xylem_request_wait_all(requests, 2), XYLEM_ERR_INVALID_HANDLE,
          "freed");
    REQUIRE(index == 7, "the index was written");
}

/* Each is found once; the one that waits for its parts is the last. */
static void many(const job_t *job)
{
    int32_t send[4] = {1, 2, 3, 4}, recv[4], values[3] = {0};
    xylem_coll_args_t args = sum_of(send, recv);
    xylem_request_t *requests[4] = {NULL};
    size_t index = 9, found[4] = {0}, i;

    args.flags = XYLEM_FLAG_PARTS;
    MUST(xylem_coll_start(job->world, &args, &requests[0]));
    for (i = 1; i < 4; i++)
        MUST(xylem_ibcast(job->world, &values[i - 1], 1, XYLEM_INT32, 0,
                          &requests[i]));
    for (i = 0; i < 4; i++) {
        if (i == 3)
            MUST(xylem_segment_ready(requests[0], 0));
        MUST(xylem_request_wait_any(requests, 4, &index));
        REQUIRE(index < 4 && found[index]++ == 0 && (i < 3) == (index != 0),
                "request %zu came as number %zu", index, i);
        MUST(xylem_request_free(requests[index]));
        requests[index] = NULL;
    }
    REQUIRE(recv[3] == 4 * (int32_t)job->ranks, "the sum is %d", recv[3]);
}

/* ---- messages ---- */

typedef struct heard {
    unsigned messages;
    char text[200];
} heard_t;

static void hear(void *arg, const char *level, const char *text)
{
    heard_t *heard = arg;

    heard->messages++;
    snprintf(heard->text, sizeof heard->text, "%s|%s", level, text);
}

/* XYLEM_LOG=none of the other modes is for standard error only. */
static void messages(const job_t *job)
{
    heard_t heard = {0, ""};
    char level[8];

    MUST(xylem_setting_get("LOG", level, sizeof level));
    xylem_log_set(hear, &heard);
    FAILS(xylem_request_wait(NULL), XYLEM_ERR_INVALID_HANDLE, "NULL");
    xylem_log_set(NULL, NULL);
    if (strcmp(level, "none") == 0) {
        REQUIRE(heard.messages == 0, "a message: %s", heard.text);
        return;
    }
    REQUIRE(heard.messages == 1 && strstr(heard.text, "error|rank ") != NULL &&
                strstr(heard.text, "request is NULL") != NULL &&
                strchr(heard.text, '\n') == NULL,
            "%u messages: %s (rank %u)", heard.messages, heard.text, job->rank);
}

/* A busy object is an answer that a program may count on. */
static void busy_is_quiet(const job_t *job)
{
    int32_t send[4] = {1, 2, 3, 4}, recv[4];
    xylem_coll_args_t args = sum_of(send, recv);
    heard_t heard = {0, ""};
    xylem_request_t *request;

    args.flags = XYLEM_FLAG_PARTS;
    MUST(xylem_coll_start(job->world, &args, &request));
    xylem_log_set(hear, &heard);
    FAILS(xylem_request_free(request), XYLEM_ERR_BUSY, "active");
    FAILS(xylem_request_start(request), XYLEM_ERR_BUSY, "active");
    FAILS(xylem_context_destroy(job->context), XYLEM_ERR_BUSY, "active");
    xylem_log_set(NULL, NULL);
    REQUIRE(heard.messages == 0, "a message: %s", heard.text);
    MUST(xylem_segment_ready(request, 0));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
}

/* The child may do nothing but go; the parent does not notice. */
static void forking(const job_t *job)
{
    static int32_t send[100000], recv[100000];
    xylem_request_t *request;
    int state = 1, i;
    pid_t child;

    MUST(xylem_iallreduce(job->world, send, recv, 100000, XYLEM_INT32,
                          XYLEM_SUM, &request));
    child = fork();
    if (child == 0)
        _exit(EXIT_SUCCESS);
    REQUIRE(child > 0, "cannot fork");
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
    REQUIRE(waitpid(child, &state, 0) == child && state == 0,
            "the child ended with %d", state);
    for (i = 0; i < 3; i++)
        MUST(xylem_allreduce(job->world, send, recv, 100000, XYLEM_INT32,
                             XYLEM_SUM));
}

void mode_contract(job_t *job)
{
    bad_flags(job);
    other_releases(job);
    names();
    settings();
    many_refused(job);
    many(job);
    messages(job);
    busy_is_quiet(job);
    forking(job);
}
