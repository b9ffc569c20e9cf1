/*
 * Both ends of a C channel in two threads of one process, for the thread sanitizer. thread-sanitizer.test.js builds and
 * runs it. usage: thread-sanitizer NAME MESSAGES; without arguments, it prints the names of all runs.
 *
 * The sanitizer compares virtual addresses. A channel maps its peer's region a second time, at another address, so the
 * sanitizer would not see that the two sides use the same memory. Here, region_map_peer() returns the mapping that the
 * region's owner has in this process. Everything else is the code that ships.
 *
 * The sanitizer does not understand fences. The fences of ring.h order only atomic accesses, which cannot race, so they
 * stay as they are: test/model/ checks them.
 */
#define region_create create_region
#define region_map_peer map_region
#define region_release release_region
#include "../native/region.c"
#undef region_create
#undef region_map_peer
#undef region_release

#include "../native/crossings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- One mapping for both sides ---- */

#define MAX_REGIONS 4

/* A region that was created in this process. Its mapping is released by the second of its two users. */
static struct shared {
    struct region region;
    ino_t inode;
    int users;
} regions[MAX_REGIONS];
static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;

static ino_t inode_of(int fd) {
    struct stat status;
    EXPECT(fstat(fd, &status) == 0);
    return status.st_ino;
}

int region_create(struct region *region, uint32_t capacity, uint32_t flags) {
    EXPECT(create_region(region, capacity, flags) == 0);
    pthread_mutex_lock(&regions_lock);
    int i = 0;
    while (i < MAX_REGIONS && regions[i].users)
        i++;
    EXPECT(i < MAX_REGIONS);
    regions[i] = (struct shared){.region = *region, .inode = inode_of(region->fd), .users = 2};
    pthread_mutex_unlock(&regions_lock);
    return 0;
}

enum region_refusal region_map_peer(struct region *region, int fd, uint32_t max_capacity) {
    EXPECT(max_capacity >= RING_MIN_CAPACITY);
    ino_t inode = inode_of(fd);
    pthread_mutex_lock(&regions_lock);
    int i = 0;
    while (i < MAX_REGIONS && !(regions[i].users && regions[i].inode == inode))
        i++;
    EXPECT(i < MAX_REGIONS);
    *region = regions[i].region;
    region->fd = -1;
    pthread_mutex_unlock(&regions_lock);
    return REGION_OK;
}

void region_release(struct region *region) {
    if (region->fd >= 0)
        close(region->fd);
    pthread_mutex_lock(&regions_lock);
    for (int i = 0; i < MAX_REGIONS; i++) {
        struct shared *shared = &regions[i];
        if (!region->header || shared->region.header != region->header || !shared->users || --shared->users)
            continue;
        shared->region.fd = -1;
        release_region(&shared->region);
    }
    pthread_mutex_unlock(&regions_lock);
    *region = (struct region){.fd = -1};
}

/* ---- The two sides ---- */

#define CAPACITY RING_MIN_CAPACITY
#define LARGEST (CAPACITY / 4)

static uint64_t count; /* messages of a run */
static int ends[2];

static crossings_channel *open_end(int end, crossings_wait wait) {
    crossings_options options = {.capacity = CAPACITY, .wait = wait, .spin_us = 20};
    crossings_channel *channel;
    EXPECT(crossings_open(ends[end], &options, &channel) == CROSSINGS_OK);
    return channel;
}

/* The size of message `number`: mostly a few bytes, now and then a quarter of the ring. */
static size_t size_of(uint64_t number) {
    return number % 64 == 63 ? LARGEST : 8 + number % 90;
}

static void send_number(crossings_channel *channel, uint64_t number) {
    char message[LARGEST];
    memset(message, (int)number, size_of(number));
    memcpy(message, &number, sizeof number);
    EXPECT(crossings_send(channel, message, size_of(number), -1) == CROSSINGS_OK);
}

static void receive_number(crossings_channel *channel, uint64_t expected) {
    static char message[LARGEST]; /* only one thread of a run receives large messages */
    uint64_t number;
    size_t size;
    EXPECT(crossings_receive(channel, message, sizeof message, &size, -1) == CROSSINGS_OK);
    memcpy(&number, message, sizeof number);
    EXPECT(number == expected && size == size_of(expected));
    EXPECT(size == 8 || message[size - 1] == (char)expected);
}

