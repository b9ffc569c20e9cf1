// The Node-API wrapper, thin on purpose. It creates and maps regions, does the handshake, rings doorbells and polls
// sockets; lib/channel/ decides when. No message passes through here.
//
// Errors are JavaScript errors with a `code` and no final period, and with `errno` if the code is ERR_SYSTEM;
// lib/channel/native.js makes each a CrossingsError.

#include <napi.h>
#include <uv.h>

#include <dlfcn.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "descriptors.h"

namespace {

[[noreturn]] void Throw(Napi::Env env, const char *code, const std::string &message) {
    Napi::Error error = Napi::Error::New(env, message);
    error.Set("code", Napi::String::New(env, code));
    throw error;
}

[[noreturn]] void ThrowSystem(Napi::Env env, const std::string &what) {
    int reason = errno;
    Napi::Error error = Napi::Error::New(env, what + ": " + std::strerror(reason));
    error.Set("code", Napi::String::New(env, "ERR_SYSTEM"));
    error.Set("errno", Napi::Number::New(env, reason));
    throw error;
}

[[noreturn]] void ThrowHandshake(Napi::Env env, enum handshake_status status, const std::string &subject,
                                 const char *reason) {
    switch (status) {
    case HANDSHAKE_PEER_GONE: Throw(env, "ERR_PEER_DIED", "Handshake failed: the peer closed the connection");
    case HANDSHAKE_PROTOCOL: Throw(env, "ERR_PROTOCOL", std::string("Handshake failed: ") + reason);
    case HANDSHAKE_IN_USE: Throw(env, "ERR_ADDRESS_IN_USE", "Address already in use: " + subject);
    case HANDSHAKE_NOT_SOCKET: Throw(env, "ERR_ADDRESS_IN_USE", subject + " exists and is not a socket");
    default: ThrowSystem(env, subject);
    }
}

int IntegerAt(const Napi::CallbackInfo &info, size_t index) {
    return info[index].As<Napi::Number>().Int32Value();
}

// ---- Descriptors ----
// A worker can be terminated between any two lines of its JavaScript, and its peer must see the end of the socket: what
// the thread owns is closed with its environment.

Descriptors &DescriptorsOf(Napi::Env env) {
    return *env.GetInstanceData<Descriptors>();
}

Napi::Value Hold(Napi::Env env, int fd) {
    return Napi::Number::New(env, DescriptorsOf(env).hold(fd));
}

// useFd(descriptor) -> false if it is in use in this process, or belongs to another thread
Napi::Value UseFd(const Napi::CallbackInfo &info) {
    return Napi::Boolean::New(info.Env(), DescriptorsOf(info.Env()).use(IntegerAt(info, 0)));
}

// lendFd(descriptor): takes a descriptor of this thread into use. Programs that this process starts may inherit it.
void LendFd(const Napi::CallbackInfo &info) {
    DescriptorsOf(info.Env()).lend(IntegerAt(info, 0));
}

// offerFd(descriptor) -> a ticket, with which any thread of this process can take it over
Napi::Value OfferFd(const Napi::CallbackInfo &info) {
    return Napi::Number::New(info.Env(), static_cast<double>(DescriptorsOf(info.Env()).offer(IntegerAt(info, 0))));
}

// redeemTicket(ticket) -> the descriptor, or -1: taken before, or withdrawn
Napi::Value RedeemTicket(const Napi::CallbackInfo &info) {
    int64_t ticket = info[0].As<Napi::Number>().Int64Value();
    return Napi::Number::New(info.Env(), DescriptorsOf(info.Env()).redeem(ticket));
}

// withdrawTicket(ticket): closes the descriptor, unless it has been taken over
void WithdrawTicket(const Napi::CallbackInfo &info) {
    DescriptorsOf(info.Env()).withdraw(info[0].As<Napi::Number>().Int64Value());
}

// closeFd(descriptor): does nothing unless this thread owns it
void CloseFd(const Napi::CallbackInfo &info) {
    DescriptorsOf(info.Env()).close(IntegerAt(info, 0));
}

// disownFd(descriptor): leaves it open, because other code of this process uses it
void DisownFd(const Napi::CallbackInfo &info) {
    DescriptorsOf(info.Env()).disown(IntegerAt(info, 0));
}

// ---- Regions: mapped memory, with one JavaScript buffer over each ----

// The memory is freed when both its holders are gone: the region's handle and the buffer over the region.
struct Mapping {
    struct region region;
    std::atomic<int> holders{2};
    bool shared = false; // a SharedArrayBuffer, which cannot be detached
    bool released = false;
};

void LetGo(Mapping *mapping) {
    if (mapping->holders.fetch_sub(1) == 1) {
        region_release(&mapping->region);
        delete mapping;
    }
}

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

// Takes ownership of a mapped region. Returns {handle, buffer, capacity, neverSleeps, key}.
Napi::Object Wrap(Napi::Env env, const struct region &region, bool mayShare, bool authenticated) {
    auto *mapping = new Mapping{};
    mapping->region = region;
    Holder of_handle(mapping), of_buffer(mapping);
    auto handle = Napi::External<Mapping>::New(env, mapping, [](Napi::Env, Mapping *held) { LetGo(held); });
    of_handle.HandOut();
    size_t bytes = region_mapped_bytes(region.capacity);
    static const CreateShared create_shared = FindCreateShared();
    napi_value buffer = nullptr;
    napi_status status = napi_generic_failure;
    if (mayShare && create_shared) {
        status = create_shared(env, region.header, bytes, SharedBufferIsGone, mapping, &buffer);
        mapping->shared = status == napi_ok;
    }
    if (status != napi_ok)
        status = napi_create_external_arraybuffer(env, region.header, bytes, BufferIsGone, mapping, &buffer);
    if (status != napi_ok)
        Throw(env, "ERR_SYSTEM", "This JavaScript runtime does not support buffers over external memory");
    of_buffer.HandOut();
    Napi::Object result = Napi::Object::New(env);
    result.Set("handle", handle);
    result.Set("buffer", Napi::Value(env, buffer));
    result.Set("capacity", Napi::Number::New(env, region.capacity));
    result.Set("neverSleeps", Napi::Boolean::New(env, region.flags & RING_FLAG_NEVER_SLEEPS));
    result.Set("key", KeyOf(env, region, authenticated));
    return result;
}

Mapping *MappingOf(const Napi::Value &handle) {
    return handle.As<Napi::External<Mapping>>().Data();
}

// createRegion(capacity, neverSleeps, mayShare, authenticated?)
Napi::Value CreateRegion(const Napi::CallbackInfo &info) {
    struct region region;
    bool never_sleeps = info[1].As<Napi::Boolean>();
    bool authenticated = info.Length() > 3 && info[3].ToBoolean();
    uint32_t capacity = info[0].As<Napi::Number>().Uint32Value();
    if (region_create(&region, capacity,
                      (never_sleeps ? RING_FLAG_NEVER_SLEEPS : 0) | (authenticated ? RING_FLAG_AUTHENTICATED : 0)))
        ThrowSystem(info.Env(), "Cannot create a shared-memory region of " + std::to_string(capacity) + " bytes");
    return Wrap(info.Env(), region, info[2].As<Napi::Boolean>(), authenticated);
}

// releaseRegion(handle, buffer): frees the memory immediately. Views of the buffer must not be used afterwards. A view
// that is used anyway is empty or reads zeros; it never crashes the process.
void ReleaseRegion(const Napi::CallbackInfo &info) {
    Mapping *mapping = MappingOf(info[0]);
    struct region *region = &mapping->region;
    if (mapping->released)
        return;
    mapping->released = true;
    if (region->fd >= 0)
        close(region->fd);
    region->fd = -1;
    size_t bytes = region_mapped_bytes(region->capacity);
    if (!mapping->shared && napi_detach_arraybuffer(info.Env(), info[1]) == napi_ok) {
        munmap(region->header, bytes);
        region->header = nullptr;
        return;
    }
    // The buffer cannot be detached: private zero pages replace the region until the buffer is collected.
    mmap(region->header, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

// ---- Listening, connecting and the handshake ----

// listen(path, others, unlocked) -> descriptor, or -1: another process is about to listen in the same folder; try again
Napi::Value Listen(const Napi::CallbackInfo &info) {
    std::string path = info[0].As<Napi::String>();
    bool unlocked = info.Length() > 2 && info[2].ToBoolean();
    struct handshake_listener listener;
    enum handshake_status status = handshake_listen(path.c_str(), info[1].As<Napi::Boolean>(), unlocked, &listener);
    if (status == HANDSHAKE_AGAIN)
        return Napi::Number::New(info.Env(), -1);
    if (status != HANDSHAKE_OK)
        ThrowHandshake(info.Env(), status, path, "");
    return Napi::Number::New(info.Env(), DescriptorsOf(info.Env()).hold(listener));
}

// unlisten(descriptor)
void Unlisten(const Napi::CallbackInfo &info) {
    DescriptorsOf(info.Env()).unlisten(IntegerAt(info, 0));
}

// accept(listener) -> descriptor, or -1: no client is waiting
Napi::Value Accept(const Napi::CallbackInfo &info) {
    int fd;
    enum handshake_status status = handshake_accept(IntegerAt(info, 0), &fd);
    if (status == HANDSHAKE_SYSTEM)
        ThrowSystem(info.Env(), "Cannot accept a client");
    return status == HANDSHAKE_OK ? Hold(info.Env(), fd) : Napi::Number::New(info.Env(), -1);
}

// connect(path) -> descriptor, or -1: no listener yet
Napi::Value Connect(const Napi::CallbackInfo &info) {
    std::string path = info[0].As<Napi::String>();
    int fd;
    enum handshake_status status = handshake_connect(path.c_str(), &fd);
    if (status != HANDSHAKE_OK && status != HANDSHAKE_NO_LISTENER)
        ThrowHandshake(info.Env(), status, path, "");
    return status == HANDSHAKE_OK ? Hold(info.Env(), fd) : Napi::Number::New(info.Env(), -1);
}

// socketPair() -> [descriptor, descriptor]
Napi::Value SocketPair(const Napi::CallbackInfo &info) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
        ThrowSystem(info.Env(), "Cannot create a socket pair");
    for (int end : ends) // both before anything can throw
        DescriptorsOf(info.Env()).hold(end);
    Napi::Array pair = Napi::Array::New(info.Env(), 2);
    pair.Set(0u, Napi::Number::New(info.Env(), ends[0]));
    pair.Set(1u, Napi::Number::New(info.Env(), ends[1]));
    return pair;
}

// isOurKind(descriptor) -> true for a connected Unix socket of type SOCK_SEQPACKET
Napi::Value IsOurKind(const Napi::CallbackInfo &info) {
    int fd = IntegerAt(info, 0), type = 0, domain = 0;
    socklen_t length = sizeof type;
    struct sockaddr_un peer;
    socklen_t peer_length = sizeof peer;
    bool good = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
                getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && type == SOCK_SEQPACKET &&
                domain == AF_UNIX && getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &peer_length) == 0;
    return Napi::Boolean::New(info.Env(), good);
}

// claimEnd(descriptor) -> false if this end of a socket pair was claimed before, by any process
Napi::Value ClaimEnd(const Napi::CallbackInfo &info) {
    return Napi::Boolean::New(info.Env(), handshake_claim(IntegerAt(info, 0)));
}

// peerOf(descriptor) -> {uid, pid}
Napi::Value PeerOf(const Napi::CallbackInfo &info) {
    uid_t uid;
    pid_t pid;
    if (handshake_peer(IntegerAt(info, 0), &uid, &pid))
        ThrowSystem(info.Env(), "Cannot read the peer's credentials");
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("uid", Napi::Number::New(info.Env(), uid));
    result.Set("pid", Napi::Number::New(info.Env(), pid));
    return result;
}

// sendHello(descriptor, handle) -> true when it has been sent; false: try again
Napi::Value SendHello(const Napi::CallbackInfo &info) {
    struct region *region = &MappingOf(info[1])->region;
    enum handshake_status status = handshake_send(IntegerAt(info, 0), region);
    if (status != HANDSHAKE_OK && status != HANDSHAKE_AGAIN)
        ThrowHandshake(info.Env(), status, "Handshake failed", "");
    if (status == HANDSHAKE_OK) {
        close(region->fd); // the peer has it now
        region->fd = -1;
    }
    return Napi::Boolean::New(info.Env(), status == HANDSHAKE_OK);
}

// receiveHello(descriptor, mayShare, maxCapacity?, authenticated?) -> the peer's region, or null: not received yet
Napi::Value ReceiveHello(const Napi::CallbackInfo &info) {
    struct region region;
    char reason[HANDSHAKE_REASON_BYTES] = "";
    bool authenticated = info.Length() > 3 && info[3].ToBoolean();
    enum handshake_status status = handshake_receive(IntegerAt(info, 0), authenticated, &region, reason);
    if (status == HANDSHAKE_AGAIN)
        return info.Env().Null();
    if (status != HANDSHAKE_OK)
        ThrowHandshake(info.Env(), status, "Handshake failed", reason);
    uint32_t most = info.Length() > 2 ? info[2].As<Napi::Number>().Uint32Value() : RING_MAX_CAPACITY;
    if (region.capacity > most) {
        uint32_t capacity = region.capacity;
        region_release(&region);
        Throw(info.Env(), "ERR_LIMIT_EXCEEDED",
              "The peer's ring has " + std::to_string(capacity) + " bytes; the option maxPeerCapacity allows " +
                  std::to_string(most));
    }
    return Wrap(info.Env(), region, info[1].As<Napi::Boolean>(), authenticated);
}

// isReleased(handle) -> has releaseRegion() been called?
Napi::Value IsReleased(const Napi::CallbackInfo &info) {
    return Napi::Boolean::New(info.Env(), MappingOf(info[0])->released);
}

// ---- The doorbell ----

void Ring(const Napi::CallbackInfo &info) {
    doorbell_ring(IntegerAt(info, 0));
}

// drain(descriptor) -> true while the peer's end is open. Throws if the peer has attached descriptors to a ring.
Napi::Value Drain(const Napi::CallbackInfo &info) {
    enum doorbell_state state = doorbell_drain(IntegerAt(info, 0));
    if (state == DOORBELL_BROKEN)
        Throw(info.Env(), "ERR_PEER_CORRUPT", "Corrupt peer: descriptors with a doorbell");
    return Napi::Boolean::New(info.Env(), state == DOORBELL_OPEN);
}

// waitReadable(descriptor, timeoutMs) -> false: the time is over. Blocks this thread; only for receiveSync.
Napi::Value WaitReadable(const Napi::CallbackInfo &info) {
    struct pollfd polled = {IntegerAt(info, 0), POLLIN, 0};
    return Napi::Boolean::New(info.Env(), poll(&polled, 1, IntegerAt(info, 1)) > 0);
}

// ---- Poller: calls back on this thread's event loop when a descriptor becomes readable ----

class Poller : public Napi::ObjectWrap<Poller> {
  public:
    static Napi::Function Define(Napi::Env env) {
        return DefineClass(env, "Poller",
                           {InstanceMethod("ref", &Poller::RefLoop), InstanceMethod("unref", &Poller::UnrefLoop),
                            InstanceMethod("pause", &Poller::Pause), InstanceMethod("resume", &Poller::Resume),
                            InstanceMethod("close", &Poller::Close)});
    }

