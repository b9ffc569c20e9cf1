/*
 * A mechanism of inter-process communication: a name and a few functions. Each file beside this one implements one. The
 * harness knows nothing about pipes or sockets; it does everything else: fork, pin, time, check and print.
 *
 * The harness calls the functions in this order:
 *   setup()        once, before the two processes exist; both inherit what it opens
 *   take(side)     once in each process: keep the ends of this side and close the others; not with --alone, where one
 *                  process is both sides
 *   send, receive  any number of times
 *   teardown(side) closes what this process still has open of that side
 */
#ifndef CROSSINGS_MECHANISM_H
#define CROSSINGS_MECHANISM_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum side { SIDE_A = 0, SIDE_B = 1 };

/* Of a message with --alone: one process sends all of it before it receives it. */
#define ALONE_MAX_BYTES 16384

/* The results of send() and receive(). FAILED: see errno. */
enum outcome { FAILED = -1, ENDED = 0, OK = 1 };

struct mechanism {
    const char *name;   /* on the command line: "shm-spin" */
    const char *title;  /* in tables and charts: "Shared memory, spinning" */
    const char *source; /* __FILE__ */
    size_t max_size;    /* the largest message in bytes; 0: no limit */
    bool special;       /* for an experiment or for --mechanism; not in the comparison of all mechanisms */
    bool billable;      /* supports --poll and --alone, for `crossings bill` */

    /* Prepare for messages of up to `size` bytes, in both directions. Returns 0, or -1 and sets errno. */
    int (*setup)(size_t size);
    /* Returns 0, or -1 and sets errno. */
    int (*take)(enum side side);
    /* Send one whole message. ENDED: the other side has exited. */
    enum outcome (*send)(enum side side, const void *message, size_t size);
    /* Wait for one whole message and copy it out. ENDED: the other side has exited and everything has been read. */
    enum outcome (*receive)(enum side side, void *message, size_t size);
    void (*teardown)(enum side side);
    /* How many bytes can be sent before they are received, once it is set up? NULL: at least ALONE_MAX_BYTES. */
    size_t (*room)(void);
    /* Publish the messages that send() has held back. NULL: this mechanism publishes each message at once. */
    void (*flush)(enum side side);
};

/* The table of all mechanisms, in mechanisms.c. NULL ends it. */
extern const struct mechanism *const mechanisms[];

/* A name in the file system that no other run uses ("/crossings-4711-0"), in static storage. `which`, 0 to 7, selects
 * one of the run's names. The harness removes all of them if this process is killed. */
const char *unique_name(int which);

/* The turns of a spinning loop before it yields the core. 0: it never yields, because each side has its own core. 1: it
 * yields after every turn, because both sides share a core and the other one could not run otherwise. */
extern unsigned turns_before_yield;

/* The messages that a mechanism with flush() holds back before it publishes them; 1: it publishes each at once. */
extern unsigned messages_a_batch;

/* --poll: no call waits in the kernel. One that would have to wait fails with EAGAIN, and its process makes it again.
 */
extern bool polling;

/* One turn of a loop that waits for a store by the other process. */
static inline void spin_turn(void) {
    static unsigned turns;
    if (__builtin_expect(turns_before_yield != 0, 0) && ++turns % turns_before_yield == 0)
        sched_yield();
}

/* A call has failed: make it again? EINTR: a signal interrupted it. EAGAIN: it would have had to wait (--poll). */
static inline bool call_again(void) {
    int reason = errno;
    if (reason == EAGAIN)
        spin_turn();
    errno = reason;
    return reason == EINTR || reason == EAGAIN;
}

#endif
