/*
 * The two processes of a measurement and their supervisor. pair_run() forks both sides, pins them, starts them
 * together, and returns when both have ended, with the reason if one of them failed.
 */
#ifndef CROSSINGS_PAIR_H
#define CROSSINGS_PAIR_H

#include "floors.h"

struct plan {
    const struct mechanism *mechanism;
    size_t size_bytes;
    uint64_t messages;    /* of the throughput pass; 0: skip it */
    uint64_t round_trips; /* of the round-trip pass; 0: skip it */
    int cores[2];         /* of sides A and B, if pinned */
    bool pinned, realtime, floors;
    bool progress;          /* print a line per second */
    bool alone;             /* side A makes the calls of both sides, and side B does nothing */
    bool keep_awake;        /* spinning processes keep the cores from going idle */
    bool lock_memory;       /* no page of the two processes may be swapped out or be missing */
    unsigned stall_ms;      /* fail after this long without progress */
    bool ticks;             /* print every time in ticks */
    uint64_t warm_up;       /* untimed round trips before the timed ones */
    uint64_t rate_a_second; /* send round trips at fixed times, this many a second; 0: each when the last is done */
};

/* How much a side knows about its failure. The larger one is reported: a side that missed a message knows more than the
 * other side, which only saw its peer exit. */
enum certainty { NO_FAILURE = 0, PEER_LEFT, SUSPECTED, CERTAIN };

struct failure {
    enum certainty certainty;
    char code[32];
    char text[256];
};

/* The report of one side. Only that side writes it. */
struct side_report {
    _Alignas(APART) _Atomic uint64_t progress; /* messages or round trips done; updated from time to time */
    _Alignas(APART) uint64_t checksum;
    struct failure failure;
};

/* Memory shared by both sides and their supervisor. */
struct pair {
    struct plan plan;
    struct side_report report[2];
    _Alignas(APART) atomic_int receiver_ready;
    uint64_t started_ns, finished_ns; /* CLOCK_MONOTONIC */
    uint64_t *trip_ticks;             /* plan.round_trips of them */
    uint64_t *service_ticks; /* as many, if plan.rate_a_second: the times from sending, not from when it was due */
    uint64_t elapsed_ticks;  /* of all timed round trips, with everything between them except the floors */
    struct floors floors;
};

/* The work of one side, in its own process. False: it failed and has called pair_fail(). */
typedef bool (*side_work)(struct pair *pair, enum side side);

struct pass {
    const char *name;     /* "throughput" */
    const char *roles[2]; /* of sides A and B, for error messages: "sending", "receiving" */
    uint64_t count;       /* messages or round trips of each side */
    side_work work;
};

/* Memory that forked processes share, every page already present. Exits with an error if there is not enough. */
void *shared_memory(size_t bytes);
struct pair *pair_new(const struct plan *plan);
/* Run a pass and print its progress. False: it failed, and `failure` says why. */
bool pair_run(struct pair *pair, const struct pass *pass, struct failure *failure);

void pair_fail(struct pair *pair, enum side side, enum certainty certainty, const char *code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Report a failed send() or receive(), with errno's text for FAILED. */
void pair_fail_io(struct pair *pair, enum side side, enum outcome outcome, const char *doing);

#endif