    // new Poller(descriptor, callback): starts polling immediately; does not keep the process alive until ref().
    explicit Poller(const Napi::CallbackInfo &info) : Napi::ObjectWrap<Poller>(info) {
        Napi::Env env = info.Env();
        uv_loop_t *loop = nullptr;
        watch_ = new Watch{};
        watch_->env = env;
        napi_get_uv_event_loop(env, &loop);
        int failed = uv_poll_init(loop, &watch_->poll, IntegerAt(info, 0));
        if (failed) {
            delete watch_;
            watch_ = nullptr;
            if (failed == UV_EEXIST)
                Throw(env, "ERR_INVALID_ARGUMENT", "The descriptor is in use in this process");
            Throw(env, "ERR_SYSTEM", std::string("Cannot poll a descriptor: ") + uv_strerror(failed));
        }
        watch_->poll.data = watch_;
        napi_create_reference(env, info[1], 1, &watch_->callback);
        uv_unref(reinterpret_cast<uv_handle_t *>(&watch_->poll));
        napi_add_async_cleanup_hook(env, &Poller::EnvironmentEnds, watch_, &watch_->hook);
        uv_poll_start(&watch_->poll, UV_READABLE | UV_DISCONNECT, &Poller::Readable);
        Ref(); // alive until close(), because the event loop refers to it
    }

