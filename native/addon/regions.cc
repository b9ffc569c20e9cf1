// Regions: mapped memory, with one JavaScript buffer over each if the runtime allows it, and the hellos that exchange
// them.

#include "mappings.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

void BufferIsGone(napi_env, void *, void *hint) {
    LetGo(static_cast<Mapping *>(hint));
}

// Called on any thread, without an environment.
void SharedBufferIsGone(void *, void *hint) {
    LetGo(static_cast<Mapping *>(hint));
}

using CreateShared = napi_status (*)(napi_env, void *, size_t, void (*)(void *, void *), void *, napi_value *);

// Node 22 and later have this function. No Node-API version that Node 20 supports declares it, so look it up.
CreateShared FindCreateShared() {
    return reinterpret_cast<CreateShared>(dlsym(RTLD_DEFAULT, "node_api_create_external_sharedarraybuffer"));
}

// One holder of a mapping until it is handed out. When a worker is being terminated, any call that makes a JavaScript
// value may throw.
struct Holder {
    Mapping *mapping;
    explicit Holder(Mapping *held) : mapping(held) {
    }
    Holder(const Holder &) = delete;
    Holder &operator=(const Holder &) = delete;
    ~Holder() {
        if (mapping)
            LetGo(mapping);
    }
    void HandOut() {
        mapping = nullptr;
    }
};

// A key as four 32-bit integers, or null.
Napi::Value KeyOf(Napi::Env env, const struct region &region, bool authenticated) {
    if (!authenticated)
        return env.Null();
    int32_t parts[4];
    static_assert(sizeof parts == sizeof region.key, "a key has 128 bits");
    memcpy(parts, &region.key, sizeof parts);
    Napi::Array key = Napi::Array::New(env, 4);
    for (uint32_t i = 0; i < 4; i++)
        key.Set(i, Napi::Number::New(env, parts[i]));
    return key;
}

// Does the variable CROSSINGS_RUNTIME ask for a runtime that refuses external buffers? See lib/channel/runtime.js.
bool IsSimulated() {
    const char *words = getenv("CROSSINGS_RUNTIME");
    return words && strstr(words, "refuse-external-buffers");
}

napi_status CreateBuffer(napi_env env, void *memory, size_t bytes, napi_finalize gone, void *hint, napi_value *buffer) {
    static const bool is_simulated = IsSimulated();
    if (is_simulated)
        return napi_no_external_buffers_allowed;
    return napi_create_external_arraybuffer(env, memory, bytes, gone, hint, buffer);
}

// False for a runtime whose JavaScript may use no memory but its own, such as Electron.
bool HasExternalBuffers(napi_env env) {
    void *memory = malloc(8);
    napi_value buffer, error;
    bool has =
        memory &&
        CreateBuffer(env, memory, 8, [](napi_env, void *data, void *) { free(data); }, nullptr, &buffer) == napi_ok;
    bool pending = false;
    if (!has)
        free(memory);
    if (!has && napi_is_exception_pending(env, &pending) == napi_ok && pending)
        napi_get_and_clear_last_exception(env, &error);
    return has;
}

// Make the one buffer over the mapping.
Napi::Value BufferOver(Napi::Env env, Mapping *mapping, bool mayShare) {
    size_t bytes = region_mapped_bytes(mapping->region.capacity);
    static const CreateShared create_shared = FindCreateShared();
    napi_value buffer = nullptr;
    napi_status status = napi_generic_failure;
    mapping->holders++;
    Holder of_buffer(mapping);
    if (mayShare && create_shared) {
        status = create_shared(env, mapping->region.header, bytes, SharedBufferIsGone, mapping, &buffer);
        mapping->shared = status == napi_ok;
    }
    if (status != napi_ok)
        status = CreateBuffer(env, mapping->region.header, bytes, BufferIsGone, mapping, &buffer);
    if (status != napi_ok)
        Throw(env, "ERR_NO_EXTERNAL_BUFFERS", "This JavaScript runtime cannot use memory that it has not allocated");
    of_buffer.HandOut();
    mapping->has_buffer = true;
    return Napi::Value(env, buffer);
}

// How JavaScript will use a region.
struct Use {
    bool mine;             // this process writes it
    bool may_share = true; // by a SharedArrayBuffer
    bool has_buffer = true;
    bool authenticated = false;
};

// Takes ownership of a mapped region. Returns {handle, buffer, capacity, neverSleeps, key}.
Napi::Object Wrap(Napi::Env env, const struct region &region, const Use &use) {
    auto *mapping = new Mapping{};
    mapping->region = region;
    mapping->env = env;
    mapping->mine = use.mine;
    Holder of_handle(mapping);
    KeepTrack(mapping);
    auto handle = Napi::External<Mapping>::New(env, mapping, [](Napi::Env where, Mapping *held) {
        DropMirror(where, held);
        LetGo(held);
    });
    of_handle.HandOut();
    Napi::Value buffer = use.has_buffer ? BufferOver(env, mapping, use.may_share) : env.Null();
    Napi::Object result = Napi::Object::New(env);
    result.Set("handle", handle);
    result.Set("buffer", buffer);
    result.Set("capacity", Napi::Number::New(env, region.capacity));
    result.Set("neverSleeps", Napi::Boolean::New(env, region.flags & RING_FLAG_NEVER_SLEEPS));
    result.Set("key", KeyOf(env, region, use.authenticated));
    return result;
}

