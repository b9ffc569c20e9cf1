/*
 * Runs a program that may go wrong: with limits on time, processor time, memory and files, in a session, a folder and,
 * where permitted, namespaces of its own. Prints what it wrote and how it ended as lines of JSON. None of its processes
 * is left.
 *
 * Processes: this one -> the guard -> process 1 of the namespaces, or a plain parent -> the program, or the tracer ->
 * the program. When one is killed, those to its right end, and the guard or this process cleans up. SIGUSR1, which
 * tells the tracer that its program hangs, is passed on along the same way.
 */
#ifndef CROSSINGS_CONFINE_H
#define CROSSINGS_CONFINE_H

#include "../trace/tracer.h"

#include <stdbool.h>

struct confinement {
    int limit_ms;
    int memory_mb;
    bool plain;                        /* no namespaces, even if they are permitted */
    const struct trace_limits *trace;  /* NULL: it is not recorded */
    int (*run)(int argc, char **argv); /* NULL: execute the file argv[0] */
    int argc;
    char **argv;
};

/* Returns the exit status of crossings-lessons: 0, however the program ended; 1: it could not be run. */
int run_confined(const struct confinement *how);

#endif