  private:
    struct Watch {
        uv_poll_t poll;
        napi_env env = nullptr;
        napi_ref callback = nullptr;
        napi_async_cleanup_hook_handle hook = nullptr;
        bool closing = false;
    };

    static void Readable(uv_poll_t *poll, int, int) {
        auto *watch = static_cast<Watch *>(poll->data);
        Napi::Env env(watch->env);
        Napi::HandleScope scope(env);
        napi_value receiver, callback;
        if (watch->closing || napi_get_reference_value(env, watch->callback, &callback) != napi_ok ||
            napi_get_global(env, &receiver) != napi_ok)
            return;
        napi_make_callback(env, nullptr, receiver, callback, 0, nullptr, nullptr);
        bool pending = false;
        napi_value error;
        if (napi_is_exception_pending(env, &pending) == napi_ok && pending &&
            napi_get_and_clear_last_exception(env, &error) == napi_ok)
            napi_fatal_exception(env, error);
    }

    static void Stop(Watch *watch) {
        if (watch->closing)
            return;
        watch->closing = true;
        napi_delete_reference(watch->env, watch->callback);
        uv_poll_stop(&watch->poll);
        uv_close(reinterpret_cast<uv_handle_t *>(&watch->poll), [](uv_handle_t *handle) {
            auto *closed = static_cast<Watch *>(handle->data);
            napi_remove_async_cleanup_hook(closed->hook);
            delete closed;
        });
    }

