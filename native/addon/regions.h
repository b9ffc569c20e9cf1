/* A mapped region as JavaScript holds it, by its handle. */
#ifndef CROSSINGS_REGIONS_H
#define CROSSINGS_REGIONS_H

#include <atomic>

#include "addon.h"

/* The memory is freed when all its holders are gone: the region's handle, and the buffer over the region if it has one.
 */
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

#endif
