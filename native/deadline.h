/*
 * Time limits: a deadline is a time of the monotonic clock in nanoseconds, or UINT64_MAX for never. And
 * pthread_cancel(): it may end a call while it waits here, and nowhere else. In between, a message may have been taken
 * from the ring but not returned, or a descriptor opened but not noted.
 */
#ifndef CROSSINGS_DEADLINE_H
#define CROSSINGS_DEADLINE_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define RETRY_MS 5 /* between two attempts to connect, while there is no listener, to listen, to ring, or to wait */

/* Put off the cancellation of this thread. Returns what allow_cancellation() takes. */
static inline int hold_cancellation(void) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void allow_cancellation(int before) {
    pthread_setcancelstate(before, &(int){0});
}

static inline uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time `timeout_ms` from now; UINT64_MAX (never) for -1. */
static inline uint64_t deadline_after(int timeout_ms) {
    return timeout_ms < 0 ? UINT64_MAX : now_ns() + (uint64_t)timeout_ms * 1000000u;
}

/* The time left until a deadline, for poll(); rounded up, so that poll() never returns too early. */
static inline int remaining_ms(uint64_t deadline) {
    if (deadline == UINT64_MAX)
        return -1;
    uint64_t now = now_ns();
    if (now >= deadline)
        return 0;
    uint64_t ms = (deadline - now + 999999) / 1000000;
    return ms > 1000000 ? 1000000 : (int)ms;
}

static inline void sleep_before_retry(void) {
    int reason = errno;
    nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000L}, NULL);
    errno = reason;
}

/* Wait until a descriptor is readable, or may be. False: the time is over. poll() can fail for ever, for example in a
 * program that has set its limit of descriptors to 0. The caller then looks again after RETRY_MS. */
static inline bool wait_readable(int fd, uint64_t deadline) {
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    int ready;
    do
        ready = poll(&polled, 1, remaining_ms(deadline));
    while ((ready == 0 && remaining_ms(deadline) != 0) || (ready < 0 && errno == EINTR));
    if (ready < 0)
        sleep_before_retry();
    return ready > 0 || remaining_ms(deadline) != 0;
}

#endif
