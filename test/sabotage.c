/*
 * Mechanisms with faults, to prove that the harness detects them: a pipe and a spinning slot whose sender drops,
 * duplicates, swaps or alters one message in the middle of a run, or dies there; and a ring with a hidden system call.
 * Built as crossings-sabotage.
 */
#include "../c-bench/mechanism.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

extern const struct mechanism pipe_mechanism, shm_spin;
extern const struct mechanism ring; /* with a hidden system call: sabotage-ring.c */

#define VICTIM 1000 /* the affected message, counted from 0 */
#define MAX_BYTES 4096

static uint64_t sent;
static char held[MAX_BYTES];

static enum outcome drop(const struct mechanism *real, enum side side, const void *message, size_t size) {
    return sent++ == VICTIM ? OK : real->send(side, message, size);
}

/* Drops the last of 100 messages: no later message shows the gap. */
static enum outcome drop_last(const struct mechanism *real, enum side side, const void *message, size_t size) {
    return sent++ == 99 ? OK : real->send(side, message, size);
}

static enum outcome double_(const struct mechanism *real, enum side side, const void *message, size_t size) {
    if (sent++ == VICTIM && real->send(side, message, size) != OK)
        return FAILED;
    return real->send(side, message, size);
}

static enum outcome swap(const struct mechanism *real, enum side side, const void *message, size_t size) {
    uint64_t number = sent++;
    if (number == VICTIM) {
        memcpy(held, message, size);
        return OK;
    }
    enum outcome outcome = real->send(side, message, size);
    return number == VICTIM + 1 && outcome == OK ? real->send(side, held, size) : outcome;
}

/* Flips one bit at `offset`. */
static enum outcome alter_at(const struct mechanism *real, enum side side, const void *message, size_t size,
                             size_t offset) {
    memcpy(held, message, size);
    held[offset] ^= (char)(sent++ == VICTIM ? 0x10 : 0);
    return real->send(side, held, size);
}

static enum outcome alter_start(const struct mechanism *real, enum side side, const void *message, size_t size) {
    return alter_at(real, side, message, size, 1);
}

static enum outcome alter_middle(const struct mechanism *real, enum side side, const void *message, size_t size) {
    return alter_at(real, side, message, size, size / 2);
}

static enum outcome die(const struct mechanism *real, enum side side, const void *message, size_t size) {
    if (sent++ == VICTIM)
        kill(getpid(), SIGKILL);
    return real->send(side, message, size);
}

/* SABOTEUR(pipe_drop, "pipe-drop", pipe_mechanism, drop) defines a mechanism whose side A sends with drop(). Side B
 * works correctly. */
#define SABOTEUR(id, label, real, how)                                                                                 \
    static int id##_setup(size_t size) {                                                                               \
        return real.setup(size);                                                                                       \
    }                                                                                                                  \
    static int id##_take(enum side side) {                                                                             \
        return real.take(side);                                                                                        \
    }                                                                                                                  \
    static enum outcome id##_send(enum side side, const void *message, size_t size) {                                  \
        return side == SIDE_A ? how(&real, side, message, size) : real.send(side, message, size);                      \
    }                                                                                                                  \
    static enum outcome id##_receive(enum side side, void *message, size_t size) {                                     \
        return real.receive(side, message, size);                                                                      \
    }                                                                                                                  \
    static void id##_teardown(enum side side) {                                                                        \
        real.teardown(side);                                                                                           \
    }                                                                                                                  \
    static const struct mechanism id = {                                                                               \
        .name = label,                                                                                                 \
        .title = label,                                                                                                \
        .source = __FILE__,                                                                                            \
        .max_size = MAX_BYTES,                                                                                         \
        .setup = id##_setup,                                                                                           \
        .take = id##_take,                                                                                             \
        .send = id##_send,                                                                                             \
        .receive = id##_receive,                                                                                       \
        .teardown = id##_teardown,                                                                                     \
    };

SABOTEUR(pipe_drop, "pipe-drop", pipe_mechanism, drop)
SABOTEUR(pipe_drop_last, "pipe-drop-last", pipe_mechanism, drop_last)
SABOTEUR(pipe_double, "pipe-double", pipe_mechanism, double_)
SABOTEUR(pipe_swap, "pipe-swap", pipe_mechanism, swap)
SABOTEUR(pipe_alter_start, "pipe-alter-start", pipe_mechanism, alter_start)
SABOTEUR(pipe_alter_middle, "pipe-alter-middle", pipe_mechanism, alter_middle)
SABOTEUR(pipe_die, "pipe-die", pipe_mechanism, die)
SABOTEUR(spin_drop, "spin-drop", shm_spin, drop)
SABOTEUR(spin_drop_last, "spin-drop-last", shm_spin, drop_last)
SABOTEUR(spin_double, "spin-double", shm_spin, double_)
SABOTEUR(spin_swap, "spin-swap", shm_spin, swap)
SABOTEUR(spin_alter_start, "spin-alter-start", shm_spin, alter_start)
SABOTEUR(spin_alter_middle, "spin-alter-middle", shm_spin, alter_middle)
SABOTEUR(spin_die, "spin-die", shm_spin, die)

const struct mechanism *const mechanisms[] = {
    &pipe_drop,         &pipe_drop_last, &pipe_double,    &pipe_swap,   &pipe_alter_start, &pipe_alter_middle,
    &pipe_die,          &spin_drop,      &spin_drop_last, &spin_double, &spin_swap,        &spin_alter_start,
    &spin_alter_middle, &spin_die,       &ring,           NULL,
};
