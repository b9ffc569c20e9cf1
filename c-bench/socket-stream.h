/* Whole messages over a stream socket, for uds.c and tcp.c. A stream has no message boundaries. */
#ifndef CROSSINGS_SOCKET_STREAM_H
#define CROSSINGS_SOCKET_STREAM_H

#include "mechanism.h"

#include <sys/socket.h>
#include <sys/types.h>

/* MSG_NOSIGNAL: if the peer has exited, send() returns EPIPE instead of raising SIGPIPE. MSG_DONTWAIT: fail with EAGAIN
 * instead of waiting. */
static inline enum outcome socket_send(int fd, const void *message, size_t size) {
    const char *next = message;
    while (size > 0) {
        ssize_t sent = send(fd, next, size, MSG_NOSIGNAL | (polling ? MSG_DONTWAIT : 0));
        if (sent < 0 && call_again())
            continue;
        if (sent < 0)
            return errno == EPIPE || errno == ECONNRESET ? ENDED : FAILED;
        next += sent;
        size -= (size_t)sent;
    }
    return OK;
}

/* MSG_WAITALL: one call waits for the whole message, even if it arrives in pieces. Only a signal or the end of the
 * stream makes recv() return less. */
static inline enum outcome socket_receive(int fd, void *message, size_t size) {
    char *next = message;
    while (size > 0) {
        ssize_t got = recv(fd, next, size, polling ? MSG_DONTWAIT : MSG_WAITALL);
        if (got < 0 && call_again())
            continue;
        if (got <= 0)
            return got == 0 || errno == ECONNRESET ? ENDED : FAILED;
        next += got;
        size -= (size_t)got;
    }
    return OK;
}

#endif
