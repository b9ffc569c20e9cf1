/*
 * Shared memory, spinning: one slot a direction and a flag that says whose turn it is.
 * No crossing at all: waiting is reading the flag again and again, so each side burns a core of its own.
 */
#include "shared-page.h"

#include <stdatomic.h>
#include <string.h>

/* The flag and the data lie on cache lines of their own: were they on one, each store to the data would take the line
 * away from the process that watches the flag (false sharing). */
struct slot {
    _Alignas(CACHE_LINE) atomic_int full; /* 0: the sender may write; 1: the receiver may read */
    _Alignas(CACHE_LINE) char data[];
};

static struct slot *slots[2]; /* slots[side] is written by that side */
static size_t slot_bytes;

static int setup(size_t size) {
    slot_bytes = sizeof(struct slot) + size;
    slots[SIDE_A] = map_shared(unique_name(0), slot_bytes);
    slots[SIDE_B] = map_shared(unique_name(1), slot_bytes);
    return slots[SIDE_A] && slots[SIDE_B] ? 0 : -1;
}

static int take(enum side side) {
    (void)side; /* the mapping serves both */
    return 0;
}

static enum outcome spin_send(enum side side, const void *message, size_t size) {
    struct slot *slot = slots[side];
    while (atomic_load_explicit(&slot->full, memory_order_acquire)) /* pairs with "read" in spin_receive */
        spin_turn();
    memcpy(slot->data, message, size);
    atomic_store_explicit(&slot->full, 1, memory_order_release); /* written: the data before the flag */
    return OK;
}

static enum outcome spin_receive(enum side side, void *message, size_t size) {
    struct slot *slot = slots[!side];
    while (!atomic_load_explicit(&slot->full, memory_order_acquire)) /* pairs with "written" in spin_send */
        spin_turn();
    memcpy(message, slot->data, size);
    atomic_store_explicit(&slot->full, 0, memory_order_release); /* read: the copy before the flag */
    return OK;
}

static void teardown(enum side side) {
    if (slots[side])
        munmap(slots[side], slot_bytes);
    slots[side] = NULL;
}

const struct mechanism shm_spin = {
    .name = "shm-spin",
    .title = "Shared memory, spinning",
    .source = __FILE__,
    .setup = setup,
    .take = take,
    .send = spin_send,
    .receive = spin_receive,
    .teardown = teardown,
};
