// LoopPoller: calls back on this thread's event loop when a descriptor becomes readable, by libuv. For Node. Other
// runtimes have no uv_poll; see thread-poller.cc.

#include "addon.h"

#include <cerrno>
#include <sys/epoll.h>
#include <uv.h>

#include <mutex>
#include <unordered_map>
#include <unordered_set>

// Weak: a runtime without these functions loads the addon all the same.
#pragma weak napi_get_uv_event_loop
#pragma weak uv_backend_fd
#pragma weak uv_close
#pragma weak uv_fileno
#pragma weak uv_poll_init
#pragma weak uv_poll_start
#pragma weak uv_poll_stop
#pragma weak uv_ref
#pragma weak uv_strerror
#pragma weak uv_timer_init
#pragma weak uv_timer_start
#pragma weak uv_timer_stop
#pragma weak uv_unref

namespace {

constexpr uint64_t kRetryMs = 20;

struct Pollers;

struct Watch {
    uv_poll_t poll;
    uv_timer_t retry; // runs while the kernel refuses the watch
    int events = 0;
    Pollers *pollers = nullptr;
    napi_env env = nullptr;
    napi_ref callback = nullptr;
    bool closing = false;
    int handles = 2; // that libuv has not closed
};

// All pollers of one environment. They share a cleanup hook, which stays until the environment ends: in Node, removing
// one keeps the event loop alive for another turn, so clients that come and go would keep an unreferenced server alive.
struct Pollers {
    napi_env env = nullptr;
    napi_async_cleanup_hook_handle hook = nullptr;
    bool ending = false;
    std::unordered_set<Watch *> open; // until libuv has closed them
};

std::mutex mutex;
std::unordered_map<napi_env, Pollers> environments;

Pollers &PollersOf(napi_env env) {
    std::lock_guard<std::mutex> lock(mutex);
    return environments[env];
}

// The environment may go on ending: libuv has closed all of them.
void Finish(Pollers &pollers) {
    napi_async_cleanup_hook_handle hook = pollers.hook;
    {
        std::lock_guard<std::mutex> lock(mutex);
        environments.erase(pollers.env);
    }
    napi_remove_async_cleanup_hook(hook);
}

class LoopPoller : public Napi::ObjectWrap<LoopPoller> {
  public:
    static Napi::Function Define(Napi::Env env) {
        return DefineClass(
            env, "LoopPoller",
            {InstanceMethod("ref", &LoopPoller::RefLoop), InstanceMethod("unref", &LoopPoller::UnrefLoop),
             InstanceMethod("pause", &LoopPoller::Pause), InstanceMethod("suspend", &LoopPoller::Suspend),
             InstanceMethod("resume", &LoopPoller::Resume), InstanceMethod("close", &LoopPoller::Close)});
    }

    // new LoopPoller(descriptor, callback): starts polling immediately; does not keep the process alive until ref().
    explicit LoopPoller(const Napi::CallbackInfo &info) : Napi::ObjectWrap<LoopPoller>(info) {
        Napi::Env env = info.Env();
        uv_loop_t *loop = nullptr;
        if (!uv_poll_init || !napi_get_uv_event_loop)
            Throw(env, "ERR_SYSTEM", "This JavaScript runtime has no libuv");
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
        watch_->poll.data = watch_->retry.data = watch_;
        uv_timer_init(loop, &watch_->retry);
        napi_create_reference(env, info[1], 1, &watch_->callback);
        uv_unref(reinterpret_cast<uv_handle_t *>(&watch_->poll));
        uv_unref(reinterpret_cast<uv_handle_t *>(&watch_->retry));
        Pollers &pollers = PollersOf(env);
        pollers.env = env;
        if (!pollers.hook)
            napi_add_async_cleanup_hook(env, &LoopPoller::EnvironmentEnds, &pollers, &pollers.hook);
        pollers.open.insert(watch_);
        watch_->pollers = &pollers;
        Start(watch_, UV_READABLE | UV_DISCONNECT);
        Ref(); // alive until close(), because the event loop refers to it
    }

