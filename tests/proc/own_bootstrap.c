/* A bootstrap of the user's own: four processes, connected by sockets to the
 * first of them, which gathers and hands out.
 *
 *   own_bootstrap MODE [RANK SOCKET]
 *
 * good runs collectives; abort ends while the word of an aborted team is still
 * on its way to ranks that nobody has sent anything; in the other modes rank
 * 1's words about itself are changed on their way to all, or the means of the
 * user fails, and every rank must refuse with the right status and words. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum {
    RANKS = 4,
    BOUND_S = 100,
    BLOB_BYTES_MIN = 64,
    SLOW_US = 50000,
    TURNS_MAX = 100000000
};

typedef struct way {
    const char *name;
    xylem_status_t status;
    const char *word;
    /* May change what was gathered; returns what the allgather returns. */
    xylem_status_t (*change)(void *all, size_t bytes);
} way_t;

typedef struct link {
    uint32_t rank;
    int sockets[RANKS]; /* rank 0: to the others; others: [0] */
    const way_t *mode;
} link_t;

/* ---- changes; blobs begin with magic (4 bytes), major, minor, patch, abi (2
 * each), build (4) ---- */

static xylem_status_t change_nothing(void *all, size_t bytes)
{
    (void)all;
    (void)bytes;
    return XYLEM_OK;
}

static xylem_status_t change_version(void *all, size_t bytes)
{
    if (bytes >= BLOB_BYTES_MIN)
        ((char *)all)[bytes + 6]++;
    return XYLEM_OK;
}

static xylem_status_t change_magic(void *all, size_t bytes)
{
    if (bytes >= BLOB_BYTES_MIN)
        ((char *)all)[bytes]++;
    return XYLEM_OK;
}

static xylem_status_t change_build(void *all, size_t bytes)
{
    if (bytes >= BLOB_BYTES_MIN)
        ((char *)all)[bytes + 12]++;
    return XYLEM_OK;
}

static xylem_status_t change_abi(void *all, size_t bytes)
{
    if (bytes >= BLOB_BYTES_MIN)
        ((char *)all)[bytes + 10]++;
    return XYLEM_OK;
}

/* The length of the address, behind these. */
static xylem_status_t change_length(void *all, size_t bytes)
{
    if (bytes >= BLOB_BYTES_MIN)
        memset((char *)all + bytes + 16, 0xff, sizeof(uint32_t));
    return XYLEM_OK;
}

static xylem_status_t forget_all(void *all, size_t bytes)
{
    memset(all, 0, RANKS * bytes);
    return XYLEM_OK;
}

static xylem_status_t break_down(void *all, size_t bytes)
{
    (void)all;
    (void)bytes;
    return XYLEM_ERR_TIMED_OUT;
}

static const way_t modes[] = {
    {"good", XYLEM_OK, "", change_nothing},
    {"abort", XYLEM_OK, "", change_nothing},
    {"version", XYLEM_ERR_VERSION, "install one version", change_version},
    {"build", XYLEM_ERR_VERSION, "another build", change_build},
    {"abi", XYLEM_ERR_VERSION, "another build", change_abi},
    {"magic", XYLEM_ERR_VERSION, "language", change_magic},
    {"length", XYLEM_ERR_BOOTSTRAP, "incomplete", change_length},
    {"zero", XYLEM_ERR_BOOTSTRAP, "allgather", forget_all},
    {"break", XYLEM_ERR_BOOTSTRAP, "time limit", break_down},
};

/* ---- the user's allgather ---- */

static void put(int fd, const void *data, size_t bytes)
{
    const char *at = data;

    while (bytes > 0) {
        ssize_t done = send(fd, at, bytes, MSG_NOSIGNAL);
        REQUIRE(done > 0, "a socket does not take data");
        at += done;
        bytes -= (size_t)done;
    }
}

static void take(int fd, void *data, size_t bytes)
{
    char *at = data;

    while (bytes > 0) {
        ssize_t done = recv(fd, at, bytes, 0);
        REQUIRE(done > 0, "a socket gives no data");
        at += done;
        bytes -= (size_t)done;
    }
}

static xylem_status_t allgather(void *arg, const void *mine, void *all,
                                size_t bytes)
{
    const link_t *link = arg;
    char *rows = all;
    uint32_t i;

    if (link->rank != 0) {
        put(link->sockets[0], mine, bytes);
        take(link->sockets[0], all, RANKS * bytes);
    } else {
        memcpy(rows, mine, bytes);
        for (i = 1; i < RANKS; i++)
            take(link->sockets[i], rows + i * bytes, bytes);
        for (i = 1; i < RANKS; i++)
            put(link->sockets[i], all, RANKS * bytes);
    }
    return link->mode->change(all, bytes);
}

/* ---- one rank ---- */

static void use(xylem_context_t *context, uint32_t rank)
{
    xylem_team_t *world = xylem_context_world(context);
    uint32_t values[5000], sum = 0, one = 1, i;

    REQUIRE(xylem_team_rank(world) == rank && xylem_team_size(world) == RANKS,
            "rank %u of %u", xylem_team_rank(world), xylem_team_size(world));
    for (i = 0; i < 5000; i++)
        values[i] = rank == 1 ? i * 3 : 0;
    MUST(xylem_bcast(world, values, 5000, XYLEM_UINT32, 1));
    for (i = 0; i < 5000; i++)
        REQUIRE(values[i] == i * 3, "element %u is %u", i, values[i]);
    MUST(xylem_reduce(world, &one, &sum, 1, XYLEM_UINT32, XYLEM_SUM, 2));
    REQUIRE(rank != 2 || sum == RANKS, "the sum is %u", sum);
    MUST(xylem_context_destroy(context));
}

