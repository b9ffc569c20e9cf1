/*
 * Futex: shared memory, and a system call only to sleep or to wake a sleeper. Each direction has one slot and one word,
 * which says whether the slot is full and whether somebody sleeps until that changes.
 * A message makes at most two crossings: futex(WAIT) by the process that waits, futex(WAKE) by the other one. POSIX
 * semaphores (shm-sem.c) are built on the same call.
 */
#include "shared-page.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

enum { EMPTY = 0, FULL = 1, SLEEPER = 2 }; /* SLEEPER is added to EMPTY or FULL */

struct slot {
    _Alignas(CACHE_LINE) atomic_uint word;
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

/* Sleep until the slot is `wanted`. The kernel puts the process to sleep only if the word still is what was seen, so a
 * change in between is not missed. Only one of the two processes can be waiting for a slot. */
static int wait_until(struct slot *slot, unsigned wanted) {
    unsigned seen;
    /* Pairs with the exchange in change_to(). */
    while (((seen = atomic_load_explicit(&slot->word, memory_order_acquire)) & FULL) != wanted) {
        unsigned asleep = seen | SLEEPER;
        /* Relaxed: this only announces the sleeper; what the slot holds is read after the load above. */
        if (seen != asleep && !atomic_compare_exchange_strong_explicit(&slot->word, &seen, asleep, memory_order_relaxed,
                                                                       memory_order_relaxed))
            continue;
        if (syscall(SYS_futex, &slot->word, FUTEX_WAIT, asleep, NULL, NULL, 0) && errno != EAGAIN && errno != EINTR)
            return -1;
    }
    return 0;
}

/* Change the slot to `state`, and wake the other process if it sleeps. */
static int change_to(struct slot *slot, unsigned state) {
    /* Release: the copy ends before the word changes. Pairs with the load in wait_until(). */
    if (!(atomic_exchange_explicit(&slot->word, state, memory_order_release) & SLEEPER))
        return 0;
    return syscall(SYS_futex, &slot->word, FUTEX_WAKE, 1, NULL, NULL, 0) < 0 ? -1 : 0;
}

static enum outcome futex_send(enum side side, const void *message, size_t size) {
    struct slot *slot = slots[side];
    if (wait_until(slot, EMPTY))
        return FAILED;
    memcpy(slot->data, message, size);
    return change_to(slot, FULL) ? FAILED : OK;
}

static enum outcome futex_receive(enum side side, void *message, size_t size) {
    struct slot *slot = slots[!side];
    if (wait_until(slot, FULL))
        return FAILED;
    memcpy(message, slot->data, size);
    return change_to(slot, EMPTY) ? FAILED : OK;
}

static void teardown(enum side side) {
    if (slots[side])
        munmap(slots[side], slot_bytes);
    slots[side] = NULL;
}

const struct mechanism futex = {
    .name = "futex",
    .title = "Shared memory, futex",
    .source = __FILE__,
    .special = true,
    .setup = setup,
    .take = take,
    .send = futex_send,
    .receive = futex_receive,
    .teardown = teardown,
};
