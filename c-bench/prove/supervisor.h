/* Runs one proof: forks its two processes, watches them, and learns how each ended. */
#ifndef CROSSINGS_SUPERVISOR_H
#define CROSSINGS_SUPERVISOR_H

#include "proofs.h"

struct plan {
    const struct proof *proof;
    uint64_t messages; /* an even number */
    uint64_t warm_up;  /* messages before the filter; an even number */
    int cores[2];
    bool pinned;
    unsigned limit_ms; /* stop exchanging messages after this long */
    unsigned stall_ms; /* fail after this long without progress */
};

/* How one process ended. */
enum fate {
    FATE_UNKNOWN = 0,
    FATE_STOPPED,   /* by the supervisor, because the other process had died */
    FATE_REFUSED,   /* the system did not let it enter the filter */
    FATE_KILLED,    /* at a forbidden system call */
    FATE_SURVIVED,  /* it reported all messages, and then died at the forbidden call that it made on purpose */
    FATE_UNGUARDED, /* it lived on after that call: the filter was not in force */
    FATE_FAILED,    /* a message was wrong, or it ended for a reason of its own */
    FATE_STALLED,
};

struct ending {
    enum fate fate;
    uint64_t messages; /* exchanged inside the filter */
    int number;        /* of the forbidden system call, for FATE_KILLED */
    char text[160];    /* the reason, for FATE_REFUSED and FATE_FAILED */
};

struct outcome {
    struct ending endings[2];
    double elapsed_ns; /* 0: unknown */
};

void prove(const struct plan *plan, struct outcome *outcome);

#endif