  private:
    // libuv adds the descriptor to its epoll set later, and aborts the process if the kernel refuses that, for example
    // because other processes of this user have used up fs.epoll.max_user_watches. So it is added here first: libuv
    // accepts that a descriptor is in the set already. If the kernel refuses it here, the callback is called now and
    // then.
    static bool Start(Watch *watch, int events) {
        watch->events = events;
        uv_timer_stop(&watch->retry);
        uv_poll_start(&watch->poll, events, &LoopPoller::Readable); // this also removes the descriptor from the set
        int fd = -1;
        uv_fileno(reinterpret_cast<uv_handle_t *>(&watch->poll), &fd);
        epoll_event event{};
        event.events = (events & UV_READABLE ? EPOLLIN : 0u) | EPOLLRDHUP;
        event.data.fd = fd;
        if (epoll_ctl(uv_backend_fd(watch->poll.loop), EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST)
            return true;
        uv_poll_stop(&watch->poll);
        uv_timer_start(&watch->retry, &LoopPoller::Retry, kRetryMs, 0);
        return false;
    }

    static void Stop(Watch *watch) {
        uv_timer_stop(&watch->retry);
        uv_poll_stop(&watch->poll);
    }

    static void Retry(uv_timer_t *retry) {
        auto *watch = static_cast<Watch *>(retry->data);
        if (!Start(watch, watch->events) && watch->events & UV_READABLE)
            CallBack(watch);
    }

    static void Readable(uv_poll_t *poll, int, int) {
        CallBack(static_cast<Watch *>(poll->data));
    }

    static void CallBack(Watch *watch) {
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

    static void End(Watch *watch) {
        if (watch->closing)
            return;
        watch->closing = true;
        napi_delete_reference(watch->env, watch->callback);
        Stop(watch);
        // Both at once: a handle that is closed later keeps the event loop alive for another turn.
        uv_close(reinterpret_cast<uv_handle_t *>(&watch->poll), OneIsClosed);
        uv_close(reinterpret_cast<uv_handle_t *>(&watch->retry), OneIsClosed);
    }

    static void OneIsClosed(uv_handle_t *handle) {
        auto *closed = static_cast<Watch *>(handle->data);
        if (--closed->handles > 0)
            return;
        Pollers &pollers = *closed->pollers;
        pollers.open.erase(closed);
        delete closed;
        if (pollers.ending && pollers.open.empty())
            Finish(pollers);
    }

    static void EnvironmentEnds(napi_async_cleanup_hook_handle, void *data) {
        Pollers &pollers = *static_cast<Pollers *>(data);
        pollers.ending = true;
        if (pollers.open.empty())
            return Finish(pollers);
        for (Watch *watch : pollers.open) // libuv closes them later
            End(watch);
    }

    void RefLoop(const Napi::CallbackInfo &) {
        if (!watch_)
            return;
        uv_ref(reinterpret_cast<uv_handle_t *>(&watch_->poll));
        uv_ref(reinterpret_cast<uv_handle_t *>(&watch_->retry));
    }

    void UnrefLoop(const Napi::CallbackInfo &) {
        if (!watch_)
            return;
        uv_unref(reinterpret_cast<uv_handle_t *>(&watch_->poll));
        uv_unref(reinterpret_cast<uv_handle_t *>(&watch_->retry));
    }

    // Like suspend(), but still keeps the process alive if it is referenced. For a listener, which has no peer that
    // could disconnect: watching only for that keeps the handle active.
    void Pause(const Napi::CallbackInfo &) {
        if (watch_)
            Start(watch_, UV_DISCONNECT);
    }

    // No callbacks until resume(), and nothing keeps the process alive meanwhile.
    void Suspend(const Napi::CallbackInfo &) {
        if (watch_)
            Stop(watch_);
    }

    void Resume(const Napi::CallbackInfo &) {
        if (watch_)
            Start(watch_, UV_READABLE | UV_DISCONNECT);
    }

    // Must be called before the descriptor is closed.
    void Close(const Napi::CallbackInfo &) {
        if (!watch_)
            return;
        End(watch_);
        watch_ = nullptr;
        Unref();
    }

    Watch *watch_ = nullptr;
};

} // namespace

void ExportLoopPoller(Napi::Object exports) {
    exports.Set("LoopPoller", LoopPoller::Define(exports.Env()));
}
