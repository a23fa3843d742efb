/* Blobs, and the bootstraps without a launcher: by the user's allgather, and
 * for a single process. */
#include "runtime/job/bootstrap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"

/* ---- blobs ---- */

xylem_status_t xyl_blobs_init(xyl_blobs_t *blobs, uint32_t ranks)
{
    blobs->memory = NULL;
    blobs->offsets = calloc((size_t)ranks + 1, sizeof *blobs->offsets);
    return blobs->offsets == NULL ? XYLEM_ERR_NO_MEMORY : XYLEM_OK;
}

xylem_status_t xyl_blobs_append(xyl_blobs_t *blobs, uint32_t rank,
                                const void *data, size_t bytes)
{
    /* 8 keeps every blob aligned for the structures inside. */
    size_t begin = blobs->offsets[rank], end = begin + ((bytes + 7) & ~7UL);
    char *memory = realloc(blobs->memory, end != 0 ? end : 1);

    if (memory == NULL)
        return XYLEM_ERR_NO_MEMORY;
    memcpy(memory + begin, data, bytes);
    memset(memory + begin + bytes, 0, end - begin - bytes);
    blobs->memory = memory;
    blobs->offsets[rank + 1] = end;
    return XYLEM_OK;
}

void xyl_blobs_fini(xyl_blobs_t *blobs)
{
    free(blobs->memory);
    free(blobs->offsets);
    *blobs = (xyl_blobs_t){NULL, NULL};
}

/* ---- an exchange, and held lines of the log ---- */

/* The result of xyl_log_held. It lies at the end of a blob, since the first
 * fields of a blob are equal in all versions. */
typedef uint64_t lines_t;

/* Takes the ranks' lines_t off their blobs. 1: a lower rank has the same lines
 * as this one. */
static int lines_take(xyl_blobs_t *all, uint32_t rank, uint32_t ranks,
                      lines_t mine)
{
    size_t begin = 0, end = 0, bytes;
    int is_said_elsewhere = 0;
    lines_t theirs;
    uint32_t i;

    for (i = 0; i < ranks; i++) {
        bytes = all->offsets[i + 1] - begin;
        if (bytes >= sizeof theirs) {
            bytes -= sizeof theirs;
            memcpy(&theirs, all->memory + begin + bytes, sizeof theirs);
            is_said_elsewhere |= i < rank && theirs == mine;
        }
        memmove(all->memory + end, all->memory + begin, bytes);
        begin = all->offsets[i + 1];
        end += bytes;
        all->offsets[i + 1] = end;
    }
    return is_said_elsewhere;
}

xylem_status_t xyl_bootstrap_exchange(xyl_bootstrap_t *bootstrap,
                                      const void *mine, size_t bytes,
                                      xyl_blobs_t *all_out)
{
    size_t padded = (bytes + 7) & ~(size_t)7;
    lines_t lines = xyl_log_held();
    char *both = calloc(1, padded + sizeof lines);
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;

    if (both != NULL) {
        memcpy(both, mine, bytes);
        memcpy(both + padded, &lines, sizeof lines);
        status = bootstrap->ops->exchange(bootstrap, both,
                                          padded + sizeof lines, all_out);
    }
    free(both);
    xyl_log_tell(status == XYLEM_OK &&
                 lines_take(all_out, bootstrap->rank, bootstrap->ranks, lines));
    return status;
}

/* ---- ranks that have gone ---- */

xylem_status_t xyl_bootstrap_miss(xyl_bootstrap_t *bootstrap, uint32_t rank)
{
    bootstrap->culprit = rank;
    return xyl_fail(XYLEM_ERR_PROC_FAILED,
                    "rank %u has died, or has ended, before its context was "
                    "made",
                    rank);
}

/* ---- the user's allgather ---- */

typedef struct user_bootstrap {
    xyl_bootstrap_t base;
    xylem_bootstrap_t user;
} user_bootstrap_t;

static xylem_status_t user_allgather(xyl_bootstrap_t *bootstrap,
                                     const void *mine, void *all, size_t bytes)
{
    const xylem_bootstrap_t *user =
        &((user_bootstrap_t *)(void *)bootstrap)->user;
    xylem_status_t status = user->allgather(user->arg, mine, all, bytes);

    if (status == XYLEM_OK)
        return XYLEM_OK;
    bootstrap->is_broken = 1;
    return xyl_fail(XYLEM_ERR_BOOTSTRAP,
                    "the allgather of the bootstrap failed: %s",
                    xylem_status_text(status));
}

