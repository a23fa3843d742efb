/* What a rank calls, in a word that all ranks of the call have alike, so that
 * they can compare it:
 *
 *   generation 16 | collective 5 | operation 4 | type 5 | root 8 | bytes 26
 *
 * The first is for whoever publishes words, and 0 here; roots and bytes are cut
 * off. Where ranks may differ, as in lengths that vary, the word has 0.
 */
#ifndef XYL_COLLECTIVES_DATA_CALL_WORD_H
#define XYL_COLLECTIVES_DATA_CALL_WORD_H

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

/* The first bit of it. */
enum { XYL_CALL_GENERATION = 48 };

/* Of a call that makes a team; of what XYLEM_CHECK=full adds to each call; and
 * of one that was refused, the rank's so-manieth on the team. */
uint64_t xyl_call_word_of_split(void);
uint64_t xyl_call_word_of_comparison(void);
uint64_t xyl_call_word_of_nothing(uint32_t refusals);
int xyl_call_word_is_nothing(uint64_t word);
/* `args` have packed types. */
uint64_t xyl_call_word(const xylem_coll_args_t *args);
/* "bcast of 8 bytes, root 3", cut where `bytes` end; XYL_CALL_WORDS are enough.
 */
void xyl_call_in_words(uint64_t word, char *text, size_t bytes);

#endif
