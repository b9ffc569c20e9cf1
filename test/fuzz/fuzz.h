/* What the fuzz targets share: reading an input piece by piece, and ending the process when a property does not hold.
 */
#ifndef CROSSINGS_FUZZ_H
#define CROSSINGS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define CHECK(property)                                                                                                \
    do {                                                                                                               \
        if (!(property)) {                                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #property);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

struct input {
    const uint8_t *bytes;
    size_t left;
};

/* The next `size` bytes as a little-endian number. An input that has ended continues with zeros. */
static inline uint32_t take(struct input *input, size_t size) {
    uint32_t value = 0;
    size_t here = size < input->left ? size : input->left;
    memcpy(&value, input->bytes, here);
    input->bytes += here;
    input->left -= here;
    return value;
}

#endif
