/* A mode of the program `misuse` with a file of its own. */
#pragma once

#include "tests/proc/job.h"

/* The call fails with that status and with words that contain `word`. */
void misuse_fails(const char *file, int line, const char *call,
                  xylem_status_t status, xylem_status_t wanted,
                  const char *word);
#define FAILS(call, wanted, word)                                              \
    misuse_fails(__FILE__, __LINE__, #call, call, wanted, word)

/* Neither init nor start takes the arguments. */
void misuse_refused(const char *file, int line, xylem_team_t *team,
                    const xylem_coll_args_t *args, xylem_status_t wanted,
                    const char *word);

/* An output that no call may touch. */
extern char misuse_untouched;
#define UNTOUCHED ((void *)&misuse_untouched)

void mode_blocks(job_t *job);
void mode_contract(job_t *job);
void mode_ends(job_t *job);
void mode_tasks(job_t *job);
