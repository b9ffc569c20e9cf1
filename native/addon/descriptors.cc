/* The table of descriptors in use, one for the process. */
#include "descriptors.h"

extern "C" {
#include "../disposal.h"
}

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <vector>

namespace {

struct Table {
    std::mutex mutex; // guards all of it
    std::map<int, Descriptors::Entry> entries;
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
    table.entries[fd] = {.owner = this};
    return fd;
}

int Descriptors::hold(const struct listener &listener) {
    std::lock_guard<std::mutex> lock(table.mutex);
    table.entries[listener.fd] = {.owner = this, .used = true};
    listeners_[listener.fd] = listener;
    return listener.fd;
}

bool Descriptors::use(int fd) {
    std::lock_guard<std::mutex> lock(table.mutex);
    auto found = table.entries.find(fd);
    if (found != table.entries.end() && (found->second.used || found->second.owner != this))
        return false;
    table.entries[fd] = {.owner = this, .used = true, .inherited = found == table.entries.end()};
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return true;
}

void Descriptors::lend(int fd) {
    std::lock_guard<std::mutex> lock(table.mutex);
    Entry &entry = table.entries[fd];
    entry.owner = this;
    entry.used = entry.lent = true;
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
    table.entries[fd] = {.owner = this, .used = true};
    return fd;
}

void Descriptors::withdraw(int64_t ticket) {
    int fd;
    {
        std::lock_guard<std::mutex> lock(table.mutex);
        tickets_.erase(ticket);
        auto found = table.offers.find(ticket);
        if (found == table.offers.end())
            return;
        fd = found->second;
        table.entries.erase(fd);
        table.offers.erase(found);
    }
    ::close(fd); // this process has made both ends, so nobody has put anything into this one
}

/* Remove a descriptor of this thread from the table. It must still be open: its number cannot belong to anything else
 * before it is closed, which is done without the lock, because it can take as long as a peer likes. False: it was not
 * there. */
bool Descriptors::forget(int fd, Entry *entry) {
    std::lock_guard<std::mutex> lock(table.mutex);
    auto found = table.entries.find(fd);
    if (found == table.entries.end() || found->second.owner != this)
        return false;
    *entry = found->second;
    table.entries.erase(found);
    return true;
}

void Descriptors::close(int fd) {
    Entry entry;
    if (!forget(fd, &entry))
        return;
    auto listener = listeners_.find(fd);
    if (listener != listeners_.end()) {
        ::close(listener->second.folder);
        listeners_.erase(listener);
        listener_close_socket(fd);
    } else if (entry.inherited) {
        // Its maker may have put descriptors into it, or have a copy, and so make each call on it that receives wait.
        if (!entry.lent)
            shutdown(fd, SHUT_RDWR);
        disposal_close_later(fd);
    } else if (entry.lent) {
        ::close(fd); // as in withdraw(). At once: while it is open, nobody notices the death of the process that has it
    } else {
        handshake_close(fd);
    }
}

void Descriptors::disown(int fd) {
    Entry entry;
    forget(fd, &entry);
}

void Descriptors::unlisten(int fd) {
    Entry entry;
    auto listener = listeners_.find(fd);
    if (listener == listeners_.end())
        return;
    forget(fd, &entry);
    listener_close(&listener->second);
    listeners_.erase(listener);
}
