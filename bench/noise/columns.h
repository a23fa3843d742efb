/* The columns of a campaign's file. */
#ifndef XYL_BENCH_NOISE_COLUMNS_H
#define XYL_BENCH_NOISE_COLUMNS_H

enum csv_column {
    CSV_EXPERIMENT,
    CSV_IMPL,
    CSV_COLL,
    CSV_BYTES,
    CSV_RANKS,
    CSV_ROUND,
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
    CSV_COLUMNS
};

#endif
