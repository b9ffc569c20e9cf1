/* Printing the results of a measurement, and the machine it ran on, as lines of JSON. */
#ifndef CROSSINGS_RESULTS_H
#define CROSSINGS_RESULTS_H

#include "../common/topology.h"
#include "pair.h"

/* The clock must have been calibrated for all of these except print_error(). */
void print_machine(const struct topology *topology, const int cores[2]);
void print_begin(const struct plan *plan, const struct topology *topology);
void print_throughput(const struct pair *pair);
/* Sorts the samples of `pair`. */
void print_round_trips(struct pair *pair);
/* The error as a line of JSON, and as a sentence on standard error. */
void print_error(const struct failure *failure);

#endif
