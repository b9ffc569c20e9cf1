/*
 * The doorbell wakes a peer that sleeps. It is the socket of the handshake, whose end of file reports the peer's death.
 */
#ifndef CROSSINGS_DOORBELL_H
#define CROSSINGS_DOORBELL_H

#include <stdbool.h>

/* Wake the peer. Ringing a peer that has closed its end does nothing. False: the peer may sleep on, because the call
 * failed, for example because the memory cgroup is full. Ring again later. */
bool doorbell_ring(int fd);
/* Take rings that have arrived, and learn whether there is still a peer. Call again while the socket is readable. */
enum doorbell_state {
    DOORBELL_BROKEN = -1, /* the peer has attached descriptors to a ring, which no correct peer does */
    DOORBELL_CLOSED = 0,  /* the peer has closed its end */
    DOORBELL_OPEN = 1,
};
enum doorbell_state doorbell_drain(int fd);

#endif
