/* Reads the kernel's description of the cores. Containers and virtual machines may lack some of its files; a CPU whose
 * core is unknown counts as a separate core. */
#include "topology.h"

#include <sched.h>
#include <stdio.h>

static long read_number(int cpu, const char *file) {
    char path[128];
    long value = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", cpu, file);
    FILE *stream = fopen(path, "re");
    if (!stream)
        return -1;
    if (fscanf(stream, "%ld", &value) != 1)
        value = -1;
    fclose(stream);
    return value;
}

void topology_read(struct topology *topology) {
    cpu_set_t *allowed = CPU_ALLOC(MAX_CPUS);
    size_t bytes = CPU_ALLOC_SIZE(MAX_CPUS);
    topology->count = 0;
    CPU_ZERO_S(bytes, allowed);
    if (sched_getaffinity(0, bytes, allowed))
        CPU_SET_S(0, bytes, allowed);
    for (int id = 0; id < MAX_CPUS; id++) {
        if (!CPU_ISSET_S(id, bytes, allowed))
            continue;
        long khz = read_number(id, "cpufreq/cpuinfo_max_freq");
        topology->cpus[topology->count++] = (struct cpu){
            .id = id,
            .package = (int)read_number(id, "topology/physical_package_id"),
            .core = (int)read_number(id, "topology/core_id"),
            .l3 = (int)read_number(id, "cache/index3/id"),
            .max_khz = khz > 0 ? khz : 0,
        };
    }
    CPU_FREE(allowed);
}

const struct cpu *topology_find(const struct topology *topology, int id) {
    for (int i = 0; i < topology->count; i++)
        if (topology->cpus[i].id == id)
            return &topology->cpus[i];
    return NULL;
}

void topology_describe(const struct topology *topology, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = 0;
    for (int first = 0, last; first < topology->count; first = last + 1) {
        for (last = first; last + 1 < topology->count && topology->cpus[last + 1].id == topology->cpus[last].id + 1;)
            last++;
        int length = snprintf(text + used, bytes - used, first == last ? "%s%d" : "%s%d-%d", first ? "," : "",
                              topology->cpus[first].id, topology->cpus[last].id);
        if (length < 0 || (size_t)length >= bytes - used)
            return;
        used += (size_t)length;
    }
}

static bool same_core(const struct cpu *a, const struct cpu *b) {
    return a->id == b->id || (a->core >= 0 && a->core == b->core && a->package == b->package);
}

/* Larger is better. Each rule outweighs all rules after it. */
static double score(const struct cpu *a, const struct cpu *b) {
    long slower = a->max_khz < b->max_khz ? a->max_khz : b->max_khz;
    return (same_core(a, b) ? 0 : 1e15) + (double)slower * 1e4 + (a->l3 >= 0 && a->l3 == b->l3 ? 100 : 0) +
           (a->package == b->package ? 10 : 0) + (a->id != 0 && b->id != 0 ? 1 : 0);
}

void topology_choose(const struct topology *topology, int chosen[2]) {
    double best = -1;
    chosen[0] = chosen[1] = topology->cpus[0].id;
    for (int i = 0; i < topology->count; i++) {
        for (int j = i + 1; j < topology->count; j++) {
            double value = score(&topology->cpus[i], &topology->cpus[j]);
            if (value > best) {
                best = value;
                chosen[0] = topology->cpus[i].id;
                chosen[1] = topology->cpus[j].id;
            }
        }
    }
}

void choose_cores(int chosen[2]) {
    static struct topology topology;
    topology_read(&topology);
    topology_choose(&topology, chosen);
}

const char *topology_relation(const struct topology *topology, const int chosen[2]) {
    const struct cpu *a = topology_find(topology, chosen[0]), *b = topology_find(topology, chosen[1]);
    if (chosen[0] == chosen[1])
        return "one core";
    return a && b && same_core(a, b) ? "two hardware threads of one core" : "two physical cores";
}

bool pin_process(pid_t pid, int core) {
    cpu_set_t *set = CPU_ALLOC(core + 1);
    size_t bytes = CPU_ALLOC_SIZE(core + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(core, bytes, set);
    bool pinned = sched_setaffinity(pid, bytes, set) == 0;
    CPU_FREE(set);
    return pinned;
}