    static void EnvironmentEnds(napi_async_cleanup_hook_handle, void *data) {
        Stop(static_cast<Watch *>(data));
    }

    void RefLoop(const Napi::CallbackInfo &) {
        if (watch_)
            uv_ref(reinterpret_cast<uv_handle_t *>(&watch_->poll));
    }

    void UnrefLoop(const Napi::CallbackInfo &) {
        if (watch_)
            uv_unref(reinterpret_cast<uv_handle_t *>(&watch_->poll));
    }

    // Suspend callbacks until resume(). For a listener, which has no peer that could disconnect: watching only for that
    // keeps the handle active, so it still keeps the process alive if it is referenced.
    void Pause(const Napi::CallbackInfo &) {
        if (watch_)
            uv_poll_start(&watch_->poll, UV_DISCONNECT, &Poller::Readable);
    }

    void Resume(const Napi::CallbackInfo &) {
        if (watch_)
            uv_poll_start(&watch_->poll, UV_READABLE | UV_DISCONNECT, &Poller::Readable);
    }

    // Must be called before the descriptor is closed.
    void Close(const Napi::CallbackInfo &) {
        if (!watch_)
            return;
        Stop(watch_);
        watch_ = nullptr;
        Unref();
    }

    Watch *watch_ = nullptr;
};

Napi::Object Init(Napi::Env env, Napi::Object exports) {
    env.SetInstanceData(new Descriptors);
    auto add = [&](const char *name, auto function) { exports.Set(name, Napi::Function::New(env, function, name)); };
    add("createRegion", CreateRegion);
    add("releaseRegion", ReleaseRegion);
    add("listen", Listen);
    add("unlisten", Unlisten);
    add("accept", Accept);
    add("connect", Connect);
    add("socketPair", SocketPair);
    add("isOurKind", IsOurKind);
    add("claimEnd", ClaimEnd);
    add("peerOf", PeerOf);
    add("sendHello", SendHello);
    add("receiveHello", ReceiveHello);
    add("isReleased", IsReleased);
    add("useFd", UseFd);
    add("lendFd", LendFd);
    add("offerFd", OfferFd);
    add("redeemTicket", RedeemTicket);
    add("withdrawTicket", WithdrawTicket);
    add("closeFd", CloseFd);
    add("disownFd", DisownFd);
    add("ring", Ring);
    add("drain", Drain);
    add("waitReadable", WaitReadable);
    exports.Set("Poller", Poller::Define(env));
    exports.Set("hasSharedBuffers", Napi::Boolean::New(env, FindCreateShared() != nullptr));
    return exports;
}

} // namespace

NODE_API_MODULE(crossings, Init)
