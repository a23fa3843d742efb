/* Failing with words: the first function that knows the cause calls xyl_fail
 * once, its callers pass the status on. */
#ifndef XYL_BASE_STATUS_H
#define XYL_BASE_STATUS_H

#include "include/xylem.h"

/* xyl_fail(status, format, ...) keeps the text for xylem_last_error(), logs it
 * and has `status` as its value. A macro, so that the compiler and clang-tidy
 * see what a caller returns; `status` is evaluated once, after the text. */
#define xyl_fail(status, ...)                                                  \
    (xyl_explain_text(__VA_ARGS__), xyl_log_failure(status))

/* The same without a message in the log: for those who pass a failure on that
 * has happened on another thread, or before. */
#define xyl_explain(status, ...) (xyl_explain_text(__VA_ARGS__), (status))

/* Of the macros. */
void xyl_explain_text(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void xyl_log_last_error(int is_error);

/* A program may count on XYLEM_ERR_BUSY and try again, so that this status is
 * no error in the log. */
static inline xylem_status_t xyl_log_failure(xylem_status_t status)
{
    xyl_log_last_error(status != XYLEM_ERR_BUSY);
    return status;
}

#endif
