/* Every mechanism of the benchmark. A new one: its file beside this one, and its line in both lists. */
#include "mechanism.h"

extern const struct mechanism ring, shm_spin, shm_sem, pipe_mechanism, uds, tcp;

const struct mechanism *const mechanisms[] = {&ring, &shm_spin, &shm_sem, &pipe_mechanism, &uds, &tcp, NULL};
