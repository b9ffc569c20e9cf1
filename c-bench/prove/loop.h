/*
 * The loops of an exchange, once for all mechanisms. They are inlined into a function of each mechanism, whose calls to
 * put() and take() are then direct ones.
 */
#ifndef CROSSINGS_LOOP_H
#define CROSSINGS_LOOP_H

#include "hot-path.h"

#define INLINED static inline __attribute__((always_inline))
#define HOT __attribute__((noinline))

INLINED bool put_number(struct end *end, uint64_t number, bool last, put_message *put) {
    struct message message = {.number = number, .last = last, .inverse = ~number};
    return put(end, &message);
}

INLINED bool take_number(struct end *end, uint64_t number, bool *last, take_message *take) {
    struct message message;
    bool taken = take(end, &message);
    *last = message.last;
    return taken && message.number == number && message.inverse == ~number;
}

/* The supervisor reads it, for its progress. */
INLINED void count(struct end *end, uint64_t done) {
    atomic_store_explicit(end->done, done, memory_order_relaxed);
}

/* Is the message that completes `done` the last one? The first process decides; the message tells the other. */
INLINED bool is_last(const struct end *end, uint64_t done, uint64_t messages) {
    return done >= messages || atomic_load_explicit(end->stop, memory_order_relaxed);
}

INLINED bool send_all(struct end *end, uint64_t messages, put_message *put) {
    bool last = false;
    for (uint64_t number = 0; !last; number++) {
        last = is_last(end, number + 1, messages);
        if (!put_number(end, number, last, put))
            return false;
        count(end, number + 1);
    }
    return true;
}

INLINED bool receive_all(struct end *end, take_message *take) {
    bool last = false;
    for (uint64_t number = 0; !last; number++) {
        if (!take_number(end, number, &last, take))
            return false;
        count(end, number + 1);
    }
    return true;
}

INLINED bool ask_all(struct end *end, uint64_t messages, put_message *put, take_message *take) {
    bool last = false;
    for (uint64_t number = 0; !last; number += 2) {
        last = is_last(end, number + 2, messages);
        if (!put_number(end, number, last, put) || !take_number(end, number + 1, &last, take))
            return false;
        count(end, number + 2);
    }
    return true;
}

INLINED bool answer_all(struct end *end, put_message *put, take_message *take) {
    bool last = false;
    for (uint64_t number = 0; !last; number += 2) {
        if (!take_number(end, number, &last, take) || !put_number(end, number + 1, last, put))
            return false;
        count(end, number + 2);
    }
    return true;
}

#endif
