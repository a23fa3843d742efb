#include "runtime/faults/mismatch.h"

#include <stdio.h>
#include <string.h>

#include "runtime/core/operation.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/notice.h"

enum {
    WORDS = 16,         /* of a notice: one per call */
    TELL_ALL_LOOKS = 8, /* from this look on all ranks are told */
    TELL_ALL_RANKS = 16 /* a team of at most so many: from the first look on */
};

/* The payload of a notice: a call that a rank waits in, and those before. */
typedef struct waiting {
    uint64_t number; /* of the call; of one with a tag, its first sequence */
    uint32_t has_tag;
    uint32_t seconds;  /* that the rank has waited */
    uint32_t refusals; /* of calls before it */
    uint32_t count;    /* of `words` */
    uint64_t words[WORDS];
} waiting_t;

/* 0: the call is not known any more, or has not begun. */
static uint64_t call_at(const xyl_history_t *history, uint64_t number)
{
    return number < history->begun &&
                   history->begun - number <= XYL_HISTORY_KEPT
               ? history->calls[number % XYL_HISTORY_KEPT]
               : 0;
}

void xyl_mismatch_fail(xylem_team_t *team, uint32_t one, uint64_t first,
                       uint32_t other, uint64_t second)
{
    const xylem_context_t *context = team->context;
    char first_in_words[XYL_CALL_WORDS], second_in_words[XYL_CALL_WORDS];
    char text[XYL_FAILURE_TEXT];

    xyl_context_call_in_words(context, first, first_in_words,
                              sizeof first_in_words);
    xyl_context_call_in_words(context, second, second_in_words,
                              sizeof second_in_words);
    if (strcmp(first_in_words, second_in_words) == 0)
        snprintf(text, sizeof text,
                 "ranks %u and %u of the job have made different calls before "
                 "this %s",
                 one, other, first_in_words);
    else
        snprintf(text, sizeof text,
                 "rank %u of the job calls %s and rank %u calls %s", one,
                 first_in_words, other, second_in_words);
    xyl_failure_raise(team, XYLEM_ERR_MISMATCH, other, text);
}

/* 1: the refusal is no error so far: both ranks were refused as often, or the
 * user may still repeat the call that was refused here. */
static int may_be_made_again(const xylem_team_t *team, const waiting_t *waiting)
{
    return waiting->refusals == xyl_history_refusals(team) ||
           waiting->seconds < XYL_HISTORY_REFUSED_LOOKS;
}

/* ---- telling ---- */

/* Writes the word of the operation's call and those of the known calls before
 * it. Returns how many words. */
static uint32_t words_write(const xyl_operation_t *operation, uint64_t *words)
{
    const xyl_history_t *history = &operation->request.team->history;
    uint64_t word = operation->call;
    uint32_t i = 0;

    do {
        words[i++] = word;
        if (operation->tag != 0 || i > operation->number || i == WORDS)
            break;
        word = call_at(history, operation->number - i);
    } while (word != 0);
    return i;
}

void xyl_mismatch_tell(const xyl_operation_t *operation)
{
    const xylem_team_t *team = operation->request.team;
    xyl_notice_t *notice;
    waiting_t *waiting;

    if (operation->call == 0 || team->size == 1)
        return;
    notice = xyl_notice_new(team->context, XYL_NOTICE_CALL, team);
    if (notice == NULL)
        return;
    waiting = XYL_NOTICE_AS(waiting_t, notice);
    waiting->number = operation->number;
    waiting->has_tag = operation->tag != 0;
    waiting->seconds = operation->looks_without_event;
    waiting->refusals = xyl_history_refusals(team);
    waiting->count = words_write(operation, waiting->words);
    if (operation->looks_without_event < TELL_ALL_LOOKS &&
        team->size > TELL_ALL_RANKS)
        xyl_notice_spread(team->context, team, notice);
    else
        xyl_notice_send_all(team, notice);
    xyl_notice_free(team->context, notice);
}

/* ---- comparing ---- */

/* 1: this rank has called *mine where the rank that waits has called *theirs.
 * This place is the first of all known places where their calls differ. */
static int differs_in_order(const xylem_team_t *team, const waiting_t *waiting,
                            uint64_t *mine, uint64_t *theirs)
{
    const xyl_history_t *history = &team->history;
    uint32_t i, words = waiting->count < WORDS ? waiting->count : WORDS;

    if (waiting->number == history->begun &&
        waiting->number + 1 == history->refused_at &&
        !may_be_made_again(team, waiting)) {
        *mine =
            atomic_load_explicit(&history->refused_call, memory_order_relaxed);
        *theirs = waiting->words[0];
        return 1;
    }
    for (i = words; i-- > 0;) {
        *mine =
            i <= waiting->number ? call_at(history, waiting->number - i) : 0;
        *theirs = waiting->words[i];
        if (*mine != 0 && *theirs != 0 && *mine != *theirs)
            return 1;
    }
    return 0;
}

static int differs_by_tag(const xylem_team_t *team, const waiting_t *waiting,
                          uint64_t *mine, uint64_t *theirs)
{
    uint64_t at = waiting->number / XYL_TAG_SEQUENCES % XYL_HISTORY_TAGGED;
    const xyl_history_tagged_t *tagged = &team->history.tagged[at];

    *mine = tagged->call;
    *theirs = waiting->words[0];
    return tagged->sequence == waiting->number && *mine != 0 && *theirs != 0 &&
           *mine != *theirs;
}

void xyl_mismatch_hear(xylem_context_t *context, xyl_notice_t *notice)
{
    xylem_team_t *team = xyl_team_find(context, notice->team);
    const waiting_t *waiting = XYL_NOTICE_AS(waiting_t, notice);
    uint64_t mine, theirs;

    if (team == NULL)
        return;
    /* The notice of the failure may have been lost for lack of memory. */
    if (xyl_team_has_failed(team))
        xyl_failure_tell(team, notice->from);
    else if (waiting->has_tag ? differs_by_tag(team, waiting, &mine, &theirs)
                              : differs_in_order(team, waiting, &mine, &theirs))
        xyl_mismatch_fail(team, context->rank, mine, notice->from, theirs);
    xyl_team_unreference(team);
}
