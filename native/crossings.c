/* The public C interface: blocking channels, built on ring.h, region.h and handshake.h. */
#include "crossings.h"

#include "handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_CAPACITY (1u << 20)
#define DEFAULT_SPIN_US 50
#define DEFAULT_TIMEOUT_MS 5000
#define RETRY_MS 5            /* between attempts to connect while there is no listener */
#define LOCK_TRIES 200        /* attempts to listen, RETRY_MS apart, before doing so without the folder's lock */
#define LOOKS_PER_CLOCK 64    /* attempts of a spinning wait between two reads of the clock */
#define LOOKS_PER_CHECK 16384 /* crossings_try_ calls without any progress before the peer's end is checked */
#define MAX_HANDSHAKES 64     /* of one server at the same time */

struct crossings_channel {
    pid_t owner; /* the process that opened it; a forked child has a copy */
    int fd;      /* the socket: the doorbell, and the sign that the peer is alive */
    struct region mine, peer;
    struct ring_writer writer;
    struct ring_reader reader;
    crossings_wait wait;
    uint64_t spin_ns;
    bool corked;
    crossings_status over; /* CROSSINGS_END or CROSSINGS_PEER_DIED once it is known; CROSSINGS_OK before */
    uint32_t over_at;      /* the read position at that time */
    uint32_t empty_at;     /* the read position when the ring was last empty, or the peer was last checked */
    unsigned fruitless;    /* crossings_try_ calls in a row that found nothing to do */
};

struct crossings_server {
    pid_t owner; /* as in a channel */
    struct handshake_listener listener;
    crossings_options options;
    /* Clients whose hello has not arrived, the oldest first. */
    struct handshake {
        crossings_channel *channel;
        uid_t user;
        uint64_t deadline;
    } handshakes[MAX_HANDSHAKES];
    int count;
};

/* ---- Time ---- */

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time `timeout_ms` from now; UINT64_MAX (never) for -1. */
static uint64_t deadline_after(int timeout_ms) {
    return timeout_ms < 0 ? UINT64_MAX : now_ns() + (uint64_t)timeout_ms * 1000000u;
}

/* The time left until a deadline, for poll(); rounded up, so that poll() never returns too early. */
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

/* ---- Listening, connecting and the handshake ---- */

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

static crossings_status status_of(enum handshake_status handshake) {
    switch (handshake) {
    case HANDSHAKE_OK: return CROSSINGS_OK;
    case HANDSHAKE_AGAIN:
    case HANDSHAKE_NO_LISTENER: return CROSSINGS_AGAIN;
    case HANDSHAKE_PEER_GONE: return CROSSINGS_PEER_DIED;
    case HANDSHAKE_PROTOCOL: return CROSSINGS_PROTOCOL;
    case HANDSHAKE_IN_USE:
    case HANDSHAKE_NOT_SOCKET: return CROSSINGS_IN_USE;
    case HANDSHAKE_SYSTEM: break;
    }
    return CROSSINGS_SYSTEM;
}

/* Close a channel, keeping errno, and return `status`. */
static crossings_status give_up(crossings_channel *channel, crossings_status status) {
    int reason = errno;
    crossings_close(channel);
    errno = reason;
    return status;
}

/* Start a handshake: check the peer's user. The call takes ownership of the descriptor even if it fails. */
static crossings_status begin_handshake(int fd, const crossings_options *options, uid_t *user,
                                        crossings_channel **result) {
    crossings_channel *channel = calloc(1, sizeof *channel);
    if (!channel) {
        handshake_close(fd);
        return CROSSINGS_SYSTEM;
    }
    channel->owner = getpid();
    channel->fd = fd;
    channel->mine.fd = channel->peer.fd = -1;
    channel->wait = options->wait;
    channel->spin_ns = options->wait == CROSSINGS_SLEEP ? 0 : (uint64_t)options->spin_us * 1000;
    pid_t process;
    if (handshake_peer(fd, user, &process))
        return give_up(channel, CROSSINGS_SYSTEM);
    if (*user != geteuid() && !options->allow_other_users)
        return give_up(channel, CROSSINGS_NOT_AUTHORIZED);
    *result = channel;
    return CROSSINGS_OK;
}

