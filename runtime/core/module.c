#include "runtime/core/module.h"

#include "runtime/core/team.h"

enum { LINE_BYTES = 64 };

/* Lays each state on cache lines of its own. Returns where the last one ends;
 * sets `attached` unless it is NULL. */
static size_t lay_out(const xyl_modules_t *modules, xyl_owner_t owner,
                      size_t bytes, char *memory, void **attached)
{
    size_t at = bytes + modules->count * sizeof *attached, state_bytes;
    unsigned i;

    for (i = 0; i < modules->count; i++) {
        state_bytes =
            modules->all[i] == NULL ? 0 : modules->all[i]->bytes[owner];
        if (state_bytes == 0)
            continue;
        at = (at + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
        if (attached != NULL)
            attached[i] = memory + at;
        at += state_bytes;
    }
    return at;
}

size_t xyl_modules_bytes(const xyl_modules_t *modules, xyl_owner_t owner,
                         size_t bytes)
{
    return lay_out(modules, owner, bytes, NULL, NULL);
}

void xyl_modules_attach(const xyl_modules_t *modules, xyl_owner_t owner,
                        void *memory, size_t bytes, void **attached)
{
    (void)lay_out(modules, owner, bytes, memory, attached);
}

/* The statement that follows is for each module with this function. */
#define UPWARDS(i, modules, function)                                          \
    for ((i) = 0; (i) < (modules)->count; (i)++)                               \
        if ((modules)->all[i] != NULL && (modules)->all[i]->function != NULL)
#define DOWNWARDS(i, modules, function)                                        \
    for ((i) = (modules)->count; (i)-- > 0;)                                   \
        if ((modules)->all[i] != NULL && (modules)->all[i]->function != NULL)

xylem_status_t xyl_modules_context_begins(xylem_context_t *context)
{
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    UPWARDS(i, context->modules, context_begins)
    if (status == XYLEM_OK)
        status = context->modules->all[i]->context_begins(context);
    return status;
}

xylem_status_t xyl_modules_context_joins(xylem_context_t *context)
{
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    UPWARDS(i, context->modules, context_joins)
    if (status == XYLEM_OK)
        status = context->modules->all[i]->context_joins(context);
    return status;
}

void xyl_modules_context_ends(xylem_context_t *context)
{
    unsigned i;

    DOWNWARDS(i, context->modules, context_ends)
    context->modules->all[i]->context_ends(context);
}

void xyl_modules_teams_failed(xylem_context_t *context)
{
    unsigned i;

    UPWARDS(i, context->modules, teams_failed)
    context->modules->all[i]->teams_failed(context);
}

void xyl_modules_ranks_died(xylem_context_t *context)
{
    unsigned i;

    DOWNWARDS(i, context->modules, ranks_died)
    context->modules->all[i]->ranks_died(context);
}

unsigned xyl_modules_describe(const xylem_context_t *context, FILE *file)
{
    unsigned i, count = 0;

    UPWARDS(i, context->modules, describe)
    count += context->modules->all[i]->describe(context, file);
    return count;
}

unsigned xyl_modules_held(const xylem_context_t *context)
{
    unsigned i, count = 0;

    UPWARDS(i, context->modules, held)
    count += context->modules->all[i]->held(context);
    return count;
}

void xyl_modules_team_made(xylem_team_t *team)
{
    unsigned i;

    DOWNWARDS(i, team->context->modules, team_made)
    team->context->modules->all[i]->team_made(team);
}

void xyl_modules_team_ends(xylem_team_t *team)
{
    unsigned i;

    DOWNWARDS(i, team->context->modules, team_ends)
    team->context->modules->all[i]->team_ends(team);
}