static void nothing_is_left(void *arg, const char *level, const char *text)
{
    (void)arg;
    (void)level;
    REQUIRE(strstr(text, "undelivered") == NULL, "it says: %s", text);
}

/* Rank 3 tells all. Rank 2 passes it on to 3 and 0, and has nothing left to do
 * but to meet the others when rank 1, which takes its turns slowly, passes it
 * on to rank 2. */
static void end_with_news(xylem_context_t *context, uint32_t rank)
{
    xylem_team_t *team = xylem_context_world(context);
    uint32_t turns;

    if (rank == RANKS - 1)
        MUST(xylem_team_abort(team, "so be it"));
    for (turns = 0;
         turns < TURNS_MAX && xylem_team_error(team, NULL) == XYLEM_OK;
         turns++) {
        if (rank == 1)
            usleep(SLOW_US);
        xylem_progress(context);
    }
    REQUIRE(xylem_team_error(team, NULL) == XYLEM_ERR_ABORTED,
            "the team has not failed");
    MUST(xylem_context_destroy(context));
}

static void refuse(xylem_bootstrap_t bootstrap)
{
    xylem_context_params_t params = {.struct_bytes = sizeof params,
                                     .bootstrap = &bootstrap};
    xylem_context_t *context = NULL;

    bootstrap.rank = RANKS;
    REQUIRE(xylem_context_create(&params, &context) == XYLEM_ERR_INVALID_ARG &&
                strstr(xylem_last_error(), "rank 4") != NULL,
            "a rank out of range: %s", xylem_last_error());
    bootstrap.rank = 0;
    bootstrap.struct_bytes = 0;
    REQUIRE(xylem_context_create(&params, &context) == XYLEM_ERR_INVALID_ARG &&
                strstr(xylem_last_error(), "struct_bytes") != NULL,
            "no struct_bytes: %s", xylem_last_error());
    bootstrap.struct_bytes = sizeof bootstrap - sizeof bootstrap.arg;
    REQUIRE(xylem_context_create(&params, &context) == XYLEM_ERR_INVALID_ARG &&
                strstr(xylem_last_error(), "struct_bytes") != NULL,
            "less than any release has: %s", xylem_last_error());
    bootstrap.struct_bytes = sizeof bootstrap;
    bootstrap.allgather = NULL;
    REQUIRE(xylem_context_create(&params, &context) == XYLEM_ERR_INVALID_ARG &&
                strstr(xylem_last_error(), "allgather") != NULL,
            "no allgather: %s", xylem_last_error());
    REQUIRE(context == NULL, "the context was written");
}

static void rank_main(link_t *link)
{
    xylem_bootstrap_t bootstrap = {.struct_bytes = sizeof bootstrap,
                                   .rank = link->rank,
                                   .ranks = RANKS,
                                   .allgather = allgather,
                                   .arg = link};
    xylem_context_params_t params = {.struct_bytes = sizeof params,
                                     .bootstrap = &bootstrap};
    xylem_context_t *context = NULL;
    xylem_status_t status;

    alarm(BOUND_S);
    job_rank_set(link->rank);
    xylem_log_set(nothing_is_left, NULL);
    refuse(bootstrap);
    status = xylem_context_create(&params, &context);
    REQUIRE(status == link->mode->status, "%s (%s), wanted %s",
            xylem_status_name(status), xylem_last_error(),
            xylem_status_name(link->mode->status));
    if (status == XYLEM_OK) {
        if (strcmp(link->mode->name, "abort") == 0)
            end_with_news(context, link->rank);
        else
            use(context, link->rank);
        return;
    }
    REQUIRE(context == NULL, "the context was written");
    REQUIRE(strstr(xylem_last_error(), link->mode->word) != NULL,
            "'%s' says nothing of '%s'", xylem_last_error(), link->mode->word);
}

/* Rank 0 keeps the first end of each pair, the child the second. The child is
 * this program anew: UCX has a thread from before main on, and a process forked
 * from one with threads may find locks that nobody will ever release. */
static pid_t child_start(link_t *hub, uint32_t rank)
{
    char rank_word[16], socket_word[16];
    int pair[2];
    pid_t pid;

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0,
            "no sockets");
    snprintf(rank_word, sizeof rank_word, "%u", rank);
    snprintf(socket_word, sizeof socket_word, "%d", pair[1]);
    pid = fork();
    REQUIRE(pid >= 0, "cannot fork");
    if (pid == 0) {
        fcntl(pair[1], F_SETFD, 0);
        execl("/proc/self/exe", "own_bootstrap", hub->mode->name, rank_word,
              socket_word, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    close(pair[1]);
    hub->sockets[rank] = pair[0];
    return pid;
}

static const way_t *mode_named(const char *name)
{
    uint32_t i;

    for (i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(modes[i].name, name) == 0)
            return &modes[i];
    return NULL;
}

int main(int argc, char **argv)
{
    link_t link = {.rank = 0};
    int code, failed = 0;
    pid_t pids[RANKS];
    uint32_t i;

    link.mode = argc > 1 ? mode_named(argv[1]) : NULL;
    REQUIRE(link.mode != NULL, "usage: own_bootstrap MODE [RANK SOCKET]");
    if (argc == 4) {
        link.rank = (uint32_t)atoi(argv[2]);
        link.sockets[0] = atoi(argv[3]);
        rank_main(&link);
        return EXIT_SUCCESS;
    }
    for (i = 1; i < RANKS; i++)
        pids[i] = child_start(&link, i);
    rank_main(&link);
    for (i = 1; i < RANKS; i++)
        failed |= waitpid(pids[i], &code, 0) != pids[i] || code != 0;
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
