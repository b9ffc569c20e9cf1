/* The interface of the two methods that count a command's system calls, by tracepoint and by ptrace. */
#ifndef CROSSINGS_COUNT_H
#define CROSSINGS_COUNT_H

#include "../common/syscalls.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tally {
    uint64_t total;
    uint64_t by_number[MAX_SYSCALLS]; /* larger numbers count only in `total` */
};

static inline void tally_add(struct tally *tally, uint64_t number) {
    tally->total++;
    if (number < MAX_SYSCALLS)
        tally->by_number[number]++;
}

/* A method of counting. `start` is called while the command waits at its gate. If it returns false, it has changed
 * nothing, and `reason` (of REASON_BYTES) says why. `finish` counts until the command has ended and returns its wait
 * status, or -1 and the reason. */
#define REASON_BYTES 256
struct method {
    const char *name;
    bool (*start)(pid_t command, char *reason);
    int (*finish)(pid_t command, struct tally *tally, char *reason);
};

extern const struct method tracepoint_method, ptrace_method;

#endif
