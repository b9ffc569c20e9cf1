/*
 * Shared memory, spinning: each direction has one slot, and a flag that shows whether it is full.
 * A message makes no crossing. A process waits by reading the flag in a loop, so each side keeps a core busy.
 */
#include "shared-page.h"

#include <stdatomic.h>
#include <string.h>

/* The flag and the data are on separate cache lines. On a shared line, each store to the data would take the line away
 * from the process that polls the flag (false sharing). */
struct slot {
    _Alignas(CACHE_LINE) atomic_int full; /* 0: the sender may write; 1: the receiver may read */
    _Alignas(CACHE_LINE) char data[];
};

static struct slot *slots[2]; /* slots[side] is the one that this side writes to */
static size_t slot_bytes;

static int setup(size_t size) {
    slot_bytes = sizeof(struct slot) + size;
    slots[SIDE_A] = map_shared(unique_name(0), slot_bytes);
    slots[SIDE_B] = map_shared(unique_name(1), slot_bytes);
    return slots[SIDE_A] && slots[SIDE_B] ? 0 : -1;
}

static int take(enum side side) {
    (void)side; /* both sides use the same mappings */
    return 0;
}

static enum outcome spin_send(enum side side, const void *message, size_t size) {
    struct slot *slot = slots[side];
    while (atomic_load_explicit(&slot->full, memory_order_acquire)) /* pairs with the release in spin_receive */
        spin_turn();
    memcpy(slot->data, message, size);
    atomic_store_explicit(&slot->full, 1, memory_order_release); /* the data becomes visible before the flag */
    return OK;
}

static enum outcome spin_receive(enum side side, void *message, size_t size) {
    struct slot *slot = slots[!side];
    while (!atomic_load_explicit(&slot->full, memory_order_acquire)) /* pairs with the release in spin_send */
        spin_turn();
    memcpy(message, slot->data, size);
    atomic_store_explicit(&slot->full, 0, memory_order_release); /* the copy ends before the flag changes */
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
