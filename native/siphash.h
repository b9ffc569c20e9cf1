/*
 * SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012): a 64-bit tag of a message under a
 * 128-bit key. Header only, no dependency. Words are read in the machine's byte order; the published tags are those of
 * little-endian machines. lib/channel/siphash.js is the same in JavaScript.
 */
#ifndef CROSSINGS_SIPHASH_H
#define CROSSINGS_SIPHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct siphash_key {
    uint64_t words[2];
};

struct siphash {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t siphash_rotated(uint64_t word, int bits) {
    return word << bits | word >> (64 - bits);
}

static inline void siphash_round(struct siphash *state) {
    state->v0 += state->v1;
    state->v1 = siphash_rotated(state->v1, 13) ^ state->v0;
    state->v0 = siphash_rotated(state->v0, 32);
    state->v2 += state->v3;
    state->v3 = siphash_rotated(state->v3, 16) ^ state->v2;
    state->v0 += state->v3;
    state->v3 = siphash_rotated(state->v3, 21) ^ state->v0;
    state->v2 += state->v1;
    state->v1 = siphash_rotated(state->v1, 17) ^ state->v2;
    state->v2 = siphash_rotated(state->v2, 32);
}

/* The constants are the paper's: the ASCII text "somepseudorandomlygeneratedbytes". */
static inline struct siphash siphash_begin(const struct siphash_key *key) {
    return (struct siphash){
        .v0 = key->words[0] ^ 0x736f6d6570736575u,
        .v1 = key->words[1] ^ 0x646f72616e646f6du,
        .v2 = key->words[0] ^ 0x6c7967656e657261u,
        .v3 = key->words[1] ^ 0x7465646279746573u,
    };
}

/* Add 8 bytes of the message. */
static inline void siphash_add(struct siphash *state, uint64_t word) {
    state->v3 ^= word;
    siphash_round(state);
    siphash_round(state);
    state->v0 ^= word;
}

/* Add the last `size` bytes of the message and return its tag. `before`: the bytes that were added before, a multiple
 * of 8. Each byte is read once. */
static inline uint64_t siphash_end(struct siphash *state, size_t before, const void *bytes, size_t size) {
    const char *from = (const char *)bytes;
    size_t at = 0;
    uint64_t word;
    for (; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, from + at, sizeof word);
        siphash_add(state, word);
    }
    /* The last word holds the bytes that are left and, in its highest byte, the message's size. */
    uint64_t last = (uint64_t)(before + size) << 56;
    for (size_t i = 0; at + i < size; i++)
        last |= (uint64_t)(unsigned char)from[at + i] << 8 * i;
    siphash_add(state, last);
    state->v2 ^= 0xff;
    for (int i = 0; i < 4; i++)
        siphash_round(state);
    return state->v0 ^ state->v1 ^ state->v2 ^ state->v3;
}

/* The tag of a whole message. */
static inline uint64_t siphash_of(const struct siphash_key *key, const void *message, size_t size) {
    struct siphash state = siphash_begin(key);
    return siphash_end(&state, 0, message, size);
}

#endif
