/* Two campaigns beside each other. No state; any thread. */
#pragma once

#include <stdio.h>

/* Cells that both files have, cells of one only, and for how many of the former
 * the intervals of the medians overlap, which says little if these are wide. */
struct cells_found {
    unsigned both, single, overlapping;
    double
        width_percent; /* of intervals in both, of their medians; the median */
};

/* 1: the file is one of a campaign, by its titles. */
int cells_is_campaign(const char *path);

/* Compares the medians of two such files, and prints those that lie apart. 1:
 * done; 0: `program` has printed why not. */
int cells_compare(const char *program, const char *path, const char *other,
                  FILE *out, struct cells_found *found_out);
