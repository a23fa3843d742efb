/* Remote tasks in words: ranks that this rank waits for, or that wait for
 * it. */
#include <inttypes.h>

#include "collectives/tasks/table.h"

static uint32_t length_of(const struct xyl_task_calls *calls)
{
    const xyl_task_call_t *call;
    uint32_t count = 0;

    TAILQ_FOREACH(call, calls, others)
    count++;
    return count;
}

/* Tasks that this rank has sent to the peer. */
static unsigned describe_peer(const xylem_tasks_t *tasks,
                              const xyl_task_peer_t *peer, FILE *file)
{
    uint64_t all = UINT64_MAX >> (64 - xyl_task_credits_of(tasks, peer->rank));
    unsigned sent = (unsigned)__builtin_popcountll(all & ~peer->free_ids);
    uint32_t waiting = length_of(&peer->waiting);
    const char *sep = ": indices";
    uint32_t id;

    if (sent + waiting == 0)
        return 0;
    fprintf(file, "    rank %u has not ended %u, %u more wait for credit",
            peer->rank, sent, waiting);
    for (id = 0; id < XYLEM_TASK_CREDITS_MAX; id++)
        if (peer->calls[id] != NULL) {
            fprintf(file, "%s %" PRIu32, sep,
                    peer->calls[id]->message.header.index);
            sep = ",";
        }
    fputc('\n', file);
    return sent + waiting;
}

/* A task that this rank has been sent. */
static unsigned describe_served(const xyl_served_t *served, FILE *file)
{
    const xyl_task_header_t *header = &served->message.header;

    fprintf(file, "    here: index %" PRIu32 " of rank %" PRIu32 ", %s\n",
            header->index, header->source,
            served->state == XYL_SERVED_LANDING ? "its payload is under way"
            : served->state == XYL_SERVED_HANDED
                ? "handed over or running, and not ended"
                : "is to be looked at");
    return 1;
}

unsigned xyl_describe_tasks(const xylem_context_t *context, FILE *file)
{
    const xyl_tasks_context_t *state = xyl_tasks_of_context(context);
    const xylem_tasks_t *tasks;
    const xyl_served_t *served;
    unsigned count = 0;
    uint32_t rank;

    LIST_FOREACH(tasks, &state->tables, others)
    {
        fprintf(file,
                "  tasks on team %" PRIx64 " of %u ranks, here rank %u%s\n",
                tasks->team->key, tasks->size, tasks->team->rank,
                tasks->closing != NULL ? ", closing" : "");
        for (rank = 0; rank < tasks->size; rank++)
            if (tasks->peers[rank] != NULL)
                count += describe_peer(tasks, tasks->peers[rank], file);
        TAILQ_FOREACH(served, &tasks->served, others)
        count += describe_served(served, file);
    }
    return count;
}
