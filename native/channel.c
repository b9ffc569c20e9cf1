/* Opening and closing a channel: options, the steps of the handshake, and what a status means. */
#include "channel.h"
#include "deadline.h"
#include "disposal.h"
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFAULT_CAPACITY (1u << 20)
#define DEFAULT_MAX_PEER_CAPACITY (1u << 28)
#define DEFAULT_SPIN_US 50
#define DEFAULT_TIMEOUT_MS 5000

crossings_status channel_check_options(const crossings_options *given, crossings_options *options) {
    *options = given ? *given : (crossings_options){0};
    if (options->capacity == 0)
        options->capacity = DEFAULT_CAPACITY;
    if (options->max_peer_capacity == 0)
        options->max_peer_capacity = DEFAULT_MAX_PEER_CAPACITY;
    if (options->spin_us == 0)
        options->spin_us = DEFAULT_SPIN_US;
    if (options->timeout_ms == 0)
        options->timeout_ms = DEFAULT_TIMEOUT_MS;
    bool valid = region_capacity_is_valid(options->capacity) && options->wait <= CROSSINGS_SLEEP;
    return valid ? CROSSINGS_OK : CROSSINGS_INVALID;
}

crossings_status channel_status_of(enum handshake_status handshake) {
    switch (handshake) {
    case HANDSHAKE_OK: return CROSSINGS_OK;
    case HANDSHAKE_AGAIN:
    case HANDSHAKE_NO_LISTENER: return CROSSINGS_AGAIN;
    case HANDSHAKE_PEER_GONE: return CROSSINGS_PEER_DIED;
    case HANDSHAKE_PROTOCOL: return CROSSINGS_PROTOCOL;
    case HANDSHAKE_IN_USE:
    case HANDSHAKE_NOT_SOCKET: return CROSSINGS_IN_USE;
    case HANDSHAKE_TOO_LARGE: return CROSSINGS_LIMIT_EXCEEDED;
    case HANDSHAKE_SYSTEM: break;
    }
    return CROSSINGS_SYSTEM;
}

crossings_status channel_give_up(crossings_channel *channel, crossings_status status) {
    int reason = errno;
    struct region *regions[] = {&channel->mine, &channel->peer};
    for (int i = 0; i < 2; i++)
        if (regions[i]->header)
            disposal_unmap_later(regions[i]->header, region_mapped_bytes(regions[i]->capacity));
    channel->mine.header = channel->peer.header = NULL;
    channel->writer.mine = NULL; /* crossings_close() must not write there */
    crossings_close(channel);
    errno = reason;
    return status;
}

static unsigned forks; /* of this process and its ancestors, since the first channel */

static void count_fork(void) {
    forks++;
}

/* When the library is loaded, as in disposal.c. */
__attribute__((constructor)) static void count_forks(void) {
    pthread_atfork(NULL, NULL, count_fork);
}

struct process channel_this_process(void) {
    return (struct process){getpid(), forks};
}

bool channel_is_mine(struct process owner) {
    return owner.pid == getpid() && owner.forks == forks;
}

crossings_status channel_begin_handshake(int fd, const crossings_options *options, uid_t *user,
                                         crossings_channel **result) {
    crossings_channel *channel = calloc(1, sizeof *channel);
    if (!channel) {
        handshake_close(fd);
        return CROSSINGS_SYSTEM;
    }
    channel->owner = channel_this_process();
    channel->fd = fd;
    channel->mine.fd = channel->peer.fd = -1;
    channel->wait = options->wait;
    channel->max_peer_capacity = options->max_peer_capacity;
    channel->authenticated = channel->special = options->authenticate;
    channel->spin_ns = options->wait == CROSSINGS_SLEEP ? 0 : (uint64_t)options->spin_us * 1000;
    pid_t process;
    if (handshake_peer(fd, user, &process))
        return channel_give_up(channel, CROSSINGS_SYSTEM);
    if (*user != geteuid() && !options->allow_other_users)
        return channel_give_up(channel, CROSSINGS_NOT_AUTHORIZED);
    *result = channel;
    return CROSSINGS_OK;
}

/* Create my region and send it, once. */
static crossings_status send_region(crossings_channel *channel, uint32_t capacity) {
    if (!channel->mine.header) {
        uint32_t flags = (channel->wait == CROSSINGS_SPIN ? RING_FLAG_NEVER_SLEEPS : 0) |
                         (channel->authenticated ? RING_FLAG_AUTHENTICATED : 0);
        if (!region_is_within_limit(capacity) || region_create(&channel->mine, capacity, flags))
            return CROSSINGS_SYSTEM;
    }
    if (channel->mine.fd < 0)
        return CROSSINGS_OK; /* it has been sent */
    crossings_status status = channel_status_of(handshake_send(channel->fd, &channel->mine));
    if (status == CROSSINGS_OK) {
        close(channel->mine.fd); /* the peer has it now */
        channel->mine.fd = -1;
    }
    return status;
}

/* A server sends its region only when it has the client's, so a silent client costs it one descriptor and leaves none
 * in flight. The kernel limits how many of a user's descriptors may be in flight at a time. */
crossings_status channel_finish_handshake(crossings_channel *channel, uint32_t capacity) {
    char reason[HANDSHAKE_REASON_BYTES];
    enum handshake_status handshake = channel->peer.header
                                          ? HANDSHAKE_OK
                                          : handshake_receive_most(channel->fd, channel->authenticated,
                                                                   channel->max_peer_capacity, &channel->peer, reason);
    if (handshake != HANDSHAKE_OK)
        return channel_status_of(handshake);
    if (region_is_same(&channel->mine, &channel->peer))
        return CROSSINGS_PROTOCOL; /* it was sent back: this process would talk to itself */
    crossings_status status = send_region(channel, capacity);
    if (status == CROSSINGS_OK) {
        region_connect(&channel->mine, &channel->peer, &channel->writer, &channel->reader);
        region_connect_auth(&channel->mine, &channel->peer, &channel->sent, &channel->received);
    }
    return status;
}

