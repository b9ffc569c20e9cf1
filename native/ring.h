/*
 * The ring: one direction between two processes, one producer, one consumer. Header only; no system call, no
 * allocation, nothing of libc but memcpy. docs/protocol.md says why each access is where it is.
 *
 * Each process owns one region and maps its peer's read-only. A region holds its owner's outgoing ring, its owner's
 * read position in the peer's ring, and its owner's waiting flags; so everything here either writes the own region
 * ("mine") or reads the peer's ("peer"), and what is read there is read once, checked, and only then used.
 *
 * Thread rules: one thread writes, one thread reads; here they may be different threads.
 */
#ifndef CROSSINGS_RING_H
#define CROSSINGS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* C11's words, as C++ spells them too. */
#ifdef __cplusplus
#define RING_ALIGNED(bytes) alignas(bytes)
#define RING_ASSERT(condition, why) static_assert(condition, why)
#else
#define RING_ALIGNED(bytes) _Alignas(bytes)
#define RING_ASSERT(condition, why) _Static_assert(condition, why)
#endif

/* ---- The memory order, in four words ---- */

#define ring_load_acquire(address) __atomic_load_n((address), __ATOMIC_ACQUIRE)
#define ring_store_release(address, value) __atomic_store_n((address), (value), __ATOMIC_RELEASE)
#define ring_load_relaxed(address) __atomic_load_n((address), __ATOMIC_RELAXED)
#define ring_store_relaxed(address, value) __atomic_store_n((address), (value), __ATOMIC_RELAXED)
#define ring_full_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/* ---- The layout ---- */

#define RING_MAGIC 0x53535243u /* "CRSS" in memory */
#define RING_VERSION 1u
#define RING_HEADER_BYTES 4096u /* of the region, before the ring's data */
#define RING_FRAME_HEADER_BYTES 8u
#define RING_FRAME_ALIGN 8u
#define RING_MIN_CAPACITY 65536u /* a page of the largest size in use, so that the ring can be mapped twice */
#define RING_MAX_CAPACITY (1u << 30)
#define RING_SMALL_COPY 512u /* bytes: up to here copied inline */
#define RING_STREAM 2u       /* so many frames in a row are a stream */
#define RING_STAND_BACK_PAUSES 64
#define RING_FLAG_NEVER_SLEEPS 1u /* the owner waits by spinning only: nobody need look whether it sleeps */

/* The start of a region. Offsets are part of the protocol. What changes stands 128 bytes apart: processors fetch cache
 * lines in pairs. */
struct ring_region {
    /* Set before the region is handed over, constant afterwards. */
    uint32_t magic, version;
    uint32_t capacity; /* bytes of ring data: a power of two */
    uint32_t flags;    /* RING_FLAG_... */
    /* How far the owner has read in its peer's ring. */
    RING_ALIGNED(128) uint32_t read_position;
    /* Odd while the owner sleeps until there is something to read; counts up by one at each change. */
    RING_ALIGNED(128) uint32_t waiting_for_data;
    /* The same for room to write. */
    uint32_t waiting_for_room;
    /* 1 once the owner has closed its end and writes no more. */
    RING_ALIGNED(128) uint32_t closed;
};

/* A frame: this header, the payload, and padding up to a multiple of RING_FRAME_ALIGN. */
struct ring_frame {
    uint32_t signal; /* 0: not there yet; else the payload's bytes + 1 */
    uint32_t kind;   /* what the payload is: RING_KIND_... */
};

#define RING_KIND_MESSAGE 0u
#define RING_KIND_REQUEST 1u /* the payload begins with the request's number, 4 bytes */
#define RING_KIND_ANSWER 2u  /* likewise */
#define RING_KIND_REFUSAL 3u /* likewise; the rest is the reason as UTF-8 */

