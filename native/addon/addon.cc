// The Node-API wrapper, thin on purpose. It creates and maps regions, does the handshake, rings doorbells and polls
// sockets; lib/channel/ decides when. Where JavaScript can use mapped memory, no message passes through here.

#include "addon.h"

#include <cerrno>
#include <cstring>

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
    case HANDSHAKE_TOO_LARGE:
        Throw(env, "ERR_LIMIT_EXCEEDED", std::string("Handshake failed: ") + reason + " (option maxPeerCapacity)");
    case HANDSHAKE_IN_USE: Throw(env, "ERR_ADDRESS_IN_USE", "Address already in use: " + subject);
    case HANDSHAKE_NOT_SOCKET: Throw(env, "ERR_ADDRESS_IN_USE", subject + " exists and is not a socket");
    default: ThrowSystem(env, subject);
    }
}

Descriptors &DescriptorsOf(Napi::Env env) {
    return *env.GetInstanceData<Descriptors>();
}

namespace {

Napi::Object Init(Napi::Env env, Napi::Object exports) {
    env.SetInstanceData(new Descriptors);
    ExportSockets(exports);
    ExportRegions(exports);
    ExportCopies(exports);
    ExportLoopPoller(exports);
    ExportThreadPoller(exports);
    return exports;
}

} // namespace

NODE_API_MODULE(crossings, Init)
