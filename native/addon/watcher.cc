// The thread that watches descriptors for runtimes without libuv. One mutex guards everything, and the thread holds it
// while it reports: a watch that has been removed is never reported.
#include "watcher.h"

extern "C" {
#include "../disposal.h"
}

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>

namespace {

constexpr int EVENTS = 64;     // reported at a time
constexpr int LINGER_MS = 100; // a handshake removes one watch and adds the next
constexpr uint64_t WAKE = 0;   // no watch has this number

struct Watch {
    int fd;
    void (*readable)(void *data);
    void *data;
};

/* What the thread waits with. It closes both when it ends. */
struct Waiting {
    int epoll, wake;
};

struct State {
    std::mutex mutex; // guards all of it
    std::map<uint64_t, Watch> watches;
    uint64_t last_id = 0;
    Waiting *waiting = nullptr; // null: no thread runs
};

State &state = *new State; // never destroyed: the thread may outlive the static objects

void Report(const struct epoll_event &event, Waiting *waiting) {
    if (event.data.u64 == WAKE) {
        uint64_t count;
        if (read(waiting->wake, &count, sizeof count) < 0)
            return; // taken before
        return;
    }
    auto found = state.watches.find(event.data.u64);
    if (found != state.watches.end())
        found->second.readable(found->second.data);
}

void *Run(void *argument) {
    auto *waiting = static_cast<Waiting *>(argument);
    struct epoll_event events[EVENTS];
    for (bool isIdle = false;;) {
        int count = epoll_wait(waiting->epoll, events, EVENTS, isIdle ? LINGER_MS : -1);
        std::lock_guard<std::mutex> lock(state.mutex);
        for (int i = 0; i < count; i++)
            Report(events[i], waiting);
        bool isOver = isIdle && count == 0;
        isIdle = state.watches.empty();
        if (isOver && isIdle) {
            state.waiting = nullptr;
            break;
        }
    }
    close(waiting->epoll);
    close(waiting->wake);
    delete waiting;
    return nullptr;
}

/* Returns false and sets errno on failure. */
bool Start() {
    auto *waiting = new Waiting{epoll_create1(EPOLL_CLOEXEC), eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    struct epoll_event wake = {};
    wake.events = EPOLLIN;
    wake.data.u64 = WAKE;
    int failed =
        waiting->epoll < 0 || waiting->wake < 0 || epoll_ctl(waiting->epoll, EPOLL_CTL_ADD, waiting->wake, &wake)
            ? errno
        : disposal_start_thread(Run, waiting) ? 0
                                              : EAGAIN;
    if (!failed) {
        state.waiting = waiting;
        return true;
    }
    if (waiting->epoll >= 0)
        close(waiting->epoll);
    if (waiting->wake >= 0)
        close(waiting->wake);
    delete waiting;
    errno = failed;
    return false;
}

int Control(int operation, int fd, uint64_t id, bool wanted) {
    struct epoll_event event = {};
    event.events = EPOLLONESHOT | (wanted ? EPOLLIN | EPOLLRDHUP : 0u); // and the end of the peer, in any case
    event.data.u64 = id;
    return epoll_ctl(state.waiting->epoll, operation, fd, &event);
}

} // namespace

uint64_t watcher_add(int fd, void (*readable)(void *data), void *data) {
    std::lock_guard<std::mutex> lock(state.mutex);
    if (!state.waiting && !Start())
        return 0;
    uint64_t id = ++state.last_id;
    if (Control(EPOLL_CTL_ADD, fd, id, true))
        return 0;
    state.watches[id] = {fd, readable, data};
    return id;
}

void watcher_arm(uint64_t id, bool wanted) {
    std::lock_guard<std::mutex> lock(state.mutex);
    auto found = state.watches.find(id);
    if (found != state.watches.end())
        Control(EPOLL_CTL_MOD, found->second.fd, id, wanted);
}

void watcher_remove(uint64_t id) {
    std::lock_guard<std::mutex> lock(state.mutex);
    auto found = state.watches.find(id);
    if (found == state.watches.end())
        return;
    Control(EPOLL_CTL_DEL, found->second.fd, id, false);
    state.watches.erase(found);
    uint64_t one = 1;
    if (state.watches.empty() && write(state.waiting->wake, &one, sizeof one) < 0)
        return; // it is full, so the thread will wake in any case
}