/* Create my region and send it, once. */
static crossings_status send_region(crossings_channel *channel, uint32_t capacity) {
    if (!channel->mine.header) {
        /* Above this limit, ftruncate() would send SIGXFSZ, which ends a process that does not handle it. */
        struct rlimit largest;
        if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < (rlim_t)RING_HEADER_BYTES + capacity) {
            errno = EFBIG;
            return CROSSINGS_SYSTEM;
        }
        if (region_create(&channel->mine, capacity, channel->wait == CROSSINGS_SPIN ? RING_FLAG_NEVER_SLEEPS : 0))
            return CROSSINGS_SYSTEM;
    }
    if (channel->mine.fd < 0)
        return CROSSINGS_OK; /* it has been sent */
    crossings_status status = status_of(handshake_send(channel->fd, &channel->mine));
    if (status == CROSSINGS_OK) {
        close(channel->mine.fd); /* the peer has it now */
        channel->mine.fd = -1;
    }
    return status;
}

/* Finish a handshake: receive the peer's region, and send mine. CROSSINGS_AGAIN: the peer's has not arrived. A server
 * sends only now: a client that says nothing then costs it one descriptor, and leaves none on its way. The kernel
 * limits how many of a user's descriptors may be on their way at a time. */
static crossings_status finish_handshake(crossings_channel *channel, uint32_t capacity) {
    char reason[HANDSHAKE_REASON_BYTES];
    enum handshake_status handshake =
        channel->peer.header ? HANDSHAKE_OK : handshake_receive(channel->fd, &channel->peer, reason);
    if (handshake != HANDSHAKE_OK)
        return status_of(handshake);
    crossings_status status = send_region(channel, capacity);
    if (status == CROSSINGS_OK)
        region_connect(&channel->mine, &channel->peer, &channel->writer, &channel->reader);
    return status;
}

static crossings_status open_channel(int fd, const crossings_options *options, uint64_t deadline,
                                     crossings_channel **result) {
    crossings_channel *channel;
    uid_t user;
    crossings_status status = begin_handshake(fd, options, &user, &channel);
    if (status != CROSSINGS_OK)
        return status;
    status = send_region(channel, options->capacity);
    if (status != CROSSINGS_OK)
        return give_up(channel, status);
    while ((status = finish_handshake(channel, options->capacity)) == CROSSINGS_AGAIN)
        if (!wait_readable(fd, deadline))
            return give_up(channel, CROSSINGS_TIMEOUT);
    if (status != CROSSINGS_OK)
        return give_up(channel, status);
    *result = channel;
    return status;
}

crossings_status crossings_open(int fd, const crossings_options *given, crossings_channel **channel) {
    crossings_options options;
    crossings_status status = check_options(given, &options);
    if (status == CROSSINGS_OK && fcntl(fd, F_SETFD, FD_CLOEXEC))
        status = CROSSINGS_SYSTEM; /* not a descriptor */
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
        enum handshake_status handshake = handshake_connect(path, &fd);
        if (handshake == HANDSHAKE_OK)
            return open_channel(fd, &options, deadline, channel);
        if (handshake != HANDSHAKE_NO_LISTENER)
            return status_of(handshake);
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
    server->owner = getpid();
    server->options = options;
    enum handshake_status listening = HANDSHAKE_AGAIN;
    for (int tries = 0; listening == HANDSHAKE_AGAIN; tries++) {
        if (tries > 0)
            nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000L}, NULL);
        listening = handshake_listen(path, options.allow_other_users, tries >= LOCK_TRIES, &server->listener);
    }
    status = status_of(listening);
    if (status != CROSSINGS_OK) {
        int reason = errno;
        free(server);
        errno = reason;
        return status;
    }
    *result = server;
    return CROSSINGS_OK;
}

/* Remove a handshake from the list and return its channel. */
static crossings_channel *take_handshake(crossings_server *server, int index) {
    crossings_channel *channel = server->handshakes[index].channel;
    server->count--;
    memmove(&server->handshakes[index], &server->handshakes[index + 1],
            (size_t)(server->count - index) * sizeof server->handshakes[0]);
    return channel;
}

/* The handshake to drop when there are too many: the oldest one of the user that has the most. So no user can keep
 * another out, and no silent client can keep out the next client of its own user. `spared` is the number of one that is
 * not dropped, or -1. Returns -1 if there is no other. */
