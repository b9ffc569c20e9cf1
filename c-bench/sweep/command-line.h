/* The command line of crossings-sweep. */
#ifndef CROSSINGS_SWEEP_COMMAND_LINE_H
#define CROSSINGS_SWEEP_COMMAND_LINE_H

#include "sweep.h"

struct options {
    uint64_t total_bytes;
    uint64_t max_writes; /* per sample: less is moved with a small buffer; 0: no limit */
    int cores[2];
    bool pinned;
    bool count_hardware;
    bool probe; /* print whether the hardware counters can be used, and exit */
    unsigned stall_ms;
    char *const *points; /* POINT_COUNT texts for read_point() */
    int point_count;
};

/* Read the command line, and choose cores unless it names them. An invalid one ends the program with a sentence and
 * status 2, before anything is measured. */
void options_read(struct options *options, int count, char *const *arguments);

/* A point from its text, "pipe:process:default:4096". An invalid one ends the program, likewise. */
struct point read_point(const char *text);

#endif
