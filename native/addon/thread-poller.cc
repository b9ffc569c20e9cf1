// ThreadPoller: calls back on this thread's event loop when a descriptor becomes readable, like LoopPoller, but without
// libuv. The process's watcher thread notices, and a thread-safe function carries the call to this thread.

#include "addon.h"

#include <cerrno>
#include <memory>

#include "watcher.h"

namespace {

// One watched descriptor. The poller and the thread-safe function each hold it.
struct Watch {
    napi_env env = nullptr;
    napi_threadsafe_function function = nullptr;
    uint64_t id = 0;
    bool paused = false;
    bool suspended = false;
    bool closed = false;
};

using Shared = std::shared_ptr<Watch>;

// Called on the watcher's thread, while it holds its mutex: the function is not released before the watch is removed.
void Notice(void *data) {
    napi_call_threadsafe_function(static_cast<Watch *>(data)->function, nullptr, napi_tsfn_nonblocking);
}

// Called on this thread. Without an environment, it is a call that was still queued when the function ended, and the
// context is gone.
void CallBack(napi_env raw, napi_value callback, void *context, void *) {
    if (!raw || !callback)
        return;
    Shared watch = *static_cast<Shared *>(context);
    if (watch->closed || watch->suspended)
        return;
    Napi::Env env(raw);
    Napi::HandleScope scope(env);
    napi_value receiver, error;
    if (napi_get_undefined(raw, &receiver) != napi_ok)
        return;
    napi_call_function(raw, receiver, callback, 0, nullptr, nullptr);
    bool pending = false;
    bool thrown = napi_is_exception_pending(raw, &pending) == napi_ok && pending &&
                  napi_get_and_clear_last_exception(raw, &error) == napi_ok;
    if (!watch->closed && !watch->suspended)
        watcher_arm(watch->id, !watch->paused);
    if (thrown)
        napi_fatal_exception(raw, error);
}

// The last call for a thread-safe function: after it, nothing refers to its context.
void FunctionEnds(napi_env, void *, void *context) {
    delete static_cast<Shared *>(context);
}

void Stop(Watch *watch) {
    if (watch->closed)
        return;
    watch->closed = true;
    watcher_remove(watch->id);
    napi_release_threadsafe_function(watch->function, napi_tsfn_abort); // may call FunctionEnds
}

void EnvironmentEnds(void *data) {
    Stop(static_cast<Watch *>(data));
}

class ThreadPoller : public Napi::ObjectWrap<ThreadPoller> {
  public:
    static Napi::Function Define(Napi::Env env) {
        return DefineClass(
            env, "ThreadPoller",
            {InstanceMethod("ref", &ThreadPoller::RefLoop), InstanceMethod("unref", &ThreadPoller::UnrefLoop),
             InstanceMethod("pause", &ThreadPoller::Pause), InstanceMethod("suspend", &ThreadPoller::Suspend),
             InstanceMethod("resume", &ThreadPoller::Resume), InstanceMethod("close", &ThreadPoller::Close)});
    }

    // new ThreadPoller(descriptor, callback): as for a LoopPoller
    explicit ThreadPoller(const Napi::CallbackInfo &info) : Napi::ObjectWrap<ThreadPoller>(info) {
        Napi::Env env = info.Env();
        auto watch = std::make_shared<Watch>();
        auto *context = new Shared(watch);
        napi_value name;
        watch->env = env;
        if (napi_create_string_utf8(env, "crossings", NAPI_AUTO_LENGTH, &name) != napi_ok ||
            napi_create_threadsafe_function(env, info[1], nullptr, name, 0, 1, context, FunctionEnds, context, CallBack,
                                            &watch->function) != napi_ok) {
            delete context;
            Throw(env, "ERR_SYSTEM", "Cannot create a thread-safe function");
        }
        napi_unref_threadsafe_function(env, watch->function);
        watch->id = watcher_add(IntegerAt(info, 0), Notice, watch.get());
        if (watch->id == 0) {
            int reason = errno;
            watch->closed = true;
            napi_release_threadsafe_function(watch->function, napi_tsfn_abort);
            errno = reason;
            if (reason == EEXIST)
                Throw(env, "ERR_INVALID_ARGUMENT", "The descriptor is in use in this process");
            ThrowSystem(env, "Cannot poll a descriptor");
        }
        watch_ = watch;
        // After the function, whose own hook must run later: the watcher's thread may use it until then.
        napi_add_env_cleanup_hook(env, EnvironmentEnds, watch_.get());
    }

  private:
    void RefLoop(const Napi::CallbackInfo &info) {
        if (watch_ && !referenced_)
            referenced_ = napi_ref_threadsafe_function(info.Env(), watch_->function) == napi_ok;
    }

    void UnrefLoop(const Napi::CallbackInfo &info) {
        if (watch_ && referenced_)
            referenced_ = napi_unref_threadsafe_function(info.Env(), watch_->function) != napi_ok;
    }

    // For a listener; see LoopPoller.
    void Pause(const Napi::CallbackInfo &) {
        Arm(true);
    }

    // No callbacks until resume(). A watch reports only once, so it is enough not to arm it again.
    void Suspend(const Napi::CallbackInfo &) {
        if (watch_)
            watch_->suspended = true;
    }

    void Resume(const Napi::CallbackInfo &) {
        Arm(false);
    }

    void Arm(bool paused) {
        if (!watch_)
            return;
        watch_->paused = paused;
        watch_->suspended = false;
        watcher_arm(watch_->id, !paused);
    }

    // Must be called before the descriptor is closed.
    void Close(const Napi::CallbackInfo &info) {
        if (!watch_)
            return;
        Shared watch = std::move(watch_);
        napi_remove_env_cleanup_hook(info.Env(), EnvironmentEnds, watch.get());
        Stop(watch.get());
    }

    Shared watch_;
    bool referenced_ = false; // a runtime may count the references
};

} // namespace

void ExportThreadPoller(Napi::Object exports) {
    exports.Set("ThreadPoller", ThreadPoller::Define(exports.Env()));
}
