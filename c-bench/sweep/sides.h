/* The two sides of a sample. */
#ifndef CROSSINGS_SWEEP_SIDES_H
#define CROSSINGS_SWEEP_SIDES_H

#include "sweep.h"

/* Prepare this side, wait for the other one, move the bytes, and close this side's end. False: it failed, and
 * sample->failure says why. */
bool run_side(struct sample *sample, enum side side);
/* Both sides as threads of this process. */
bool run_threads(struct sample *sample);

#endif
