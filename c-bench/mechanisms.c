/* All mechanisms of the benchmark. To add one, add its file to this folder and its name to both lists. */
#include "mechanism.h"

extern const struct mechanism ring, shm_spin, shm_sem, pipe_mechanism, uds, tcp, dgram, eventfd_signalfd, futex;
extern const struct mechanism ring_sleep, ring_auth;

const struct mechanism *const mechanisms[] = {
    &ring,  &shm_spin,         &shm_sem, &pipe_mechanism, &uds,       &tcp,
    &dgram, &eventfd_signalfd, &futex,   &ring_sleep,     &ring_auth, NULL,
};
