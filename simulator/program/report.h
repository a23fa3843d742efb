/* What a campaign on simulated machines found: tables, plots. */
#ifndef XYL_SIMULATOR_PROGRAM_REPORT_H
#define XYL_SIMULATOR_PROGRAM_REPORT_H

#include "simulator/program/campaign.h"

/* What is run; before the campaign. */
void sim_report_heading(const struct simulation *simulation);
/* On standard output. */
void sim_report_tables(const struct sim_campaign *campaign);

/* Bars of the slowdown per noise, or of the time where there is none; with
 * --per-rank lines of each rank's time. 1 when drawn; else it has said why. */
int sim_report_plot(const struct sim_campaign *campaign, const char *path);

#endif
