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

xylem_status_t xyl_modules_context_begins(xylem_context_t *context)
{
    const xyl_modules_t *modules = context->modules;
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    for (i = 0; i < modules->count && status == XYLEM_OK; i++)
        if (modules->all[i] != NULL && modules->all[i]->context_begins != NULL)
            status = modules->all[i]->context_begins(context);
    return status;
}

xylem_status_t xyl_modules_context_joins(xylem_context_t *context)
{
    const xyl_modules_t *modules = context->modules;
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    for (i = 0; i < modules->count && status == XYLEM_OK; i++)
        if (modules->all[i] != NULL && modules->all[i]->context_joins != NULL)
            status = modules->all[i]->context_joins(context);
    return status;
}

void xyl_modules_context_ends(xylem_context_t *context)
{
    const xyl_modules_t *modules = context->modules;
    unsigned i;

    for (i = modules->count; i-- > 0;)
        if (modules->all[i] != NULL && modules->all[i]->context_ends != NULL)
            modules->all[i]->context_ends(context);
}

void xyl_modules_teams_failed(xylem_context_t *context)
{
    const xyl_modules_t *modules = context->modules;
    unsigned i;

    for (i = modules->count; i-- > 0;)
        if (modules->all[i] != NULL && modules->all[i]->teams_failed != NULL)
            modules->all[i]->teams_failed(context);
}

unsigned xyl_modules_describe(const xylem_context_t *context, FILE *file)
{
    const xyl_modules_t *modules = context->modules;
    unsigned i, count = 0;

    for (i = 0; i < modules->count; i++)
        if (modules->all[i] != NULL && modules->all[i]->describe != NULL)
            count += modules->all[i]->describe(context, file);
    return count;
}

void xyl_modules_team_ends(xylem_team_t *team)
{
    const xyl_modules_t *modules = team->context->modules;
    unsigned i;

    for (i = modules->count; i-- > 0;)
        if (modules->all[i] != NULL && modules->all[i]->team_ends != NULL)
            modules->all[i]->team_ends(team);
}
