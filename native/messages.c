/*
 * Sending and receiving: the crossings_try_ calls, which never wait, the peer's end, and the calls that spin and then
 * sleep. They are in one file so that the compiler can inline the former into the latter.
 */
#include "channel.h"
#include "deadline.h"
#include "doorbell.h"

#include <pthread.h>

#define LOOKS_PER_CLOCK 64    /* attempts of a spinning wait between two reads of the clock */
#define LOOKS_PER_CHECK 16384 /* crossings_try_ calls without any progress before the peer's end is checked */

uint32_t crossings_max_message(const crossings_channel *channel) {
    uint32_t capacity = channel->mine.capacity;
    return channel->authenticated ? ring_auth_max_message(capacity) : ring_max_message(capacity);
}

/* If the call fails, the peer sleeps on. Then the next message rings as well, and so does the next check of the peer.
 * The same is noted while the call runs, because a signal handler may leave it by siglongjmp(). */
static void ring(crossings_channel *channel) {
    uint32_t for_data = channel->writer.rung, for_room = channel->reader.rung;
    channel->unrung = true;
    channel->writer.rung = channel->reader.rung = 0; /* no sleep has this number: it is even */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);         /* for the compiler: these stores come before the call */
    int cancellation = hold_cancellation();
    bool rung = doorbell_ring(channel->fd);
    allow_cancellation(cancellation);
    if (!rung)
        return;
    channel->writer.rung = for_data;
    channel->reader.rung = for_room;
    channel->unrung = false;
}

