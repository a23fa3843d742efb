#include "tests/support/decision.h"

#include <inttypes.h>
#include <stdio.h>

#include "collectives/data/description.h"
#include "tests/support/check.h"

static uint64_t counts[DECISION_RANKS_MAX];

uint64_t decision_unit(xylem_coll_t coll)
{
    return xyl_coll_traits(coll)->reduces ? sizeof(double) : 1;
}

static xylem_coll_args_t args_of(const decision_kind_t *kind, xylem_coll_t coll,
                                 uint32_t ranks, uint64_t bytes)
{
    xylem_coll_args_t args = {
        .struct_bytes = sizeof args,
        .coll = coll,
        .type = xyl_coll_traits(coll)->reduces ? XYLEM_FLOAT64 : XYLEM_BYTE,
        .op = XYLEM_SUM,
        .flags = kind->flags,
        .count = coll == XYLEM_COLL_BARRIER ? 0 : bytes / decision_unit(coll),
        .segment_bytes = kind->segment_bytes,
        .tag = kind->tag,
        .algorithm = kind->algorithm,
        .recv_counts = counts};
    uint32_t rank;

    for (rank = 0; rank < ranks; rank++)
        counts[rank] = args.count;
    return args;
}

void decision_fails(const decision_t *decision, int line, const char *what)
{
    char text[512], shape[SHAPE_TEXT_BYTES];

    shape_text(decision->shape, shape);
    snprintf(text, sizeof text, "%s of %" PRIu64 " bytes on %s, %s: %s: %s",
             xyl_coll_traits(decision->coll)->name, decision->bytes, shape,
             decision->kind->name,
             decision->choice.algorithm == NULL
                 ? "nothing"
                 : decision->choice.algorithm->name,
             what);
    check_failed(__FILE__, line, text);
}

int decision_make(decision_t *decision)
{
    xylem_coll_args_t args =
        args_of(decision->kind, decision->coll, xylem_team_size(decision->team),
                decision->bytes);
    int is_commutative = !decision->kind->is_ordered;

    decision->choice.algorithm = NULL;
    decision->team->context->config.cuda_direct = decision->kind->direct;
    if (xyl_choose_query(decision->team, &args, decision->kind->way,
                         is_commutative, &decision->problem,
                         &decision->query) != XYLEM_OK)
        return 0;
    decision->problem.args = NULL;
    return xyl_choose(decision->team, &args, decision->kind->way,
                      is_commutative, &decision->choice) == XYLEM_OK;
}