static size_t largest(const uint64_t *sizes, uint32_t count)
{
    size_t most = 0;
    uint32_t i;

    for (i = 0; i < count; i++)
        if (sizes[i] > most)
            most = sizes[i];
    return most;
}

/* Gathers the sizes first, then all blobs, padded to the largest. */
static xylem_status_t user_exchange(xyl_bootstrap_t *bootstrap,
                                    const void *mine, size_t bytes,
                                    xyl_blobs_t *all_out)
{
    uint64_t size = bytes, *sizes = calloc(bootstrap->ranks, sizeof *sizes);
    char *padded = NULL, *gathered = NULL;
    xyl_blobs_t all = {NULL, NULL};
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;
    size_t most;
    uint32_t i;

    if (sizes == NULL || xyl_blobs_init(&all, bootstrap->ranks) != XYLEM_OK)
        goto out;
    status = user_allgather(bootstrap, &size, sizes, sizeof size);
    if (status == XYLEM_OK && sizes[bootstrap->rank] != bytes)
        status = xyl_fail(XYLEM_ERR_BOOTSTRAP,
                          "the allgather of the bootstrap did not bring rank "
                          "%u what it gave itself",
                          bootstrap->rank);
    if (status != XYLEM_OK)
        goto out;
    most = largest(sizes, bootstrap->ranks);
    assert(most >= bytes && bytes > 0); /* `sizes` has this rank's own */
    padded = calloc(1, most);
    gathered = calloc(bootstrap->ranks, most);
    status = XYLEM_ERR_NO_MEMORY;
    if (padded == NULL || gathered == NULL)
        goto out;
    memcpy(padded, mine, bytes);
    status = user_allgather(bootstrap, padded, gathered, most);
    for (i = 0; i < bootstrap->ranks && status == XYLEM_OK; i++)
        status = xyl_blobs_append(&all, i, gathered + i * most, sizes[i]);
out:
    free(gathered);
    free(padded);
    free(sizes);
    if (status == XYLEM_OK)
        *all_out = all;
    else
        xyl_blobs_fini(&all);
    return status;
}

static xylem_status_t user_fence(xyl_bootstrap_t *bootstrap)
{
    char mine = 0, *all = calloc(bootstrap->ranks, 1);
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;

    if (all != NULL)
        status = user_allgather(bootstrap, &mine, all, 1);
    free(all);
    return status;
}

static void user_destroy(xyl_bootstrap_t *bootstrap)
{
    free(bootstrap);
}

static const xyl_bootstrap_ops_t user_ops = {
    .fence_blocks = 1,
    .exchange = user_exchange,
    .fence_start = user_fence,
    .destroy = user_destroy,
};

static xylem_status_t user_create(const xylem_bootstrap_t *user,
                                  xyl_bootstrap_t **bootstrap_out)
{
    user_bootstrap_t *bootstrap = calloc(1, sizeof *bootstrap);

    if (bootstrap == NULL)
        return XYLEM_ERR_NO_MEMORY;
    bootstrap->base.ops = &user_ops;
    bootstrap->base.culprit = XYL_NO_CULPRIT;
    bootstrap->base.rank = user->rank;
    bootstrap->base.ranks = user->ranks;
    gethostname(bootstrap->base.node, sizeof bootstrap->base.node - 1);
    bootstrap->user = *user;
    *bootstrap_out = &bootstrap->base;
    return XYLEM_OK;
}

xylem_status_t xyl_bootstrap_user_create(const xylem_bootstrap_t *given,
                                         xyl_bootstrap_t **bootstrap_out)
{
    xylem_bootstrap_t user;
    xylem_status_t status = xyl_members_read(
        "xylem_context_create", "bootstrap", given,
        XYL_BYTES_UP_TO(xylem_bootstrap_t, arg), &user, sizeof user);

    if (status != XYLEM_OK)
        return status;
    if (user.allgather == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "bootstrap: allgather is not set");
    if (user.ranks == 0 || user.rank >= user.ranks)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "bootstrap: rank %u is outside 0 ... ranks - 1 "
                        "(ranks is %u)",
                        user.rank, user.ranks);
    return user_create(&user, bootstrap_out);
}

/* ---- one process ---- */

static xylem_status_t allgather_alone(void *arg, const void *mine, void *all,
                                      size_t bytes)
{
    (void)arg;
    memcpy(all, mine, bytes);
    return XYLEM_OK;
}

xylem_status_t xyl_bootstrap_single_create(xyl_bootstrap_t **bootstrap_out)
{
    const xylem_bootstrap_t alone = {.ranks = 1, .allgather = allgather_alone};

    return user_create(&alone, bootstrap_out);
}
