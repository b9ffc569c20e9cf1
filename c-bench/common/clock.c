/* Chooses and calibrates the clock. clock.h reads it. */
#include "clock.h"

#include "median.h"

#include <stdbool.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CALIBRATION_NS 20000000 /* 20 ms: an error of 50 ns at each end is 5 parts per million */

struct clock_facts clock_facts;
bool clock_uses_counter;

/* True if the counter's rate does not depend on the core's frequency and sleep state (CPUID 8000_0007h, EDX bit 8). */
static bool counter_is_steady(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#elif defined(__aarch64__)
    return true; /* the architecture guarantees a constant rate */
#else
    return false;
#endif
}

struct moment {
    uint64_t ticks, ns;
};

/* Both clocks at one moment: of ten attempts, the one with the closest readings. */
static struct moment both_clocks(void) {
    struct moment best = {0, 0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        uint64_t before = monotonic_ns();
        uint64_t ticks = clock_ticks();
        uint64_t after = monotonic_ns();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct moment){ticks, before + narrowest / 2};
        }
    }
    return best;
}

/* The median of many batches: a pause of this process during one of them does not count. */
static double measure_overhead_ns(void) {
    enum { BATCHES = 25, READINGS = 400 };
    double batch_ns[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t first = clock_ticks(), last = first;
        for (int i = 0; i < READINGS; i++)
            last = clock_ticks();
        batch_ns[batch] = (double)(last - first) * clock_facts.ns_per_tick / READINGS;
    }
    return median(batch_ns, BATCHES);
}

static double measure_resolution_ns(void) {
    uint64_t step = UINT64_MAX;
    for (int i = 0; i < 10000; i++) {
        uint64_t a = clock_ticks(), b = clock_ticks();
        if (b > a && b - a < step)
            step = b - a;
    }
    return (double)step * clock_facts.ns_per_tick;
}

void clock_calibrate(void) {
    clock_uses_counter = counter_is_steady();
    clock_facts = (struct clock_facts){.source = "clock_monotonic", .ns_per_tick = 1};
    if (clock_uses_counter) {
        struct moment start = both_clocks();
        nanosleep(&(struct timespec){.tv_nsec = CALIBRATION_NS}, NULL);
        struct moment end = both_clocks();
#if defined(__aarch64__)
        clock_facts.source = "cntvct";
#else
        clock_facts.source = "tsc";
#endif
        clock_facts.ns_per_tick = (double)(end.ns - start.ns) / (double)(end.ticks - start.ticks);
    }
    clock_facts.overhead_ns = measure_overhead_ns();
    clock_facts.resolution_ns = measure_resolution_ns();
}
