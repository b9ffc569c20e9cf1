/*
 * Fuzz target: reading and sending frames through native/messages.c and native/ring.h, while the peer stores anything
 * into its region. The input is a list of steps of both sides. Every result is compared with what docs/protocol.md says
 * of the memory at that moment, computed here a second time.
 */
#include "../../native/channel.h"

#include "fuzz.h"

#include <errno.h>
#include <sys/socket.h>

#define CAPACITY RING_MIN_CAPACITY
#define MASK (CAPACITY - 1)
#define LARGEST (CAPACITY - 16)

static struct region mine, evil; /* the victim's region, and the peer's with its writable mapping */
static struct crossings_channel channel;
static struct ring_writer evil_writer;
static struct ring_reader evil_reader;
static int ends[2] = {-1, -1};
static uint8_t sent_bytes[LARGEST];
static bool has_lied;    /* the peer has claimed to have read what it has not, so the victim may write there */
static bool may_be_over; /* the peer has set its closed word, or sent what looks like the end of its socket */

/* ---- The protocol, a second time ---- */

static uint32_t frame_size(uint32_t position, uint32_t payload) {
    uint32_t bytes = (8 + payload + 7) / 8 * 8;
    bool small = bytes <= 64;
    while (small && (position + bytes) % 64 != 0)
        bytes += 8;
    return bytes;
}

static uint32_t word_at(const struct region *region, uint32_t position) {
    uint32_t word;
    memcpy(&word, region->data + (position & MASK), sizeof word);
    return word;
}

static void check_payload(const struct region *region, uint32_t position, const uint8_t *bytes, uint32_t size) {
    uint32_t from = (position + 8) & MASK, first = CAPACITY - from < size ? CAPACITY - from : size;
    CHECK(memcmp(bytes, region->data + from, first) == 0);
    CHECK(memcmp(bytes + first, region->data, size - first) == 0);
}

/* Reports the end of the peer, or that it was read for a whole ring after its end. */
static bool is_end(crossings_status status) {
    return may_be_over &&
           (status == CROSSINGS_END || status == CROSSINGS_PEER_DIED || status == CROSSINGS_PEER_CORRUPT);
}

/* ---- Steps ---- */

static void receive(struct input *input, bool waits) {
    uint32_t position = channel.reader.position, signal = word_at(&evil, position), kind = word_at(&evil, position + 4);
    size_t room = take(input, 2), size = 12345;
    uint8_t *buffer = malloc(room);
    crossings_status status = waits ? crossings_receive(&channel, buffer, room, &size, 0)
                                    : crossings_try_receive(&channel, buffer, room, &size);
    uint32_t after = channel.reader.position;
    if (signal == 0) {
        CHECK(status == CROSSINGS_AGAIN || (waits && status == CROSSINGS_TIMEOUT) || is_end(status));
    } else if (signal - 1 > LARGEST || kind != 0) {
        CHECK(status == CROSSINGS_PEER_CORRUPT);
    } else if (signal - 1 > room) {
        CHECK((status == CROSSINGS_TOO_LARGE && size == signal - 1) || is_end(status));
    } else if (status == CROSSINGS_OK) {
        CHECK(size == signal - 1);
        check_payload(&evil, position, buffer, signal - 1);
        position += frame_size(position, signal - 1);
        CHECK(mine.header->read_position == position);
    } else {
        CHECK(is_end(status));
    }
    CHECK(after == position && after % 8 == 0);
    free(buffer);
}

static void transmit(struct input *input) {
    uint32_t size = take(input, 2), position = channel.writer.position, known = channel.writer.peer_read;
    uint32_t read = evil.header->read_position, needed = frame_size(position, size) + 8;
    crossings_status status = crossings_try_send(&channel, sent_bytes, size);
    if (size > LARGEST) {
        CHECK(status == CROSSINGS_TOO_LARGE || is_end(status));
        return;
    }
    bool fits = CAPACITY - (position - known) >= needed;
    bool corrupt = read % 8 != 0 || position - read > position - known;
    if (status != CROSSINGS_OK && is_end(status)) {
        CHECK(channel.writer.position == position);
    } else if (!fits && corrupt) {
        CHECK(status == CROSSINGS_PEER_CORRUPT);
    } else if (!fits && CAPACITY - (position - read) < needed) {
        CHECK(status == CROSSINGS_AGAIN);
    } else {
        CHECK(status == CROSSINGS_OK && channel.writer.position == position + frame_size(position, size));
        CHECK(channel.corked || word_at(&mine, position) == size + 1);
        CHECK(word_at(&mine, position + 4) == 0 && word_at(&mine, channel.writer.position) == 0);
        check_payload(&mine, position, sent_bytes, size);
    }
}