static int find_victim(const crossings_server *server, int spared) {
    int victim = -1, most = 0;
    for (int i = 0; i < server->count; i++) {
        int of_user = 0;
        for (int j = i; j < server->count; j++)
            of_user += server->handshakes[j].user == server->handshakes[i].user;
        if (i != spared && of_user > most) {
            most = of_user;
            victim = i;
        }
    }
    return victim;
}

static bool out_of_descriptors(crossings_status status) {
    return status == CROSSINGS_SYSTEM && (errno == EMFILE || errno == ENFILE);
}

/* Finish the handshake with this number if the client's hello is there. CROSSINGS_AGAIN: it is not. If there are no
 * descriptors for it, other clients that have not finished lose theirs. */
static crossings_status try_finish(crossings_server *server, int index, crossings_channel **result) {
    crossings_status status;
    int victim;
    while (out_of_descriptors(status = finish_handshake(server->handshakes[index].channel, server->options.capacity)) &&
           (victim = find_victim(server, index)) >= 0) {
        crossings_close(take_handshake(server, victim));
        index -= victim < index;
    }
    if (status == CROSSINGS_AGAIN)
        return status;
    crossings_channel *channel = take_handshake(server, index);
    if (status != CROSSINGS_OK)
        return give_up(channel, status);
    *result = channel;
    return status;
}

/* Make room for another handshake. CROSSINGS_AGAIN: there is room now. Otherwise one has just finished or failed. */
static crossings_status make_room(crossings_server *server, crossings_channel **result) {
    int victim = find_victim(server, -1);
    crossings_status status = try_finish(server, victim, result);
    if (status == CROSSINGS_AGAIN)
        crossings_close(take_handshake(server, victim));
    return status;
}

/* Accept one client and start its handshake. CROSSINGS_AGAIN: go on. */
static crossings_status accept_client(crossings_server *server, crossings_channel **result) {
    if (server->count == MAX_HANDSHAKES) {
        crossings_status status = make_room(server, result);
        if (status != CROSSINGS_AGAIN)
            return status;
    }
    int fd;
    enum handshake_status accepted = handshake_accept(server->listener.fd, &fd);
    if (accepted == HANDSHAKE_SYSTEM && (errno == EMFILE || errno == ENFILE) && server->count > 0)
        return make_room(server, result); /* silent clients hold the descriptors */
    if (accepted != HANDSHAKE_OK)
        return status_of(accepted);
    struct handshake *handshake = &server->handshakes[server->count];
    handshake->deadline = deadline_after(server->options.timeout_ms);
    crossings_status status = begin_handshake(fd, &server->options, &handshake->user, &handshake->channel);
    if (status != CROSSINGS_OK)
        return status;
    server->count++;
    return try_finish(server, server->count - 1, result); /* the hello is often there already */
}

crossings_status crossings_accept(crossings_server *server, int timeout_ms, crossings_channel **channel) {
    uint64_t deadline = deadline_after(timeout_ms);
    for (int late = 0;;) {
        uint64_t until = deadline;
        for (int i = server->count - 1; i >= 0; i--) {
            if (now_ns() >= server->handshakes[i].deadline)
                crossings_close(take_handshake(server, i));
            else if (server->handshakes[i].deadline < until)
                until = server->handshakes[i].deadline;
        }
        struct pollfd polled[MAX_HANDSHAKES + 1] = {{.fd = server->listener.fd, .events = POLLIN}};
        for (int i = 0; i < server->count; i++)
            polled[i + 1] = (struct pollfd){.fd = server->handshakes[i].channel->fd, .events = POLLIN};
        int ready = poll(polled, (nfds_t)server->count + 1, remaining_ms(until));
        if (ready < 0 && errno != EINTR)
            return CROSSINGS_SYSTEM;
        if (ready == 0 && remaining_ms(deadline) == 0)
            return CROSSINGS_TIMEOUT;
        if (ready <= 0)
            continue;
        crossings_status status = CROSSINGS_AGAIN;
        for (int i = server->count - 1; i >= 0 && status == CROSSINGS_AGAIN; i--)
            if (polled[i + 1].revents)
                status = try_finish(server, i, channel);
        if (status == CROSSINGS_AGAIN && polled[0].revents)
            status = accept_client(server, channel);
        if (status != CROSSINGS_AGAIN)
            return status;
        /* After the time, serve only who may be here already: silent clients may keep coming. */
        if (remaining_ms(deadline) == 0 && ++late > MAX_HANDSHAKES)
            return CROSSINGS_TIMEOUT;
    }
}

