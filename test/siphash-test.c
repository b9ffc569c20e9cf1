/*
 * SipHash-2-4 in C, for siphash.test.js: first the tags of the messages of the published vectors (the bytes 0, 1, 2 ...
 * of each length from 0 to 63, under the key 0, 1, 2 ... 15), then lines "key message tag" of random inputs. All in
 * hexadecimal. usage: siphash-test LINES SEED
 */
#include "../native/siphash.h"

#include <stdio.h>
#include <stdlib.h>

static void print_hex(const void *bytes, size_t size, char end) {
    for (size_t i = 0; i < size; i++)
        printf("%02x", ((const unsigned char *)bytes)[i]);
    putchar(end);
}

static void fill_random(void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(rand() >> 7);
}

int main(int count, char **arguments) {
    unsigned char message[1024];
    struct siphash_key key;
    if (count != 3)
        return 2;
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (unsigned char)i;
    memcpy(&key, message, sizeof key);
    for (size_t size = 0; size < 64; size++) {
        uint64_t tag = siphash_of(&key, message, size);
        print_hex(&tag, sizeof tag, '\n');
    }
    srand((unsigned)atoi(arguments[2]));
    for (int line = 0; line < atoi(arguments[1]); line++) {
        size_t size = (size_t)rand() % (line % 2 ? sizeof message : 24);
        fill_random(&key, sizeof key);
        fill_random(message, size);
        uint64_t tag = siphash_of(&key, message, size);
        print_hex(&key, sizeof key, ' ');
        print_hex(message, size, ' ');
        print_hex(&tag, sizeof tag, '\n');
    }
    return 0;
}
