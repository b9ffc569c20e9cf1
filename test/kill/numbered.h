/* Numbered messages: the C half of numbered.js. The bytes of a message follow from its seed and its number. Sizes go
 * from 16 to 40,015 bytes, so that messages cross the end of the smallest ring in every way. */
#ifndef NUMBERED_H
#define NUMBERED_H

#include <stdint.h>
#include <string.h>

#define NUMBERED_HEADER 16 /* bytes: seed, number, size, check */
#define NUMBERED_LARGEST 40016
#define NUMBERED_OFFSETS 16384
#define NUMBERED_BODIES (NUMBERED_OFFSETS + NUMBERED_LARGEST)

static uint8_t numbered_bodies[NUMBERED_BODIES];

static inline uint32_t numbered_hash(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* Call once, before all others. */
static inline void numbered_init(void) {
    for (uint32_t i = 0; i < NUMBERED_BODIES; i++)
        numbered_bodies[i] = (uint8_t)numbered_hash(i);
}

/* Write message `number` and return its size in bytes. */
static inline uint32_t numbered_write(uint8_t *target, uint32_t seed, uint32_t number) {
    uint32_t key = numbered_hash(seed ^ numbered_hash(number));
    uint32_t most = key % 32 == 0 ? 40000 : key % 32 < 4 ? 4000 : 200;
    uint32_t size = NUMBERED_HEADER + (key >> 5) % most;
    uint32_t header[4] = {seed, number, size, numbered_hash(key + size)};
    memcpy(target, header, sizeof header);
    memcpy(target + NUMBERED_HEADER, numbered_bodies + numbered_hash(key) % NUMBERED_OFFSETS, size - NUMBERED_HEADER);
    return size;
}

#endif
