/*
 * Who owns which descriptor. Two threads of one process, or two channels of one thread, must never use the same
 * descriptor: closing it for one would close it for the other, whose number may then belong to something else. So the
 * process keeps one table of every descriptor that crossings uses, and each thread closes what it still owns when it
 * ends.
 */
#ifndef CROSSINGS_DESCRIPTORS_H
#define CROSSINGS_DESCRIPTORS_H

#include <cstdint>
#include <map>
#include <set>

extern "C" {
#include "../listener.h"
}

/* The descriptors of one thread. Destroyed when the thread ends, however it ends. */
class Descriptors {
  public:
    ~Descriptors();

    /* This thread owns a new descriptor. It is free: use() may take it. Returns it. */
    int hold(int fd);
    /* This thread owns a new listener. Returns its descriptor. */
    int hold(const struct listener &listener);

    /* Take a descriptor into use: a free one of this thread, or one that nothing in this process owns, such as an
     * inherited one. Programs that this process starts will not inherit it. False: it is in use, or another thread's.
     */
    bool use(int fd);
    /* Take a descriptor of this thread into use that a program which this process starts may inherit. Closing it then
     * does not end the connection. */
    void lend(int fd);

    /* Offer a descriptor of this thread to any thread. Returns a ticket: a number above every descriptor. */
    int64_t offer(int fd);
    /* Take the descriptor behind a ticket into use. -1: it has been taken before, or withdrawn. */
    int redeem(int64_t ticket);
    /* Close the descriptor behind a ticket, unless it has been taken. */
    void withdraw(int64_t ticket);

    /* Close a descriptor of this thread, without waiting; see handshake_close(). The file of a listener stays. */
    void close(int fd);
    /* Forget a descriptor of this thread that some other part of the process uses. */
    void disown(int fd);
    /* Close a listener of this thread and remove its file. */
    void unlisten(int fd);

    /* What is known of a descriptor in use. */
    struct Entry {
        const Descriptors *owner = nullptr;
        bool used = false;
        bool lent = false;      /* another process has it, too, and goes on with it */
        bool inherited = false; /* another process has made it */
    };

  private:
    bool forget(int fd, Entry *entry);

    std::map<int, struct listener> listeners_;
    std::set<int64_t> tickets_;
};

#endif
