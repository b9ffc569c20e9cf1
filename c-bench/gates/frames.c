/*
 * The alignment gate and the tag gate: a peer stores what no correct peer stores, and the code at the other end refuses
 * it (native/ring.h, native/ring-auth.h). The peer's region is in this process. Each control is what a correct peer
 * stores in the same place.
 */
#include "gates.h"

#include "../../native/region.h"

#include <unistd.h>

#define CAPACITY RING_MIN_CAPACITY
#define SIZE 48u /* of a message, bytes */

static const char message[SIZE] = "a message of forty-eight bytes";

/* The two ends of a channel: the victim sees the peer's region through its read-only mapping. */
static struct region victim, peer, seen;
static struct ring_writer writer, peer_writer;
static struct ring_reader reader, peer_reader;
static struct ring_auth sent, received, peer_sent, peer_received;

static bool connect_regions(uint32_t flags) {
    if (region_create(&victim, CAPACITY, flags) || region_create(&peer, CAPACITY, flags) ||
        region_map_peer(&seen, peer.fd, RING_MAX_CAPACITY) != REGION_OK)
        return false;
    seen.key = peer.key; /* the handshake would send it */
    region_connect(&victim, &seen, &writer, &reader);
    region_connect(&peer, &victim, &peer_writer, &peer_reader);
    region_connect_auth(&victim, &seen, &sent, &received);
    region_connect_auth(&peer, &victim, &peer_sent, &peer_received);
    return true;
}

static void release_regions(void) {
    region_release(&victim);
    region_release(&peer);
    region_release(&seen);
}

/* The victim's ring is full, so it looks at the peer's read position. */
static int read_position_is(uint32_t position) {
    ring_store_release(&peer.header->read_position, position); /* pairs with the acquire in ring_room */
    struct ring_writer at = writer;                            /* each attempt begins at the same place */
    return ring_room(&at, RING_LINE_BYTES);
}

/* The victim looks at its next frame. */
static int frame_is(uint32_t size) {
    const void *payload;
    uint32_t bytes, kind;
    struct ring_reader at = reader;
    ring_store_release((uint32_t *)peer.data, size + 1); /* pairs with the acquire in ring_peek */
    enum ring_result seen_frame = ring_peek(&at, &payload, &bytes, &kind);
    if (seen_frame != RING_OK)
        return seen_frame;
    ring_consume(&at, bytes);
    return at.position % RING_FRAME_ALIGN == 0 ? RING_OK : RING_CORRUPT;
}

bool try_alignment_gate(void) {
    if (!connect_regions(0))
        return false;
    while (ring_write(&writer, message, SIZE, RING_KIND_MESSAGE) == RING_OK)
        continue;
    ATTEMPT("alignment", "unaligned-position", false, read_position_is(68));
    ATTEMPT("alignment", "unaligned-position", true, read_position_is(64));
    ATTEMPT("alignment", "position-ahead", false, read_position_is(writer.position + 64));
    ATTEMPT("alignment", "position-ahead", true, read_position_is(writer.position));
    ATTEMPT("alignment", "position-behind", false, read_position_is(0u - 64));
    ATTEMPT("alignment", "position-behind", true, read_position_is(128));
    ATTEMPT("alignment", "frame-too-large", false, frame_is(CAPACITY));
    ATTEMPT("alignment", "frame-too-large", true, frame_is(ring_max_message(CAPACITY)));
    release_regions();
    return true;
}

/* The victim reads its next frame, and begins again at the same place the next time. */
static int read_frame(uint64_t number) {
    char copy[SIZE];
    uint32_t size, kind;
    struct ring_reader at = reader;
    struct ring_auth checks = {.key = received.key, .number = number};
    return ring_auth_read(&at, &checks, copy, sizeof copy, &size, &kind);
}

/* The same after one bit of the frame was changed. */
static int read_with_bit_flipped(uint32_t byte) {
    peer.data[byte] ^= 1;
    int answer = read_frame(0);
    peer.data[byte] ^= 1;
    return answer;
}

bool try_tag_gate(void) {
    if (!connect_regions(RING_FLAG_AUTHENTICATED))
        return false;
    ring_auth_write(&peer_writer, &peer_sent, message, SIZE, RING_KIND_MESSAGE);
    ring_publish(&peer_writer);
    const uint32_t tag = RING_FRAME_HEADER_BYTES, payload = tag + RING_TAG_BYTES;
    ATTEMPT("tag", "payload-changed", false, read_with_bit_flipped(payload + 20));
    ATTEMPT("tag", "payload-changed", true, read_frame(0));
    ATTEMPT("tag", "tag-changed", false, read_with_bit_flipped(tag + 3));
    ATTEMPT("tag", "tag-changed", true, read_frame(0));
    ATTEMPT("tag", "kind-changed", false, read_with_bit_flipped(4));
    ATTEMPT("tag", "kind-changed", true, read_frame(0));
    ATTEMPT("tag", "replayed", false, read_frame(1));
    ATTEMPT("tag", "replayed", true, read_frame(0));
    release_regions();
    return true;
}
