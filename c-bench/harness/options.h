/* The command line of crossings-bench. */
#ifndef CROSSINGS_OPTIONS_H
#define CROSSINGS_OPTIONS_H

#include "pair.h"
#include "topology.h"

#include <sys/types.h>

struct options {
    struct plan plan;
    pid_t parent;  /* die when this process does; 0: no such bond */
    bool list;     /* print the mechanisms and stop */
    bool describe; /* print the machine and stop */
};

/* Ends the program with one sentence and status 2 when something is wrong. Chooses cores when none were named. */
void options_read(struct options *options, const struct topology *topology, int count, char *const *arguments);

#endif
