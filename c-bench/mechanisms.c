/* Every mechanism of the benchmark. A new one: its file beside this one, and its line in both lists. */
#include "mechanism.h"

extern const struct mechanism shm_sem, shm_spin, pipe_mechanism, uds, tcp;

const struct mechanism *const mechanisms[] = {&shm_sem, &shm_spin, &pipe_mechanism, &uds, &tcp, NULL};
