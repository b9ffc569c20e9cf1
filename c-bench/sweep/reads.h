/* The sizes that the receiver got its bytes in: what each read() returned, or the ring's frames. */
#ifndef CROSSINGS_READS_H
#define CROSSINGS_READS_H

#include <stddef.h>
#include <stdint.h>

#define READ_SIZES 512 /* different sizes that are counted; a power of two */

struct reads {
    uint64_t count;
    struct read_size {
        uint64_t bytes, count; /* count 0: the place is free */
    } sizes[READ_SIZES];
};

static inline void reads_add(struct reads *reads, uint64_t bytes) {
    reads->count++;
    /* Fibonacci hashing: the top 9 bits select the first place to look at. */
    size_t at = (size_t)((bytes * 0x9e3779b97f4a7c15u) >> 55) % READ_SIZES;
    for (size_t tried = 0; tried < READ_SIZES; tried++, at = (at + 1) % READ_SIZES) {
        struct read_size *size = &reads->sizes[at];
        if (size->count == 0 || size->bytes == bytes) {
            size->bytes = bytes;
            size->count++;
            return;
        }
    }
}

#endif
