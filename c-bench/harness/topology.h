/* The cores of this machine, and which two of them a measurement should run on. */
#ifndef CROSSINGS_TOPOLOGY_H
#define CROSSINGS_TOPOLOGY_H

#include <stdbool.h>

#define MAX_CPUS 1024

struct cpu {
    int id;       /* as the kernel numbers it */
    int package;  /* socket; -1 unknown */
    int core;     /* physical core inside the package; -1 unknown */
    int l3;       /* id of its last-level cache; -1 unknown */
    long max_khz; /* highest frequency, kHz; 0 unknown */
};

struct topology {
    int count; /* CPUs that this process may run on */
    struct cpu cpus[MAX_CPUS];
};

/* Read from /sys/devices/system/cpu and this process's affinity. */
void topology_read(struct topology *topology);
/* The CPU numbered `id`, or NULL when this process may not run on it. */
const struct cpu *topology_find(const struct topology *topology, int id);
/* The two best CPUs: of two physical cores, if there are two; the fastest; sharing a cache; leaving CPU 0, which takes
 * most interrupts, alone when that costs nothing. On a machine with one, twice the same. */
void topology_choose(const struct topology *topology, int chosen[2]);
/* What the two are to each other, as a phrase: "two physical cores", "two hardware threads of one core", "one core". */
const char *topology_relation(const struct topology *topology, const int chosen[2]);

#endif
