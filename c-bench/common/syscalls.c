/* The names of system calls, generated at build time by syscall-names.js, and the system-call floor. */
#include "syscalls.h"

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCHES 20
#define CALLS 1000 /* per batch */

static const char *const names[MAX_SYSCALLS] = {
#include "syscall-names.inc"
};

const char *syscall_name(uint64_t number) {
    static char unknown[32];
    if (number < MAX_SYSCALLS && names[number])
        return names[number];
    snprintf(unknown, sizeof unknown, "syscall_%llu", (unsigned long long)number);
    return unknown;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double syscall_floor_ns(void) {
    double batch_ns[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t start = monotonic_ns();
        for (int i = 0; i < CALLS; i++)
            syscall(SYS_getppid);
        batch_ns[batch] = (double)(monotonic_ns() - start) / CALLS;
    }
    qsort(batch_ns, BATCHES, sizeof *batch_ns, compare_doubles);
    return (batch_ns[BATCHES / 2 - 1] + batch_ns[BATCHES / 2]) / 2;
}
