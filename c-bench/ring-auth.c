/*
 * The ring with authenticated frames: each message carries a 64-bit tag, made with a key that both processes know and
 * that is not in the shared memory (native/ring-auth.h). All else is as in ring.c.
 */
#include "../native/handshake.h"
#include "mechanism.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CAPACITY (256u << 10) /* bytes; larger if fewer than four messages fit */

static int ends[2] = {-1, -1}; /* a socket pair, over which the processes exchange their regions and their keys */
static uint32_t capacity;
static struct region mine = {.fd = -1}, peer = {.fd = -1};
static struct ring_writer writer;
static struct ring_reader reader;
static struct ring_auth sent, received; /* the key of each direction, and how many frames there were */
static unsigned held;                   /* messages written but not yet published */

static int setup(size_t size) {
    for (capacity = CAPACITY; capacity < 4 * size;)
        capacity *= 2;
    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
}

/* The handshake. Each process makes the key for the frames that it will read, and sends it with its region. */
static int take(enum side side) {
    char reason[HANDSHAKE_REASON_BYTES];
    close(ends[!side]);
    if (region_create(&mine, capacity, RING_FLAG_NEVER_SLEEPS | RING_FLAG_AUTHENTICATED) ||
        handshake_send(ends[side], &mine) != HANDSHAKE_OK)
        return -1;
    poll(&(struct pollfd){.fd = ends[side], .events = POLLIN}, 1, -1);
    if (handshake_receive(ends[side], true, &peer, reason) != HANDSHAKE_OK) {
        errno = EPROTO;
        return -1;
    }
    region_connect(&mine, &peer, &writer, &reader);
    region_connect_auth(&mine, &peer, &sent, &received);
    return 0;
}

static void flush(enum side side) {
    (void)side;
    ring_publish(&writer);
    held = 0;
}

static enum outcome ring_auth_send(enum side side, const void *message, size_t size) {
    enum ring_result written;
    while ((written = ring_auth_write(&writer, &sent, message, (uint32_t)size, RING_KIND_MESSAGE)) == RING_NO) {
        flush(side); /* full: the receiver must see the messages before it can make room */
        spin_turn();
    }
    if (++held >= messages_a_batch)
        flush(side);
    return written == RING_OK ? OK : FAILED;
}

static enum outcome ring_auth_receive(enum side side, void *message, size_t size) {
    (void)side;
    uint32_t bytes, kind;
    enum ring_result seen;
    while ((seen = ring_auth_read(&reader, &received, message, (uint32_t)size, &bytes, &kind)) == RING_NO) {
        ring_back_off(&reader);
        spin_turn();
    }
    return seen == RING_OK && bytes == size ? OK : FAILED;
}

static void teardown(enum side side) {
    close(ends[side]);
    region_release(&mine);
    region_release(&peer);
}

const struct mechanism ring_auth = {
    .name = "ring-auth",
    .title = "Ring, authenticated",
    .source = __FILE__,
    .special = true,
    .setup = setup,
    .take = take,
    .send = ring_auth_send,
    .receive = ring_auth_receive,
    .teardown = teardown,
    .flush = flush,
};
