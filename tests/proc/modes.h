/* The modes of the program `collectives`: each is collective over the job,
 * checks what it does and returns, or ends the process. */
#pragma once

#include "tests/proc/job.h"

/* `number` is the program's second argument; each mode says what it means. */
void mode_sweep(job_t *job, uint32_t number);      /* every n-th combination */
void mode_big(job_t *job, uint32_t number);        /* MiB of a message */
void mode_persistent(job_t *job, uint32_t number); /* starts */
void mode_flight(job_t *job, uint32_t number);     /* rounds */
void mode_threads(job_t *job, uint32_t number);    /* rounds */
void mode_callbacks(job_t *job, uint32_t number);  /* starts */
void mode_parts(job_t *job, uint32_t number);      /* starts */
void mode_teams(job_t *job, uint32_t number);      /* creations */
void mode_huge(job_t *job, uint32_t number);       /* MiB of memory needed */
void mode_large(job_t *job, uint32_t number);      /* the same */
void mode_brief(job_t *job, uint32_t number);      /* rounds */
void mode_idle(job_t *job, uint32_t number);       /* ms that a rank is late */
void mode_stack(job_t *job, uint32_t number);      /* KiB of a thread's stack */
