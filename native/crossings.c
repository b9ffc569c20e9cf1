/* The public C interface: channels that block, over ring.h, region.h and handshake.h. */
#include "crossings.h"

#include "handshake.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_CAPACITY (1u << 20)
#define DEFAULT_SPIN_US 50
#define DEFAULT_TIMEOUT_MS 5000
#define RETRY_MS 5         /* between attempts to connect while nobody listens yet */
#define LOOKS_PER_CLOCK 64 /* how often a spinning wait looks before it reads the clock */

struct crossings_channel {
    int fd; /* doorbell and proof of life */
    struct region mine, peer;
    struct ring_writer writer;
    struct ring_reader reader;
    crossings_wait wait;
    uint64_t spin_ns;
    bool corked;
};

struct crossings_server {
    int fd;
    crossings_options options;
    char path[HANDSHAKE_MAX_PATH + 1];
};

/* ---- Time ---- */

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A moment `timeout_ms` from now; never, for -1. */
static uint64_t deadline_after(int timeout_ms) {
    return timeout_ms < 0 ? UINT64_MAX : now_ns() + (uint64_t)timeout_ms * 1000000u;
}

/* What is left until a deadline, for poll(): rounded up, so that it is never woken a moment too early. */
static int remaining_ms(uint64_t deadline) {
    if (deadline == UINT64_MAX)
        return -1;
    uint64_t now = now_ns();
    if (now >= deadline)
        return 0;
    uint64_t ms = (deadline - now + 999999) / 1000000;
    return ms > 1000000 ? 1000000 : (int)ms;
}

static bool wait_readable(int fd, uint64_t deadline) {
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    for (;;) {
        int ready = poll(&polled, 1, remaining_ms(deadline));
        if (ready > 0)
            return true;
        if ((ready == 0 && remaining_ms(deadline) == 0) || (ready < 0 && errno != EINTR))
            return false;
    }
}

/* ---- Meeting ---- */

static crossings_status check_options(const crossings_options *given, crossings_options *options) {
    *options = given ? *given : (crossings_options){0};
    if (options->capacity == 0)
        options->capacity = DEFAULT_CAPACITY;
    if (options->spin_us == 0)
        options->spin_us = DEFAULT_SPIN_US;
    if (options->timeout_ms == 0)
        options->timeout_ms = DEFAULT_TIMEOUT_MS;
    bool valid = region_capacity_is_valid(options->capacity) && options->wait <= CROSSINGS_SLEEP;
    return valid ? CROSSINGS_OK : CROSSINGS_INVALID;
}

static crossings_status status_of(enum hand hand) {
    switch (hand) {
    case HAND_OK: return CROSSINGS_OK;
    case HAND_AGAIN:
    case HAND_NO_ONE: return CROSSINGS_AGAIN;
    case HAND_GONE: return CROSSINGS_PEER_DIED;
    case HAND_PROTOCOL: return CROSSINGS_PROTOCOL;
    case HAND_IN_USE:
    case HAND_NOT_SOCKET: return CROSSINGS_IN_USE;
    case HAND_SYSTEM: break;
    }
    return CROSSINGS_SYSTEM;
}

/* Both regions, over a connected socket. */
static crossings_status shake_hands(crossings_channel *channel, const crossings_options *options, uint64_t deadline) {
    char why[WHY_BYTES];
    uid_t user;
    pid_t process;
    uint32_t flags = options->wait == CROSSINGS_SPIN ? RING_FLAG_NEVER_SLEEPS : 0;
    if (handshake_peer(channel->fd, &user, &process))
        return CROSSINGS_SYSTEM;
    if (user != geteuid() && !options->allow_other_users)
        return CROSSINGS_NOT_AUTHORIZED;
    if (region_create(&channel->mine, options->capacity, flags))
        return CROSSINGS_SYSTEM;
    enum hand hand = handshake_send(channel->fd, &channel->mine);
    while (hand == HAND_OK && (hand = handshake_receive(channel->fd, &channel->peer, why)) == HAND_AGAIN) {
        if (!wait_readable(channel->fd, deadline))
            return CROSSINGS_TIMEOUT;
        hand = HAND_OK;
    }
    if (hand != HAND_OK)
        return status_of(hand);
    close(channel->mine.fd); /* the peer has it now */
    channel->mine.fd = -1;
    region_connect(&channel->mine, &channel->peer, &channel->writer, &channel->reader);
    return CROSSINGS_OK;
}

static crossings_status open_channel(int fd, const crossings_options *options, uint64_t deadline,
                                     crossings_channel **result) {
    crossings_channel *channel = calloc(1, sizeof *channel);
    if (!channel) {
        close(fd);
        return CROSSINGS_SYSTEM;
    }
    channel->fd = fd;
    channel->mine.fd = channel->peer.fd = -1;
    channel->wait = options->wait;
    channel->spin_ns = options->wait == CROSSINGS_SLEEP ? 0 : (uint64_t)options->spin_us * 1000;
    crossings_status status = shake_hands(channel, options, deadline);
    if (status == CROSSINGS_OK)
        *result = channel;
    else
        crossings_close(channel);
    return status;
}

