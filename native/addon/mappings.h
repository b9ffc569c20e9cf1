/*
 * Mapped regions as JavaScript holds them, and how their memory is freed. The last process to unmap a region frees its
 * file. A peer can make that take as long as it likes, by pages, extended attributes and memory policies, also for the
 * region that it was sent. So one thread frees all of them, one after the other.
 */
#ifndef CROSSINGS_MAPPINGS_H
#define CROSSINGS_MAPPINGS_H

#include <atomic>

#include "addon.h"

/* A mapped region. Its memory is freed when all its holders are gone: the region's handle, and the buffer over the
 * region if it has one. */
struct Mapping {
    struct region region;
    napi_env env = nullptr; // whose JavaScript uses it
    std::atomic<int> holders{1};
    bool mine = false;   // this process writes it; a peer's is mapped read-only
    bool shared = false; // by a SharedArrayBuffer, which cannot be detached
    bool released = false;
    std::atomic<bool> is_free{false}; // no memory of the region is mapped any more
    bool has_buffer = false;
    /* Of a region without a buffer: private memory with the same layout, see ring-copy.h. */
    char *mirror = nullptr;
    napi_ref mirror_reference = nullptr; // keeps the memory
};

inline Mapping *MappingOf(const Napi::Value &handle) {
    return handle.As<Napi::External<Mapping>>().Data();
}

/* Forget the mirror. */
void DropMirror(napi_env env, Mapping *mapping);

/* Let ReleaseAllOf() find a new mapping. */
void KeepTrack(Mapping *mapping);
/* One holder is gone. Called on any thread. */
void LetGo(Mapping *mapping);
/* Nothing reads the region any more: close its descriptor, and unmap it soon. */
void UnmapSoon(Mapping *mapping);
/* The same, if the buffer over it may still be read: zeros soon replace its memory until the buffer is collected. */
void ReplaceSoon(Mapping *mapping);
/* Has the memory of a released region been freed? If not, starts the thread that does it, unless it runs. */
bool IsFreed(Mapping *mapping);
/* Release the regions of a thread that ends. Bun and Deno run the finalizers of a worker's objects neither before nor
 * after this. */
void ReleaseAllOf(napi_env env);

#endif
