/* A part of xylem-info. */
#pragma once

void print_limits(void);
