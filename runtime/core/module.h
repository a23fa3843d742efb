/* Modules: those above the core who keep state of their own with every context
 * and every team. The core makes room for it, cleared, finds it by the module's
 * number, and tells the module of the end. */
#ifndef XYL_RUNTIME_CORE_MODULE_H
#define XYL_RUNTIME_CORE_MODULE_H

#include <stddef.h>
#include <stdio.h>

#include "include/xylem.h"

/* Whom state is attached to. */
typedef enum xyl_owner {
    XYL_OWNER_CONTEXT,
    XYL_OWNER_TEAM,
    XYL_OWNERS
} xyl_owner_t;

/* Functions may be NULL. Those of the modules with higher numbers, which build
 * on the lower ones, are called first at the end, last at the beginning. */
typedef struct xyl_module {
    const char *name;
    size_t bytes[XYL_OWNERS]; /* of its state: owner->attached[number] */
    /* The context has its engine and its settings, but neither net nor ranks.
     * Where this fails the context ends. */
    xylem_status_t (*context_begins)(xylem_context_t *context);
    /* The ranks have met, and there is no team yet. */
    xylem_status_t (*context_joins)(xylem_context_t *context);
    /* Its teams are gone; shared memory is still there. */
    void (*context_ends)(xylem_context_t *context);
    /* Teams have failed: what is under way on them ends with their status. The
     * progressing thread. */
    void (*teams_failed)(xylem_context_t *context);
    /* Writes down what is under way beside operations, in lines; returns how
     * many things that are. The progressing thread. */
    unsigned (*describe)(const xylem_context_t *context, FILE *file);
    /* Whichever thread gives up the last reference; nothing of the team is
     * under way. */
    void (*team_ends)(xylem_team_t *team);
} xyl_module_t;

enum { XYL_CALL_WORDS = 96 }; /* bytes of a call in words, with the final 0 */

/* By number; NULL: none of that. Whoever creates a context names those it is to
 * have. */
typedef struct xyl_modules {
    unsigned count;
    const xyl_module_t *const *all; /* [count] */
    /* Writes an operation's `call` in words, for which XYL_CALL_WORDS bytes are
     * enough; NULL: calls have no words. */
    void (*call_in_words)(uint64_t call, char *text, size_t bytes);
} xyl_modules_t;

/* Bytes of an owner of `bytes` bytes, with `attached` and all states behind. */
size_t xyl_modules_bytes(const xyl_modules_t *modules, xyl_owner_t owner,
                         size_t bytes);
/* Sets attached[number] of the owner at `memory`. */
void xyl_modules_attach(const xyl_modules_t *modules, xyl_owner_t owner,
                        void *memory, size_t bytes, void **attached);

/* Until the first failure. */
xylem_status_t xyl_modules_context_begins(xylem_context_t *context);
xylem_status_t xyl_modules_context_joins(xylem_context_t *context);
void xyl_modules_context_ends(xylem_context_t *context);
void xyl_modules_teams_failed(xylem_context_t *context);
unsigned xyl_modules_describe(const xylem_context_t *context, FILE *file);
void xyl_modules_team_ends(xylem_team_t *team);

#endif