/* Check whether the peer has closed or died. CROSSINGS_OK: neither. Called only when an attempt found nothing to do. */
static crossings_status check_peer(crossings_channel *channel) {
    channel->fruitless = 0;
    channel->empty_at = channel->reader.position;
    if (channel->over != CROSSINGS_OK)
        return channel->over;
    if (channel->unrung)
        ring(channel);
    /* Pairs with the release in crossings_close() of channel.c: everything the peer sent before is in the ring. */
    const uint32_t *closed = &channel->peer.header->closed;
    if (ring_load_acquire(closed)) {
        channel->over = CROSSINGS_END;
    } else {
        int cancellation = hold_cancellation();
        enum doorbell_state state = doorbell_drain(channel->fd);
        allow_cancellation(cancellation);
        if (state == DOORBELL_BROKEN)
            channel->over = CROSSINGS_PEER_CORRUPT;
        else if (state == DOORBELL_CLOSED)
            channel->over = ring_load_acquire(closed) ? CROSSINGS_END : CROSSINGS_PEER_DIED;
    }
    channel->over_at = channel->reader.position;
    channel->special = channel->special || channel->over != CROSSINGS_OK;
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

/* With nothing to publish, the peer is not rung: if it can do nothing with what is in the ring, it would sleep anew and
 * be rung again, and so on. */
static void publish(crossings_channel *channel) {
    if (!channel->writer.held_signal) {
        if (channel->unrung) /* a ring that has failed is made up for */
            ring(channel);
        return;
    }
    ring_publish(&channel->writer);
    if (ring_reader_sleeps(&channel->writer))
        ring(channel);
}

/* What follows an attempt to write a message. */
static inline crossings_status wrote(crossings_channel *channel, enum ring_result result) {
    if (result == RING_CORRUPT)
        return CROSSINGS_PEER_CORRUPT;
    if (result == RING_NO || !channel->corked)
        publish(channel); /* also when the ring is full: the peer makes room only after it has seen the messages */
    if (result != RING_OK)
        return look_again(channel);
    ring_answered(&channel->reader); /* not `fruitless`: a heartbeat, sent now and then, is no sign of the peer */
    return CROSSINGS_OK;
}

/* For a channel that is authenticated or over. */
static __attribute__((noinline)) crossings_status try_send_special(crossings_channel *channel, const void *message,
                                                                   size_t size) {
    if (size > crossings_max_message(channel))
        return CROSSINGS_TOO_LARGE;
    if (channel->over != CROSSINGS_OK)
        return channel->over;
    return wrote(channel,
                 ring_auth_write(&channel->writer, &channel->sent, message, (uint32_t)size, RING_KIND_MESSAGE));
}

crossings_status crossings_try_send(crossings_channel *channel, const void *message, size_t size) {
    if (__builtin_expect(channel->special, 0))
        return try_send_special(channel, message, size);
    if (size > ring_max_message(channel->mine.capacity))
        return CROSSINGS_TOO_LARGE;
    return wrote(channel, ring_write(&channel->writer, message, (uint32_t)size, RING_KIND_MESSAGE));
}

static crossings_status nothing_to_receive(crossings_channel *channel) {
    channel->empty_at = channel->reader.position;
    return look_again(channel);
}

/* An honest peer leaves at most a full ring behind. One that still writes could keep this side reading forever. */
static inline bool left_too_much(const crossings_channel *channel) {
    return channel->over != CROSSINGS_OK && channel->reader.position - channel->over_at >= channel->peer.capacity;
}

/* What follows a message that was consumed. */
static inline crossings_status consumed(crossings_channel *channel) {
    if (ring_writer_sleeps(&channel->reader))
        ring(channel);
    channel->fruitless = 0;
    /* A ring that is never empty must not hide the peer's end either. */
    if (channel->reader.position - channel->empty_at >= channel->peer.capacity)
        check_peer(channel);
    return CROSSINGS_OK;
}

/* A wrong tag ends the channel: each further attempt would be another guess. */
static crossings_status try_receive_auth(crossings_channel *channel, void *buffer, size_t room, size_t *size) {
    uint32_t bytes = 0, kind = RING_KIND_MESSAGE, fits = room > UINT32_MAX ? UINT32_MAX : (uint32_t)room;
    if (channel->over == CROSSINGS_PEER_CORRUPT)
        return channel->over;
    enum ring_result result = left_too_much(channel)
                                  ? RING_CORRUPT
                                  : ring_auth_read(&channel->reader, &channel->received, buffer, fits, &bytes, &kind);
    if (result == RING_NO)
        return nothing_to_receive(channel);
    if (result == RING_CORRUPT || kind != RING_KIND_MESSAGE)
        return channel->over = CROSSINGS_PEER_CORRUPT;
    *size = bytes;
    return bytes > room ? CROSSINGS_TOO_LARGE : consumed(channel);
}

static inline crossings_status try_receive_plain(crossings_channel *channel, void *buffer, size_t room, size_t *size,
                                                 bool may_be_over) {
    const void *payload;
    uint32_t bytes, kind;
    enum ring_result result = ring_peek(&channel->reader, &payload, &bytes, &kind);
    if (result == RING_NO)
        return nothing_to_receive(channel);
    /* The C interface has no requests, so only messages are valid here. */
    if (result == RING_CORRUPT || kind != RING_KIND_MESSAGE)
        return CROSSINGS_PEER_CORRUPT;
    if (may_be_over && left_too_much(channel))
        return CROSSINGS_PEER_CORRUPT;
    *size = bytes;
    if (bytes > room)
        return CROSSINGS_TOO_LARGE;
    ring_copy(buffer, payload, bytes);
    ring_consume(&channel->reader, bytes);
    return consumed(channel);
}

/* For a channel that is authenticated or over. */
static __attribute__((noinline)) crossings_status try_receive_special(crossings_channel *channel, void *buffer,
                                                                      size_t room, size_t *size) {
    return channel->authenticated ? try_receive_auth(channel, buffer, room, size)
                                  : try_receive_plain(channel, buffer, room, size, true);
}

crossings_status crossings_try_receive(crossings_channel *channel, void *buffer, size_t room, size_t *size) {
    if (__builtin_expect(channel->special, 0))
        return try_receive_special(channel, buffer, room, size);
    return try_receive_plain(channel, buffer, room, size, false);
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

static inline uint64_t soonest(uint64_t a, uint64_t b) {
    return a < b ? a : b;
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
        pthread_testcancel(); /* as in a sleep: nothing was taken */
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
            wait_readable(channel->fd, channel->unrung ? soonest(deadline, deadline_after(RETRY_MS)) : deadline);
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
