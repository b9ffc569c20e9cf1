/*
 * Unix domain datagram socket: like uds.c, but the kernel keeps the boundaries between messages.
 * A message makes two crossings: send() copies it into the kernel, and recv() copies it out.
 */
#include "mechanism.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* A datagram must fit into the socket's send buffer, 208 KiB unless the system administrator has changed it. */
#define MAX_BYTES (64u << 10)

static int ends[2]; /* ends[side] belongs to that side */

static int setup(size_t size) {
    (void)size;
    return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
}

static int take(enum side side) {
    return close(ends[!side]);
}

/* A datagram is sent completely or not at all. */
static enum outcome dgram_send(enum side side, const void *message, size_t size) {
    ssize_t sent;
    do
        sent = send(ends[side], message, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno == EPIPE || errno == ECONNREFUSED || errno == ECONNRESET ? ENDED : FAILED;
    return OK;
}

/* Each call returns one datagram. */
static enum outcome dgram_receive(enum side side, void *message, size_t size) {
    ssize_t got;
    do
        got = recv(ends[side], message, size, MSG_TRUNC); /* the true size, even of a longer datagram */
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == ECONNRESET ? ENDED : FAILED;
    if ((size_t)got != size) {
        errno = EMSGSIZE;
        return FAILED;
    }
    return OK;
}

static void teardown(enum side side) {
    close(ends[side]);
}

const struct mechanism dgram = {
    .name = "dgram",
    .title = "Unix datagram socket",
    .source = __FILE__,
    .max_size = MAX_BYTES,
    .special = true,
    .setup = setup,
    .take = take,
    .send = dgram_send,
    .receive = dgram_receive,
    .teardown = teardown,
};
