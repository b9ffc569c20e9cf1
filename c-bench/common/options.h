/* Command lines: reading values, and refusing them with a sentence that names the option, the value and the limits. */
#ifndef CROSSINGS_OPTIONS_H
#define CROSSINGS_OPTIONS_H

#include "topology.h"

#include <stddef.h>
#include <stdint.h>

/* Print a sentence to standard error and exit with status 2. */
__attribute__((noreturn, format(printf, 1, 2))) void refuse(const char *format, ...);

/* A whole number from `least` to `most`; anything else is refused. */
uint64_t read_count(const char *option, const char *text, uint64_t least, uint64_t most);

/* Append `name` to a comma-separated list in `names`, for a sentence that shows the valid choices. */
void append_name(char *names, size_t bytes, const char *name);

/* --cores A,B: two cores that this process may run on. */
void read_cores(const char *text, const struct topology *topology, int cores[2]);

/* --parent PID: end this process when its parent, which must be PID, ends. */
void read_parent(const char *text);

#endif
