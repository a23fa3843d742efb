/* Words in the values of options: lists, numbers, times. */
#pragma once

#include "simulator/machine.h"

enum { WORD_BYTES = 128 };

/* Copies the part of `list` before `separator` into `word`; returns the rest
 * behind it, NULL at the end. A word that is too long becomes empty. */
const char *word_next(const char *list, char separator, char word[WORD_BYTES]);

/* Reads a whole number of 0 ... UINT_MAX; returns the rest. NULL: no number. */
const char *word_number(const char *text, unsigned *value_out);

/* "1.5ms". 1 when `text` is a time. */
int word_time(const char *text, sim_time_t *time_out);