// Whether the argument is true. `otherwise`: if it is not given
bool FlagAt(const Napi::CallbackInfo &info, size_t index, bool otherwise) {
    return info.Length() > index ? info[index].ToBoolean() : otherwise;
}

// createRegion(capacity, neverSleeps, mayShare, authenticated?, hasBuffer?)
Napi::Value CreateRegion(const Napi::CallbackInfo &info) {
    struct region region;
    bool never_sleeps = info[1].As<Napi::Boolean>();
    Use use = {true, FlagAt(info, 2, true), FlagAt(info, 4, true),
               FlagAt(info, 3, false)}; // these may throw, so before it
    uint32_t capacity = info[0].As<Napi::Number>().Uint32Value();
    uint32_t flags = (never_sleeps ? RING_FLAG_NEVER_SLEEPS : 0) | (use.authenticated ? RING_FLAG_AUTHENTICATED : 0);
    if (!region_is_within_limit(capacity) || region_create(&region, capacity, flags))
        ThrowSystem(info.Env(), "Cannot create a shared-memory region of " + std::to_string(capacity) + " bytes");
    return Wrap(info.Env(), region, use);
}

// False in every thread that may be terminated: there, Node 20's napi_detach_arraybuffer() aborts the whole process if
// it is called after worker.terminate(). Only the main thread of a process has the number of the process.
bool MayDetach() {
    return syscall(SYS_gettid) == getpid();
}

// releaseRegion(handle, buffer): another thread frees the memory. Views of the buffer must not be used
// afterwards. A view that is used anyway is empty or reads zeros; it never crashes the process.
void ReleaseRegion(const Napi::CallbackInfo &info) {
    Mapping *mapping = MappingOf(info[0]);
    if (mapping->released)
        return;
    mapping->released = true;
    DropMirror(info.Env(), mapping);
    if (!mapping->has_buffer ||
        (!mapping->shared && MayDetach() && napi_detach_arraybuffer(info.Env(), info[1]) == napi_ok))
        UnmapSoon(mapping);
    else
        ReplaceSoon(mapping);
}

// ---- Hellos ----

// sendHello(descriptor, handle) -> true when it has been sent; false: try again
Napi::Value SendHello(const Napi::CallbackInfo &info) {
    Mapping *mapping = MappingOf(info[1]);
    struct region *region = &mapping->region;
    enum handshake_status status = handshake_send(IntegerAt(info, 0), region);
    if (status != HANDSHAKE_OK && status != HANDSHAKE_AGAIN)
        ThrowHandshake(info.Env(), status, "Handshake failed", "the peer refuses descriptors");
    if (status == HANDSHAKE_OK) {
        close(region->fd); // the peer has it now
        region->fd = -1;
    }
    return Napi::Boolean::New(info.Env(), status == HANDSHAKE_OK);
}

// receiveHello(descriptor, mayShare, maxCapacity?, authenticated?, hasBuffer?, mine?) -> the peer's region, or null:
// not received yet. Throws if it is `mine`.
Napi::Value ReceiveHello(const Napi::CallbackInfo &info) {
    struct region region;
    char reason[HANDSHAKE_REASON_BYTES] = "";
    Use use = {false, FlagAt(info, 1, true), FlagAt(info, 4, true),
               FlagAt(info, 3, false)}; // these may throw, so before it
    uint32_t most = info.Length() > 2 ? info[2].As<Napi::Number>().Uint32Value() : RING_MAX_CAPACITY;
    enum handshake_status status = handshake_receive_most(IntegerAt(info, 0), use.authenticated, most, &region, reason);
    if (status == HANDSHAKE_AGAIN)
        return info.Env().Null();
    if (status != HANDSHAKE_OK)
        ThrowHandshake(info.Env(), status, "Handshake failed", reason);
    bool is_known = info.Length() > 5 && info[5].IsExternal();
    if (is_known && region_is_same(&MappingOf(info[5])->region, &region)) { // this process would talk to itself
        region_release(&region);
        Throw(info.Env(), "ERR_PROTOCOL", "Handshake failed: the peer has sent back the region of this side");
    }
    return Wrap(info.Env(), region, use);
}

// isReleased(handle) -> has releaseRegion() been called?
Napi::Value IsReleased(const Napi::CallbackInfo &info) {
    return Napi::Boolean::New(info.Env(), MappingOf(info[0])->released);
}

// isFree(handle) -> has the memory been freed, too?
Napi::Value IsFree(const Napi::CallbackInfo &info) {
    return Napi::Boolean::New(info.Env(), IsFreed(MappingOf(info[0])));
}

} // namespace

void ExportRegions(Napi::Object exports) {
    napi_env env = exports.Env();
    napi_add_env_cleanup_hook(env, [](void *ended) { ReleaseAllOf(static_cast<napi_env>(ended)); }, env);
    Export(exports, "createRegion", CreateRegion);
    Export(exports, "releaseRegion", ReleaseRegion);
    Export(exports, "sendHello", SendHello);
    Export(exports, "receiveHello", ReceiveHello);
    Export(exports, "isReleased", IsReleased);
    Export(exports, "isFree", IsFree);
    exports.Set("pageBytes", Napi::Number::New(env, static_cast<double>(sysconf(_SC_PAGESIZE))));
    exports.Set("hasExternalBuffers", Napi::Boolean::New(exports.Env(), HasExternalBuffers(exports.Env())));
    exports.Set("hasSharedBuffers", Napi::Boolean::New(exports.Env(), FindCreateShared() != nullptr));
}
