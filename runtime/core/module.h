/* Modules: parts above the core that keep state of their own with every context
 * and every team. The core makes room for this state, cleared, finds it by the
 * module's number, and tells the module when the context or team ends. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "include/xylem.h"

/* The kinds of object that modules attach state to. */
typedef enum xyl_owner {
    XYL_OWNER_CONTEXT,
    XYL_OWNER_TEAM,
    XYL_OWNERS
} xyl_owner_t;

/* Defines a function that finds a module's state in a context, or in a team, by
 * the module's number. */
#define XYL_STATE_OF_CONTEXT(type, name, number)                               \
    static inline type *name(const xylem_context_t *context)                   \
    {                                                                          \
        return context->attached[number];                                      \
    }
#define XYL_STATE_OF_TEAM(type, name, number)                                  \
    static inline type *name(const xylem_team_t *team)                         \
    {                                                                          \
        return team->attached[number];                                         \
    }

/* Functions may be NULL. A module builds on modules with lower numbers. Its
 * functions are called after theirs when a context begins or joins, and before
 * theirs when a context ends, a team is made or ends, or ranks have died. */
typedef struct xyl_module {
    size_t bytes[XYL_OWNERS]; /* of its state: owner->attached[number] */
    /* The context has its engine and its settings, but neither net nor ranks.
     * A failure ends the context. */
    xylem_status_t (*context_begins)(xylem_context_t *context);
    /* The ranks have met, and there is no team yet. */
    xylem_status_t (*context_joins)(xylem_context_t *context);
    /* The context's teams are gone; shared memory is still there. */
    void (*context_ends)(xylem_context_t *context);
    /* Teams have failed: ends the module's work on them with their status.
     * Called in the order of numbers. The progressing thread. */
    void (*teams_failed)(xylem_context_t *context);
    /* Ranks of the job may have died, and their teams have failed. The
     * progressing thread. */
    void (*ranks_died)(xylem_context_t *context);
    /* Writes the module's work that is under way beside operations, in lines;
     * returns how many items. The progressing thread. */
    unsigned (*describe)(const xylem_context_t *context, FILE *file);
    /* How many remote tasks and resident kernels must end before the context
     * can. Any thread. */
    unsigned (*held)(const xylem_context_t *context);
    /* The team is on the context's list. The thread that makes it. */
    void (*team_made)(xylem_team_t *team);
    /* The thread that gives up the last reference; the team has no work under
     * way. */
    void (*team_ends)(xylem_team_t *team);
} xyl_module_t;

enum { XYL_CALL_WORDS = 96 }; /* bytes of a call in words, with the final 0 */

/* The modules of a context, by number, as its creator names them; NULL: the
 * context does not have this one. */
typedef struct xyl_modules {
    unsigned count;
    const xyl_module_t *const *all; /* [count] */
    /* Writes an operation's `call` in words, at most XYL_CALL_WORDS bytes;
     * NULL: calls have no words. */
    void (*call_in_words)(uint64_t call, char *text, size_t bytes);
} xyl_modules_t;

/* Bytes of an owner whose struct has `bytes`, with `attached` and all states
 * behind it. */
size_t xyl_modules_bytes(const xyl_modules_t *modules, xyl_owner_t owner,
                         size_t bytes);
/* Sets attached[number] of the owner at `memory`. */
void xyl_modules_attach(const xyl_modules_t *modules, xyl_owner_t owner,
                        void *memory, size_t bytes, void **attached);

/* These two stop at the first failure. */
xylem_status_t xyl_modules_context_begins(xylem_context_t *context);
xylem_status_t xyl_modules_context_joins(xylem_context_t *context);
void xyl_modules_context_ends(xylem_context_t *context);
void xyl_modules_teams_failed(xylem_context_t *context);
void xyl_modules_ranks_died(xylem_context_t *context);
unsigned xyl_modules_describe(const xylem_context_t *context, FILE *file);
unsigned xyl_modules_held(const xylem_context_t *context);
void xyl_modules_team_made(xylem_team_t *team);
void xyl_modules_team_ends(xylem_team_t *team);
