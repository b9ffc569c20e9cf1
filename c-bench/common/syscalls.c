/* The names of system calls, generated at build time by syscall-names.js, and the system-call floor. */
#include "syscalls.h"

#include "clock.h"
#include "median.h"

#include <stdio.h>
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
    const char *kind = number & COMPAT_CALL ? "compat" : "syscall";
    snprintf(unknown, sizeof unknown, "%s_%llu", kind, (unsigned long long)(number & ~COMPAT_CALL));
    return unknown;
}

double syscall_floor_ns(void) {
    double batch_ns[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t start = monotonic_ns();
        for (int i = 0; i < CALLS; i++)
            syscall(SYS_getppid);
        batch_ns[batch] = (double)(monotonic_ns() - start) / CALLS;
    }
    return median(batch_ns, BATCHES);
}
