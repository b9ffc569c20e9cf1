/* The table of descriptors in use, one for the process. */
#include "descriptors.h"

extern "C" {
#include "../disposal.h"
}

#include <fcntl.h>
#include <unistd.h>

#include <mutex>
#include <vector>

namespace {

struct Entry {
    const Descriptors *owner;
    bool used;
    bool lent; // another process may have it, too
};

struct Table {
    std::mutex mutex; // guards all of it
    std::map<int, Entry> entries;
    std::map<int64_t, int> offers;          // the descriptor behind each ticket
    int64_t last_ticket = int64_t{1} << 32; // no descriptor is as large
};

Table &table = *new Table; // never destroyed: a thread may end after the static objects

} // namespace

Descriptors::~Descriptors() {
    std::vector<int> mine;
    {
        std::lock_guard<std::mutex> lock(table.mutex);
        for (int64_t ticket : tickets_)
            table.offers.erase(ticket);
        for (const auto &[fd, entry] : table.entries)
            if (entry.owner == this)
                mine.push_back(fd);
    }
    for (int fd : mine)
        listeners_.count(fd) ? unlisten(fd) : close(fd);
}

int Descriptors::hold(int fd) {
    std::lock_guard<std::mutex> lock(table.mutex);
    table.entries[fd] = {this, false, false};
    return fd;
}

int Descriptors::hold(const struct listener &listener) {
    std::lock_guard<std::mutex> lock(table.mutex);
    table.entries[listener.fd] = {this, true, false};
    listeners_[listener.fd] = listener;
    return listener.fd;
}

bool Descriptors::use(int fd) {
    std::lock_guard<std::mutex> lock(table.mutex);
    auto found = table.entries.find(fd);
    if (found != table.entries.end() && (found->second.used || found->second.owner != this))
        return false;
    table.entries[fd] = {this, true, false};
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return true;
}

void Descriptors::lend(int fd) {
    std::lock_guard<std::mutex> lock(table.mutex);
    table.entries[fd] = {this, true, true};
}

int64_t Descriptors::offer(int fd) {
    std::lock_guard<std::mutex> lock(table.mutex);
    table.offers[++table.last_ticket] = fd;
    tickets_.insert(table.last_ticket);
    return table.last_ticket;
}

int Descriptors::redeem(int64_t ticket) {
    std::lock_guard<std::mutex> lock(table.mutex);
    auto found = table.offers.find(ticket);
    if (found == table.offers.end())
        return -1;
    int fd = found->second;
    table.offers.erase(found);
    table.entries[fd] = {this, true, false};
    return fd;
}

void Descriptors::withdraw(int64_t ticket) {
    std::lock_guard<std::mutex> lock(table.mutex);
    tickets_.erase(ticket);
    auto found = table.offers.find(ticket);
    if (found == table.offers.end())
        return;
    table.entries.erase(found->second);
    ::close(found->second); // under the lock: no other thread can hold a new descriptor of this number before it
    table.offers.erase(found);
}

/* Remove a descriptor of this thread from the table. False: it was not there. */
bool Descriptors::forget(int fd) {
    auto found = table.entries.find(fd);
    if (found == table.entries.end() || found->second.owner != this)
        return false;
    table.entries.erase(found);
    return true;
}

void Descriptors::close(int fd) {
    std::lock_guard<std::mutex> lock(table.mutex);
    auto entry = table.entries.find(fd);
    bool lent = entry != table.entries.end() && entry->second.lent;
    if (!forget(fd))
        return;
    auto listener = listeners_.find(fd);
    if (listener != listeners_.end()) {
        ::close(listener->second.folder);
        listeners_.erase(listener);
        listener_close_socket(fd);
    } else if (lent) {
        disposal_close_later(fd); // its maker may have put descriptors into it
    } else {
        handshake_close(fd);
    }
}

void Descriptors::disown(int fd) {
    std::lock_guard<std::mutex> lock(table.mutex);
    forget(fd);
}

void Descriptors::unlisten(int fd) {
    std::lock_guard<std::mutex> lock(table.mutex);
    auto listener = listeners_.find(fd);
    if (listener == listeners_.end())
        return;
    forget(fd);
    listener_close(&listener->second);
    listeners_.erase(listener);
}
