/*
 * Two processes and the one that watches over them. pair_run() forks both sides of a mechanism, pins them, starts them
 * together, and comes back when both have ended, with the reason when they did not end well.
 */
#ifndef CROSSINGS_PAIR_H
#define CROSSINGS_PAIR_H

#include "../mechanism.h"

#include <stdatomic.h>
#include <stdint.h>

/* Two lines apart: processors fetch cache lines in pairs. */
#define APART 128

struct plan {
    const struct mechanism *mechanism;
    size_t size_bytes;
    uint64_t messages;    /* of the throughput pass; 0: no such pass */
    uint64_t round_trips; /* of the round-trip pass; 0: no such pass */
    int cores[2];         /* where the sides run, when pinned */
    bool pinned, realtime, floors;
    unsigned stall_ms; /* give up when nothing has moved for so long */
};

/* Why a side gave up. The certain outweighs its consequences: a side that found a message missing tells more than the
 * other, which only saw its peer leave. */
enum certainty { NO_FAILURE = 0, PEER_LEFT, SUSPECTED, CERTAIN };

struct failure {
    enum certainty certainty;
    char code[32];
    char text[256];
};

/* What one side tells the others; only that side writes it. */
struct side_report {
    _Alignas(APART) _Atomic uint64_t progress; /* messages or round trips done, brought up to date now and then */
    _Alignas(APART) uint64_t checksum;
    struct failure failure;
};

/* Memory shared by both sides and their supervisor. */
struct pair {
    struct plan plan;
    struct side_report report[2];
    _Alignas(APART) atomic_int receiver_ready;
    uint64_t started_ns, finished_ns; /* CLOCK_MONOTONIC */
    double syscall_floor_ns;
    double copy_floor_ns;  /* one plain memcpy of a message that the other core has just written; 0: not measured */
    char *copied;          /* plan.size_bytes of shared memory, for that */
    uint64_t *trip_ticks;  /* plan.round_trips of them */
    uint64_t *floor_ticks; /* floor_count of them */
    size_t floor_count;
    struct {
        _Alignas(APART) _Atomic uint64_t turn;
    } floor_line[2]; /* the bare cache lines of the floor; floor_line[side] is written by that side */
};

/* Work of one side, in its own process. False: it failed, and said so with pair_fail(). */
typedef bool (*side_work)(struct pair *pair, enum side side);

struct pass {
    const char *name;     /* "throughput" */
    const char *roles[2]; /* what the sides do, for sentences: "sending", "receiving" */
    uint64_t count;       /* how many messages or round trips each side's progress runs to */
    side_work work;
};

/* Memory that later forks share, each page already there. Ends the program with a sentence where there is none. */
void *shared_memory(size_t bytes);
struct pair *pair_new(const struct plan *plan);
/* True when both sides did their work. Otherwise `failure` says why. Prints the pass's progress. */
bool pair_run(struct pair *pair, const struct pass *pass, struct failure *failure);

void pair_fail(struct pair *pair, enum side side, enum certainty certainty, const char *code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The failure behind an outcome other than OK, with errno's text where there is one. */
void pair_fail_io(struct pair *pair, enum side side, enum outcome outcome, const char *doing);

#endif