/* The peer reads correctly: whatever it stored before, the victim's own ring stays valid. */
static void read_correctly(void) {
    const void *payload;
    uint32_t size, kind;
    if (has_lied)
        return;
    enum ring_result result = ring_peek(&evil_reader, &payload, &size, &kind);
    CHECK(result != RING_CORRUPT);
    if (result != RING_OK)
        return;
    CHECK(kind == RING_KIND_MESSAGE);
    CHECK(memcmp(payload, sent_bytes, size) == 0);
    ring_consume(&evil_reader, size);
}

static void store(void *address, uint32_t value) {
    ring_store_relaxed((uint32_t *)address, value);
}

static void step(struct input *input) {
    char *next = evil.data + (channel.reader.position & MASK);
    char packet[256] = {0};
    switch (take(input, 1) % 16) {
    case 0:
    case 1: receive(input, false); break;
    case 2: receive(input, true); break;
    case 3: transmit(input); break;
    case 4: /* a correct frame */
        evil_writer.position = channel.reader.position;
        evil_writer.peer_read = channel.reader.position;
        if (ring_write(&evil_writer, sent_bytes, take(input, 2) % LARGEST, RING_KIND_MESSAGE) == RING_OK)
            ring_publish(&evil_writer);
        break;
    case 5: store(next, take(input, 4)); break;
    case 6: store(next, take(input, 2)); break;
    case 7: store(next + 4, take(input, 1)); break;
    case 8: store(next + 4, take(input, 4)); break;
    case 9: store(evil.data + (take(input, 2) & MASK & ~3u), take(input, 4)); break;
    case 10: store((char *)evil.header + take(input, 2) % RING_HEADER_BYTES / 4 * 4, take(input, 4)); break;
    case 11: evil.header->read_position = channel.writer.position - take(input, 2); break;
    case 12: read_correctly(); break;
    case 13: /* doorbells, or packets like them */
        if (send(ends[1], packet, take(input, 1), MSG_DONTWAIT | MSG_NOSIGNAL) == 0)
            may_be_over = true;
        break;
    case 14: take(input, 1) % 2 ? crossings_cork(&channel) : crossings_uncork(&channel); break;
    default: /* a ring full of frames */
        for (uint32_t at = 0, size = take(input, 1); at < CAPACITY; at += frame_size(at, size)) {
            store(evil.data + at, size + 1);
            store(evil.data + at + 4, 0);
        }
    }
}

/* ---- One input ---- */

static void set_up(uint32_t position) {
    if (!mine.header) {
        for (size_t i = 0; i < sizeof sent_bytes; i++)
            sent_bytes[i] = (uint8_t)(i * 7 + i / 251);
        CHECK(region_create(&mine, CAPACITY, 0) == 0 && region_create(&evil, CAPACITY, 0) == 0);
    }
    if (!channel.peer.header)
        CHECK(region_map_peer(&channel.peer, evil.fd, RING_MAX_CAPACITY) == REGION_OK);
    memset(mine.data, 0, CAPACITY);
    memset(evil.data, 0, CAPACITY);
    memset((char *)evil.header + 16, 0, RING_HEADER_BYTES - 16);
    memset((char *)mine.header + 16, 0, RING_HEADER_BYTES - 16);
    evil.header->magic = RING_MAGIC;
    evil.header->version = RING_VERSION;
    evil.header->capacity = CAPACITY;
    if (ends[0] < 0)
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    struct region peer = channel.peer;
    channel = (struct crossings_channel){.fd = ends[0], .mine = mine, .peer = peer, .spin_ns = 1};
    region_connect(&mine, &channel.peer, &channel.writer, &channel.reader);
    region_connect(&evil, &mine, &evil_writer, &evil_reader);
    /* Any position a ring can have: 32-bit positions wrap around. */
    channel.writer.position = channel.writer.peer_read = channel.reader.position = position;
    evil_reader.position = position;
    mine.header->read_position = evil.header->read_position = position;
}

static void drain(int fd) {
    char byte;
    while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno == EINTR)
        ;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    may_be_over = has_lied = false;
    set_up((take(&input, 2) << 16 | take(&input, 2)) & ~(RING_FRAME_ALIGN - 1));
    for (int steps = 0; input.left > 0 && steps < 256; steps++) {
        step(&input);
        may_be_over = may_be_over || evil.header->closed;
        has_lied = has_lied || evil.header->read_position - evil_reader.position - 1 < 0x7fffffff;
    }
    CHECK(mine.header->magic == RING_MAGIC && mine.header->capacity == CAPACITY && mine.header->closed == 0);
    drain(ends[0]);
    drain(ends[1]);
    return 0;
}
