/*
 * The ring in shared memory (native/ring.h), as a byte stream: every buffer is one frame, published at once. A buffer
 * of more than a quarter of the ring is split, so that both sides can work at the same time.
 */
#include "../../native/handshake.h"
#include "../common/clock.h"
#include "content.h"
#include "sweep.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#define DEFAULT_CAPACITY (256u << 10) /* bytes */
#define PIECES 4u                     /* frames that must fit into the ring */
#define PAGE_BYTES 4096u

/* One for each side: in thread mode, both are in this process. */
static struct {
    _Alignas(APART) struct region mine, peer;
    struct ring_writer writer;
    struct ring_reader reader;
} sides[2];

static int open_ring(const struct point *point, struct link *link) {
    uint32_t capacity = DEFAULT_CAPACITY;
    if (point->matched)
        for (capacity = RING_MIN_CAPACITY; capacity < PIECES * point->size_bytes;)
            capacity *= 2;
    link->send_bytes = link->receive_bytes = capacity;
    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, link->ends);
}

/* Page faults belong to the setup, not to the first messages. Both halves map the same memory, by pages of their own.
 */
static void touch_pages(const struct region *region, bool mine) {
    for (size_t at = 0; at < 2 * (size_t)region->capacity; at += PAGE_BYTES) {
        volatile char *byte = region->data + at;
        char value = *byte;
        if (mine)
            *byte = value;
    }
}

static int take(struct sample *sample, enum side side) {
    char reason[HANDSHAKE_REASON_BYTES];
    int fd = sample->link.ends[side];
    struct region *mine = &sides[side].mine, *peer = &sides[side].peer;
    if (region_create(mine, (uint32_t)sample->link.send_bytes, RING_FLAG_NEVER_SLEEPS) ||
        handshake_send(fd, mine) != HANDSHAKE_OK)
        return -1;
    if (side == SENDER)
        touch_pages(mine, true);
    poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)sample->stall_ms);
    if (handshake_receive(fd, false, peer, reason) != HANDSHAKE_OK) {
        errno = EPROTO;
        return -1;
    }
    if (side == RECEIVER)
        touch_pages(peer, false);
    region_connect(mine, peer, &sides[side].writer, &sides[side].reader);
    return 0;
}

/* One turn of a loop that waits for the other side. False: the other side has failed. */
static bool wait_turn(struct sample *sample, unsigned *turns) {
    if (sample->turns_before_yield && ++*turns % sample->turns_before_yield == 0)
        sched_yield();
    return !atomic_load_explicit(&sample->stopped, memory_order_relaxed);
}

static bool ring_fail(struct sample *sample, enum side side, enum ring_result result) {
    if (result == RING_NO)
        sample_fail(sample, side, true, "ERR_PEER_LEFT", "the other side has failed");
    else
        sample_fail(sample, side, false, "ERR_MESSAGE_ALTERED", "the ring holds an invalid position or frame");
    return false;
}

static enum ring_result write_frame(struct sample *sample, const char *bytes, uint32_t size) {
    struct ring_writer *writer = &sides[SENDER].writer;
    unsigned turns = 0;
    enum ring_result result;
    while ((result = ring_write(writer, bytes, size, RING_KIND_MESSAGE)) == RING_NO && wait_turn(sample, &turns))
        continue;
    ring_publish(writer);
    return result;
}

static bool ring_send(struct sample *sample, char *buffer) {
    size_t piece = sample->link.send_bytes / PIECES;
    uint64_t sent = 0;
    for (uint64_t number = 0; sent < sample->total_bytes; number++) {
        uint64_t left = sample->total_bytes - sent;
        size_t size = left < sample->point.size_bytes ? (size_t)left : sample->point.size_bytes;
        content_stamp(buffer, number);
        for (size_t at = 0; at < size;) {
            size_t bytes = size - at < piece ? size - at : piece;
            enum ring_result result = write_frame(sample, buffer + at, (uint32_t)bytes);
            if (result != RING_OK)
                return ring_fail(sample, SENDER, result);
            at += bytes;
            sent += bytes;
        }
        note_progress(sample, SENDER, sent);
    }
    return true;
}

static bool ring_receive(struct sample *sample, char *buffer) {
    struct ring_reader *reader = &sides[RECEIVER].reader;
    struct digest digest = {0};
    unsigned turns = 0;
    for (uint64_t received = 0; received < sample->total_bytes;) {
        const void *payload;
        uint32_t bytes, kind;
        enum ring_result seen;
        while ((seen = ring_peek(reader, &payload, &bytes, &kind)) == RING_NO && wait_turn(sample, &turns))
            ring_back_off(reader);
        if (seen != RING_OK || bytes > sample->point.size_bytes)
            return ring_fail(sample, RECEIVER, seen == RING_OK ? RING_CORRUPT : seen);
        ring_copy(buffer, payload, bytes);
        ring_consume(reader, bytes);
        reads_add(&sample->reads, bytes);
        digest_add(&digest, buffer, bytes);
        received += bytes;
        note_progress(sample, RECEIVER, received);
    }
    sample->finished_ns = monotonic_ns();
    sample->digest = digest_end(&digest);
    return true;
}

static void release(enum side side) {
    region_release(&sides[side].mine);
    region_release(&sides[side].peer);
}

const struct transport ring_transport = {.name = "ring",
                                         .matches = true,
                                         .open = open_ring,
                                         .take = take,
                                         .send = ring_send,
                                         .receive = ring_receive,
                                         .release = release};
