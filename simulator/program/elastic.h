/* A synthetic collective for the question of how much depth absorbs how much
 * noise. Each call costs each rank a fixed time of its core. In a broadcast the
 * root leads and the others follow; in a reduction the others lead and the root
 * follows. A follower may begin a call nine tenths of the call's work before
 * the end of every leader, that is, when a tenth of their work is done, apart
 * from later noise. A leader may be at most D calls ahead of the slowest
 * follower.
 *
 * In a formula, with e_l[k] the end of call k at leader l and e_f[k] at
 * follower f, and `advance` from a time over a call's work, noise left out:
 *
 *   e_l[k] = advance(max(e_l[k-1], max over f of e_f[k-D]))
 *   e_f[k] = advance(max(e_f[k-1], max over l of e_l[k] - 9/10 work))
 */
#pragma once

#include "simulator/program/case.h"

int sim_elastic_run(const struct sim_case *c, struct sim_outcome *outcome);
/* The formula, without a simulated world, on the same bursts: fills
 * c->rank_us. 1, or 0 without memory. Only for calls that begin together. */
int sim_elastic_formula(const struct sim_case *c);

/* The table of depths, calls and noises: simulated, and by the formula, which
 * must agree to the last digit. The exit code. */
int sim_elasticity_main(const struct simulation *simulation);
