/*
 * eventfd and signalfd: descriptors that carry no message, only the news that there is one. The messages are in shared
 * memory. Side A announces each of its messages by adding 1 to an eventfd; side B announces each of its own by queueing
 * a signal, which side A reads from a signalfd.
 * A message makes two crossings: write() or rt_sigqueueinfo() announces it, and read() waits for the announcement.
 * These calls order the memory too: what a process wrote before it announced a message is visible after read().
 */
#include "shared-page.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#define RING_BYTES (256u << 10) /* of each direction; more if fewer than MIN_SLOTS messages fit */
#define MIN_SLOTS 2
#define NEWS SIGRTMIN /* a real-time signal: each one is queued, where others are merged */

/* One direction. The sender may fill a slot for each credit that it holds. The receiver gives credit back in halves of
 * the ring, so it rarely makes a call for it. */
struct direction {
    char *slots;
    int credit;              /* an eventfd */
    uint64_t credits;        /* of the sender, in the sender's process */
    uint64_t announced;      /* announcements read but not yet used, in the receiver's process */
    uint64_t sent, received; /* messages, in the sender's and in the receiver's process */
};

static struct direction directions[2]; /* directions[side] is the one that this side writes to */
static size_t slot_count, ring_bytes;
static int news = -1;    /* the eventfd, from A to B */
static int signals = -1; /* the signalfd of side A */
static pid_t *pid_a;     /* in shared memory: the receiver of B's signals */

static int setup(size_t size) {
    slot_count = RING_BYTES / size < MIN_SLOTS ? MIN_SLOTS : RING_BYTES / size / 2 * 2;
    ring_bytes = slot_count * size;
    for (int side = SIDE_A; side <= SIDE_B; side++) {
        directions[side] = (struct direction){
            .slots = map_shared(unique_name(0), ring_bytes), .credit = eventfd(0, 0), .credits = slot_count};
        if (!directions[side].slots || directions[side].credit < 0)
            return -1;
    }
    pid_a = map_shared(unique_name(1), sizeof *pid_a);
    news = eventfd(0, 0);
    return pid_a && news >= 0 ? 0 : -1;
}

/* Side A blocks the signal, so that it waits until it is read from the signalfd. */
static int take(enum side side) {
    sigset_t set;
    if (side == SIDE_B)
        return 0;
    *pid_a = getpid(); /* B reads it after A's first message */
    sigemptyset(&set);
    sigaddset(&set, NEWS);
    signals = sigprocmask(SIG_BLOCK, &set, NULL) ? -1 : signalfd(-1, &set, 0);
    return signals < 0 ? -1 : 0;
}

/* read() again if a signal interrupts it. */
static int read_all(int fd, void *target, size_t bytes) {
    ssize_t got;
    do
        got = read(fd, target, bytes);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)bytes ? 0 : -1;
}

static int add(int fd, uint64_t number) {
    return write(fd, &number, sizeof number) == sizeof number ? 0 : -1;
}

/* The system call itself, since sigqueue() makes two more to add a PID and a UID, which nobody reads here. */
static int announce(enum side side) {
    if (side == SIDE_A)
        return add(news, 1);
    siginfo_t info = {.si_code = SI_QUEUE};
    long result;
    while ((result = syscall(SYS_rt_sigqueueinfo, *pid_a, NEWS, &info)) && errno == EAGAIN)
        sched_yield(); /* the queue is full (RLIMIT_SIGPENDING) */
    return (int)result;
}

/* Reading the eventfd returns the number of all announcements so far and resets it; the signalfd returns one signal. */
static int wait_for_news(enum side side, uint64_t *announced) {
    if (side == SIDE_B)
        return read_all(news, announced, sizeof *announced);
    struct signalfd_siginfo signal;
    *announced = 1;
    return read_all(signals, &signal, sizeof signal);
}

static enum outcome event_send(enum side side, const void *message, size_t size) {
    struct direction *way = &directions[side];
    if (way->credits == 0 && read_all(way->credit, &way->credits, sizeof way->credits))
        return FAILED;
    way->credits--;
    memcpy(way->slots + way->sent++ % slot_count * size, message, size);
    return announce(side) ? FAILED : OK;
}

static enum outcome event_receive(enum side side, void *message, size_t size) {
    struct direction *way = &directions[!side];
    if (way->announced == 0 && wait_for_news(side, &way->announced))
        return FAILED;
    way->announced--;
    memcpy(message, way->slots + way->received++ % slot_count * size, size);
    if (way->received % (slot_count / 2) == 0 && add(way->credit, slot_count / 2))
        return FAILED;
    return OK;
}

static void teardown(enum side side) {
    struct direction *way = &directions[side];
    if (!way->slots)
        return;
    munmap(way->slots, ring_bytes);
    way->slots = NULL;
    close(way->credit);
    if (side == SIDE_B)
        return;
    munmap(pid_a, sizeof *pid_a);
    close(news);
    close(signals);
}

const struct mechanism eventfd_signalfd = {
    .name = "eventfd-signalfd",
    .title = "eventfd and signalfd",
    .source = __FILE__,
    .special = true,
    .setup = setup,
    .take = take,
    .send = event_send,
    .receive = event_receive,
    .teardown = teardown,
};
