/* A rank's call in a word, equal on all ranks of the call, so that they can
 * compare it:
 *
 *   generation 8 | settings 8 | collective 5 | operation 4 | type 5 | root 8 |
 *   bytes 26
 *
 * The code that publishes words sets the generation, which is 0 here.
 * `settings` is a digest of the algorithm, the order, the segments and the
 * windows that the call asks for; 0 if the library chooses all of them. Roots
 * and bytes are cut off. If blocks vary and all ranks have their counts,
 * `bytes` is the sum of the counts, and their digest stands in the place of the
 * root. A field is 0 if ranks may differ in it, as in other lengths that
 * vary. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

/* The first bit of the generation. */
enum { XYL_CALL_GENERATION = 56 };

/* The word of a call that makes a team; and of a call that was refused, the
 * rank's `refusals`-th on the team. */
uint64_t xyl_word_of_split(void);
uint64_t xyl_word_of_nothing(uint32_t refusals);
int xyl_word_is_nothing(uint64_t word);
/* The word of `args` as the program gives them, but with packed types, before
 * anything in them is chosen. Once per plan, as it reads names and counts. */
uint64_t xyl_word_of_call(const xylem_coll_args_t *args, uint32_t ranks);
/* "bcast of 8 bytes, root 3, settings 5e", cut where `bytes` end;
 * XYL_CALL_WORDS are enough. The settings are left out where they are 0. */
void xyl_word_in_words(uint64_t word, char *text, size_t bytes);