crossings_status crossings_open(int fd, const crossings_options *given, crossings_channel **channel) {
    crossings_options options;
    crossings_status status = check_options(given, &options);
    if (status == CROSSINGS_OK)
        return open_channel(fd, &options, deadline_after(options.timeout_ms), channel);
    close(fd);
    return status;
}

crossings_status crossings_connect(const char *path, const crossings_options *given, crossings_channel **channel) {
    crossings_options options;
    crossings_status status = check_options(given, &options);
    if (status != CROSSINGS_OK)
        return status;
    uint64_t deadline = deadline_after(options.timeout_ms);
    for (;;) {
        int fd;
        enum hand hand = handshake_connect(path, &fd);
        if (hand == HAND_OK)
            return open_channel(fd, &options, deadline, channel);
        if (hand != HAND_NO_ONE)
            return status_of(hand);
        if (remaining_ms(deadline) == 0)
            return CROSSINGS_TIMEOUT;
        nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000L}, NULL);
    }
}

crossings_status crossings_listen(const char *path, const crossings_options *given, crossings_server **result) {
    crossings_options options;
    crossings_status status = check_options(given, &options);
    if (status != CROSSINGS_OK)
        return status;
    crossings_server *server = calloc(1, sizeof *server);
    if (!server)
        return CROSSINGS_SYSTEM;
    server->options = options;
    status = status_of(handshake_listen(path, options.allow_other_users, &server->fd));
    if (status != CROSSINGS_OK) {
        free(server);
        return status;
    }
    strcpy(server->path, path); /* fits: handshake_listen() has taken it */
    *result = server;
    return CROSSINGS_OK;
}

crossings_status crossings_accept(crossings_server *server, int timeout_ms, crossings_channel **channel) {
    uint64_t deadline = deadline_after(timeout_ms);
    for (;;) {
        int fd;
        enum hand hand = handshake_accept(server->fd, &fd);
        if (hand == HAND_OK)
            return open_channel(fd, &server->options, deadline_after(server->options.timeout_ms), channel);
        if (hand != HAND_AGAIN)
            return status_of(hand);
        if (!wait_readable(server->fd, deadline))
            return CROSSINGS_TIMEOUT;
    }
}

void crossings_unlisten(crossings_server *server) {
    if (!server)
        return;
    handshake_unlisten(server->path, server->fd);
    free(server);
}

void crossings_close(crossings_channel *channel) {
    if (!channel)
        return;
    if (channel->peer.header) {
        ring_publish(&channel->writer);
        ring_store_release(&channel->mine.header->closed, 1); /* pairs with the acquire in peer_is_over */
    }
    close(channel->fd);
    region_release(&channel->mine);
    region_release(&channel->peer);
    free(channel);
}

/* ---- Sending and receiving ---- */

uint32_t crossings_max_message(const crossings_channel *channel) {
    return ring_max_message(channel->mine.capacity);
}

/* Has the peer's end gone? OK while it has not. Asked only when there was nothing to do. */
static crossings_status peer_is_over(const crossings_channel *channel) {
    /* Pairs with the release in crossings_close: what the peer sent before is in the ring. */
    if (ring_load_acquire(&channel->peer.header->closed))
        return CROSSINGS_END;
    return doorbell_drain(channel->fd)                        ? CROSSINGS_OK
           : ring_load_acquire(&channel->peer.header->closed) ? CROSSINGS_END
                                                              : CROSSINGS_PEER_DIED;
}

static void publish(crossings_channel *channel) {
    ring_publish(&channel->writer);
    if (ring_reader_sleeps(&channel->writer))
        doorbell_ring(channel->fd);
}

crossings_status crossings_try_send(crossings_channel *channel, const void *message, size_t size) {
    if (size > crossings_max_message(channel))
        return CROSSINGS_TOO_LARGE;
    enum ring_result result = ring_write(&channel->writer, message, (uint32_t)size, RING_KIND_MESSAGE);
    if (result == RING_CORRUPT)
        return CROSSINGS_PEER_CORRUPT;
    if (result == RING_NO || !channel->corked)
        publish(channel); /* when full, too: room comes only if the peer sees what is there */
    return result == RING_OK ? CROSSINGS_OK : CROSSINGS_AGAIN;
}

crossings_status crossings_try_receive(crossings_channel *channel, void *buffer, size_t room, size_t *size) {
    const void *payload;
    uint32_t bytes, kind;
    enum ring_result result = ring_peek(&channel->reader, &payload, &bytes, &kind);
    if (result == RING_NO)
        return CROSSINGS_AGAIN;
    /* This interface knows no requests: a peer that sends one here has lost its way. */
    if (result == RING_CORRUPT || kind != RING_KIND_MESSAGE)
        return CROSSINGS_PEER_CORRUPT;
    *size = bytes;
    if (bytes > room)
        return CROSSINGS_TOO_LARGE;
    ring_copy(buffer, payload, bytes);
    ring_consume(&channel->reader, bytes);
    if (ring_writer_sleeps(&channel->reader))
        doorbell_ring(channel->fd);
    return CROSSINGS_OK;
}

