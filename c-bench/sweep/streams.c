/* The mechanisms that are byte streams through the kernel: pipe, socketpair, Unix domain socket and TCP. They differ
 * only in how they are opened. */
#include "streams.h"

#include "../common/clock.h"
#include "content.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- The kernel's buffers ---- */

/* F_SETPIPE_SZ of a pipe. Above /proc/sys/fs/pipe-max-size it takes CAP_SYS_RESOURCE, and a user has a limit for all
 * pipes together: try half as much, as long as that is more than the pipe has. */
static void match_pipe(int fd, size_t size) {
    int has = fcntl(fd, F_GETPIPE_SZ);
    for (size_t bytes = size; fcntl(fd, F_SETPIPE_SZ, (int)bytes) < 0 && bytes / 2 > (size_t)has;)
        bytes /= 2;
}

/* The FORCE options ignore the limits net.core.wmem_max and rmem_max, and take CAP_NET_ADMIN. The others never fail:
 * the kernel grants less. */
static void match_socket(int fd, size_t size) {
    int bytes = (int)size;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

static uint64_t socket_buffer(int fd, int option) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    return getsockopt(fd, SOL_SOCKET, option, &bytes, &length) ? 0 : (uint64_t)bytes;
}

static void note_socket_buffers(struct link *link) {
    link->send_bytes = socket_buffer(link->ends[SENDER], SO_SNDBUF);
    link->receive_bytes = socket_buffer(link->ends[RECEIVER], SO_RCVBUF);
}

/* ---- Opening ---- */

static int open_pipe(const struct point *point, struct link *link) {
    int ends[2];
    if (pipe(ends))
        return -1;
    link->ends[SENDER] = ends[1];
    link->ends[RECEIVER] = ends[0];
    if (point->matched)
        match_pipe(ends[1], point->size_bytes);
    link->send_bytes = link->receive_bytes = (uint64_t)fcntl(ends[1], F_GETPIPE_SZ);
    return 0;
}

static int open_socketpair(const struct point *point, struct link *link) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, link->ends))
        return -1;
    if (point->matched) {
        match_socket(link->ends[SENDER], point->size_bytes);
        match_socket(link->ends[RECEIVER], point->size_bytes);
    }
    note_socket_buffers(link);
    return 0;
}

/* Connect the two ends through a listener that has been bound and is listening. Closes it. */
static int connect_ends(int listener, int domain, struct link *link) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    link->ends[SENDER] = socket(domain, SOCK_STREAM, 0);
    if (link->ends[SENDER] < 0 || getsockname(listener, (struct sockaddr *)&address, &length) ||
        connect(link->ends[SENDER], (struct sockaddr *)&address, length))
        return -1;
    link->ends[RECEIVER] = accept(listener, NULL, NULL);
    if (link->ends[RECEIVER] < 0)
        return -1;
    note_socket_buffers(link);
    return close(listener);
}

/* Bound with the family alone, the socket gets a free abstract name from the kernel: there is no file to leave behind.
 */
static int open_uds(const struct point *point, struct link *link) {
    (void)point;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) || listen(listener, 1))
        return -1;
    return connect_ends(listener, AF_UNIX, link);
}

/* TCP_NODELAY: without it, a small write waits for the acknowledgment of the one before it (Nagle's algorithm). */
static int open_tcp(const struct point *point, struct link *link) {
    (void)point;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1))
        return -1;
    if (connect_ends(listener, AF_INET, link))
        return -1;
    return setsockopt(link->ends[SENDER], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* ---- The bytes ---- */

static bool write_all(int fd, const char *next, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, next, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        next += written;
        size -= (size_t)written;
    }
    return true;
}

static bool stream_send(struct sample *sample, char *buffer) {
    uint64_t number = 0;
    for (uint64_t sent = 0; sent < sample->total_bytes; number++) {
        uint64_t left = sample->total_bytes - sent;
        size_t size = left < sample->point.size_bytes ? (size_t)left : sample->point.size_bytes;
        content_stamp(buffer, number);
        if (!write_all(sample->link.ends[SENDER], buffer, size)) {
            bool gone = errno == EPIPE || errno == ECONNRESET;
            sample_fail(sample, SENDER, gone, "ERR_SYSTEM", "write failed: %s", strerror(errno));
            return false;
        }
        sent += size;
        note_progress(sample, SENDER, sent);
    }
    return true;
}

/* Reads whatever has arrived, up to the size of the buffer: the sizes that read() returns are part of the result. */
static bool stream_receive(struct sample *sample, char *buffer) {
    struct digest digest = {0};
    for (uint64_t received = 0; received < sample->total_bytes;) {
        ssize_t got = read(sample->link.ends[RECEIVER], buffer, sample->point.size_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            sample_fail(sample, RECEIVER, false, "ERR_SYSTEM", "read failed: %s", strerror(errno));
            return false;
        }
        if (got == 0) {
            sample_fail(sample, RECEIVER, true, "ERR_MESSAGE_LOST", "only %llu of %llu bytes arrived",
                        (unsigned long long)received, (unsigned long long)sample->total_bytes);
            return false;
        }
        reads_add(&sample->reads, (uint64_t)got);
        digest_add(&digest, buffer, (size_t)got);
        received += (uint64_t)got;
        note_progress(sample, RECEIVER, received);
    }
    sample->finished_ns = monotonic_ns();
    sample->digest = digest_end(&digest);
    return true;
}

const struct transport pipe_transport = {
    .name = "pipe", .matches = true, .open = open_pipe, .send = stream_send, .receive = stream_receive};
const struct transport socketpair_transport = {
    .name = "socketpair", .matches = true, .open = open_socketpair, .send = stream_send, .receive = stream_receive};
const struct transport uds_transport = {
    .name = "uds", .open = open_uds, .send = stream_send, .receive = stream_receive};
const struct transport tcp_transport = {
    .name = "tcp", .open = open_tcp, .send = stream_send, .receive = stream_receive};
