/*
 * The ring: one direction between two processes, with one producer and one consumer. Header only. It makes no system
 * call, allocates nothing, and uses only memcpy from libc. docs/protocol.md explains why each access is where it is.
 *
 * Each process owns one region and maps its peer's region read-only. A region holds its owner's outgoing ring, its
 * owner's read position in the peer's ring, and its owner's waiting counters. Every function here either writes its own
 * region ("mine") or reads the peer's ("peer"). A value read from the peer is read once, checked, and only then used.
 *
 * Threads: one thread may write while another thread reads.
 */
#ifndef CROSSINGS_RING_H
#define CROSSINGS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* C11 keywords and their C++ spellings. */
#ifdef __cplusplus
#define RING_ALIGNED(bytes) alignas(bytes)
#define RING_ASSERT(condition, why) static_assert(condition, why)
#else
#define RING_ALIGNED(bytes) _Alignas(bytes)
#define RING_ASSERT(condition, why) _Static_assert(condition, why)
#endif

/* ---- Memory order: no other atomic operation is used ---- */

#define ring_load_acquire(address) __atomic_load_n((address), __ATOMIC_ACQUIRE)
#define ring_store_release(address, value) __atomic_store_n((address), (value), __ATOMIC_RELEASE)
#define ring_load_relaxed(address) __atomic_load_n((address), __ATOMIC_RELAXED)
#define ring_store_relaxed(address, value) __atomic_store_n((address), (value), __ATOMIC_RELAXED)
#define ring_full_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* ---- The layout ---- */

#define RING_MAGIC 0x53535243u /* "CRSS" in memory */
#define RING_VERSION 2u
#define RING_HEADER_BYTES 4096u /* of a region, before the ring's data: at least one page (region.c) */
#define RING_FRAME_HEADER_BYTES 8u
#define RING_FRAME_ALIGN 8u
#define RING_LINE_BYTES 64u      /* a cache line: small frames do not straddle two (docs/protocol.md) */
#define RING_MIN_CAPACITY 65536u /* whole pages, as the ring is mapped twice */
#define RING_MAX_CAPACITY (1u << 30)
#define RING_SMALL_COPY 512u /* bytes: copies up to this size are inlined */
#define RING_STREAM 2u       /* more frames in a row than this are a stream */
#define RING_BACK_OFF_PAUSES 64
#define RING_FLAG_NEVER_SLEEPS 1u  /* the owner only spins: its peer never has to check whether it sleeps */
#define RING_FLAG_AUTHENTICATED 2u /* each frame carries a tag: see ring-auth.h */

/* The start of a region. The offsets are part of the protocol. Words that change are 128 bytes apart, because
 * processors fetch cache lines in pairs. */
struct ring_region {
    /* Constant once the region has been sent to the peer. */
    uint32_t magic, version;
    uint32_t capacity; /* bytes of ring data: a power of two */
    uint32_t flags;    /* RING_FLAG_... */
    /* The owner's read position in its peer's ring. */
    RING_ALIGNED(128) uint32_t read_position;
    /* Odd while the owner sleeps and waits for data. Incremented when it goes to sleep and when it wakes. */
    RING_ALIGNED(128) uint32_t waiting_for_data;
    /* The same while the owner waits for room. */
    uint32_t waiting_for_room;
    /* 1 once the owner has closed its end; it then writes no more. */
    RING_ALIGNED(128) uint32_t closed;
};

/* A frame is this header, the payload, and padding: see ring_frame_bytes(). */
struct ring_frame {
    uint32_t signal; /* 0: not yet published; otherwise the payload's size + 1 */
    uint32_t kind;   /* RING_KIND_... */
};

#define RING_KIND_MESSAGE 0u
#define RING_KIND_REQUEST 1u  /* the payload begins with the request's number, 4 bytes */
#define RING_KIND_RESPONSE 2u /* likewise */
#define RING_KIND_REFUSAL 3u  /* likewise; the rest is the reason, in UTF-8 */

RING_ASSERT(offsetof(struct ring_region, magic) == 0, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, version) == 4, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, capacity) == 8, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, flags) == 12, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, read_position) == 128, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, waiting_for_data) == 256, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, waiting_for_room) == 260, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, closed) == 384, "part of the protocol");
RING_ASSERT(sizeof(struct ring_region) <= RING_HEADER_BYTES, "the words fit into the header");
RING_ASSERT(sizeof(struct ring_frame) == RING_FRAME_HEADER_BYTES, "part of the protocol");
RING_ASSERT(RING_MIN_CAPACITY >= 2 * RING_LINE_BYTES, "a frame and the end mark fit");
RING_ASSERT((RING_MAX_CAPACITY & (RING_MAX_CAPACITY - 1)) == 0, "a power of two");

/* The size in bytes, padding included, of a frame at `position` with a payload of `size` bytes. After a frame of at
 * most one cache line, the next one starts on a new line. A longer frame is padded to a multiple of 8 only. */
