/* Regions: memory that one process owns and writes, and that its peer can only read. See docs/protocol.md. */
#ifndef CROSSINGS_REGION_H
#define CROSSINGS_REGION_H

#include "ring-auth.h"

#include <sys/types.h>

/* A mapped region: the header, then the ring's data twice in a row. */
struct region {
    struct ring_region *header; /* NULL: not mapped. A peer's region is mapped read-only. */
    char *data;                 /* 2 * capacity bytes; the second half maps the same memory as the first */
    uint32_t capacity;          /* bytes; checked when the region was mapped and never read from the header again */
    uint32_t flags;
    dev_t device; /* of its file */
    ino_t inode;
    /* With RING_FLAG_AUTHENTICATED: the key that the owner has made, for the frames that the owner will read. It is not
     * in the region's memory. */
    struct siphash_key key;
    int fd; /* the memfd of my own region, until it has been sent to the peer; otherwise -1 */
};

/* The address space of a mapped region, in bytes. */
static inline size_t region_mapped_bytes(uint32_t capacity) {
    return (size_t)RING_HEADER_BYTES + 2 * (size_t)capacity;
}

/* True for a power of two from RING_MIN_CAPACITY to RING_MAX_CAPACITY. */
bool region_capacity_is_valid(uint64_t capacity);

/* May this process make a file that is so large (RLIMIT_FSIZE)? If not, sets errno, and region_create() would get
 * SIGXFSZ, which ends a process that does not handle it. */
bool region_is_within_limit(uint32_t capacity);

/* Create my region and seal it. Afterwards no process, this one included, can map it for writing. With
 * RING_FLAG_AUTHENTICATED, also make its key. Returns 0, or -1 and sets errno. */
int region_create(struct region *region, uint32_t capacity, uint32_t flags);

/* Why a peer's region was refused. */
enum region_refusal {
    REGION_OK,
    REGION_NOT_SEALED,   /* its file could be shrunk, or written by a third process */
    REGION_NOT_READABLE, /* the peer has passed a descriptor that is not open for reading */
    REGION_BAD_SIZE,     /* its file's size is not a header and a valid capacity */
    REGION_TOO_LARGE,    /* its ring is larger than `max_capacity` */
    REGION_BAD_HEADER,   /* wrong magic, version or capacity */
    REGION_NOT_MAPPED,   /* mmap() failed; see errno */
};

/* Check the region behind `fd` and map it read-only. A larger ring than `max_capacity` is not mapped: a program that
 * locks its memory (mlockall) would hold all of its pages. The caller may close the descriptor afterwards. */
enum region_refusal region_map_peer(struct region *region, int fd, uint32_t max_capacity);
const char *region_refusal_text(enum region_refusal refusal);

/* Is it the same memory? Its file must not have been freed. */
static inline bool region_is_same(const struct region *a, const struct region *b) {
    return a->inode != 0 && a->inode == b->inode && a->device == b->device;
}

/* Unmap the region and close its descriptor. Does nothing if neither is open. */
void region_release(struct region *region);

/* Set up this process's end of both rings of a channel, from its own region and the peer's. */
void region_connect(const struct region *mine, const struct region *peer, struct ring_writer *writer,
                    struct ring_reader *reader);
/* The same for the keys of an authenticated channel: `sent` signs my frames, `received` checks the peer's. */
void region_connect_auth(const struct region *mine, const struct region *peer, struct ring_auth *sent,
                         struct ring_auth *received);

#endif
