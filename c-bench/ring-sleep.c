/*
 * The ring, sleeping: the ring of ring.c with the doorbell that require('crossings') uses. A process that finds nothing
 * announces that it will sleep, looks once more, and sleeps in recv(); its peer sees the announcement and wakes it.
 * A message makes no crossing while its receiver is awake, and two if it sleeps: one to sleep, and one to wake it.
 */
#include "../native/doorbell.h"
#include "../native/handshake.h"
#include "mechanism.h"

#include <sys/socket.h>
#include <unistd.h>

#define CAPACITY (256u << 10) /* bytes; larger if fewer than four messages fit */

static int ends[2] = {-1, -1}; /* the doorbell, a socket pair: ends[side] belongs to that side */
static struct region regions[2] = {{.fd = -1}, {.fd = -1}};
static struct ring_writer writers[2];
static struct ring_reader readers[2];

/* Both processes inherit the regions, so there is no handshake. */
static int setup(size_t size) {
    uint32_t capacity = CAPACITY;
    while (capacity < 4 * size)
        capacity *= 2;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
        return -1;
    for (int side = SIDE_A; side <= SIDE_B; side++)
        if (region_create(&regions[side], capacity, polling ? RING_FLAG_NEVER_SLEEPS : 0))
            return -1;
    for (int side = SIDE_A; side <= SIDE_B; side++)
        region_connect(&regions[side], &regions[!side], &writers[side], &readers[side]);
    return 0;
}

static int take(enum side side) {
    return close(ends[!side]);
}

/* The ring had nothing to do. The first call announces a sleep, so that the caller looks at the ring once more; the
 * second one sleeps. `waiting` is this side's counter, which is odd from the announcement on. */
static enum outcome wait_for_peer(enum side side, uint32_t *waiting) {
    char bell;
    if (polling) {
        spin_turn();
        return OK;
    }
    if (*waiting % 2 == 0) {
        ring_begin_waiting(waiting);
        return OK;
    }
    ssize_t got;
    while ((got = recv(ends[side], &bell, 1, 0)) < 0 && call_again())
        continue;
    ring_end_waiting(waiting);
    return got > 0 ? OK : got == 0 ? ENDED : FAILED;
}

static enum outcome ring_send(enum side side, const void *message, size_t size) {
    struct ring_writer *writer = &writers[side];
    uint32_t *waiting = &regions[side].header->waiting_for_room;
    enum ring_result written;
    while ((written = ring_write(writer, message, (uint32_t)size, RING_KIND_MESSAGE)) == RING_NO) {
        enum outcome outcome = wait_for_peer(side, waiting);
        if (outcome != OK)
            return outcome;
    }
    if (*waiting % 2)
        ring_end_waiting(waiting);
    ring_publish(writer);
    if (ring_reader_sleeps(writer))
        doorbell_ring(ends[side]);
    return written == RING_OK ? OK : FAILED;
}

static enum outcome ring_receive(enum side side, void *message, size_t size) {
    struct ring_reader *reader = &readers[side];
    uint32_t *waiting = &regions[side].header->waiting_for_data;
    const void *payload;
    uint32_t bytes, kind;
    enum ring_result seen;
    while ((seen = ring_peek(reader, &payload, &bytes, &kind)) == RING_NO) {
        enum outcome outcome = wait_for_peer(side, waiting);
        if (outcome != OK)
            return outcome;
    }
    if (*waiting % 2)
        ring_end_waiting(waiting);
    if (seen == RING_CORRUPT || bytes != size)
        return FAILED;
    ring_copy(message, payload, size);
    ring_consume(reader, bytes);
    if (ring_writer_sleeps(reader))
        doorbell_ring(ends[side]);
    return OK;
}

static void teardown(enum side side) {
    close(ends[side]);
    region_release(&regions[side]);
}

const struct mechanism ring_sleep = {
    .name = "ring-sleep",
    .title = "Ring in shared memory, sleeping",
    .source = __FILE__,
    .special = true,
    .billable = true,
    .setup = setup,
    .take = take,
    .send = ring_send,
    .receive = ring_receive,
    .teardown = teardown,
};
