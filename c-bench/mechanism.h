/*
 * What a mechanism is: four functions and a name. One file each beside this one implements it; the harness, which
 * knows nothing of pipes or sockets, does the rest (fork, pinning, clocks, checking, output).
 *
 * Life of a mechanism, in this order:
 *   setup()        once, before the two processes exist; what it opens is inherited by both
 *   take(side)     once in each process: keep this side's ends, close the other's
 *   send/receive   as often as the measurement wants
 *   teardown(side) closes what this process still has of that side
 */
#ifndef CROSSINGS_MECHANISM_H
#define CROSSINGS_MECHANISM_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum side { SIDE_A = 0, SIDE_B = 1 };

/* What send() and receive() answer. On FAILED, errno says why. */
enum outcome { FAILED = -1, ENDED = 0, OK = 1 };

struct mechanism {
    const char *name;   /* as typed on the command line: "shm-spin" */
    const char *title;  /* as shown to people: "Shared memory, spinning" */
    const char *source; /* __FILE__ */
    size_t max_size;    /* largest message in bytes; 0: no limit of its own */

    /* Messages of up to `size` bytes will be sent both ways. 0, or -1 with errno; so does take(). */
    int (*setup)(size_t size);
    int (*take)(enum side side);
    /* Send one message whole. ENDED: the other side has gone. */
    enum outcome (*send)(enum side side, const void *message, size_t size);
    /* Wait for one message and copy it out whole. ENDED: the other side has gone and everything was read. */
    enum outcome (*receive)(enum side side, void *message, size_t size);
    void (*teardown)(enum side side);
    /* Only for a mechanism that can hold messages back and show many at once: show what send() has held. */
    void (*flush)(enum side side);
};

/* The table, in mechanisms.c; it ends with NULL. */
extern const struct mechanism *const mechanisms[];

/* A name of this run's own for things that live in the file system ("/crossings-4711-0"), in static storage.
 * `which` tells the names of one run apart and is at most 7. The harness removes them all if this process is killed. */
const char *unique_name(int which);

/* How many turns a spinning loop makes before it lets others run: 0 never (each side has a core of its own), 1 after
 * every turn (both share one core, where spinning on would keep the other side from running at all). */
extern unsigned turns_before_yield;

/* How many messages a mechanism with flush() may hold before it shows them: 1 shows each at once. */
extern unsigned messages_a_batch;

/* One turn of a loop that waits for the other process's store. */
static inline void spin_turn(void) {
    static unsigned turns;
    if (__builtin_expect(turns_before_yield != 0, 0) && ++turns % turns_before_yield == 0)
        sched_yield();
}

#endif
