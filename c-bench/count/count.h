/* Counting a command's system calls: what the two ways of counting have in common. */
#ifndef CROSSINGS_COUNT_H
#define CROSSINGS_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_SYSCALLS 1024

struct tally {
    uint64_t total;
    uint64_t by_number[MAX_SYSCALLS]; /* calls with a number past the table count in `total` only */
};

static inline void tally_add(struct tally *tally, uint64_t number) {
    tally->total++;
    if (number < MAX_SYSCALLS)
        tally->by_number[number]++;
}

/* A way of counting. `start` is called while the command waits to begin; when it answers false, `reason` (of
 * REASON_BYTES) says why in words, and nothing has been changed. `finish` counts until the command has ended and
 * returns its wait status, or -1 with the reason. */
#define REASON_BYTES 256
struct method {
    const char *name;
    bool (*start)(pid_t command, char *reason);
    int (*finish)(pid_t command, struct tally *tally, char *reason);
};

extern const struct method tracepoint_method, ptrace_method;

#endif
