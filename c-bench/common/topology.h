/* The cores of this machine: which there are, which two a measurement should use, and how to pin a process to one. */
#ifndef CROSSINGS_TOPOLOGY_H
#define CROSSINGS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MAX_CPUS 1024

struct cpu {
    int id;       /* the kernel's number */
    int package;  /* the socket; -1: unknown */
    int core;     /* the physical core in its package; -1: unknown */
    int l3;       /* the id of its last-level cache; -1: unknown */
    long max_khz; /* the highest frequency, in kHz; 0: unknown */
};

struct topology {
    int count; /* CPUs that this process may run on */
    struct cpu cpus[MAX_CPUS];
};

/* Read /sys/devices/system/cpu and this process's affinity. */
void topology_read(struct topology *topology);
/* The CPU numbered `id`, or NULL if this process may not run on it. */
const struct cpu *topology_find(const struct topology *topology, int id);
/* Write the CPUs to `text` as ranges: "0-3,6". */
void topology_describe(const struct topology *topology, char *text, size_t bytes);
/* Choose the best two CPUs: on two physical cores if possible, then the fastest, then those that share a cache. CPU 0
 * handles most interrupts and is avoided if that costs nothing. With a single CPU, both are the same. */
void topology_choose(const struct topology *topology, int chosen[2]);
/* topology_read() and topology_choose() in one call. */
void choose_cores(int chosen[2]);
/* How the two relate: "two physical cores", "two hardware threads of one core" or "one core". */
const char *topology_relation(const struct topology *topology, const int chosen[2]);

/* Pin a process (0: this one) to one core. False, with errno, if the system refuses. */
bool pin_process(pid_t pid, int core);

#endif
