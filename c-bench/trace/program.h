/* What tracing a command and tracing a function share. */
#ifndef CROSSINGS_TRACE_PROGRAM_H
#define CROSSINGS_TRACE_PROGRAM_H

#include "../common/gate.h"
#include "trace.h"

/* Fork a child that waits at a gate, without the tracer's output. */
pid_t fork_program(struct gate *gate, int output);
/* Write the lines of JSON to `output`. Called after the fork, so that the program keeps its standard output. */
bool redirect_output(int output);
/* Attach to the child, open its gate and trace it. Returns its wait status, or -1 after an event "error". */
int trace_child(const struct front *front, pid_t pid, struct gate *gate, const struct trace_limits *limits);

#endif
