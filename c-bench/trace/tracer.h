/* The tracer: records the system calls of a demo, of a function in this program, or of a command. */
#ifndef CROSSINGS_TRACER_H
#define CROSSINGS_TRACER_H

#include "../demos/run.h"

#include <stdint.h>

/* What a recording may grow to. A program cannot make more of anything. */
struct trace_limits {
    int output;             /* the descriptor for the lines of JSON: the program keeps standard output */
    uint64_t seconds;       /* then the program is ended */
    uint64_t events;        /* calls recorded; later ones are counted and not recorded */
    uint64_t tasks;         /* processes and threads at one time; with one more, the program is ended */
    uint64_t payload_bytes; /* recorded of each buffer; 0: none */
};
#define MAX_TASKS 1000
#define MAX_PAYLOAD_BYTES 256
#define DEFAULT_LIMITS {.output = 3, .seconds = 60, .events = 200000, .tasks = 256, .payload_bytes = MAX_PAYLOAD_BYTES}

/* Run a demo under the tracer and print its events as lines of JSON. Returns the exit status. */
int trace_demo(const struct demo_entry *entry, int count);

/* Run a command and all its children under the tracer. Returns 0 when it was recorded, however it ended; 1 when
 * recording failed; 2 when there is no such command. The last two print an event "error". */
int trace_command(char **arguments, const struct trace_limits *limits);

/* The same for a function of this program, which runs in a child and whose result is the child's exit status. Calls are
 * recorded with their source lines if the function was compiled with c-bench/demos/lines.h and the program contains
 * c-bench/demos/state.c. */
int trace_function(int (*function)(int, char **), int argument_count, char **arguments,
                   const struct trace_limits *limits);

#endif
