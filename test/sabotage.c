/*
 * Mechanisms that misbehave, to prove that the harness notices: a pipe and a spinning slot whose sender drops, doubles,
 * swaps or alters one message in the middle of a run, or whose sender dies there. Built as crossings-sabotage.
 */
#include "../c-bench/mechanism.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

extern const struct mechanism pipe_mechanism, shm_spin;

#define VICTIM 1000 /* the message that is spoilt, counted from 0 */
#define MOST_BYTES 4096

static uint64_t sent;
static char kept[MOST_BYTES];

static enum outcome drop(const struct mechanism *real, enum side side, const void *message, size_t size) {
    return sent++ == VICTIM ? OK : real->send(side, message, size);
}

/* The last message of a hundred: after it nothing comes that would show the gap. */
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
        memcpy(kept, message, size);
        return OK;
    }
    enum outcome outcome = real->send(side, message, size);
    return number == VICTIM + 1 && outcome == OK ? real->send(side, kept, size) : outcome;
}

/* One bit at `offset`: of the number, of the middle, of the end. */
static enum outcome alter_at(const struct mechanism *real, enum side side, const void *message, size_t size,
                             size_t offset) {
    memcpy(kept, message, size);
    kept[offset] ^= (char)(sent++ == VICTIM ? 0x10 : 0);
    return real->send(side, kept, size);
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

/* SABOTEUR(pipe_drop, "pipe-drop", pipe_mechanism, drop): a mechanism whose side A sends by drop(). Side B is honest.
 */
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
        .max_size = MOST_BYTES,                                                                                        \
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
    &pipe_drop,         &pipe_drop_last,   &pipe_double,       &pipe_swap,      &pipe_alter_start,
    &pipe_alter_middle, &pipe_die,         &spin_drop,         &spin_drop_last, &spin_double,
    &spin_swap,         &spin_alter_start, &spin_alter_middle, &spin_die,       NULL,
};
