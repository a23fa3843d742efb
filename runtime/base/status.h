/* Failing with words: the first function that knows the cause calls xyl_fail
 * once, its callers pass the status on. */
#ifndef XYL_BASE_STATUS_H
#define XYL_BASE_STATUS_H

#include "include/xylem.h"

/* Keeps the text for xylem_last_error(), logs it, returns `status`. */
xylem_status_t xyl_fail(xylem_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same without a message in the log: for those who pass a failure on that
 * has happened on another thread, or before. */
xylem_status_t xyl_explain(xylem_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