static inline uint32_t ring_frame_bytes(uint32_t position, uint32_t size) {
    uint32_t bytes = (RING_FRAME_HEADER_BYTES + size + RING_FRAME_ALIGN - 1) & ~(RING_FRAME_ALIGN - 1);
    return bytes > RING_LINE_BYTES ? bytes : bytes + (-(position + bytes) & (RING_LINE_BYTES - 1));
}

/* The largest payload of a ring of `capacity` bytes: the end mark must fit behind its frame. */
static inline uint32_t ring_max_message(uint32_t capacity) {
    return capacity - 2 * RING_FRAME_HEADER_BYTES;
}

/* memcpy for sizes that are mostly small. libc's memcpy costs a call and several branches, which take longer than
 * copying one cache line. The compiler turns each 16-byte piece into one load and one store; the last piece may overlap
 * the one before it. */
static inline void ring_copy(void *target, const void *source, size_t bytes) {
    char *to = (char *)target;
    const char *from = (const char *)source;
    if (bytes == 0)
        return; /* there may be no memory at all, and memcpy takes no null pointer */
    if (bytes < 16 || bytes > RING_SMALL_COPY) {
        memcpy(to, from, bytes);
        return;
    }
    size_t at = 0;
    for (; at + 16 <= bytes; at += 16)
        memcpy(to + at, from + at, 16);
    if (at < bytes)
        memcpy(to + bytes - 16, from + bytes - 16, 16);
}

/* ---- Writing ---- */

enum ring_result { RING_CORRUPT = -1, RING_NO = 0, RING_OK = 1 };

struct ring_writer {
    struct ring_region *mine;
    char *data;                     /* of my ring, mapped twice in a row so that every frame is contiguous */
    const struct ring_region *peer; /* its read position and its waiting counters */
    uint32_t capacity, mask;
    uint32_t position;      /* of the next frame */
    uint32_t peer_read;     /* the peer's read position when it was last loaded */
    uint32_t held_position; /* of the first frame that is written but not published... */
    uint32_t held_signal;   /* ...and the signal it will get; 0: no frame is held */
    uint32_t rung;          /* the peer's waiting count when its doorbell was last rung */
    bool peer_may_sleep;
};

static inline struct ring_frame *ring_frame_at(const struct ring_writer *writer, uint32_t position) {
    return (struct ring_frame *)(writer->data + (position & writer->mask));
}

/* Check for room for a frame of `bytes` bytes and the end mark behind it. RING_NO: no room now. */
static inline enum ring_result ring_room(struct ring_writer *writer, uint32_t bytes) {
    uint32_t needed = bytes + RING_FRAME_HEADER_BYTES;
    if (__builtin_expect(writer->capacity - (writer->position - writer->peer_read) >= needed, 1))
        return RING_OK;
    /* Pairs with the release in ring_consume: the peer has read everything before this position. */
    uint32_t read = ring_load_acquire(&writer->peer->read_position);
    uint32_t used = writer->position - read;
    /* A correct peer's position only grows, and never past mine. */
    if (used > writer->position - writer->peer_read || read % RING_FRAME_ALIGN != 0)
        return RING_CORRUPT;
    writer->peer_read = read;
    return writer->capacity - used >= needed ? RING_OK : RING_NO;
}

/* Publish every held frame. */
static inline void ring_publish(struct ring_writer *writer) {
    if (!writer->held_signal)
        return;
    /* Pairs with the acquire in ring_peek: payloads, later frames and the end mark become visible before the first
     * frame's signal. */
    ring_store_release(&ring_frame_at(writer, writer->held_position)->signal, writer->held_signal);
    writer->held_signal = 0;
}

/* Reserve room for a payload of `size` bytes at *payload. The caller fills it and then calls ring_commit(). */
static inline enum ring_result ring_reserve(struct ring_writer *writer, uint32_t size, void **payload) {
    enum ring_result room = ring_room(writer, ring_frame_bytes(writer->position, size));
    if (room == RING_OK)
        *payload = (char *)ring_frame_at(writer, writer->position) + RING_FRAME_HEADER_BYTES;
    return room;
}

/* Write the frame around the payload that ring_reserve() made room for. The frame is held until ring_publish(). Held
 * frames need no order among themselves: the peer cannot see past the first one, whose signal is stored last. */
static inline void ring_commit(struct ring_writer *writer, uint32_t size, uint32_t kind) {
    struct ring_frame *frame = ring_frame_at(writer, writer->position);
    uint32_t next = writer->position + ring_frame_bytes(writer->position, size);
    ring_store_relaxed(&ring_frame_at(writer, next)->signal, 0); /* the end mark: the peer cannot be here yet */
    ring_store_relaxed(&frame->kind, kind);
    if (writer->held_signal) {
        ring_store_relaxed(&frame->signal, size + 1);
    } else {
        writer->held_position = writer->position;
        writer->held_signal = size + 1;
    }
    writer->position = next;
}

