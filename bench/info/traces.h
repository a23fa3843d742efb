/* Records of several ranks as one. */
#ifndef XYL_BENCH_INFO_TRACES_H
#define XYL_BENCH_INFO_TRACES_H

/* Puts what XYLEM_TRACE has made of several ranks, and the bursts that
 * NOISE_LOG has written of some, into one file for Perfetto. `files` ends with
 * NULL. 1; else it has said why not. */
int traces_merge(const char *program, const char *out, char *const *files);

#endif
