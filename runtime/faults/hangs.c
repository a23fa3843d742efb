#include "runtime/faults/hangs.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/holder.h"
#include "runtime/base/log.h"
#include "runtime/core/operation.h"
#include "runtime/core/team.h"
#include "runtime/faults/agreement.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/mismatch.h"
#include "runtime/faults/notice.h"
#include "runtime/modules.h"

enum { PATH_BYTES = 4096, WORDS_BYTES = 256 };
#define LOOK_NS UINT64_C(1000000000)

/* How often SIGUSR1 has come to the process: signals know no context. */
static volatile sig_atomic_t dumps_wanted;

typedef struct watch {
    xylem_context_t *context;
    xyl_timer_t timer;
    int dumps_seen; /* signals for a dump that were handled */
    int has_local_dead;
} watch_t;

XYL_STATE_OF_CONTEXT(watch_t, watch_of, XYL_MODULE_HANGS)

/* ---- dumps: which ranks are waited for ---- */

static void dump_stage(FILE *file, const xyl_stage_t *stage)
{
    char text[WORDS_BYTES] = "";

    if (stage->ops->describe != NULL && !stage->is_complete)
        stage->ops->describe(stage, text, sizeof text);
    fprintf(file,
            "    stage %s, %" PRIu64 " segments from %" PRIu64 " on%s: %s\n",
            stage->ops->name, stage->count, stage->first,
            stage->is_complete ? ", complete" : "", text);
}

static void dump_operation(FILE *file, const xyl_operation_t *operation)
{
    const xylem_team_t *team = operation->request.team;
    char text[WORDS_BYTES];
    uint32_t i;

    xyl_context_call_in_words(team->context, operation->call, text,
                              sizeof text);
    fprintf(file,
            "  %s on team %" PRIx64 " of %u ranks, here rank %u: %u s without "
            "an event, %u of %u stages left%s\n",
            text, team->key, team->size, team->rank,
            operation->looks_without_event, operation->stages_left,
            operation->stages,
            operation->detach.is_detached ? ", detached" : "");
    for (i = 0; i < operation->stages; i++)
        dump_stage(file, operation->stage[i]);
}

static void dump(const xylem_context_t *context, const char *why)
{
    const char *path = (const char *)(uintptr_t)context->config.hang_dump;
    const xyl_operation_t *operation;
    char name[PATH_BYTES];
    FILE *file;

    if (path == NULL)
        return;
    snprintf(name, sizeof name, "%s.%u", path, context->rank);
    file = fopen(name, "a");
    if (file == NULL) {
        xyl_log(XYL_LOG_WARN, "cannot write to %s (XYLEM_HANG_DUMP)", name);
        return;
    }
    fprintf(file, "rank %u, %s:\n", context->rank, why);
    LIST_FOREACH(operation, &context->operations, others)
    dump_operation(file, operation);
    if (xyl_modules_describe(context, file) == 0 &&
        LIST_EMPTY(&context->operations))
        fprintf(file, "  nothing is under way\n");
    fclose(file);
}

static void dump_ask(int signal)
{
    (void)signal;
    dumps_wanted = (sig_atomic_t)((dumps_wanted + 1) & 0xffff);
}

/* Takes the signal unless the program uses it. */
static void signal_take(void)
{
    struct sigaction action = {.sa_handler = dump_ask, .sa_flags = SA_RESTART};
    struct sigaction before;

    if (sigaction(SIGUSR1, NULL, &before) == 0 &&
        (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL)
        (void)sigaction(SIGUSR1, &action, NULL);
}

/* ---- calls of other ranks ---- */

static void compare(xyl_operation_t *operation)
{
    uint32_t i;

    if (operation->call == 0)
        return;
    for (i = 0; i < operation->stages; i++) {
        xyl_stage_t *stage = operation->stage[i];
        if (stage->ops->compare != NULL && !stage->is_complete &&
            operation->failure == XYLEM_OK)
            stage->ops->compare(stage);
    }
    if (operation->failure == XYLEM_OK)
        xyl_mismatch_tell(operation);
}

/* ---- looks ---- */

/* 1: a process that was killed while it wrote a message may have left a gap in
 * UCX's queue, which no later message passes. UCX does not notice the gap. */
static int may_be_held_up(const xyl_operation_t *operation)
{
    const xylem_team_t *team = operation->request.team;
    const xylem_context_t *context = team->context;
    uint32_t i, local = 0;

    if (!watch_of(context)->has_local_dead || operation->sequences == 0)
        return 0;
    for (i = 0; i < team->size; i++)
        local += context->peers[xyl_team_world_rank(team, i)].is_local != 0;
    return local > 1;
}

static void look_at(xyl_operation_t *operation)
{
    const xyl_config_t *config = &operation->request.context->config;
    unsigned seconds = ++operation->looks_without_event;
    uint64_t limit =
        operation->looks_max != 0 ? operation->looks_max : config->hang_s;

    if ((seconds & (seconds - 1)) == 0)
        compare(operation);
    if (config->stall_s != 0 && seconds > config->stall_s &&
        may_be_held_up(operation)) {
        xyl_log(XYL_LOG_WARN,
                "an operation has not moved for %u s since a process died "
                "(XYLEM_STALL_S); it fails",
                seconds);
        xyl_failure_raise_for(operation, XYLEM_ERR_NET);
    }
    if (limit != 0 && seconds > limit && operation->failure == XYLEM_OK) {
        dump(operation->request.context, "an operation hangs");
        xyl_failure_raise_for(operation, XYLEM_ERR_TIMED_OUT);
    }
}

void xyl_hangs_look(xylem_context_t *context)
{
    xyl_operation_t *operation = LIST_FIRST(&context->operations), *older;
    int wanted = (int)dumps_wanted;

    if (wanted != watch_of(context)->dumps_seen)
        dump(context, "asked by SIGUSR1");
    watch_of(context)->dumps_seen = wanted;
    while (operation != NULL) {
        older = LIST_NEXT(operation, others);
        look_at(operation);
        operation = older;
    }
}

static void look(xyl_timer_t *timer, uint64_t now_ns)
{
    xylem_context_t *context = XYL_HOLDER(watch_t, timer, timer)->context;

    xyl_hangs_look(context);
    xyl_agreements_repeat(context);
    xyl_timer_start(&context->engine.timers, timer, now_ns + LOOK_NS);
}

void xyl_hangs_start(xylem_context_t *context)
{
    xyl_timer_t *timer = &watch_of(context)->timer;

    if (context->config.hang_dump != 0)
        signal_take();
    if (!timer->is_running)
        xyl_timer_start(&context->engine.timers, timer,
                        xyl_clock_now(context->engine.clock) + LOOK_NS);
}

/* ---- the module ---- */

static xylem_status_t watch_begins(xylem_context_t *context)
{
    watch_t *watch = watch_of(context);

    watch->context = context;
    watch->dumps_seen = (int)dumps_wanted;
    watch->timer.fire = look;
    xyl_notices_handle(context, XYL_NOTICE_CALL, 0, xyl_mismatch_hear);
    return XYLEM_OK;
}

static void ranks_died(xylem_context_t *context)
{
    const xyl_peer_t *peer;

    if (atomic_load_explicit(&context->failures, memory_order_relaxed) == 0)
        return;
    for (peer = context->peers; peer < context->peers + context->ranks; peer++)
        if (peer->is_local && xyl_peer_is_dead(peer))
            watch_of(context)->has_local_dead = 1;
    xyl_hangs_start(context);
}

const xyl_module_t xyl_hangs_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(watch_t)},
    .context_begins = watch_begins,
    .ranks_died = ranks_died,
};
