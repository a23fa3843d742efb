#include "collectives/tune/learn.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/choose/choose.h"
#include "collectives/data/call.h"
#include "collectives/data/description.h"
#include "collectives/data/user_op.h"
#include "collectives/tune/timing.h"
#include "runtime/base/file.h"
#include "runtime/base/status.h"

enum {
    BLOCK_CALLS = 8, /* run by one plan, as calls in a row overlap */
    BLOCKS = 8,      /* in a round; the last is another plan's */
    CLASSES_MAX = 64 /* kinds of calls */
};

typedef struct learner_class {
    xylem_coll_t coll;
    uint64_t bytes;
    uint32_t facts;
    uint64_t calls;
    uint32_t count;
    xyl_other_t others[XYL_OTHERS_MAX];
} learner_class_t;

/* A team's classes of calls; NULL: none yet. */
typedef struct learner {
    uint32_t count;
    learner_class_t classes[CLASSES_MAX];
} learner_t;

static learner_t **learner_of(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_LEARNING];
}

/* 1: all ranks describe the call alike and make it in the same order, so they
 * can learn of it. */
static int can_learn(const xylem_coll_args_t *args)
{
    const xyl_coll_traits_t *traits;

    if (args->coll >= XYLEM_COLL_COUNT) /* it is going to be refused */
        return 0;
    traits = xyl_coll_traits(args->coll);
    return !xyl_coll_varies(args->coll) && args->coll != XYLEM_COLL_GATHER &&
           args->coll != XYLEM_COLL_SCATTER && args->algorithm == NULL &&
           args->segment_bytes == 0 && args->send_window == 0 &&
           args->recv_window == 0 && args->tag == 0 &&
           (!traits->reduces || args->op < XYL_USER_OP_BASE);
}

/* The class of a call; NULL: there are too many. */
static learner_class_t *class_of(xylem_team_t *team, learner_t *learner,
                                 const xylem_coll_args_t *args,
                                 const xyl_query_t *query)
{
    learner_class_t *class = learner->classes;
    uint32_t i;

    for (i = 0; i < learner->count; i++, class ++)
        if (class->coll == args->coll && class->bytes == query->bytes &&
            class->facts == query->facts)
            return class;
    if (i == CLASSES_MAX)
        return NULL;
    *class = (learner_class_t){
        .coll = args->coll, .bytes = query->bytes, .facts = query->facts};
    class->count = xyl_choose_others(team, args, class->others);
    learner->count++;
    return class;
}

/* Finds the class of a call, in terms that all ranks share. *class_out NULL:
 * there are too many, or there is no such type, and the call is going to be
 * refused. Fails without memory. */
static xylem_status_t class_find(xylem_team_t *team,
                                 const xylem_coll_args_t *args,
                                 learner_class_t **class_out)
{
    learner_t **learner = learner_of(team);
    xyl_problem_t problem;
    xyl_query_t query;
    xyl_call_t terms;
    xylem_status_t status;

    *class_out = NULL;
    if (xyl_call_pack(team, args, &terms) != XYLEM_OK)
        return XYLEM_OK;
    xyl_call_to_bytes(&terms);
    xyl_call_give_up(&terms);
    if (*learner == NULL)
        *learner = calloc(1, sizeof **learner);
    if (*learner == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to learn");
    status =
        xyl_choose_query(team, &terms.args, terms.way, 1, &problem, &query);
    if (status == XYLEM_OK)
        *class_out = class_of(team, *learner, &terms.args, &query);
    return status;
}

/* A call's number in its class says whether another plan runs it, so all ranks
 * run the same plan. */
const xylem_coll_args_t *xyl_learn_turn(xylem_team_t *team,
                                        const xylem_coll_args_t *args,
                                        xylem_coll_args_t *own)
{
    learner_class_t *class;
    const xyl_other_t *other;
    uint64_t block;

    if (!can_learn(args))
        return args;
    if (class_find(team, args, &class) != XYLEM_OK)
        return NULL;
    if (class == NULL)
        return args;
    block = class->calls++ / BLOCK_CALLS;
    if (class->count == 0 || block % BLOCKS != BLOCKS - 1)
        return args;
    other = &class->others[block / BLOCKS % class->count];
    *own = *args;
    own->algorithm = other->algorithm;
    own->segment_bytes = other->segment_bytes;
    own->send_window = other->send_window;
    own->recv_window = other->recv_window;
    return own;
}

void xyl_learn_back(xylem_team_t *team, const xylem_coll_args_t *args)
{
    learner_class_t *class;

    if (*learner_of(team) != NULL && can_learn(args) &&
        class_find(team, args, &class) == XYLEM_OK && class != NULL)
        class->calls--;
}

/* ---- the module ---- */

static xyl_learning_t *learning_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_LEARNING];
}

/* Replaces the setting, a text, by its hash, as ranks compare settings. */
static xylem_status_t learning_begins(xylem_context_t *context)
{
    uint64_t *setting = &context->config.tuning_learn;
    const char *record = (const char *)(uintptr_t)*setting;

    learning_of(context)->record = record;
    if (record != NULL)
        *setting = xyl_hash(XYL_HASH_SEED, record, strlen(record));
    return XYLEM_OK;
}

static xylem_status_t learning_joins(xylem_context_t *context)
{
    xyl_timing_begin(context, learning_of(context)->record);
    return XYLEM_OK;
}

static void learning_team_ends(xylem_team_t *team)
{
    free(*learner_of(team));
}

const xyl_module_t xyl_learning_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_learning_t),
              [XYL_OWNER_TEAM] = sizeof(learner_t *)},
    .context_begins = learning_begins,
    .context_joins = learning_joins,
    .context_ends = xyl_timing_end,
    .team_ends = learning_team_ends,
};