/* Write a message without publishing it. RING_NO: no room now. The caller has checked the size against
 * ring_max_message(). */
static inline enum ring_result ring_write(struct ring_writer *writer, const void *message, uint32_t size,
                                          uint32_t kind) {
    void *payload;
    enum ring_result room = ring_reserve(writer, size, &payload);
    if (room == RING_OK) {
        ring_copy(payload, message, size);
        ring_commit(writer, size, kind);
    }
    return room;
}

/* ---- Reading ---- */

struct ring_reader {
    struct ring_region *mine;       /* my read position */
    const struct ring_region *peer; /* its waiting counters */
    const char *data;               /* of the peer's ring, mapped twice in a row */
    uint32_t capacity, mask;
    uint32_t position; /* of the next frame to read */
    uint32_t rung;     /* the peer's waiting count when its doorbell was last rung */
    uint32_t streak;   /* frames read since the ring was last found empty */
    bool peer_may_sleep;
};

/* Get the next frame's payload, in the peer's memory. The peer may still change it: read each byte once. RING_NO: the
 * ring is empty. */
static inline enum ring_result ring_peek(const struct ring_reader *reader, const void **payload, uint32_t *size,
                                         uint32_t *kind) {
    const struct ring_frame *frame = (const struct ring_frame *)(reader->data + (reader->position & reader->mask));
    /* Pairs with the release in ring_publish. */
    uint32_t signal = ring_load_acquire(&frame->signal);
    if (signal == 0)
        return RING_NO;
    if (__builtin_expect(signal - 1 > ring_max_message(reader->capacity), 0))
        return RING_CORRUPT;
    *size = signal - 1;
    *kind = ring_load_relaxed(&frame->kind);
    *payload = (const char *)frame + RING_FRAME_HEADER_BYTES;
    return RING_OK;
}

/* Give the room of the frame that ring_peek() returned back to the peer. `size` is the size that ring_peek() set. */
static inline void ring_consume(struct ring_reader *reader, uint32_t size) {
    reader->position += ring_frame_bytes(reader->position, size);
    reader->streak++;
    /* Pairs with the acquire in ring_room: my reads of the payload come before this store. */
    ring_store_release(&reader->mine->read_position, reader->position);
}

static inline void ring_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* takes as long as x86's pause; yield does nothing on most cores */
#endif
}

/* Back off after finding the ring empty in the middle of a stream. A reader that has caught up with the writer and
 * polls without a pause takes the cache line away from the writer once for each message. After a microsecond or two it
 * finds many messages. A reader that waits for a single answer does not pause. docs/protocol.md has the measurement. */
static inline void ring_back_off(struct ring_reader *reader) {
    if (reader->streak > RING_STREAM)
        for (int i = 0; i < RING_BACK_OFF_PAUSES; i++)
            ring_pause();
    reader->streak = 0;
}

/* This side has sent a frame: what it reads next may be the answer, not the middle of a stream. */
static inline void ring_answered(struct ring_reader *reader) {
    reader->streak = 0;
}

/* ---- Sleeping ----
 *
 * The writer publishes, fences, then loads the reader's counter. The reader increments its counter, fences, then looks
 * at the ring. All full fences have one order, so at least one side sees the other's store: the reader does not go to
 * sleep, or the writer rings. Without both fences, each side's store may still be in its store buffer when it loads the
 * other's old value, and the wake-up is lost. This happens on x86, too.
 */

static inline bool ring_sleeps(const uint32_t *waiting, uint32_t *rung) {
    ring_full_fence(); /* pairs with the fence in ring_begin_waiting */
    uint32_t count = ring_load_relaxed(waiting);
    if (count % 2 == 0 || count == *rung)
        return false;
    *rung = count; /* ring once for each sleep */
    return true;
}

/* Call after ring_publish(). True: the peer sleeps and its doorbell must be rung. */
static inline bool ring_reader_sleeps(struct ring_writer *writer) {
    return writer->peer_may_sleep && ring_sleeps(&writer->peer->waiting_for_data, &writer->rung);
}

/* Call after ring_consume(). True: the peer sleeps and its doorbell must be rung. */
static inline bool ring_writer_sleeps(struct ring_reader *reader) {
    return reader->peer_may_sleep && ring_sleeps(&reader->peer->waiting_for_room, &reader->rung);
}

/* Announce a sleep. The caller then checks the ring once more, and sleeps only if nothing has changed. A counter that
 * is odd already, because a signal or a cancellation left the last wait, becomes the next odd one: each sleep is rung
 * for. */
static inline void ring_begin_waiting(uint32_t *waiting) {
    ring_store_relaxed(waiting, (ring_load_relaxed(waiting) + 1) | 1);
    ring_full_fence(); /* pairs with the fence in ring_sleeps */
}

static inline void ring_end_waiting(uint32_t *waiting) {
    uint32_t count = ring_load_relaxed(waiting);
    ring_store_relaxed(waiting, count + count % 2);
}

#endif
