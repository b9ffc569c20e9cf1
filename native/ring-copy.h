/*
 * The ring for a program that cannot use mapped memory itself: frames are copied between the ring and a mirror, which
 * is private memory with the layout of a region (4096 bytes of header, then twice the capacity). A frame has the same
 * offset in both. The JavaScript of some runtimes needs this; lib/channel/atomics.js says which.
 */
#ifndef CROSSINGS_RING_COPY_H
#define CROSSINGS_RING_COPY_H

#include "ring.h"

/* Copy the frames at `offset` of the peer's ring into the mirror. Returns their number of bytes; 0: the ring is empty,
 * or *is_corrupt is set, because the first frame is invalid. An invalid frame behind others ends the copy; it is the
 * first one of the next call. */
uint32_t ring_pull(const char *data, uint32_t capacity, uint32_t offset, char *mirror, bool *is_corrupt);

/* Copy frames from the mirror into my ring, and publish them together. The first one is at `offset`; `signal` is its
 * signal, which is not in the mirror yet. The last one is followed by a signal of 0. False: they do not fit into a
 * ring.
 */
bool ring_push(char *data, uint32_t capacity, uint32_t offset, uint32_t signal, char *mirror);

#endif
