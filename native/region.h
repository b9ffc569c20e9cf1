/* Regions: memory that one process owns and writes, and that its peer can only read. */
#ifndef CROSSINGS_REGION_H
#define CROSSINGS_REGION_H

#include "ring.h"

/* A mapped region: its header, then its ring's data twice in a row. */
struct region {
    struct ring_region *header; /* NULL: not mapped. Of a peer's region only reading is possible. */
    char *data;                 /* 2 * capacity bytes; the second half is the first again */
    uint32_t capacity;          /* bytes; as checked when it was mapped, whatever the header says later */
    uint32_t flags;
    int fd; /* of my own region: to hand over; -1 when it is no longer open */
};

/* The bytes of address space that a mapped region takes. */
static inline size_t region_mapped_bytes(uint32_t capacity) {
    return (size_t)RING_HEADER_BYTES + 2 * (size_t)capacity;
}

/* Is it a power of two from RING_MIN_CAPACITY to RING_MAX_CAPACITY? */
bool region_capacity_is_valid(uint64_t capacity);

/* Make my region and seal it: nobody, not even this process, can ever map it for writing again. 0, or -1 with errno. */
int region_create(struct region *region, uint32_t capacity, uint32_t flags);

/* Why a peer's region was not taken. */
enum region_refusal {
    REGION_OK,
    REGION_NOT_SEALED, /* it could be shrunk under us, or written by another */
    REGION_BAD_SIZE,   /* its file is not as large as it must be */
    REGION_BAD_HEADER, /* magic, version or capacity */
    REGION_NOT_MAPPED, /* the system refused; errno says why */
};

/* Check and map the region behind `fd` read-only. The descriptor may be closed afterwards. */
enum region_refusal region_map_peer(struct region *region, int fd);
const char *region_refusal_text(enum region_refusal refusal);

/* Unmap and close. Harmless when there is nothing. */
void region_release(struct region *region);

/* Both ends of a channel's two rings, once both regions are there. */
void region_connect(const struct region *mine, const struct region *peer, struct ring_writer *writer,
                    struct ring_reader *reader);

#endif
