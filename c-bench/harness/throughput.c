/*
 * The throughput pass: side A sends plan.messages messages as fast as it can; side B receives and checks each.
 * The time is from just before the first send, with B already waiting, until B has the last message.
 */
#include "measure.h"

#include "../common/clock.h"
#include "message.h"
#include "pair.h"

#include <stdlib.h>

#define PROGRESS_EVERY                                                                                                 \
    1024 /* messages; a power of two. Large messages are counted one by one: the cost is negligible */
#define LARGE_BYTES 4096

void *message_buffer(size_t size_bytes) {
    size_t bytes = (size_bytes + 63) / 64 * 64;
    void *buffer = aligned_alloc(64, bytes);
    if (!buffer)
        abort();
    message_prepare(buffer, bytes); /* this also touches every page */
    return buffer;
}

static void note_progress(struct pair *pair, enum side side, uint64_t done) {
    if ((done & (PROGRESS_EVERY - 1)) == 0 || pair->plan.size_bytes >= LARGE_BYTES)
        atomic_store_explicit(&pair->report[side].progress, done, memory_order_relaxed);
}

static bool send_all(struct pair *pair) {
    const struct plan *plan = &pair->plan;
    const struct mechanism *mechanism = plan->mechanism;
    char *message = message_buffer(plan->size_bytes);
    uint64_t checksum = 0;

    while (!atomic_load_explicit(&pair->receiver_ready, memory_order_acquire)) /* pairs with the store in receive_all */
        spin_turn();
    pair->started_ns = monotonic_ns();
    for (uint64_t number = 0; number < plan->messages; number++) {
        message_stamp(message, plan->size_bytes, number);
        checksum += message_checksum(message, plan->size_bytes);
        enum outcome outcome = mechanism->send(SIDE_A, message, plan->size_bytes);
        if (outcome != OK) {
            pair_fail_io(pair, SIDE_A, outcome, "sending");
            return false;
        }
        note_progress(pair, SIDE_A, number);
    }
    if (mechanism->flush)
        mechanism->flush(SIDE_A);
    pair->report[SIDE_A].checksum = checksum;
    free(message);
    return true;
}

/* Report why another message arrived instead of message `expected`. A lost message and a reordered one look the same
 * until the next message arrives. */
static void diagnose(struct pair *pair, char *message, uint64_t expected) {
    const struct plan *plan = &pair->plan;
    uint64_t got = message_number(message);
    unsigned long long due = expected, came = got;
    if (!message_is(message, plan->size_bytes, got) || got >= plan->messages) {
        pair_fail(pair, SIDE_B, CERTAIN, "ERR_MESSAGE_ALTERED", "message %llu arrived altered", due);
    } else if (got < expected) {
        pair_fail(pair, SIDE_B, CERTAIN, "ERR_MESSAGE_DOUBLED", "message %llu arrived again instead of message %llu",
                  came, due);
    } else {
        pair_fail(pair, SIDE_B, SUSPECTED, "ERR_MESSAGE_LOST", "message %llu was lost; message %llu arrived instead",
                  due, came);
        if (plan->mechanism->receive(SIDE_B, message, plan->size_bytes) == OK && message_number(message) == expected)
            pair_fail(pair, SIDE_B, CERTAIN, "ERR_MESSAGE_REORDERED", "message %llu arrived before message %llu", came,
                      due);
    }
}

static bool receive_all(struct pair *pair) {
    const struct plan *plan = &pair->plan;
    const struct mechanism *mechanism = plan->mechanism;
    char *message = message_buffer(plan->size_bytes);
    uint64_t checksum = 0;

    atomic_store_explicit(&pair->receiver_ready, 1, memory_order_release); /* pairs with the load in send_all */
    for (uint64_t number = 0; number < plan->messages; number++) {
        enum outcome outcome = mechanism->receive(SIDE_B, message, plan->size_bytes);
        if (outcome == ENDED)
            pair_fail(pair, SIDE_B, SUSPECTED, "ERR_MESSAGE_LOST", "the stream ended before message %llu",
                      (unsigned long long)number);
        else if (outcome == FAILED)
            pair_fail_io(pair, SIDE_B, outcome, "receiving");
        else if (!message_is(message, plan->size_bytes, number))
            diagnose(pair, message, number);
        if (pair->report[SIDE_B].failure.certainty)
            return false;
        checksum += message_checksum(message, plan->size_bytes);
        note_progress(pair, SIDE_B, number);
    }
    pair->finished_ns = monotonic_ns();
    pair->report[SIDE_B].checksum = checksum;
    free(message);
    return true;
}

static bool throughput_side(struct pair *pair, enum side side) {
    return side == SIDE_A ? send_all(pair) : receive_all(pair);
}

bool measure_throughput(struct pair *pair, struct failure *failure) {
    const struct pass pass = {"throughput", {"sending", "receiving"}, pair->plan.messages, throughput_side};
    if (!pair_run(pair, &pass, failure))
        return false;
    if (pair->report[SIDE_A].checksum == pair->report[SIDE_B].checksum)
        return true;
    pair_fail(
        pair, SIDE_B, CERTAIN, "ERR_MESSAGE_ALTERED",
        "a message was altered: the checksum of the received messages is %016llx, but that of the sent ones is %016llx",
        (unsigned long long)pair->report[SIDE_B].checksum, (unsigned long long)pair->report[SIDE_A].checksum);
    *failure = pair->report[SIDE_B].failure;
    return false;
}
