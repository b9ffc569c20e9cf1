/* The digest of large buffers. */
#include "content.h"

/* GCC and glibc choose the version for this processor when the program starts. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&                           \
    !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx2", "default")))
#endif
void digest_many_words(struct digest *digest, const char *bytes, size_t words) {
    uint64_t sum = digest->sum, key = digest->key; /* copies: the bytes might otherwise overlap with them */
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, sizeof word);
        key += DIGEST_STEP;
        sum += word ^ key;
    }
    digest->sum = sum;
    digest->key = key;
}
