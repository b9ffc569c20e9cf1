/*
 * A sample of a sweep: a fixed number of bytes through one mechanism, written and read with a buffer of one size. The
 * two sides are two processes or two threads of one.
 */
#ifndef CROSSINGS_SWEEP_H
#define CROSSINGS_SWEEP_H

#include "../common/gate.h"
#include "../common/topology.h"
#include "counters.h"
#include "reads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIN_SIZE_BYTES 8u
#define MAX_SIZE_BYTES (16u << 20)
#define APART 128 /* bytes: processors fetch cache lines in pairs */

enum side { SENDER = 0, RECEIVER = 1 };

struct transport;

struct point {
    const struct transport *transport;
    bool threads; /* false: two processes */
    bool matched; /* kernel buffers of the same size as the user's; false: of the default size */
    size_t size_bytes;
};

/* What a sample needs to open its connection, and the connection. */
struct link {
    int ends[2];                        /* one for each side */
    uint64_t send_bytes, receive_bytes; /* the buffer sizes that the kernel granted; the ring's capacity */
};

struct failure {
    bool failed;
    bool consequence; /* it may only be the result of the other side's failure */
    char code[32];
    char text[256];
};

/* In memory that both sides and the supervisor share. */
struct sample {
    struct point point;
    uint64_t total_bytes; /* that this sample moves */
    int cores[2];         /* of each side, if pinned */
    bool pinned, count_hardware;
    unsigned stall_ms;           /* fail after this long without progress */
    unsigned turns_before_yield; /* of a spinning loop; 0: it never yields */

    struct link link;
    struct gate ready;                /* opened by the receiver when it is about to read */
    uint64_t started_ns, finished_ns; /* CLOCK_MONOTONIC */
    uint64_t digest;                  /* of what arrived */
    _Alignas(APART) struct reads reads;
    struct counters counters[2];
    struct failure failure[2];
    _Alignas(APART) atomic_int stopped; /* a side has failed: the other one must not spin any longer */
    struct {
        _Alignas(APART) _Atomic uint64_t bytes; /* sent or received so far */
    } progress[2];
};

/* How the bytes of a sample travel. send() and receive() move all of them; false: they have called sample_fail(). */
struct transport {
    const char *name;
    bool matches; /* its buffers can be matched */
    /* Open the connection before the sides exist. Returns 0, or -1 and sets errno. */
    int (*open)(const struct point *point, struct link *link);
    /* Prepare this side. NULL: nothing to prepare. Returns 0, or -1 and sets errno. */
    int (*take)(struct sample *sample, enum side side);
    bool (*send)(struct sample *sample, char *buffer);
    bool (*receive)(struct sample *sample, char *buffer);
    /* Release what take() opened. The caller closes the ends. */
    void (*release)(enum side side);
};

extern const struct transport *const transports[]; /* NULL ends it */

struct sample *sample_new(void);
/* Take the sample that the first members describe. False: it failed, and `failure` says why. */
bool sample_take(struct sample *sample, struct failure *failure);

void sample_fail(struct sample *sample, enum side side, bool consequence, const char *code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static inline void note_progress(struct sample *sample, enum side side, uint64_t bytes) {
    atomic_store_explicit(&sample->progress[side].bytes, bytes, memory_order_relaxed);
}

#endif