RING_ASSERT(offsetof(struct ring_region, magic) == 0, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, version) == 4, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, capacity) == 8, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, flags) == 12, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, read_position) == 128, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, waiting_for_data) == 256, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, waiting_for_room) == 260, "part of the protocol");
RING_ASSERT(offsetof(struct ring_region, closed) == 384, "part of the protocol");
RING_ASSERT(sizeof(struct ring_region) <= RING_HEADER_BYTES, "the header is one page");
RING_ASSERT(sizeof(struct ring_frame) == RING_FRAME_HEADER_BYTES, "part of the protocol");
RING_ASSERT(RING_MIN_CAPACITY >= 2 * RING_FRAME_HEADER_BYTES, "a frame and the end mark fit");
RING_ASSERT((RING_MAX_CAPACITY & (RING_MAX_CAPACITY - 1)) == 0, "a power of two");

/* A frame's bytes for a payload of `size` bytes. */
static inline uint32_t ring_frame_bytes(uint32_t size) {
    return (RING_FRAME_HEADER_BYTES + size + RING_FRAME_ALIGN - 1) & ~(RING_FRAME_ALIGN - 1);
}

/* The largest payload for a ring of `capacity` bytes: beside its frame, the end mark of the next must fit. */
static inline uint32_t ring_max_message(uint32_t capacity) {
    return capacity - 2 * RING_FRAME_HEADER_BYTES;
}

/* memcpy for what is mostly small: libc's costs a call and a choice among many ways, which is more than copying a cache
 * line takes. Pieces of 16 bytes that the compiler turns into single loads and stores; the last piece may overlap the
 * one before. */
static inline void ring_copy(void *target, const void *source, size_t bytes) {
    char *to = (char *)target;
    const char *from = (const char *)source;
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
    char *data;                     /* of my ring, mapped twice in a row, so that every frame is in one piece */
    const struct ring_region *peer; /* its read position and its waiting flags */
    uint32_t capacity, mask;
    uint32_t position;      /* where the next frame goes */
    uint32_t peer_read;     /* the peer's read position when last looked at */
    uint32_t held_position; /* the first frame that is written but not yet published... */
    uint32_t held_signal;   /* ...and what its signal will be; 0: none is held */
    uint32_t rung;          /* the peer's waiting count when its doorbell was last rung */
    bool peer_may_sleep;
};

static inline struct ring_frame *ring_frame_at(const struct ring_writer *writer, uint32_t position) {
    return (struct ring_frame *)(writer->data + (position & writer->mask));
}

/* Is there room for a frame of `bytes` and the end mark behind it? */
static inline enum ring_result ring_room(struct ring_writer *writer, uint32_t bytes) {
    uint32_t needed = bytes + RING_FRAME_HEADER_BYTES;
    if (__builtin_expect(writer->capacity - (writer->position - writer->peer_read) >= needed, 1))
        return RING_OK;
    /* Pairs with the release in ring_consume: the peer has read what lies before this position. */
    uint32_t read = ring_load_acquire(&writer->peer->read_position);
    uint32_t used = writer->position - read;
    /* It only ever grows, up to my position. */
    if (used > writer->position - writer->peer_read || read % RING_FRAME_ALIGN != 0)
        return RING_CORRUPT;
    writer->peer_read = read;
    return writer->capacity - used >= needed ? RING_OK : RING_NO;
}

/* Show the peer all frames that are held. */
static inline void ring_publish(struct ring_writer *writer) {
    if (!writer->held_signal)
        return;
    /* Pairs with the acquire in ring_peek: payloads, later frames and the end mark before the first frame's signal. */
    ring_store_release(&ring_frame_at(writer, writer->held_position)->signal, writer->held_signal);
    writer->held_signal = 0;
}

/* Room for a payload of `size` bytes at *payload, to be filled and then written by ring_commit(). */
static inline enum ring_result ring_reserve(struct ring_writer *writer, uint32_t size, void **payload) {
    enum ring_result room = ring_room(writer, ring_frame_bytes(size));
    if (room == RING_OK)
        *payload = (char *)ring_frame_at(writer, writer->position) + RING_FRAME_HEADER_BYTES;
    return room;
}

