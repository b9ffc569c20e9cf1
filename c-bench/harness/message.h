/*
 * The content of messages, from which the receiver verifies that it got each message once, intact and in order.
 *
 * The first 8 bytes of message n are n. From 16 bytes on, its last 8 bytes are ~n, which detects a message made of two
 * halves. The first word of each further cache line is n, too; the rest is a fixed pattern. Both sides add every word
 * of every message to a checksum. This detects accidents, not attacks.
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

/* Fill a buffer with the fixed pattern. */
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

/* True if both ends of the message have the number `number`. */
static inline bool message_is(const void *message, size_t size, uint64_t number) {
    return message_number(message) == number &&
           (size < 2 * sizeof number || message_word(message, size - sizeof number) == ~number);
}

/* The sum of all 8-byte words and of the remaining bytes, each combined with its position, so that exchanged words
 * change the sum. A single altered word always changes it. */
static inline uint64_t message_checksum(const void *message, size_t size) {
    const uint64_t step =
        0x9e3779b97f4a7c15u; /* 2^64 divided by the golden ratio: every position has a different key */
    uint64_t sum = 0, key = step;
    size_t offset = 0;
    for (; offset + sizeof sum <= size; offset += sizeof sum, key += step)
        sum += message_word(message, offset) ^ key;
    for (; offset < size; offset++, key += step)
        sum += ((const unsigned char *)message)[offset] ^ key;
    return sum;
}

#endif