void crossings_unlisten(crossings_server *server) {
    if (!server)
        return;
    while (server->count > 0)
        crossings_close(take_handshake(server, server->count - 1));
    if (server->owner == getpid()) {
        handshake_unlisten(&server->listener);
    } else { /* a forked child: the parent goes on listening */
        close(server->listener.fd);
        close(server->listener.folder);
    }
    free(server);
}

void crossings_close(crossings_channel *channel) {
    if (!channel)
        return;
    bool ours = channel->owner == getpid(); /* false in a forked child, whose parent goes on using the channel */
    if (ours && channel->writer.mine) {     /* the handshake has finished */
        ring_publish(&channel->writer);
        ring_store_release(&channel->mine.header->closed, 1); /* pairs with the acquire in check_peer */
    }
    if (ours)
        handshake_close(channel->fd);
    else
        close(channel->fd);
    region_release(&channel->mine);
    region_release(&channel->peer);
    free(channel);
}

/* ---- Sending and receiving ---- */

uint32_t crossings_max_message(const crossings_channel *channel) {
    return ring_max_message(channel->mine.capacity);
}

/* Check whether the peer has closed or died. CROSSINGS_OK: neither. Called only when an attempt found nothing to do. */
static crossings_status check_peer(crossings_channel *channel) {
    channel->fruitless = 0;
    channel->empty_at = channel->reader.position;
    if (channel->over != CROSSINGS_OK)
        return channel->over;
    /* Pairs with the release in crossings_close: everything the peer sent before is in the ring. */
    const uint32_t *closed = &channel->peer.header->closed;
    if (ring_load_acquire(closed)) {
        channel->over = CROSSINGS_END;
    } else {
        enum doorbell_state state = doorbell_drain(channel->fd);
        if (state == DOORBELL_BROKEN)
            channel->over = CROSSINGS_PEER_CORRUPT;
        else if (state == DOORBELL_CLOSED)
            channel->over = ring_load_acquire(closed) ? CROSSINGS_END : CROSSINGS_PEER_DIED;
    }
    channel->over_at = channel->reader.position;
    return channel->over;
}

/* A crossings_try_ call found nothing to do. A program that only polls learns of the peer's end here. */
static crossings_status look_again(crossings_channel *channel) {
    if (channel->over != CROSSINGS_OK)
        return channel->over;
    if (++channel->fruitless >= LOOKS_PER_CHECK)
        check_peer(channel); /* the next call returns the end, after everything that was sent before it */
    return CROSSINGS_AGAIN;
}

static void publish(crossings_channel *channel) {
    ring_publish(&channel->writer);
    if (ring_reader_sleeps(&channel->writer))
        doorbell_ring(channel->fd);
}

crossings_status crossings_try_send(crossings_channel *channel, const void *message, size_t size) {
    if (size > crossings_max_message(channel))
        return CROSSINGS_TOO_LARGE;
    if (channel->over != CROSSINGS_OK)
        return channel->over;
    enum ring_result result = ring_write(&channel->writer, message, (uint32_t)size, RING_KIND_MESSAGE);
    if (result == RING_CORRUPT)
        return CROSSINGS_PEER_CORRUPT;
    if (result == RING_NO || !channel->corked)
        publish(channel); /* also when the ring is full: the peer makes room only after it has seen the messages */
    if (result != RING_OK)
        return look_again(channel);
    channel->fruitless = 0;
    return CROSSINGS_OK;
}