/* Write the frame whose payload now stands where ring_reserve() said. It is held until ring_publish(): the first held
 * frame's signal comes last, and nobody can see past it, so the others need no order among themselves. */
static inline void ring_commit(struct ring_writer *writer, uint32_t size, uint32_t kind) {
    struct ring_frame *frame = ring_frame_at(writer, writer->position);
    uint32_t next = writer->position + ring_frame_bytes(size);
    ring_store_relaxed(&ring_frame_at(writer, next)->signal, 0); /* the end mark, before anyone can come this far */
    ring_store_relaxed(&frame->kind, kind);
    if (writer->held_signal) {
        ring_store_relaxed(&frame->signal, size + 1);
    } else {
        writer->held_position = writer->position;
        writer->held_signal = size + 1;
    }
    writer->position = next;
}

/* Write a message without showing it yet. RING_NO: no room now. The caller has checked the size against
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
    const struct ring_region *peer; /* its waiting flags */
    const char *data;               /* of the peer's ring, mapped twice in a row */
    uint32_t capacity, mask;
    uint32_t position; /* of the next frame to read */
    uint32_t rung;     /* the peer's waiting count when its doorbell was last rung */
    uint32_t streak;   /* frames read in a row without finding the ring empty */
    bool peer_may_sleep;
};

/* The next frame's payload, in the peer's memory: it may still change, so read each byte once. RING_NO: nothing there.
 */
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

/* Done with the frame that ring_peek() showed, whose size it said: its room is the peer's again. */
static inline void ring_consume(struct ring_reader *reader, uint32_t size) {
    reader->position += ring_frame_bytes(size);
    reader->streak++;
    /* Pairs with the acquire in ring_room: my copy of the payload before the position. */
    ring_store_release(&reader->mine->read_position, reader->position);
}

static inline void ring_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* as long as x86's pause; yield does nothing on most cores */
#endif
}

/* A reader that found the ring empty in the middle of a stream has run into its writer: were it to look again at once,
 * each message would cost a cache line pulled to and fro. So it stands back for a microsecond or two and finds many.
 * One that waits for a single answer looks again at once. docs/protocol.md has the measurement. */
static inline void ring_stand_back(struct ring_reader *reader) {
    if (reader->streak > RING_STREAM)
        for (int i = 0; i < RING_STAND_BACK_PAUSES; i++)
            ring_pause();
    reader->streak = 0;
}

/* ---- Sleeping ----
 *
 * I publish, fence, then look at your flag; you set your flag, fence, then look at the ring. Whichever fence comes
 * first in the one order of all full fences, one of us sees what the other wrote: you do not sleep, or I ring. Without
 * both, each side's store may still wait in its store buffer while it reads the old value of the other's: on x86 too.
 */

static inline bool ring_sleeps(const uint32_t *waiting, uint32_t *rung) {
    ring_full_fence(); /* pairs with the fence in ring_begin_waiting */
    uint32_t count = ring_load_relaxed(waiting);
    if (count % 2 == 0 || count == *rung)
        return false;
    *rung = count; /* one ring for each sleep */
    return true;
}

/* After ring_publish(): must the peer's doorbell be rung? */
static inline bool ring_reader_sleeps(struct ring_writer *writer) {
    return writer->peer_may_sleep && ring_sleeps(&writer->peer->waiting_for_data, &writer->rung);
}

/* After ring_consume(): must the peer's doorbell be rung? */
static inline bool ring_writer_sleeps(struct ring_reader *reader) {
    return reader->peer_may_sleep && ring_sleeps(&reader->peer->waiting_for_room, &reader->rung);
}

/* Before sleeping: say so. Then look at the ring once more, and sleep only if there is still nothing. */
static inline void ring_begin_waiting(uint32_t *waiting) {
    ring_store_relaxed(waiting, ring_load_relaxed(waiting) + 1);
    ring_full_fence(); /* pairs with the fence in ring_sleeps */
}

static inline void ring_end_waiting(uint32_t *waiting) {
    ring_store_relaxed(waiting, ring_load_relaxed(waiting) + 1);
}

#endif