static crossings_status open_channel(int fd, const crossings_options *options, uint64_t deadline,
                                     crossings_channel **result) {
    crossings_channel *channel;
    uid_t user;
    crossings_status status = channel_begin_handshake(fd, options, &user, &channel);
    if (status != CROSSINGS_OK)
        return status;
    while ((status = send_region(channel, options->capacity)) == CROSSINGS_AGAIN && remaining_ms(deadline) != 0)
        sleep_before_retry(); /* somebody has filled the socket */
    if (status != CROSSINGS_OK)
        return channel_give_up(channel, status == CROSSINGS_AGAIN ? CROSSINGS_TIMEOUT : status);
    bool was_readable = false;
    while ((status = channel_finish_handshake(channel, options->capacity)) == CROSSINGS_AGAIN) {
        /* Readable, but nothing to receive: a process with a copy of this end hides the packet. Do not spin. */
        if (was_readable)
            sleep_before_retry();
        was_readable = true;
        bool is_late = remaining_ms(deadline) == 0;
        if (!wait_readable(fd, deadline) || is_late)
            return channel_give_up(channel, CROSSINGS_TIMEOUT);
    }
    if (status != CROSSINGS_OK)
        return channel_give_up(channel, status);
    *result = channel;
    return status;
}

static crossings_status open_inherited(int fd, const crossings_options *given, crossings_channel **channel) {
    crossings_options options;
    crossings_status status = channel_check_options(given, &options);
    if (status == CROSSINGS_OK && fcntl(fd, F_SETFD, FD_CLOEXEC))
        status = CROSSINGS_SYSTEM; /* not a descriptor */
    if (status == CROSSINGS_OK && !(handshake_works_over(fd) && handshake_claim(fd)))
        status = CROSSINGS_INVALID; /* another kind of descriptor, or another process has opened this end */
    if (status == CROSSINGS_OK)
        return open_channel(fd, &options, deadline_after(options.timeout_ms), channel);
    if (fcntl(fd, F_GETFD) >= 0)
        disposal_close_later(fd); /* its maker may have put into it what is slow to close */
    return status;
}

crossings_status crossings_open(int fd, const crossings_options *options, crossings_channel **channel) {
    int cancellation = hold_cancellation();
    crossings_status status = open_inherited(fd, options, channel);
    allow_cancellation(cancellation);
    return status;
}

/* `cancellation`: of the caller; the thread may be canceled while it waits for a listener. */
static crossings_status connect_to(const char *path, const crossings_options *given, int cancellation,
                                   crossings_channel **channel) {
    crossings_options options;
    crossings_status status = channel_check_options(given, &options);
    if (status != CROSSINGS_OK)
        return status;
    uint64_t deadline = deadline_after(options.timeout_ms);
    for (;;) {
        int fd;
        enum handshake_status handshake = listener_connect(path, &fd);
        if (handshake == HANDSHAKE_OK)
            return open_channel(fd, &options, deadline, channel);
        if (handshake != HANDSHAKE_NO_LISTENER)
            return channel_status_of(handshake);
        if (remaining_ms(deadline) == 0)
            return CROSSINGS_TIMEOUT;
        allow_cancellation(cancellation);
        sleep_before_retry();
        hold_cancellation();
    }
}

crossings_status crossings_connect(const char *path, const crossings_options *options, crossings_channel **channel) {
    int cancellation = hold_cancellation();
    crossings_status status = connect_to(path, options, cancellation, channel);
    allow_cancellation(cancellation);
    return status;
}

void crossings_close(crossings_channel *channel) {
    if (!channel)
        return;
    int cancellation = hold_cancellation();
    bool ours =
        channel_is_mine(channel->owner); /* false in a forked child, whose parent continues to use the channel */
    if (ours && channel->writer.mine) {  /* the handshake has finished */
        ring_publish(&channel->writer);
        ring_store_release(&channel->mine.header->closed, 1); /* pairs with the acquire in check_peer() of messages.c */
    }
    if (ours)
        handshake_close(channel->fd);
    else
        disposal_close_later(channel->fd); /* if the parent has ended, this is the last copy */
    region_release(&channel->mine);
    region_release(&channel->peer);
    free(channel);
    allow_cancellation(cancellation);
}

const char *crossings_status_text(crossings_status status) {
    switch (status) {
    case CROSSINGS_OK: return "success";
    case CROSSINGS_AGAIN: return "no room to send, or no message to receive";
    case CROSSINGS_END: return "the peer has closed the channel";
    case CROSSINGS_TIMEOUT: return "timed out waiting for the peer";
    case CROSSINGS_PEER_DIED: return "the peer died without closing the channel";
    case CROSSINGS_PEER_CORRUPT: return "the peer's memory is corrupt";
    case CROSSINGS_PROTOCOL:
        return "the peer does not speak this version of the crossings protocol, or only one side authenticates";
    case CROSSINGS_NOT_AUTHORIZED: return "the peer runs as another user";
    case CROSSINGS_TOO_LARGE: return "the message is too large for the ring or the buffer";
    case CROSSINGS_IN_USE: return "address already in use, or not a socket";
    case CROSSINGS_INVALID:
        return "invalid option: capacity must be a power of two from 64 KiB to 1 GiB, wait a crossings_wait";
    case CROSSINGS_LIMIT_EXCEEDED:
        return "the peer's ring is larger than max_peer_capacity, or there is no memory for it";
    case CROSSINGS_SYSTEM: break;
    }
    return "a system call failed; see errno";
}