/* One attempt of a blocking call. */
struct attempt {
    crossings_channel *channel;
    const void *message; /* sending */
    void *buffer;        /* receiving */
    size_t bytes;        /* of the message, or room for it */
    size_t *size;
};

static crossings_status try_once(const struct attempt *attempt) {
    if (attempt->message)
        return crossings_try_send(attempt->channel, attempt->message, attempt->bytes);
    return crossings_try_receive(attempt->channel, attempt->buffer, attempt->bytes, attempt->size);
}

/* Nothing to do, and the peer may have gone: what it left behind still counts. */
static crossings_status try_last(const struct attempt *attempt) {
    crossings_status over = peer_is_over(attempt->channel);
    if (over == CROSSINGS_OK)
        return CROSSINGS_AGAIN;
    crossings_status status = attempt->message ? CROSSINGS_AGAIN : try_once(attempt);
    return status == CROSSINGS_AGAIN ? over : status;
}

/* Try again and again, then sleep until the doorbell rings, until it works or the time is up. */
static crossings_status keep_trying(const struct attempt *attempt, int timeout_ms) {
    crossings_channel *channel = attempt->channel;
    crossings_status status = try_once(attempt);
    if (status != CROSSINGS_AGAIN || timeout_ms == 0)
        return status == CROSSINGS_AGAIN ? try_last(attempt) : status;
    uint32_t *waiting =
        attempt->message ? &channel->mine.header->waiting_for_room : &channel->mine.header->waiting_for_data;
    uint64_t deadline = deadline_after(timeout_ms), spin_until = now_ns() + channel->spin_ns;
    for (;;) {
        for (int look = 0; look < LOOKS_PER_CLOCK; look++) {
            if (!attempt->message)
                ring_stand_back(&channel->reader);
            if ((status = try_once(attempt)) != CROSSINGS_AGAIN)
                return status;
        }
        uint64_t now = now_ns();
        if (now >= deadline)
            return (status = try_last(attempt)) == CROSSINGS_AGAIN ? CROSSINGS_TIMEOUT : status;
        if (now < spin_until)
            continue;
        if ((status = try_last(attempt)) != CROSSINGS_AGAIN)
            return status;
        if (channel->wait == CROSSINGS_SPIN) {
            spin_until = now + channel->spin_ns; /* the peer's death is looked for this often */
            continue;
        }
        ring_begin_waiting(waiting);
        status = try_once(attempt); /* the last look, after the fence */
        if (status == CROSSINGS_AGAIN)
            wait_readable(channel->fd, deadline);
        ring_end_waiting(waiting);
        if (status != CROSSINGS_AGAIN || (status = try_last(attempt)) != CROSSINGS_AGAIN)
            return status;
        spin_until = now_ns() + channel->spin_ns;
    }
}

crossings_status crossings_send(crossings_channel *channel, const void *message, size_t size, int timeout_ms) {
    /* An empty message may come with a null pointer, which here would mean receiving. */
    return keep_trying(&(struct attempt){.channel = channel, .message = message ? message : "", .bytes = size},
                       timeout_ms);
}

crossings_status crossings_receive(crossings_channel *channel, void *buffer, size_t room, size_t *size,
                                   int timeout_ms) {
    return keep_trying(&(struct attempt){.channel = channel, .buffer = buffer, .bytes = room, .size = size},
                       timeout_ms);
}

void crossings_cork(crossings_channel *channel) {
    channel->corked = true;
}

void crossings_uncork(crossings_channel *channel) {
    channel->corked = false;
    publish(channel);
}

const char *crossings_status_text(crossings_status status) {
    switch (status) {
    case CROSSINGS_OK: return "it worked";
    case CROSSINGS_AGAIN: return "not now: there is no room, or nothing to read";
    case CROSSINGS_END: return "the peer has closed its end and everything was read";
    case CROSSINGS_TIMEOUT: return "the time was up before the peer answered";
    case CROSSINGS_PEER_DIED: return "the peer ended without closing its end";
    case CROSSINGS_PEER_CORRUPT: return "the peer's memory holds what no peer writes";
    case CROSSINGS_PROTOCOL: return "what answered is no peer of this version of crossings";
    case CROSSINGS_NOT_AUTHORIZED: return "the peer belongs to another user";
    case CROSSINGS_TOO_LARGE: return "the message is larger than the ring, or the buffer, can hold";
    case CROSSINGS_IN_USE: return "somebody listens at that path already, or it is no socket";
    case CROSSINGS_INVALID:
        return "a capacity must be a power of two from 64 KiB to 1 GiB, and a way of waiting one of three";
    case CROSSINGS_SYSTEM: break;
    }
    return "the system refused; errno says why";
}
