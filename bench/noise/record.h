/* Commands of xylem-noise that are not a campaign. Each takes the command line
 * from its own name on and returns the exit code. */
#pragma once

/* Records the noise of the machine. */
int record_main(int argc, char **argv);

/* Compares two records, or two campaigns. */
int compare_main(int argc, char **argv);
