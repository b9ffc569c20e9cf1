// Descriptors and sockets: who owns which, listening, connecting, and the doorbell.

#include "addon.h"

extern "C" {
#include "../doorbell.h"
}

#include <cerrno>
#include <ctime>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

constexpr useconds_t RETRY_US = 5000;

// ---- Descriptors ----
// A worker can be terminated between any two lines of its JavaScript, and its peer must see the end of the socket: what
// the thread owns is closed with its environment.

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
// ---- Listening and connecting ----

// listen(path, others, unlocked) -> descriptor, or -1: another process is about to listen in the same folder; try again
Napi::Value Listen(const Napi::CallbackInfo &info) {
    std::string path = info[0].As<Napi::String>();
    bool unlocked = info.Length() > 2 && info[2].ToBoolean();
    struct listener listener;
    enum handshake_status status = listener_open(path.c_str(), info[1].As<Napi::Boolean>(), unlocked, &listener);
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
    enum handshake_status status = listener_accept(IntegerAt(info, 0), &fd);
    if (status == HANDSHAKE_SYSTEM)
        ThrowSystem(info.Env(), "Cannot accept a client");
    return status == HANDSHAKE_OK ? Hold(info.Env(), fd) : Napi::Number::New(info.Env(), -1);
}

// connect(path) -> descriptor, or -1: no listener yet
Napi::Value Connect(const Napi::CallbackInfo &info) {
    std::string path = info[0].As<Napi::String>();
    int fd;
    enum handshake_status status = listener_connect(path.c_str(), &fd);
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

// worksOver(descriptor) -> true for a connected Unix socket of type SOCK_SEQPACKET
Napi::Value WorksOver(const Napi::CallbackInfo &info) {
    return Napi::Boolean::New(info.Env(), handshake_works_over(IntegerAt(info, 0)));
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
// ---- The doorbell ----

// refuseDescriptors(descriptor)
void RefuseDescriptors(const Napi::CallbackInfo &info) {
    handshake_refuse_descriptors(IntegerAt(info, 0));
}

// ring(descriptor) -> false if the call failed and the peer may sleep on.
Napi::Value Ring(const Napi::CallbackInfo &info) {
    return Napi::Boolean::New(info.Env(), doorbell_ring(IntegerAt(info, 0)));
}

// threadMs() -> milliseconds for which this thread has kept a processor busy
Napi::Value ThreadMs(const Napi::CallbackInfo &info) {
    struct timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); // cannot fail
    return Napi::Number::New(info.Env(),
                             static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6);
}

// drain(descriptor) -> true while the peer's end is open. Throws if the peer has attached descriptors to a ring.
Napi::Value Drain(const Napi::CallbackInfo &info) {
    enum doorbell_state state = doorbell_drain(IntegerAt(info, 0));
    if (state == DOORBELL_BROKEN)
        Throw(info.Env(), "ERR_PEER_CORRUPT", "Corrupt peer: descriptors with a doorbell");
    return Napi::Boolean::New(info.Env(), state == DOORBELL_OPEN);
}

// waitReadable(descriptor, timeoutMs) -> false: the time is over. Blocks this thread; only for receiveSync. If poll()
// fails, as it does for ever in a process with a limit of 0 descriptors, the caller looks again soon.
Napi::Value WaitReadable(const Napi::CallbackInfo &info) {
    struct pollfd polled = {IntegerAt(info, 0), POLLIN, 0};
    int ready = poll(&polled, 1, IntegerAt(info, 1));
    bool failed = ready < 0 && errno != EINTR;
    if (failed)
        usleep(RETRY_US);
    return Napi::Boolean::New(info.Env(), ready > 0 || failed);
}

} // namespace

void ExportSockets(Napi::Object exports) {
    Export(exports, "useFd", UseFd);
    Export(exports, "lendFd", LendFd);
    Export(exports, "offerFd", OfferFd);
    Export(exports, "redeemTicket", RedeemTicket);
    Export(exports, "withdrawTicket", WithdrawTicket);
    Export(exports, "closeFd", CloseFd);
    Export(exports, "disownFd", DisownFd);
    Export(exports, "listen", Listen);
    Export(exports, "unlisten", Unlisten);
    Export(exports, "accept", Accept);
    Export(exports, "connect", Connect);
    Export(exports, "socketPair", SocketPair);
    Export(exports, "worksOver", WorksOver);
    Export(exports, "claimEnd", ClaimEnd);
    Export(exports, "peerOf", PeerOf);
    Export(exports, "refuseDescriptors", RefuseDescriptors);
    Export(exports, "ring", Ring);
    Export(exports, "threadMs", ThreadMs);
    Export(exports, "drain", Drain);
    Export(exports, "waitReadable", WaitReadable);
}
