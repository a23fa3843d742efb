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

/* Runs the next statement for each module `i` that has the function. */
#define UPWARDS(i, modules, function)                                          \
    for ((i) = 0; (i) < (modules)->count; (i)++)                               \
        if ((modules)->all[i] != NULL && (modules)->all[i]->function != NULL)
#define DOWNWARDS(i, modules, function)                                        \
    for ((i) = (modules)->count; (i)-- > 0;)                                   \
        if ((modules)->all[i] != NULL && (modules)->all[i]->function != NULL)

/* Functions that call each module's function of the same name; `parameter`
 * declares `owner`. */
#define FORWARD(order, function, parameter, context)                           \
    void xyl_modules_##function(parameter)                                     \
    {                                                                          \
        const xyl_modules_t *modules = (context)->modules;                     \
        unsigned i;                                                            \
                                                                               \
        order(i, modules, function) modules->all[i]->function(owner);          \
    }
#define FORWARD_UNTIL_FAILURE(function)                                        \
    xylem_status_t xyl_modules_##function(xylem_context_t *context)            \
    {                                                                          \
        xylem_status_t status = XYLEM_OK;                                      \
        unsigned i;                                                            \
                                                                               \
        UPWARDS(i, context->modules, function)                                 \
        if (status == XYLEM_OK)                                                \
            status = context->modules->all[i]->function(context);              \
        return status;                                                         \
    }

FORWARD_UNTIL_FAILURE(context_begins)
FORWARD_UNTIL_FAILURE(context_joins)
FORWARD(DOWNWARDS, context_ends, xylem_context_t *owner, owner)
FORWARD(UPWARDS, teams_failed, xylem_context_t *owner, owner)
FORWARD(DOWNWARDS, ranks_died, xylem_context_t *owner, owner)
FORWARD(DOWNWARDS, team_made, xylem_team_t *owner, owner->context)
FORWARD(DOWNWARDS, team_ends, xylem_team_t *owner, owner->context)

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
