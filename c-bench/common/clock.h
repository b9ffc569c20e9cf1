/*
 * The clock. On processors with a steady counter (TSC on x86-64, CNTVCT on arm64) it is that counter, calibrated
 * against CLOCK_MONOTONIC; elsewhere it is CLOCK_MONOTONIC. Reading it never makes a system call.
 */
#ifndef CROSSINGS_CLOCK_H
#define CROSSINGS_CLOCK_H

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

struct clock_facts {
    const char *source;   /* "tsc", "cntvct" or "clock_monotonic" */
    double ns_per_tick;   /* nanoseconds */
    double overhead_ns;   /* the cost of one reading, in nanoseconds */
    double resolution_ns; /* the smallest difference seen between two readings, in nanoseconds */
};

/* Set by clock_calibrate(), which takes about 20 ms. */
extern struct clock_facts clock_facts;
void clock_calibrate(void);

static inline uint64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

extern _Bool clock_uses_counter;

/* The current time in ticks of clock_facts.ns_per_tick. The fences keep the timed work from moving across the reading
 * (Intel SDM, RDTSC; Arm ARM, CNTVCT_EL0 and ISB). */
static inline uint64_t clock_ticks(void) {
#if defined(__x86_64__)
    if (__builtin_expect(clock_uses_counter, 1)) {
        _mm_lfence();
        uint64_t ticks = __rdtsc();
        _mm_lfence();
        return ticks;
    }
#elif defined(__aarch64__)
    if (__builtin_expect(clock_uses_counter, 1)) {
        uint64_t ticks;
        __asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(ticks)::"memory");
        return ticks;
    }
#endif
    return monotonic_ns();
}

#endif
