/*
 * What the messages of a measurement contain, and how the receiver knows that it got each of them once, whole, in
 * order.
 *
 * Message number n: its first 8 bytes are n, its last 8 bytes are ~n (from 16 bytes on), so that one whose halves come
 * from two messages shows; the first word of each further cache line is n too; the rest is a fixed pattern. All words
 * of all messages go into a checksum on both sides. None of this is cryptography: it is meant for accidents.
 */
#ifndef CROSSINGS_MESSAGE_H
#define CROSSINGS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MESSAGE_MIN_BYTES 8
#define MESSAGE_MAX_BYTES (16u << 20)

static inline uint64_t message_word(const void *message, size_t offset) {
    uint64_t word;
    memcpy(&word, (const char *)message + offset, sizeof word);
    return word;
}

/* Fill a buffer with the fixed pattern, once. */
static inline void message_prepare(void *message, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)message)[i] = (unsigned char)(i * 167 + 13);
}

static inline void message_stamp(void *message, size_t size, uint64_t number) {
    uint64_t end = ~number;
    for (size_t offset = 0; offset + sizeof number <= size; offset += 64)
        memcpy((char *)message + offset, &number, sizeof number);
    if (size >= 2 * sizeof number)
        memcpy((char *)message + size - sizeof end, &end, sizeof end);
}

static inline uint64_t message_number(const void *message) {
    return message_word(message, 0);
}

/* Do both ends of the message bear the number `number`? */
static inline bool message_is(const void *message, size_t size, uint64_t number) {
    return message_number(message) == number &&
           (size < 2 * sizeof number || message_word(message, size - sizeof number) == ~number);
}

/* The sum of all 8-byte words (and of what remains), each combined with its place so that two words that changed places
 * show. One changed word always changes the sum. */
static inline uint64_t message_checksum(const void *message, size_t size) {
    const uint64_t step = 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio: no two places share a key */
    uint64_t sum = 0, key = step;
    size_t offset = 0;
    for (; offset + sizeof sum <= size; offset += sizeof sum, key += step)
        sum += message_word(message, offset) ^ key;
    for (; offset < size; offset++, key += step)
        sum += ((const unsigned char *)message)[offset] ^ key;
    return sum;
}

#endif
