/*
 * One thread for the process that waits until descriptors become readable, for runtimes without libuv. It starts when
 * the first descriptor is watched and ends soon after the last one.
 */
#ifndef CROSSINGS_WATCHER_H
#define CROSSINGS_WATCHER_H

#include <cstdint>

/* Watch a descriptor. Once it is readable, or its peer has gone, the thread calls `readable` once; watcher_arm() allows
 * the next call. `readable` must neither block nor call a function of this file. Returns a number above 0, or 0 and
 * sets errno; EEXIST: the descriptor is watched already. */
uint64_t watcher_add(int fd, void (*readable)(void *data), void *data);

/* Allow one more call of `readable`. With `wanted` false, only for the end of the peer. */
void watcher_arm(uint64_t id, bool wanted);

/* Watch it no longer. `readable` is not running and will not be called again. Call this before the descriptor is
 * closed. Does nothing for a number that was removed before. */
void watcher_remove(uint64_t id);

#endif
