/* What a message costs without a boundary: a function call in one process. And how fast the core really runs. */
#ifndef CROSSINGS_FUNCTION_CALL_H
#define CROSSINGS_FUNCTION_CALL_H

#include <stddef.h>

/* The median time, in nanoseconds, of a call that takes a request of `size` bytes and leaves a reply of `size` bytes.
 * Needs clock_calibrate(). */
double function_call_ns(size_t size);

/* The core's cycles per nanosecond, from the time of instructions that take one cycle each. 0: unknown here. */
double core_cycles_per_ns(void);

#endif
