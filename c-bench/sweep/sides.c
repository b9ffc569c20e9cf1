/* What one side of a sample does, in its process or thread. */
#include "sides.h"

#include "../common/clock.h"
#include "content.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

void sample_fail(struct sample *sample, enum side side, bool consequence, const char *code, const char *format, ...) {
    struct failure *failure = &sample->failure[side];
    va_list arguments;
    va_start(arguments, format);
    failure->failed = true;
    failure->consequence = consequence;
    snprintf(failure->code, sizeof failure->code, "%s", code);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    atomic_store_explicit(&sample->stopped, 1, memory_order_relaxed); /* only ends loops; orders nothing */
}

static bool fail_system(struct sample *sample, enum side side, const char *doing) {
    sample_fail(sample, side, false, "ERR_SYSTEM", "cannot %s: %s", doing, strerror(errno));
    return false;
}

/* A buffer for the user's bytes, every page already touched. */
static char *user_buffer(size_t size) {
    char *buffer = aligned_alloc(PAGE_BYTES, (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    if (buffer)
        content_prepare(buffer, size);
    return buffer;
}

/* The sender waits until the receiver is ready; a receiver that has failed is ready, too. */
static bool start_together(struct sample *sample, enum side side) {
    if (side == RECEIVER)
        return gate_open(&sample->ready);
    if (!gate_wait(&sample->ready))
        return false;
    if (atomic_load_explicit(&sample->stopped, memory_order_relaxed)) /* the gate's pipe orders it */
        return false;
    sample->started_ns = monotonic_ns();
    return true;
}

static bool transfer(struct sample *sample, enum side side, char *buffer) {
    const struct transport *transport = sample->point.transport;
    struct open_counters counters;
    char reason[COUNTER_REASON_BYTES];
    if (sample->count_hardware && !counters_open(&counters, reason)) {
        sample_fail(sample, side, false, "ERR_SYSTEM", "%s", reason);
        return false;
    }
    if (!start_together(sample, side))
        return false;
    if (sample->count_hardware)
        counters_start(&counters);
    bool moved = side == SENDER ? transport->send(sample, buffer) : transport->receive(sample, buffer);
    if (sample->count_hardware && !counters_finish(&counters, &sample->counters[side]) && moved)
        return fail_system(sample, side, "read the hardware counters");
    return moved;
}

bool run_side(struct sample *sample, enum side side) {
    const struct transport *transport = sample->point.transport;
    char *buffer = user_buffer(sample->point.size_bytes);
    bool worked = false;
    if (!buffer)
        fail_system(sample, side, "allocate the buffer");
    else if (sample->pinned && !pin_process(0, sample->cores[side]))
        fail_system(sample, side, "pin a side to its core");
    else if (transport->take && transport->take(sample, side))
        fail_system(sample, side, "prepare the connection");
    else
        worked = transfer(sample, side, buffer);
    if (!worked && side == RECEIVER)
        gate_open(&sample->ready);
    close(sample->link.ends[side]); /* the other side sees the end of the stream */
    if (transport->release)
        transport->release(side);
    free(buffer);
    return worked;
}

static void *receiver_thread(void *sample) {
    return run_side(sample, RECEIVER) ? sample : NULL;
}

bool run_threads(struct sample *sample) {
    pthread_t receiver;
    errno = pthread_create(&receiver, NULL, receiver_thread, sample);
    if (errno)
        return fail_system(sample, RECEIVER, "start a thread");
    bool sent = run_side(sample, SENDER);
    void *received = NULL;
    pthread_join(receiver, &received);
    return sent && received;
}
