/* The tracer of the demos. */
#ifndef CROSSINGS_TRACER_H
#define CROSSINGS_TRACER_H

#include "../demos/run.h"

/* Run a demo under the tracer and print its events as lines of JSON. Returns the exit status. */
int trace_demo(const struct demo_entry *entry, int count);

#endif
