/* Timing a demo, untraced, from its first message to its last. */
#ifndef CROSSINGS_TIMING_H
#define CROSSINGS_TIMING_H

#include "run.h"

#define MAX_RUNS 1000

/* Run a demo `runs` times and print the nanoseconds per message of each run, and the system-call floor, as a line of
 * JSON. Returns the exit status. */
int time_demo(const struct demo_entry *entry, int count, int runs);

#endif
