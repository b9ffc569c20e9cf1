/*
 * The bytes of a sample, from which the receiver verifies that all arrived, intact and in order: every buffer holds the
 * same pattern, except its first word, which is the buffer's number. The digest adds every 8-byte word of the stream,
 * combined with its position, so one altered word always changes it. This detects accidents, not attacks.
 */
#ifndef CROSSINGS_CONTENT_H
#define CROSSINGS_CONTENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DIGEST_STEP 0x9e3779b97f4a7c15u /* 2^64 divided by the golden ratio: every position has a different key */

struct digest {
    uint64_t sum, key;
    unsigned char partial[8]; /* of a word whose other bytes come with the next read */
    size_t held;              /* bytes in `partial` */
};

static inline void content_prepare(char *buffer, size_t size) {
    for (size_t i = 0; i < size; i++)
        buffer[i] = (char)(i * 167 + 13);
}

static inline void content_stamp(char *buffer, uint64_t number) {
    memcpy(buffer, &number, sizeof number);
}

/* Add whole words: of few inline, because a call would cost more; of many in the widest registers that the processor
 * has, because the sum must not cost as much as the copy. */
#define INLINE_WORDS 32
void digest_many_words(struct digest *digest, const char *bytes, size_t words);

static inline void digest_words(struct digest *digest, const char *bytes, size_t words) {
    if (words > INLINE_WORDS) {
        digest_many_words(digest, bytes, words);
        return;
    }
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, sizeof word);
        digest->key += DIGEST_STEP;
        digest->sum += word ^ digest->key;
    }
}

/* Add the next bytes of the stream. A read may end in the middle of a word. */
static inline void digest_add(struct digest *digest, const char *bytes, size_t count) {
    size_t room = sizeof digest->partial - digest->held;
    if (digest->held && count >= room) {
        memcpy(digest->partial + digest->held, bytes, room);
        digest_words(digest, (const char *)digest->partial, 1);
        digest->held = 0;
        bytes += room;
        count -= room;
    }
    if (digest->held == 0) {
        digest_words(digest, bytes, count / 8);
        bytes += count / 8 * 8;
        count %= 8;
    }
    memcpy(digest->partial + digest->held, bytes, count);
    digest->held += count;
}

static inline uint64_t digest_end(struct digest *digest) {
    memset(digest->partial + digest->held, 0, sizeof digest->partial - digest->held);
    digest_words(digest, (const char *)digest->partial, 1);
    return digest->sum;
}

#endif
