// For runtimes whose JavaScript cannot use mapped memory: copies frames between a ring and its mirror, and accesses the
// words of a region's header. These are called for every message, so they use Node-API without a wrapper. A region that
// has been released reads as zeros, like the buffers of other runtimes.

#include "addon.h"
#include "mappings.h"

extern "C" {
#include "../ring-copy.h"
}

namespace {

constexpr size_t MOST_ARGUMENTS = 3;

struct Arguments {
    napi_value values[MOST_ARGUMENTS];
    Mapping *mapping = nullptr; // the first one; null if it has been released

    Arguments(napi_env env, napi_callback_info info) {
        size_t count = MOST_ARGUMENTS;
        void *data = nullptr;
        if (napi_get_cb_info(env, info, &count, values, nullptr, nullptr) != napi_ok ||
            napi_get_value_external(env, values[0], &data) != napi_ok)
            return;
        mapping = static_cast<Mapping *>(data);
        if (mapping->released)
            mapping = nullptr;
    }

    uint32_t Number(napi_env env, size_t index) const {
        uint32_t number = 0;
        napi_get_value_uint32(env, values[index], &number);
        return number;
    }
};

napi_value Value(napi_env env, int32_t number) {
    napi_value value = nullptr;
    napi_create_int32(env, number, &value);
    return value;
}

// A word of the header, or null.
uint32_t *WordAt(const Arguments &given, uint32_t index) {
    if (!given.mapping || index >= RING_HEADER_BYTES / sizeof(uint32_t))
        return nullptr;
    return reinterpret_cast<uint32_t *>(given.mapping->region.header) + index;
}

// loadWord(handle, index) -> the word. Ordered after every access before it, like Atomics.load().
napi_value LoadWord(napi_env env, napi_callback_info info) {
    Arguments given(env, info);
    uint32_t *word = WordAt(given, given.Number(env, 1));
    // Pairs with the fence in ring_begin_waiting, when the word is one of the peer's waiting counters.
    ring_full_fence();
    return Value(env, word ? static_cast<int32_t>(ring_load_acquire(word)) : 0);
}

// storeWord(handle, index, value): in my region
napi_value StoreWord(napi_env env, napi_callback_info info) {
    Arguments given(env, info);
    uint32_t *word = WordAt(given, given.Number(env, 1));
    int32_t value = 0;
    napi_get_value_int32(env, given.values[2], &value);
    // Pairs with the acquire in ring_room, when the word is my read position. loadWord() has the fence that orders it
    // before a later load.
    if (word)
        ring_store_release(word, static_cast<uint32_t>(value));
    return nullptr;
}

// addWord(handle, index, value): in my region, ordered before every access after it, like Atomics.add()
napi_value AddWord(napi_env env, napi_callback_info info) {
    Arguments given(env, info);
    uint32_t *word = WordAt(given, given.Number(env, 1));
    if (word)
        ring_store_release(word, ring_load_relaxed(word) + given.Number(env, 2)); // this side alone writes it
    ring_full_fence();                                                            // as in ring_begin_waiting
    return nullptr;
}

// pullFrames(handle, offset) -> bytes of the frames that were copied into the mirror; 0: the ring is empty; -1: the
// first frame is invalid
napi_value PullFrames(napi_env env, napi_callback_info info) {
    Arguments given(env, info);
    bool is_corrupt = false;
    uint32_t copied = 0;
    if (given.mapping && given.mapping->mirror) {
        const struct region &region = given.mapping->region;
        copied = ring_pull(region.data, region.capacity, given.Number(env, 1), given.mapping->mirror, &is_corrupt);
    }
    return Value(env, is_corrupt ? -1 : static_cast<int32_t>(copied));
}

// pushFrames(handle, offset, signal): publishes the frames that the mirror of my region holds from `offset` on
napi_value PushFrames(napi_env env, napi_callback_info info) {
    Arguments given(env, info);
    if (!given.mapping || !given.mapping->mirror)
        return nullptr;
    const struct region &region = given.mapping->region;
    if (!ring_push(region.data, region.capacity, given.Number(env, 1), given.Number(env, 2), given.mapping->mirror))
        napi_throw_error(env, nullptr, "The frames in the mirror do not fit into the ring");
    return nullptr;
}

// attachMirror(handle, memory): an ArrayBuffer as large as the mapped region, used by nothing else
napi_value AttachMirror(napi_env env, napi_callback_info info) {
    Arguments given(env, info);
    void *memory = nullptr;
    size_t bytes = 0;
    if (!given.mapping || given.mapping->mirror ||
        napi_get_arraybuffer_info(env, given.values[1], &memory, &bytes) != napi_ok ||
        bytes < region_mapped_bytes(given.mapping->region.capacity) ||
        napi_create_reference(env, given.values[1], 1, &given.mapping->mirror_reference) != napi_ok) {
        napi_throw_error(env, nullptr, "This memory cannot be the mirror of the region");
        return nullptr;
    }
    given.mapping->mirror = static_cast<char *>(memory);
    return nullptr;
}

} // namespace

void DropMirror(napi_env env, Mapping *mapping) {
    mapping->mirror = nullptr;
    if (mapping->mirror_reference)
        napi_delete_reference(env, mapping->mirror_reference);
    mapping->mirror_reference = nullptr;
}

void ExportCopies(Napi::Object exports) {
    const struct {
        const char *name;
        napi_callback function;
    } functions[] = {{"loadWord", LoadWord},     {"storeWord", StoreWord},   {"addWord", AddWord},
                     {"pullFrames", PullFrames}, {"pushFrames", PushFrames}, {"attachMirror", AttachMirror}};
    for (const auto &[name, function] : functions) {
        napi_value value;
        if (napi_create_function(exports.Env(), name, NAPI_AUTO_LENGTH, function, nullptr, &value) == napi_ok)
            exports.Set(name, Napi::Value(exports.Env(), value));
    }
}
