/* The benchmark's test of itself (bench --self-test): a mechanism to which a known cost has been added. A mechanism
 * without a plant is not changed in any way, so its figures do not depend on this file. */
#ifndef CROSSINGS_PLANT_H
#define CROSSINGS_PLANT_H

#include "../mechanism.h"

#include <stdbool.h>

struct plant {
    bool getppid;        /* one system call in each send */
    unsigned message_ns; /* a delay in each send and each receive of the throughput pass */
    unsigned trip_ns;    /* a delay in each round trip, before side A sends */
};

/* Read the value of --plant: "getppid", or the two delays, as in "100,1200". */
struct plant plant_read(const char *text);

/* The mechanism with the plant in it, in static storage. */
const struct mechanism *plant_into(const struct mechanism *mechanism, const struct plant *plant);

/* Set the delay of the next pass: in each send and each receive, or only before side A sends. */
void plant_delay(unsigned ns, bool in_every_call);

#endif
