/* Copies frames between a ring and its mirror. The order of the accesses is that of ring.h. */
#include "ring-copy.h"

#define PULL_BYTES 65536u /* copied at a time, and at most one frame more: the first should not wait for the last */

static char *mirrored(char *mirror, uint32_t capacity, uint32_t position) {
    return mirror + RING_HEADER_BYTES + (position & (capacity - 1));
}

uint32_t ring_pull(const char *data, uint32_t capacity, uint32_t offset, char *mirror, bool *is_corrupt) {
    struct ring_reader reader = {.data = data, .capacity = capacity, .mask = capacity - 1, .position = offset};
    uint32_t copied = 0;
    *is_corrupt = false;
    while (copied < PULL_BYTES) {
        const void *payload;
        uint32_t size, kind;
        enum ring_result found = ring_peek(&reader, &payload, &size, &kind);
        if (found == RING_CORRUPT)
            *is_corrupt = copied == 0;
        if (found != RING_OK)
            break;
        uint32_t bytes = ring_frame_bytes(reader.position, size);
        if (bytes + RING_FRAME_HEADER_BYTES > capacity - copied)
            break; /* no correct peer: one that publishes more than its ring holds must not overtake its reader */
        char *frame = mirrored(mirror, capacity, reader.position);
        ((struct ring_frame *)frame)->signal = size + 1; /* what was checked: the peer may have changed it since */
        ((struct ring_frame *)frame)->kind = kind;
        ring_copy(frame + RING_FRAME_HEADER_BYTES, payload, size);
        reader.position += bytes;
        copied += bytes;
    }
    return copied;
}

bool ring_push(char *data, uint32_t capacity, uint32_t offset, uint32_t signal, char *mirror) {
    struct ring_writer writer = {.data = data, .capacity = capacity, .mask = capacity - 1, .position = offset};
    while (signal != 0) {
        uint32_t size = signal - 1;
        char *frame = mirrored(mirror, capacity, writer.position);
        if (size > ring_max_message(capacity) ||
            ring_frame_bytes(writer.position, size) + RING_FRAME_HEADER_BYTES > capacity - (writer.position - offset))
            return false;
        ring_copy((char *)ring_frame_at(&writer, writer.position) + RING_FRAME_HEADER_BYTES,
                  frame + RING_FRAME_HEADER_BYTES, size);
        ring_commit(&writer, size, ((struct ring_frame *)frame)->kind);
        signal = ((struct ring_frame *)mirrored(mirror, capacity, writer.position))->signal;
    }
    ring_publish(&writer);
    return true;
}
