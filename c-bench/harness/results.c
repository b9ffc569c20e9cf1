/* Prints the results of a measurement, and the machine it ran on, as lines of JSON. */
#include "results.h"

#include "../common/clock.h"
#include "../common/ndjson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static int compare_ticks(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double to_ns(uint64_t ticks) {
    return (double)ticks * clock_facts.ns_per_tick;
}

/* The nearest-rank percentile: the smallest sample that at least `percent` per cent of all samples do not exceed. */
static double percentile_ns(const uint64_t *sorted, size_t count, double percent) {
    double rank = percent / 100 * (double)count;
    size_t index = (size_t)rank;
    if (index > 0 && (double)index == rank)
        index--;
    return to_ns(sorted[index < count ? index : count - 1]);
}

void print_throughput(const struct pair *pair) {
    const struct plan *plan = &pair->plan;
    double seconds = (double)(pair->finished_ns - pair->started_ns) / 1e9;
    char checksum[17];
    snprintf(checksum, sizeof checksum, "%016llx", (unsigned long long)pair->report[SIDE_B].checksum);
    event_begin("throughput");
    event_integer("messages", plan->messages);
    event_integer("elapsedNs", pair->finished_ns - pair->started_ns);
    event_number("messagesPerSecond", (double)plan->messages / seconds);
    event_number("bytesPerSecond", (double)plan->messages * (double)plan->size_bytes / seconds);
    event_string("checksum", checksum);
    event_end();
}

static uint64_t rounded_ns(uint64_t ticks) {
    return (uint64_t)(to_ns(ticks) + 0.5);
}

static uint64_t unchanged(uint64_t ticks) {
    return ticks;
}

/* Every sample, as pairs of [value, count] in ascending order. */
static void print_distribution(const char *key, const uint64_t *sorted, size_t count, uint64_t (*value)(uint64_t)) {
    event_array(key);
    for (size_t i = 0; i < count;) {
        uint64_t first = value(sorted[i]);
        size_t same = 0;
        while (i < count && value(sorted[i]) == first)
            i++, same++;
        event_pair(first, same);
    }
    event_array_close();
}

/* All times of the round trips: in nanoseconds under one key, or in ticks under the other. */
static void print_times(const char *ns_key, const char *ticks_key, const struct pair *pair, const uint64_t *sorted) {
    bool ticks = pair->plan.ticks;
    print_distribution(ticks ? ticks_key : ns_key, sorted, pair->plan.round_trips, ticks ? unchanged : rounded_ns);
}

static void print_percentiles(const uint64_t *sorted, size_t count) {
    static const struct {
        const char *key;
        double percent;
    } wanted[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}};
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += to_ns(sorted[i]);
    event_open("ns");
    event_number("min", to_ns(sorted[0]));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        event_number(wanted[i].key, percentile_ns(sorted, count, wanted[i].percent));
    event_number("max", to_ns(sorted[count - 1]));
    event_number("mean", sum / (double)count);
    event_close();
}

void print_round_trips(struct pair *pair) {
    const struct floors *floors = &pair->floors;
    size_t count = pair->plan.round_trips;
    if (pair->plan.floors) {
        event_begin("floors");
        event_number("syscallNs", floors->syscall_ns);
        if (floors->count) {
            qsort(floors->ticks, floors->count, sizeof(uint64_t), compare_ticks);
            event_number("cacheLineRoundTripNs", percentile_ns(floors->ticks, floors->count, 50));
        } else {
            event_string("cacheLineRoundTripNs", NULL);
        }
        if (floors->copy_ns > 0)
            event_number("copyNs", floors->copy_ns);
        event_end();
    }
    qsort(pair->trip_ticks, count, sizeof(uint64_t), compare_ticks);
    event_begin("roundTrip");
    event_integer("count", count);
    event_number("elapsedNs", to_ns(pair->elapsed_ticks));
    print_percentiles(pair->trip_ticks, count);
    print_times("values", "ticks", pair, pair->trip_ticks);
    if (pair->service_ticks) {
        qsort(pair->service_ticks, count, sizeof(uint64_t), compare_ticks);
        print_times("serviceValues", "serviceTicks", pair, pair->service_ticks);
    }
    event_end();
}

static void print_clock(void) {
    event_open("clock");
    event_string("source", clock_facts.source);
    event_number("overheadNs", clock_facts.overhead_ns);
    event_number("resolutionNs", clock_facts.resolution_ns);
    event_integer("ticksPerSecond", (uint64_t)(1e9 / clock_facts.ns_per_tick + 0.5));
    event_close();
}

void print_begin(const struct plan *plan, const struct topology *topology) {
    event_begin("begin");
    event_string("mechanism", plan->mechanism->name);
    event_string("title", plan->mechanism->title);
    event_integer("sizeBytes", plan->size_bytes);
    if (plan->pinned)
        event_integers("pinnedCores", plan->cores, 2);
    event_string("placement", plan->pinned ? topology_relation(topology, plan->cores) : "not pinned");
    event_string("priority", plan->realtime ? "real-time" : "normal");
    print_clock();
    event_string("compiler", COMPILER);
    event_end();
}

void print_error(const struct failure *failure) {
    event_begin("error");
    event_string("code", failure->code);
    event_string("message", failure->text);
    event_end();
    fprintf(stderr, "%s (%s)\n", failure->text, failure->code);
}

/* The hypervisor's signature (CPUID 4000_0000h, if CPUID 1 reports a hypervisor), or NULL. */
static const char *hypervisor(void) {
#if defined(__x86_64__)
    static char signature[13];
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
        return NULL;
    __cpuid(0x40000000, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    return signature;
#else
    return NULL;
#endif
}

void print_machine(const struct topology *topology, const int cores[2]) {
    event_begin("machine");
    event_array("cpus");
    for (int i = 0; i < topology->count; i++) {
        const struct cpu *cpu = &topology->cpus[i];
        event_open(NULL);
        event_integer("id", (uint64_t)cpu->id);
        event_number("package", cpu->package);
        event_number("core", cpu->core);
        event_number("l3", cpu->l3);
        event_close();
    }
    event_array_close();
    event_integers("pinnedCores", cores, 2);
    event_string("placement", topology_relation(topology, cores));
    event_string("hypervisor", hypervisor());
    print_clock();
    event_string("compiler", COMPILER);
    event_end();
}
