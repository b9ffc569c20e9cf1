/*
 * The ring: a queue of messages in shared memory, the same ring that require('crossings') uses (native/ring.h). Each
 * process writes only to its own region and maps the other's read-only.
 * A message makes no crossing: its first word, the signal, shows the receiver that it has arrived.
 */
#include "../native/handshake.h"
#include "mechanism.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CAPACITY (256u << 10) /* bytes; larger if fewer than four messages fit */

static int ends[2] = {-1, -1}; /* a socket pair, over which the processes exchange their regions */
static uint32_t capacity;
static struct region mine = {.fd = -1}, peer = {.fd = -1};
static struct ring_writer writer;
static struct ring_reader reader;
static unsigned held; /* messages written but not yet published */

static int setup(size_t size) {
    for (capacity = CAPACITY; capacity < 4 * size;)
        capacity *= 2;
    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
}

/* The handshake: create my region, send it, and receive the other side's. After it, there are no system calls. */
static int take(enum side side) {
    char reason[HANDSHAKE_REASON_BYTES];
    close(ends[!side]);
    if (region_create(&mine, capacity, RING_FLAG_NEVER_SLEEPS) || handshake_send(ends[side], &mine) != HANDSHAKE_OK)
        return -1;
    poll(&(struct pollfd){.fd = ends[side], .events = POLLIN}, 1, -1);
    if (handshake_receive(ends[side], false, &peer, reason) != HANDSHAKE_OK) {
        errno = EPROTO;
        return -1;
    }
    region_connect(&mine, &peer, &writer, &reader);
    return 0;
}

static void flush(enum side side) {
    (void)side;
    ring_publish(&writer);
    held = 0;
}

static enum outcome ring_send(enum side side, const void *message, size_t size) {
    enum ring_result written;
    while ((written = ring_write(&writer, message, (uint32_t)size, RING_KIND_MESSAGE)) == RING_NO) {
        flush(side); /* full: the receiver must see the messages before it can make room */
        spin_turn();
    }
    if (++held >= messages_a_batch)
        flush(side);
    return written == RING_OK ? OK : FAILED;
}

static enum outcome ring_receive(enum side side, void *message, size_t size) {
    (void)side;
    const void *payload;
    uint32_t bytes, kind;
    enum ring_result seen;
    while ((seen = ring_peek(&reader, &payload, &bytes, &kind)) == RING_NO) {
        ring_back_off(&reader);
        spin_turn();
    }
    if (seen == RING_CORRUPT || bytes != size)
        return FAILED;
    ring_copy(message, payload, size);
    ring_consume(&reader, bytes);
    return OK;
}

static void teardown(enum side side) {
    close(ends[side]);
    region_release(&mine);
    region_release(&peer);
}

const struct mechanism ring = {
    .name = "ring",
    .title = "Ring in shared memory",
    .source = __FILE__,
    .setup = setup,
    .take = take,
    .send = ring_send,
    .receive = ring_receive,
    .teardown = teardown,
    .flush = flush,
};
