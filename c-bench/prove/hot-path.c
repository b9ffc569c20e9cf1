/*
 * The hot path of the ring and of shm-spin. Nothing here makes a system call, and nothing here calls a function outside
 * this file: `crossings prove --disassembly` shows the instructions, and the tests check them.
 */
#include "loop.h"

/* ---- The ring: native/ring.h, as in the package ---- */

HOT bool ring_put(struct end *end, const struct message *message) {
    enum ring_result written;
    while ((written = ring_write(&end->writer, message, sizeof *message, RING_KIND_MESSAGE)) == RING_NO)
        ring_pause();
    ring_publish(&end->writer);
    return written == RING_OK;
}

HOT bool ring_take(struct end *end, struct message *message) {
    const void *payload;
    uint32_t bytes, kind;
    enum ring_result seen;
    while ((seen = ring_peek(&end->reader, &payload, &bytes, &kind)) == RING_NO)
        ring_back_off(&end->reader);
    if (seen == RING_CORRUPT || bytes != sizeof *message)
        return false;
    ring_copy(message, payload, sizeof *message);
    ring_consume(&end->reader, sizeof *message);
    return true;
}

HOT bool ring_send_all(struct end *end, uint64_t messages) {
    return send_all(end, messages, ring_put);
}

HOT bool ring_receive_all(struct end *end, uint64_t messages) {
    (void)messages;
    return receive_all(end, ring_take);
}

HOT bool ring_ask_all(struct end *end, uint64_t messages) {
    return ask_all(end, messages, ring_put, ring_take);
}

HOT bool ring_answer_all(struct end *end, uint64_t messages) {
    (void)messages;
    return answer_all(end, ring_put, ring_take);
}

/* ---- shm-spin: a slot and a flag, as in c-bench/shm-spin.c ---- */

HOT bool spin_put(struct end *end, const struct message *message) {
    struct slot *slot = end->outgoing;
    while (atomic_load_explicit(&slot->full, memory_order_acquire)) /* pairs with the release in spin_take */
        ring_pause();
    slot->message = *message;
    atomic_store_explicit(&slot->full, 1, memory_order_release); /* pairs with the acquire in spin_take */
    return true;
}

HOT bool spin_take(struct end *end, struct message *message) {
    struct slot *slot = end->incoming;
    while (!atomic_load_explicit(&slot->full, memory_order_acquire)) /* pairs with the release in spin_put */
        ring_pause();
    *message = slot->message;
    atomic_store_explicit(&slot->full, 0, memory_order_release); /* pairs with the acquire in spin_put */
    return true;
}

HOT bool spin_send_all(struct end *end, uint64_t messages) {
    return send_all(end, messages, spin_put);
}

HOT bool spin_receive_all(struct end *end, uint64_t messages) {
    (void)messages;
    return receive_all(end, spin_take);
}