crossings_status crossings_try_receive(crossings_channel *channel, void *buffer, size_t room, size_t *size) {
    const void *payload;
    uint32_t bytes, kind;
    enum ring_result result = ring_peek(&channel->reader, &payload, &bytes, &kind);
    if (result == RING_NO) {
        channel->empty_at = channel->reader.position;
        return look_again(channel);
    }
    /* The C interface has no requests, so only messages are valid here. */
    if (result == RING_CORRUPT || kind != RING_KIND_MESSAGE)
        return CROSSINGS_PEER_CORRUPT;
    /* An honest peer leaves at most a full ring behind. One that still writes could keep this side reading forever. */
    if (channel->over != CROSSINGS_OK && channel->reader.position - channel->over_at >= channel->peer.capacity)
        return CROSSINGS_PEER_CORRUPT;
    *size = bytes;
    if (bytes > room)
        return CROSSINGS_TOO_LARGE;
    ring_copy(buffer, payload, bytes);
    ring_consume(&channel->reader, bytes);
    if (ring_writer_sleeps(&channel->reader))
        doorbell_ring(channel->fd);
    channel->fruitless = 0;
    /* A ring that is never empty must not hide the peer's end either. */
    if (channel->reader.position - channel->empty_at >= channel->peer.capacity)
        check_peer(channel);
    return CROSSINGS_OK;
}

/* One attempt of a blocking call. */
struct attempt {
    crossings_channel *channel;
    const void *message; /* sending */
    void *buffer;        /* receiving */
    size_t bytes;        /* the size of the message or of the buffer */
    size_t *size;
};

static crossings_status try_once(const struct attempt *attempt) {
    if (attempt->message)
        return crossings_try_send(attempt->channel, attempt->message, attempt->bytes);
    return crossings_try_receive(attempt->channel, attempt->buffer, attempt->bytes, attempt->size);
}

/* The attempt found nothing to do. Check for the peer's end, but first deliver what the peer sent before it. */
static crossings_status try_last(const struct attempt *attempt) {
    crossings_status over = check_peer(attempt->channel);
    if (over == CROSSINGS_OK)
        return CROSSINGS_AGAIN;
    crossings_status status = attempt->message ? CROSSINGS_AGAIN : try_once(attempt);
    return status == CROSSINGS_AGAIN ? over : status;
}

/* Spin, then sleep until the doorbell rings, until the attempt succeeds, fails or times out. */
static crossings_status block_on(const struct attempt *attempt, int timeout_ms) {
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
                ring_back_off(&channel->reader);
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
            spin_until = now + channel->spin_ns; /* how often try_last() checks for the peer's death */
            continue;
        }
        /* No wake-up is lost between here and the sleep: try_last() has just reset `fruitless`, so the last attempt
         * does not check the peer, which would take the doorbell that is meant for this sleep. */
        ring_begin_waiting(waiting);
        status = try_once(attempt); /* the last attempt, after the fence */
        if (status == CROSSINGS_AGAIN)
            wait_readable(channel->fd, deadline);
        ring_end_waiting(waiting);
        if (status != CROSSINGS_AGAIN || (status = try_last(attempt)) != CROSSINGS_AGAIN)
            return status;
        spin_until = now_ns() + channel->spin_ns;
    }
}

crossings_status crossings_send(crossings_channel *channel, const void *message, size_t size, int timeout_ms) {
    /* An empty message may have a null pointer, but a null message means receiving. */
    return block_on(&(struct attempt){.channel = channel, .message = message ? message : "", .bytes = size},
                    timeout_ms);
}

crossings_status crossings_receive(crossings_channel *channel, void *buffer, size_t room, size_t *size,
                                   int timeout_ms) {
    return block_on(&(struct attempt){.channel = channel, .buffer = buffer, .bytes = room, .size = size}, timeout_ms);
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
    case CROSSINGS_OK: return "success";
    case CROSSINGS_AGAIN: return "no room to send, or no message to receive";
    case CROSSINGS_END: return "the peer has closed the channel";
    case CROSSINGS_TIMEOUT: return "timed out waiting for the peer";
    case CROSSINGS_PEER_DIED: return "the peer died without closing the channel";
    case CROSSINGS_PEER_CORRUPT: return "the peer's memory is corrupt";
    case CROSSINGS_PROTOCOL: return "the peer does not speak this version of the crossings protocol";
    case CROSSINGS_NOT_AUTHORIZED: return "the peer belongs to another user";
    case CROSSINGS_TOO_LARGE: return "the message is too large for the ring or the buffer";
    case CROSSINGS_IN_USE: return "address already in use, or not a socket";
    case CROSSINGS_INVALID:
        return "invalid option: capacity must be a power of two from 64 KiB to 1 GiB, wait a crossings_wait";
    case CROSSINGS_SYSTEM: break;
    }
    return "a system call failed; see errno";
}
