/*
 * Unix domain socket: a connected pair of stream sockets inside the kernel, both directions in one.
 * A message costs two crossings: one send copies it into the kernel, one recv copies it out again.
 * socketpair() gives the same sockets as bind, listen, connect and accept would, without a name on disk.
 */
#include "socket-stream.h"

#include <unistd.h>

static int ends[2]; /* ends[side] belongs to that side */

static int setup(size_t size) {
    (void)size;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int take(enum side side) {
    return close(ends[!side]);
}

static enum outcome uds_send(enum side side, const void *message, size_t size) {
    return socket_send(ends[side], message, size);
}

static enum outcome uds_receive(enum side side, void *message, size_t size) {
    return socket_receive(ends[side], message, size);
}

static void teardown(enum side side) {
    close(ends[side]);
}

const struct mechanism uds = {
    .name = "uds",
    .title = "Unix domain socket",
    .source = __FILE__,
    .setup = setup,
    .take = take,
    .send = uds_send,
    .receive = uds_receive,
    .teardown = teardown,
};
