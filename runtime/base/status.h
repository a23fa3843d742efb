/* Failing with a message: the first function that knows the cause calls
 * xyl_fail once; its callers pass the status on. */
#pragma once

#include "include/xylem.h"

/* xyl_fail(status, format, ...) keeps the text for xylem_last_error(), logs it,
 * and evaluates to `status`. A macro, so that the compiler and clang-tidy see
 * the status that a caller returns. `status` is evaluated once, after the
 * text. */
#define xyl_fail(status, ...)                                                  \
    (xyl_status_explain(__VA_ARGS__), xyl_log_failure(status))

/* Fails with XYLEM_ERR_INVALID_ARG: xyl_refuse(call, format, ...) puts the name
 * of the public function before the text, a literal. */
#define xyl_refuse(call, ...) xyl_refuse_as(call, __VA_ARGS__, "")
#define xyl_refuse_as(call, format, ...)                                       \
    xyl_fail(XYLEM_ERR_INVALID_ARG, "%s: " format "%s", call, __VA_ARGS__)

/* The same without a message in the log: for a failure that has happened
 * before, or on another thread. */
#define xyl_explain(status, ...) (xyl_status_explain(__VA_ARGS__), (status))

/* The failure that has this number; `otherwise`, if none has. For numbers that
 * have come over the wire. */
static inline xylem_status_t xyl_status_numbered(uint32_t number,
                                                 xylem_status_t otherwise)
{
    return number > XYLEM_IN_PROGRESS && number <= XYLEM_ERR_ABORTED
               ? (xylem_status_t)number
               : otherwise;
}

/* For the macros only. */
void xyl_status_explain(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void xyl_log_last_error(int is_error);

/* Logs XYLEM_ERR_BUSY as information, since a program may expect it and try
 * again; logs every other status as an error. */
static inline xylem_status_t xyl_log_failure(xylem_status_t status)
{
    xyl_log_last_error(status != XYLEM_ERR_BUSY);
    return status;
}
