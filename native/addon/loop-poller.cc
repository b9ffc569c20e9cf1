// LoopPoller: calls back on this thread's event loop when a descriptor becomes readable, by libuv. For Node. Other
// runtimes have no uv_poll; see thread-poller.cc.

#include "addon.h"

#include <uv.h>

#include <mutex>
#include <unordered_map>
#include <unordered_set>

// Weak: a runtime without these functions loads the addon all the same.
#pragma weak napi_get_uv_event_loop
#pragma weak uv_close
#pragma weak uv_poll_init
#pragma weak uv_poll_start
#pragma weak uv_poll_stop
#pragma weak uv_ref
#pragma weak uv_strerror
#pragma weak uv_unref

namespace {

struct Pollers;

struct Watch {
    uv_poll_t poll;
    Pollers *pollers = nullptr;
    napi_env env = nullptr;
    napi_ref callback = nullptr;
    bool closing = false;
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
        watch_->poll.data = watch_;
        napi_create_reference(env, info[1], 1, &watch_->callback);
        uv_unref(reinterpret_cast<uv_handle_t *>(&watch_->poll));
        Pollers &pollers = PollersOf(env);
        pollers.env = env;
        if (!pollers.hook)
            napi_add_async_cleanup_hook(env, &LoopPoller::EnvironmentEnds, &pollers, &pollers.hook);
        pollers.open.insert(watch_);
        watch_->pollers = &pollers;
        uv_poll_start(&watch_->poll, UV_READABLE | UV_DISCONNECT, &LoopPoller::Readable);
        Ref(); // alive until close(), because the event loop refers to it
    }

  private:
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
            Pollers &pollers = *closed->pollers;
            pollers.open.erase(closed);
            delete closed;
            if (pollers.ending && pollers.open.empty())
                Finish(pollers);
        });
    }

    static void EnvironmentEnds(napi_async_cleanup_hook_handle, void *data) {
        Pollers &pollers = *static_cast<Pollers *>(data);
        pollers.ending = true;
        if (pollers.open.empty())
            return Finish(pollers);
        for (Watch *watch : pollers.open) // libuv closes them later
            Stop(watch);
    }

    void RefLoop(const Napi::CallbackInfo &) {
        if (watch_)
            uv_ref(reinterpret_cast<uv_handle_t *>(&watch_->poll));
    }

    void UnrefLoop(const Napi::CallbackInfo &) {
        if (watch_)
            uv_unref(reinterpret_cast<uv_handle_t *>(&watch_->poll));
    }

    // Like suspend(), but still keeps the process alive if it is referenced. For a listener, which has no peer that
    // could disconnect: watching only for that keeps the handle active.
    void Pause(const Napi::CallbackInfo &) {
        if (watch_)
            uv_poll_start(&watch_->poll, UV_DISCONNECT, &LoopPoller::Readable);
    }

    // No callbacks until resume(), and nothing keeps the process alive meanwhile.
    void Suspend(const Napi::CallbackInfo &) {
        if (watch_)
            uv_poll_stop(&watch_->poll);
    }

    void Resume(const Napi::CallbackInfo &) {
        if (watch_)
            uv_poll_start(&watch_->poll, UV_READABLE | UV_DISCONNECT, &LoopPoller::Readable);
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

} // namespace

void ExportLoopPoller(Napi::Object exports) {
    exports.Set("LoopPoller", LoopPoller::Define(exports.Env()));
}
