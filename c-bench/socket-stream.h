/* Whole messages over a stream socket: what uds.c and tcp.c have in common. A stream keeps no message boundaries. */
#ifndef CROSSINGS_SOCKET_STREAM_H
#define CROSSINGS_SOCKET_STREAM_H

#include "mechanism.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>

/* MSG_NOSIGNAL: a peer that has gone is an answer (EPIPE) here, not a signal. */
static inline enum outcome socket_send(int fd, const void *message, size_t size) {
    const char *next = message;
    while (size > 0) {
        ssize_t sent = send(fd, next, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EPIPE || errno == ECONNRESET ? ENDED : FAILED;
        next += sent;
        size -= (size_t)sent;
    }
    return OK;
}

/* MSG_WAITALL: the kernel gathers the whole message, so it takes one call even when it arrives in pieces; only a signal
 * or the stream's end makes it return less. */
static inline enum outcome socket_receive(int fd, void *message, size_t size) {
    char *next = message;
    while (size > 0) {
        ssize_t got = recv(fd, next, size, MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 || errno == ECONNRESET ? ENDED : FAILED;
        next += got;
        size -= (size_t)got;
    }
    return OK;
}

#endif
