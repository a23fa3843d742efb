/* The results of a campaign on simulated machines: tables, plots. */
#pragma once

#include "simulator/program/campaign.h"

/* Prints the runs to come, before the campaign. */
void sim_report_heading(const struct simulation *simulation);
/* On standard output. */
void sim_report_tables(const struct sim_campaign *campaign);

/* Draws bars of the slowdown per noise, or of the time without noise; with
 * --per-rank lines of each rank's time. 1: drawn; 0: a message says why not. */
int sim_report_plot(const struct sim_campaign *campaign, const char *path);
