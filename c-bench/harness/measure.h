/* The two passes of a measurement. Each sets up the mechanism and forks its own two processes. */
#ifndef CROSSINGS_MEASURE_H
#define CROSSINGS_MEASURE_H

#include "pair.h"

/* Sets pair->started_ns and finished_ns. */
bool measure_throughput(struct pair *pair, struct failure *failure);

/* Sets pair->trip_ticks and, with plan.floors, the floors of `pair`. */
bool measure_round_trips(struct pair *pair, struct failure *failure);

/* A buffer for messages: aligned, filled with the pattern, every page already touched. The caller frees it. */
void *message_buffer(size_t size_bytes);

#endif
