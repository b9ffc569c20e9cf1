/* The command line of crossings-bench. */
#ifndef CROSSINGS_COMMAND_LINE_H
#define CROSSINGS_COMMAND_LINE_H

#include "../common/topology.h"
#include "pair.h"
#include "plant.h"

struct options {
    struct plan plan;
    struct plant plant; /* a known cost to add, for --self-test */
    bool is_planted;
    bool list;          /* print the mechanisms and exit */
    bool describe;      /* print the machine and exit */
    bool function_call; /* time a function call on the first core and exit */
};

/* Read the command line, and choose cores unless it names them. An invalid one ends the program with a sentence and
 * status 2. */
void options_read(struct options *options, const struct topology *topology, int count, char *const *arguments);

#endif
