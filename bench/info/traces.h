/* Records of several ranks as one. */
#pragma once

/* Puts traces of several ranks (XYLEM_TRACE), and bursts of some (NOISE_LOG),
 * into one file for Perfetto. `files` ends with NULL. 1: done; 0: `program` has
 * printed why not. */
int traces_merge(const char *program, const char *out, char *const *files);
