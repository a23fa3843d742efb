/* Shared by schedule_run.c and schedule_check.c. */
#pragma once

#include "tests/support/schedule_run.h"

typedef struct schedule_run_message {
    uint32_t source, target;
    xyl_action_t send, recv; /* of the two; recv XYL_ACTION_NONE: none yet */
    size_t payload_at;       /* bytes */
    int is_eager;
    int is_sent, is_awaited; /* posted on the two sides */
    int is_captured;         /* its content has left the sender's buffer */
} schedule_run_message_t;

typedef enum step_kind {
    STEP_START,
    STEP_CAPTURE, /* of a send */
    STEP_DELIVER, /* of a receive: it finishes */
    STEP_FINISH
} step_kind_t;

typedef struct schedule_run_step {
    step_kind_t kind;
    uint32_t rank;
    xyl_action_t action;
} schedule_run_step_t;

typedef struct schedule_run_ready {
    uint32_t rank;
    xyl_action_t action;
} schedule_run_ready_t;

static inline int schedule_run_is_message(const xyl_action_entry_t *action)
{
    return action->kind == XYL_ACTION_SEND || action->kind == XYL_ACTION_RECV;
}

/* Cleared; never NULL. */
void *schedule_run_array(uint64_t count, size_t bytes);
/* Keeps the text of the first mistake. Returns 0. */
int schedule_run_mistake(schedule_run_t *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Memory for runs. */
void schedule_run_prepare(schedule_run_t *run, uint64_t payload_elements);
