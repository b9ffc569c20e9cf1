/* The doorbell: a packet of one byte on the socket of the handshake. */
#include "doorbell.h"

#include "disposal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_DRAINED 2 /* rings taken by one call. A peer rings once for each sleep, and can make taking each slow */

/* Did a sandbox refuse the call? It can answer with any error; those here are the kernel's. */
static bool was_refused(int error) {
    return error != EAGAIN && error != EPIPE && error != ECONNRESET && error != ENOTCONN && error != ENOBUFS &&
           error != ENOMEM && error != EBADF;
}

bool doorbell_ring(int fd) {
    char ring = 1;
    ssize_t sent;
    do
        sent = send(fd, &ring, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && was_refused(errno)) { /* the handshake has used sendmsg() */
        struct iovec data = {&ring, 1};
        sent = sendmsg(fd, &(struct msghdr){.msg_iov = &data, .msg_iovlen = 1}, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    /* EAGAIN: rings that the peer has not taken yet fill the socket, so it will wake anyway. EPIPE: the peer has closed
     * its end, which the next read reports. Anything else (ENOBUFS, ENOMEM) wakes nobody. */
    return sent == 1 || errno == EAGAIN || errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN;
}

/* Receive up to MAX_DRAINED packets. Returns their number, or -1. */
static int receive(int fd, struct mmsghdr *messages) {
    int got;
    do
        got = recvmmsg(fd, messages, MAX_DRAINED, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, NULL);
    while (got < 0 && errno == EINTR);
    if (got >= 0 || !was_refused(errno))
        return got;
    /* The handshake has used this call. */
    ssize_t bytes = recvmsg(fd, &messages[0].msg_hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    messages[0].msg_len = bytes > 0 ? (unsigned)bytes : 0;
    return bytes < 0 ? -1 : 1;
}

/* One call takes every ring that waits, up to MAX_DRAINED. Waking is on the way of a message, so a second call that
 * only finds the socket empty would be paid by each. What is left keeps the socket readable, so the caller's poll
 * returns at once: a peer can neither hide its end behind rings, nor keep this thread here. Descriptors that a peer has
 * attached are received, so that the kernel does not close them on this thread. (Before Linux 6.16 it still does if
 * this process has too few left.) */
enum doorbell_state doorbell_drain(int fd) {
    char rings[MAX_DRAINED];
    union disposal_control controls[MAX_DRAINED]; /* see disposal.h */
    struct iovec parts[MAX_DRAINED];
    struct mmsghdr messages[MAX_DRAINED];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < MAX_DRAINED; i++) {
        parts[i] = (struct iovec){.iov_base = &rings[i], .iov_len = 1};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_control = controls[i].bytes;
        messages[i].msg_hdr.msg_controllen = sizeof controls[i].bytes;
    }
    int got = receive(fd, messages);
    if (got < 0)
        return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? DOORBELL_OPEN : DOORBELL_CLOSED;
    enum doorbell_state state = DOORBELL_OPEN;
    for (int i = 0; i < got; i++) {
        int received[DISPOSAL_MOST];
        size_t count = disposal_take(&messages[i].msg_hdr, received, 0);
        disposal_close_received(received, count, false);
        if (count > 0 || messages[i].msg_hdr.msg_flags & MSG_CTRUNC)
            state = DOORBELL_BROKEN;
        else if (messages[i].msg_len == 0 && state == DOORBELL_OPEN)
            state = DOORBELL_CLOSED; /* the end: the peer's socket is closed */
    }
    return state;
}
