/* Processes that keep cores from going idle: one per core, at a priority below every other, so that it runs only while
 * the core has nothing else to do. */
#ifndef CROSSINGS_SPINNERS_H
#define CROSSINGS_SPINNERS_H

#include "pair.h"

/* Start a spinning process on each of the two cores (one, if they are the same). They end with this process, however it
 * ends. False: the system refuses, and `failure` says why. */
bool spinners_start(const int cores[2], struct failure *failure);
/* End them. False: one of them has ended before, so a core may have been idle. */
bool spinners_end(struct failure *failure);

#endif