/* A stream: the sender waits for room, the receiver for data. */
static void *send_stream(void *wait) {
    crossings_channel *channel = open_end(1, *(crossings_wait *)wait);
    for (uint64_t number = 0; number < count; number++)
        send_number(channel, number);
    crossings_close(channel);
    return NULL;
}

static void receive_stream(crossings_wait wait) {
    crossings_channel *channel = open_end(0, wait);
    char byte;
    size_t size;
    for (uint64_t number = 0; number < count; number++)
        receive_number(channel, number);
    EXPECT(crossings_receive(channel, &byte, 1, &size, -1) == CROSSINGS_END);
    crossings_close(channel);
}

static void stream(crossings_wait wait) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, send_stream, &wait) == 0);
    receive_stream(wait);
    pthread_join(thread, NULL);
}

static void spinning(void) {
    stream(CROSSINGS_SPIN);
}

static void spinning_then_sleeping(void) {
    stream(CROSSINGS_SPIN_THEN_SLEEP);
}

static void sleeping(void) {
    stream(CROSSINGS_SLEEP);
}

/* Round trips: each side sleeps for each message. */
static void *echo(void *unused) {
    (void)unused;
    crossings_channel *channel = open_end(1, CROSSINGS_SLEEP);
    uint64_t number;
    size_t size;
    while (crossings_receive(channel, &number, sizeof number, &size, -1) == CROSSINGS_OK)
        EXPECT(crossings_send(channel, &number, sizeof number, -1) == CROSSINGS_OK);
    crossings_close(channel);
    return NULL;
}

static void round_trips(void) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, echo, NULL) == 0);
    crossings_channel *channel = open_end(0, CROSSINGS_SLEEP);
    for (uint64_t number = 0; number < count / 4; number++) {
        uint64_t answer;
        size_t size;
        EXPECT(crossings_send(channel, &number, sizeof number, -1) == CROSSINGS_OK);
        EXPECT(crossings_receive(channel, &answer, sizeof answer, &size, -1) == CROSSINGS_OK);
        EXPECT(answer == number && size == sizeof answer);
    }
    crossings_close(channel);
    pthread_join(thread, NULL);
}

/* Batches: several messages are published at once. */
static void *send_batches(void *unused) {
    (void)unused;
    crossings_channel *channel = open_end(1, CROSSINGS_SPIN_THEN_SLEEP);
    for (uint64_t number = 0; number < count;) {
        crossings_cork(channel);
        for (uint64_t last = number + 1 + number % 17; number < last && number < count; number++)
            send_number(channel, number);
        crossings_uncork(channel);
    }
    crossings_close(channel);
    return NULL;
}

static void batches(void) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, send_batches, NULL) == 0);
    receive_stream(CROSSINGS_SPIN_THEN_SLEEP);
    pthread_join(thread, NULL);
}

/* Many short channels: the sender closes while the receiver reads, or the receiver while the sender waits for room. */
static void *send_until_closed(void *unused) {
    (void)unused;
    crossings_channel *channel = open_end(1, CROSSINGS_SLEEP);
    static const char message[LARGEST];
    crossings_status status;
    while ((status = crossings_send(channel, message, sizeof message, -1)) == CROSSINGS_OK)
        continue;
    EXPECT(status == CROSSINGS_END);
    crossings_close(channel);
    return NULL;
}

static void closing(void) {
    for (uint64_t round = 0; round < count / 200; round++) {
        pthread_t thread;
        static char message[LARGEST];
        size_t size;
        if (round)
            EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
        EXPECT(pthread_create(&thread, NULL, send_until_closed, NULL) == 0);
        crossings_channel *channel = open_end(0, CROSSINGS_SLEEP);
        for (uint64_t i = 0; i < round % 7; i++)
            EXPECT(crossings_receive(channel, message, sizeof message, &size, -1) == CROSSINGS_OK);
        crossings_close(channel);
        pthread_join(thread, NULL);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} runs[] = {
    {"spinning", spinning},       {"spinning_then_sleeping", spinning_then_sleeping},
    {"sleeping", sleeping},       {"batches", batches},
    {"round_trips", round_trips}, {"closing", closing},
};

int main(int arguments, char **argument) {
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (arguments == 1)
            puts(runs[i].name);
        if (arguments != 3 || strcmp(argument[1], runs[i].name) != 0)
            continue;
        count = strtoull(argument[2], NULL, 10);
        EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
        runs[i].run();
        return 0;
    }
    return arguments == 1 ? 0 : 2;
}
