/*
 * Authenticated frames: the writing and reading of ring.h with a 64-bit SipHash-2-4 tag in each frame. Header only. The
 * frames are those of ring.h; the first 8 bytes of each payload are its tag. docs/protocol.md says what the tag covers,
 * and what it does and does not protect against.
 *
 * The writer signs the caller's message, not its copy in shared memory. The reader checks its own copy, not the shared
 * memory. So memory that changes in between, for any reason, is never accepted as the message that was sent.
 */
#ifndef CROSSINGS_RING_AUTH_H
#define CROSSINGS_RING_AUTH_H

#include "ring.h"
#include "siphash.h"

#define RING_TAG_BYTES 8u

/* One direction of an authenticated channel, at either end. */
struct ring_auth {
    struct siphash_key key;
    uint64_t number; /* of the next frame: 0, 1, 2 ... */
};

/* The tag covers the frame's number, its header as it is published, and its payload without the tag. */
static inline uint64_t ring_tag(const struct ring_auth *auth, uint32_t signal, uint32_t kind, const void *message,
                                uint32_t size) {
    struct siphash state = siphash_begin(&auth->key);
    siphash_add(&state, auth->number);
    siphash_add(&state, signal | (uint64_t)kind << 32);
    return siphash_end(&state, 16, message, size);
}

/* The largest message in an authenticated ring of `capacity` bytes. */
static inline uint32_t ring_auth_max_message(uint32_t capacity) {
    return ring_max_message(capacity) - RING_TAG_BYTES;
}

/* ring_write() with a tag. The caller has checked the size against ring_auth_max_message(). */
static inline enum ring_result ring_auth_write(struct ring_writer *writer, struct ring_auth *auth, const void *message,
                                               uint32_t size, uint32_t kind) {
    void *place;
    enum ring_result room = ring_reserve(writer, size + RING_TAG_BYTES, &place);
    if (room != RING_OK)
        return room;
    uint64_t tag = ring_tag(auth, size + RING_TAG_BYTES + 1, kind, message, size);
    memcpy(place, &tag, sizeof tag);
    ring_copy((char *)place + RING_TAG_BYTES, message, size);
    ring_commit(writer, size + RING_TAG_BYTES, kind);
    auth->number++;
    return RING_OK;
}

/* Copy the next frame's payload into `buffer`, which has `room` bytes, check its tag, and move past it. RING_OK with
 * *size > room: it does not fit, and stays in the ring; its size and kind are authentic. RING_CORRUPT: the tag is
 * wrong, and the buffer's content is worthless. RING_NO: the ring is empty. */
static inline enum ring_result ring_auth_read(struct ring_reader *reader, struct ring_auth *auth, void *buffer,
                                              uint32_t room, uint32_t *size, uint32_t *kind) {
    const void *place;
    uint32_t bytes;
    uint64_t tag;
    enum ring_result seen = ring_peek(reader, &place, &bytes, kind);
    if (seen != RING_OK)
        return seen;
    if (bytes < RING_TAG_BYTES)
        return RING_CORRUPT;
    *size = bytes - RING_TAG_BYTES;
    memcpy(&tag, place, sizeof tag);
    const void *message = (const char *)place + RING_TAG_BYTES;
    if (*size <= room) {
        ring_copy(buffer, message, *size);
        message = buffer;
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* for the compiler: what follows reads the copy, not the ring again */
    }
    if (ring_tag(auth, bytes + 1, *kind, message, *size) != tag)
        return RING_CORRUPT;
    if (*size <= room) {
        ring_consume(reader, bytes);
        auth->number++;
    }
    return RING_OK;
}

#endif
