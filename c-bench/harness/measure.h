/* The two passes of a measurement. Each sets its mechanism up anew and forks its own two processes. */
#ifndef CROSSINGS_MEASURE_H
#define CROSSINGS_MEASURE_H

#include "pair.h"

/* Fills pair->started_ns and finished_ns. */
bool measure_throughput(struct pair *pair, struct failure *failure);

/* Fills pair->trip_ticks and, with plan.floors, pair->floor_ticks and syscall_floor_ns. */
bool measure_round_trips(struct pair *pair, struct failure *failure);

/* A buffer for messages: aligned, every page touched, filled with the pattern. The caller frees it. */
void *message_buffer(size_t size_bytes);

#endif
