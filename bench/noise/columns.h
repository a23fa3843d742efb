/* The columns of a campaign's file: the case of a row, its numbers, and the
 * parameters of its run. Rows with equal parameters belong to one cell. */
#pragma once

enum csv_column {
    CSV_EXPERIMENT,
    CSV_IMPL,
    CSV_COLL,
    CSV_BYTES,
    CSV_RANKS,
    CSV_ROUND, /* its number, or "median" */
    CSV_NOISE,
    CSV_RANK,
    CSV_TIME_US,
    CSV_DELAYED_US,
    CSV_INJECTED,
    CSV_LOW_US,
    CSV_HIGH_US,
    CSV_FLOOR_US,
    CSV_P50_US,
    CSV_P99_US,
    CSV_MAX_US,
    CSV_ROOM_BYTES,
    CSV_ROUNDS, /* that a median is of */
    CSV_ALGORITHM,
    CSV_SEGMENT, /* bytes; 0, as of windows: the library's choice */
    CSV_SEND_WINDOW,
    CSV_RECV_WINDOW,
    CSV_ROOT,
    CSV_MODE,
    CSV_UNDER_WAY,
    CSV_BUFFERS, /* "rotated", or "one" (--osu) */
    CSV_CONSUME,
    CSV_CHECK,
    CSV_BY,
    CSV_SEED,
    CSV_ITERATIONS,
    CSV_SECONDS,
    CSV_WARMUP,
    CSV_LAUNCHER,
    CSV_SETTINGS, /* results_settings */
    CSV_COLUMNS
};

enum {
    CSV_PARAMETER_FIRST = CSV_ALGORITHM,
    CSV_PARAMETERS = CSV_COLUMNS - CSV_PARAMETER_FIRST
};

extern const char *const csv_titles[CSV_COLUMNS];
